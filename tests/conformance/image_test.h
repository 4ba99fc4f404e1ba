// The common part of image tests.
#ifndef PLIMSOLL_TESTS_CONFORMANCE_IMAGE_TEST_H_
#define PLIMSOLL_TESTS_CONFORMANCE_IMAGE_TEST_H_

#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "conformance/cri_test.h"

namespace plimsoll::conformance {

class ImageTest : public CriTest {
 protected:
  void SetUp() override {
    CriTest::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    const auto registry = session_.GetRegistry(RegistryKind::kPlain);
    if (absl::IsFailedPrecondition(registry.status())) GTEST_SKIP() << registry.status().message();
    ASSERT_OK(registry);
  }
  // Pushes, without pulling, an image with a file of its own, so that no other is equal. A tag in
  // `name` replaces "v1".
  std::string Push(const std::string& name, const std::string& content) {
    Recipe recipe;
    recipe.files = {{"content", content}};
    std::string why;
    std::string image = Publish(recipe, name, &why);
    EXPECT_THAT(why, ::testing::IsEmpty());
    return image;
  }
  std::string Pull(const std::string& image) {
    const auto reference = TryPull(image);
    EXPECT_OK(reference) << "PullImage of " << image;
    return reference.value_or("");
  }
  std::vector<cri::Image> List(const std::string& filter = "") {
    cri::ListImagesRequest request;
    if (!filter.empty()) request.mutable_filter()->mutable_image()->set_image(filter);
    const auto response = client_.Ask<cri::ListImagesResponse>(request);
    EXPECT_OK(response) << "ListImages";
    if (!response.ok()) return {};
    return {response->images().begin(), response->images().end()};
  }
  absl::Status Remove(const std::string& image) {
    cri::RemoveImageRequest request;
    request.mutable_image()->set_image(image);
    return client_.Ask<cri::RemoveImageResponse>(request).status();
  }
  bool IsThere(const std::string& image) { return !ImageStatus(image).id().empty(); }
  static std::string WithoutTag(const std::string& image) {
    return image.substr(0, image.rfind(':'));
  }
  // "127.0.0.1:5000/app@sha256:..." of that repository; empty if it has none.
  static std::string DigestIn(const cri::Image& image, const std::string& repository) {
    for (const std::string& digest : image.repo_digests()) {
      if (absl::StartsWith(digest, absl::StrCat(repository, "@sha256:"))) return digest;
    }
    return "";
  }
  // The content of a file in the image.
  std::string Content(const std::string& image, const std::string& path = "/content") {
    cri::ContainerConfig config = Shell(absl::StrCat("cat ", path));
    config.mutable_image()->set_image(image);
    return RunToEnd(config);
  }
};

}  // namespace plimsoll::conformance

#endif  // PLIMSOLL_TESTS_CONFORMANCE_IMAGE_TEST_H_
