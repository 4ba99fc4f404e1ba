#include "daemon/configured_images.h"

#include <memory>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "image/mock_images_for_test.h"

namespace plimsoll::daemon {
namespace {

using ::testing::_;
using ::testing::HasSubstr;
using ::testing::Return;

image::Image Named(const std::string& id, const std::vector<std::string>& tags) {
  image::Image image;
  image.record.id = id;
  image.record.repo_tags = tags;
  return image;
}

class ConfiguredImagesTest : public ::testing::Test {
 protected:
  // True if pulls reach this registry without TLS.
  bool IsInsecure(const std::string& registry) {
    image::PullOptions options;
    EXPECT_CALL(*mock_, Pull)
        .WillOnce([&options](absl::string_view, const image::PullOptions& given,
                             const image::ProgressFn&) -> absl::StatusOr<image::Image> {
          options = given;
          return absl::UnavailableError("mock");
        });
    EXPECT_TRUE(absl::IsUnavailable(images_.Pull("a", {}, nullptr).status()));
    return options.is_insecure(registry);
  }
  bool IsPinned(const std::vector<std::string>& tags) {
    EXPECT_CALL(*mock_, Find).WillOnce(Return(Named("sha256:1", tags)));
    EXPECT_CALL(*mock_, List).WillOnce(Return(std::vector<image::Image>{Named("sha256:1", tags)}));
    const bool pinned = images_.Find("x")->record.pinned;
    EXPECT_EQ(images_.List()[0].record.pinned, pinned);
    return pinned;
  }

  image::MockImages* mock_ = new image::MockImages;
  ConfiguredImages images_{std::unique_ptr<image::ImageService>(mock_),
                           {.insecure_registries = {"registry.local:5000", "plain.example"},
                            .pinned = {"pause", "registry.example/base/*"}}};
};

TEST_F(ConfiguredImagesTest, OnlyTheRegistriesOfTheListAreInsecure) {
  EXPECT_TRUE(IsInsecure("registry.local:5000"));
  EXPECT_TRUE(IsInsecure("plain.example"));
  EXPECT_FALSE(IsInsecure("registry.local:5001"));
  EXPECT_FALSE(IsInsecure("registry.local"));
  EXPECT_FALSE(IsInsecure("sub.plain.example"));
  EXPECT_FALSE(IsInsecure("docker.io"));
}

TEST_F(ConfiguredImagesTest, PinnedIsWhatHasANameOfTheList) {
  EXPECT_TRUE(IsPinned({"docker.io/library/pause:latest"}));
  EXPECT_TRUE(IsPinned({"other.example/a:1", "docker.io/library/pause:latest"}));
  EXPECT_TRUE(IsPinned({"registry.example/base/os:12"}));
  EXPECT_FALSE(IsPinned({"docker.io/library/pause:3"}));
  EXPECT_FALSE(IsPinned({"registry.example/bases:1"}));
  EXPECT_FALSE(IsPinned({}));
}

TEST_F(ConfiguredImagesTest, PulledAndImportedAreMarkedToo) {
  const image::Image pause = Named("sha256:1", {"docker.io/library/pause:latest"});
  EXPECT_CALL(*mock_, Pull).WillOnce(Return(pause));
  EXPECT_CALL(*mock_, Import(_, _, _, _)).WillOnce(Return(pause));
  EXPECT_TRUE(images_.Pull("pause", {}, nullptr)->record.pinned);
  EXPECT_TRUE(images_.Import("/f", "pause", nullptr, nullptr)->record.pinned);
}

TEST_F(ConfiguredImagesTest, TheSettingsCanBeReplaced) {
  images_.Replace({.insecure_registries = {"docker.io"}, .pinned = {"sha256:1"}});
  EXPECT_TRUE(IsInsecure("docker.io"));
  EXPECT_FALSE(IsInsecure("plain.example"));
  EXPECT_TRUE(IsPinned({"other.example/a:1"})) << "by its id";
  images_.Replace({});
  EXPECT_FALSE(IsPinned({"docker.io/library/pause:latest"}));
}

TEST_F(ConfiguredImagesTest, EverythingElseIsPassedOn) {
  EXPECT_CALL(*mock_, Remove(absl::string_view("a"))).WillOnce(Return(absl::NotFoundError("mock")));
  EXPECT_CALL(*mock_, directory()).WillOnce(Return("/images"));
  EXPECT_TRUE(absl::IsNotFound(images_.Remove("a")));
  EXPECT_EQ(images_.directory(), "/images");
}

TEST_F(ConfiguredImagesTest, WhatIsCalledOffSaysWhy) {
  EXPECT_CALL(*mock_, Pull)
      .WillRepeatedly([this](absl::string_view, const image::PullOptions& given,
                             const image::ProgressFn&) -> absl::StatusOr<image::Image> {
        images_.CallOff();
        return given.cancelled() ? absl::CancelledError("pull: cancelled")
                                 : absl::NotFoundError("goes on");
      });
  const absl::Status pulled = images_.Pull("busybox", {}, nullptr).status();
  EXPECT_TRUE(absl::IsUnavailable(pulled)) << pulled;
  EXPECT_THAT(pulled.message(), HasSubstr("pull busybox: plimsolld is stopping"));
  EXPECT_CALL(*mock_, Import(_, _, _, _))
      .WillOnce([](const auto&, auto, const auto&, const std::function<bool()>& cancelled) {
        return cancelled() ? absl::StatusOr<image::Image>(absl::CancelledError("import: cancelled"))
                           : absl::NotFoundError("goes on");
      });
  EXPECT_THAT(images_.Import("/f", "a", nullptr, nullptr).status().message(),
              HasSubstr("import /f: plimsolld is stopping"));
}

}  // namespace
}  // namespace plimsoll::daemon
