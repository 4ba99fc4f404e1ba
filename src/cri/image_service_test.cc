// The image service over a mock image store, through a real socket.
#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "cri/calls/list_parts.h"
#include "cri/services_fixture_for_test.h"
#include "gmock/gmock.h"
#include "image/skopeo_errors.h"

namespace plimsoll::cri {
namespace {

namespace v1 = ::runtime::v1;
using ::testing::_;
using ::testing::HasSubstr;
using ::testing::Invoke;
using ::testing::Return;

image::Image Busybox() {
  image::Image image;
  image.record.id = "sha256:b";
  image.record.repo_tags = {"docker.io/library/busybox:latest"};
  image.record.size_bytes = 7;
  image.config.user = "1000:5";
  return image;
}

TEST_F(ServicesTest, ImageOfUnknownNameIsAnEmptyAnswer) {
  ON_CALL(images_, Find(_)).WillByDefault(Return(absl::NotFoundError("no")));
  v1::ImageStatusRequest request;
  request.mutable_image()->set_image("x");
  v1::ImageStatusResponse response;
  EXPECT_TRUE(Call(image_, &ImageStub::ImageStatus, request, &response).ok());
  EXPECT_FALSE(response.has_image());
  v1::ListImagesRequest list;
  list.mutable_filter()->mutable_image()->set_image("x");
  v1::ListImagesResponse listed;
  EXPECT_TRUE(Call(image_, &ImageStub::ListImages, list, &listed).ok());
  EXPECT_EQ(listed.images_size(), 0);
}

TEST_F(ServicesTest, ImagesAreShown) {
  image::Image named = Busybox();
  named.record.id = "sha256:c";
  named.config.user = "nobody";
  ON_CALL(images_, List()).WillByDefault(Return(std::vector<image::Image>{Busybox(), named}));
  v1::ListImagesResponse response;
  ASSERT_TRUE(Call(image_, &ImageStub::ListImages, v1::ListImagesRequest(), &response).ok());
  ASSERT_EQ(response.images_size(), 2);
  EXPECT_EQ(response.images(0).id(), "sha256:b");
  EXPECT_EQ(response.images(0).uid().value(), 1000);
  EXPECT_EQ(response.images(0).size(), 7u);
  EXPECT_EQ(response.images(0).spec().image(), "docker.io/library/busybox:latest");
  EXPECT_FALSE(response.images(1).has_uid());
  EXPECT_EQ(response.images(1).username(), "nobody");
}

TEST_F(ServicesTest, PullPassesCredentialsAndGivesTheId) {
  EXPECT_CALL(images_, Pull(absl::string_view("busybox"), _, _))
      .WillOnce(Invoke([](auto, const image::PullOptions& options, const auto&) {
        EXPECT_EQ(options.credentials.username, "bob");
        EXPECT_EQ(options.credentials.password, "pw");
        EXPECT_LE(options.timeout, absl::Seconds(31)) << "the client's deadline";
        EXPECT_FALSE(options.cancelled());
        return Busybox();
      }));
  v1::PullImageRequest request;
  request.mutable_image()->set_image("busybox");
  request.mutable_auth()->set_username("bob");
  request.mutable_auth()->set_password("pw");
  v1::PullImageResponse response;
  ASSERT_TRUE(Call(image_, &ImageStub::PullImage, request, &response).ok());
  EXPECT_EQ(response.image_ref(), "sha256:b");
}

TEST_F(ServicesTest, APullsFailureHasTheNameThatKubeletKnows) {
  const auto pull = [this](const absl::Status& failure) {
    EXPECT_CALL(images_, Pull(_, _, _)).WillOnce(Return(failure));
    v1::PullImageRequest request;
    request.mutable_image()->set_image("busybox");
    v1::PullImageResponse response;
    return Call(image_, &ImageStub::PullImage, request, &response);
  };
  const grpc::Status off = pull(absl::UnavailableError("pull x: connection refused"));
  EXPECT_EQ(off.error_code(), grpc::StatusCode::UNKNOWN);
  EXPECT_EQ(off.error_message(), "RegistryUnavailable: pull x: connection refused");
  const grpc::Status unsigned_image = pull(image::TranslateSkopeoError(
      "level=fatal msg=\"Source image rejected: A signature was required\"", "x", {}));
  EXPECT_EQ(unsigned_image.error_code(), grpc::StatusCode::UNKNOWN);
  EXPECT_EQ(unsigned_image.error_message(),
            "SignatureValidationFailed: pull x: Source image rejected: A signature was required");
  EXPECT_EQ(pull(absl::NotFoundError("pull x: no")).error_code(), grpc::StatusCode::NOT_FOUND);
}

TEST_F(ServicesTest, APullForAnUnknownHandlerIsRefused) {
  v1::PullImageRequest request;
  request.mutable_image()->set_image("busybox");
  request.mutable_image()->set_runtime_handler("nobody");
  v1::PullImageResponse response;
  const grpc::Status status = Call(image_, &ImageStub::PullImage, request, &response);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_THAT(status.error_message(), HasSubstr("image.runtime_handler is \"nobody\""));
}

TEST_F(ServicesTest, StreamedImagesAreThoseOfTheList) {
  std::vector<image::Image> many(250, Busybox());
  for (size_t i = 0; i < many.size(); ++i) {
    many[i].record.id = absl::StrCat("sha256:", i);
    many[i].record.repo_tags = {std::string(10'000, 'x')};
  }
  ON_CALL(images_, List()).WillByDefault(Return(many));
  const auto stream = [this](const v1::StreamImagesRequest& request,
                             std::vector<std::string>* ids) {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(30));
    const auto reader = image_->StreamImages(&context, request);
    v1::StreamImagesResponse part;
    int parts = 0;
    for (; reader->Read(&part); ++parts) {
      for (const v1::Image& each : part.images()) ids->push_back(each.id());
      EXPECT_LT(part.ByteSizeLong(), kPartBytes + 50'000);
    }
    EXPECT_TRUE(reader->Finish().ok());
    return parts;
  };
  std::vector<std::string> ids;
  EXPECT_EQ(stream({}, &ids), 5);
  ASSERT_EQ(ids.size(), many.size());
  EXPECT_EQ(ids.front(), "sha256:0");
  EXPECT_EQ(ids.back(), "sha256:249");

  ON_CALL(images_, Find(_)).WillByDefault(Return(absl::NotFoundError("no")));
  v1::StreamImagesRequest filtered;
  filtered.mutable_filter()->mutable_image()->set_image("x");
  ids.clear();
  EXPECT_EQ(stream(filtered, &ids), 0);
}

TEST_F(ServicesTest, ImageFsInfoSumsWritableLayers) {
  auto layers = std::make_shared<runtime::WritableLayers>();
  layers->directory = "/var/lib/plimsoll/containers";
  layers->unix_nanos = 5;
  layers->total = {.bytes = 4096, .inodes = 2};
  ON_CALL(images_, Usage()).WillByDefault(Return(image::ImageUsage{}));
  EXPECT_CALL(engine_.mock_readings, WritableLayersUsage)
      .WillOnce(Return(std::shared_ptr<const runtime::WritableLayers>(layers)));
  v1::ImageFsInfoResponse response;
  ASSERT_TRUE(Call(image_, &ImageStub::ImageFsInfo, v1::ImageFsInfoRequest(), &response).ok());
  ASSERT_EQ(response.container_filesystems_size(), 1);
  const v1::FilesystemUsage& usage = response.container_filesystems(0);
  EXPECT_EQ(usage.fs_id().mountpoint(), "/var/lib/plimsoll/containers");
  EXPECT_EQ(usage.timestamp(), 5);
  EXPECT_EQ(usage.used_bytes().value(), 4096u);
  EXPECT_EQ(usage.inodes_used().value(), 2u);
}

TEST_F(ServicesTest, ImageFsInfoNamesTheStore) {
  ON_CALL(images_, Usage()).WillByDefault(Return(image::ImageUsage{100, 3}));
  ON_CALL(images_, directory()).WillByDefault(Return("/var/lib/plimsoll/images"));
  v1::ImageFsInfoResponse response;
  ASSERT_TRUE(Call(image_, &ImageStub::ImageFsInfo, v1::ImageFsInfoRequest(), &response).ok());
  ASSERT_EQ(response.image_filesystems_size(), 1);
  EXPECT_EQ(response.image_filesystems(0).used_bytes().value(), 100u);
  EXPECT_EQ(response.image_filesystems(0).inodes_used().value(), 3u);
  EXPECT_EQ(response.image_filesystems(0).fs_id().mountpoint(), "/var/lib/plimsoll/images");
  EXPECT_GT(response.image_filesystems(0).timestamp(), 0);
}

}  // namespace
}  // namespace plimsoll::cri
