// The image service as clients see it.
#include "absl/strings/str_cat.h"
#include "harness/busybox_image.h"
#include "harness/kernel.h"
#include "harness/node.h"

namespace plimsoll::testing {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class ImagesTest : public NodeTest {
 protected:
  std::vector<cri::Image> List() {
    grpc::ClientContext context;
    cri::ListImagesResponse response;
    EXPECT_TRUE(node_.images().ListImages(&context, {}, &response).ok());
    return {response.images().begin(), response.images().end()};
  }
  cri::ImageStatusResponse ImageStatus(const std::string& reference) {
    grpc::ClientContext context;
    cri::ImageStatusRequest request;
    request.mutable_image()->set_image(reference);
    cri::ImageStatusResponse response;
    EXPECT_TRUE(node_.images().ImageStatus(&context, request, &response).ok());
    return response;
  }
  grpc::Status Remove(const std::string& reference) {
    grpc::ClientContext context;
    cri::RemoveImageRequest request;
    request.mutable_image()->set_image(reference);
    cri::RemoveImageResponse response;
    return node_.images().RemoveImage(&context, request, &response);
  }
};

TEST_F(ImagesTest, AnImportedImageIsListedUnderItsFullName) {
  const std::vector<cri::Image> images = List();
  ASSERT_EQ(images.size(), 1u);
  EXPECT_THAT(images[0].repo_tags(), Contains("docker.io/library/busybox:latest"));
  EXPECT_GT(images[0].size(), 100000u);
  EXPECT_EQ(ImageStatus("busybox").image().id(), images[0].id());
  EXPECT_EQ(ImageStatus(images[0].id()).image().id(), images[0].id());
}

TEST_F(ImagesTest, AnAbsentImageIsNoErrorButEmpty) {
  EXPECT_FALSE(ImageStatus("nothing.test/here:1").has_image());
}

TEST_F(ImagesTest, RemovalLeavesRunningContainersAlone) {
  const std::string id = Start(RunPod(), Shell("sleep 1000"));
  ASSERT_TRUE(Remove("busybox").ok());
  EXPECT_THAT(List(), IsEmpty());
  EXPECT_EQ(ExecOutput(id, "ls /bin/busybox"), "/bin/busybox\n");
  for (int restarts = 0; restarts < 2; ++restarts) {
    const auto exit = node_.StopDaemon();
    ASSERT_TRUE(exit.ok() && exit->success()) << node_.Log();
    const absl::Status started = node_.StartDaemon();
    ASSERT_TRUE(started.ok()) << started;
    EXPECT_EQ(ExecOutput(id, "ls /bin/busybox"), "/bin/busybox\n") << "after a restart";
  }
  ASSERT_TRUE(RemoveContainer(id).ok());
  EXPECT_TRUE(Eventually([&] {
    return Host().List(node_.state_directory() + "/images/layers")->empty();
  })) << "the layers go with the last container";
}

TEST_F(ImagesTest, RemovalMayBeAskedAgain) {
  EXPECT_TRUE(Remove("busybox").ok());
  EXPECT_TRUE(Remove("busybox").ok());
}

TEST_F(ImagesTest, OneImageMayHaveTwoNames) {
  ASSERT_TRUE(Import(node_.directory() + "/busybox", "second:1").ok());
  EXPECT_EQ(ImageStatus("busybox").image().id(), ImageStatus("second:1").image().id());
  ASSERT_TRUE(Remove("busybox").ok());
  EXPECT_TRUE(ImageStatus("second:1").has_image());
}

TEST_F(ImagesTest, ImportOfNothingIsAClearError) {
  const grpc::Status status = Import(node_.directory() + "/no-such-file", "x");
  EXPECT_EQ(status.error_code(), grpc::StatusCode::NOT_FOUND);
  EXPECT_THAT(status.error_message(), HasSubstr("no-such-file"));
}

TEST_F(ImagesTest, FileSystemUsageIsReported) {
  grpc::ClientContext context;
  cri::ImageFsInfoResponse response;
  ASSERT_TRUE(node_.images().ImageFsInfo(&context, {}, &response).ok());
  ASSERT_EQ(response.image_filesystems_size(), 1);
  EXPECT_GT(response.image_filesystems(0).used_bytes().value(), 100000u);
  EXPECT_GT(response.image_filesystems(0).inodes_used().value(), 40u);
}

}  // namespace
}  // namespace plimsoll::testing
