// The image service from its clients' view.
#include <sys/stat.h>
#include <unistd.h>

#include "absl/strings/str_cat.h"
#include "harness/busybox_image.h"
#include "harness/kernel.h"
#include "harness/node.h"

namespace plimsoll::testing {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class ImagesTest : public NodeTest {
 protected:
  explicit ImagesTest(const std::string& configuration = "") : NodeTest(configuration) {}
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

TEST_F(ImagesTest, AllCallsTellTheSameOfAnImage) {
  ASSERT_TRUE(Import(node_.directory() + "/busybox", "second.test/busybox:1").ok());
  const std::string pod = RunPod();
  const std::string id = Start(pod, Shell("sleep 1000"));
  const std::vector<cri::Image> listed = List();
  ASSERT_EQ(listed.size(), 1u);
  EXPECT_THAT(listed[0].repo_tags(),
              ElementsAre("docker.io/library/busybox:latest", "second.test/busybox:1"));
  for (const std::string& reference :
       {std::string("busybox"), std::string("second.test/busybox:1"), listed[0].id(),
        listed[0].id().substr(7), listed[0].id().substr(7, 12)}) {
    EXPECT_EQ(ImageStatus(reference).image().SerializeAsString(), listed[0].SerializeAsString())
        << reference;
  }
  const cri::ContainerStatus status = Status(id);
  EXPECT_EQ(status.image_id(), listed[0].id());
  EXPECT_EQ(status.image_ref(), listed[0].id()) << "it has no digest in any registry";
  grpc::ClientContext context;
  cri::ListContainersResponse containers;
  ASSERT_TRUE(node_.runtime().ListContainers(&context, {}, &containers).ok());
  ASSERT_EQ(containers.containers_size(), 1);
  EXPECT_EQ(containers.containers(0).image_id(), status.image_id());
  EXPECT_EQ(containers.containers(0).image_ref(), status.image_ref());
  EXPECT_EQ(containers.containers(0).image().SerializeAsString(),
            status.image().SerializeAsString());

  grpc::ClientContext streaming;
  const auto reader = node_.images().StreamImages(&streaming, {});
  cri::StreamImagesResponse part;
  ASSERT_TRUE(reader->Read(&part));
  ASSERT_EQ(part.images_size(), 1);
  EXPECT_EQ(part.images(0).SerializeAsString(), listed[0].SerializeAsString());
  EXPECT_FALSE(reader->Read(&part));
  EXPECT_TRUE(reader->Finish().ok());
}

TEST_F(ImagesTest, VerboseStatusTellsTheConfiguration) {
  grpc::ClientContext context;
  cri::ImageStatusRequest request;
  request.mutable_image()->set_image("busybox");
  request.set_verbose(true);
  cri::ImageStatusResponse response;
  ASSERT_TRUE(node_.images().ImageStatus(&context, request, &response).ok());
  EXPECT_THAT(response.info().at("info"),
              AllOf(HasSubstr("\"chainIDs\":[\"sha256:"), HasSubstr("\"architecture\":\"")));
  EXPECT_THAT(ImageStatus("busybox").info(), IsEmpty());
}

TEST_F(ImagesTest, WritableLayersAreMeasured) {
  const std::string id =
      Start(RunPod(), Shell("dd if=/dev/zero of=/big bs=1M count=8; sleep 1000"));
  // The reported usage may be some seconds old.
  EXPECT_TRUE(Eventually([&] {
    grpc::ClientContext context;
    cri::ImageFsInfoResponse response;
    if (!node_.images().ImageFsInfo(&context, {}, &response).ok()) return false;
    if (response.container_filesystems_size() != 1) return false;
    const cri::FilesystemUsage& usage = response.container_filesystems(0);
    return usage.used_bytes().value() >= 8u << 20 && usage.inodes_used().value() >= 2 &&
           usage.fs_id().mountpoint() == node_.state_directory() + "/images";
  }));
  grpc::ClientContext context;
  cri::ContainerStatsRequest request;
  request.set_container_id(id);
  cri::ContainerStatsResponse stats;
  ASSERT_TRUE(node_.runtime().ContainerStats(&context, request, &stats).ok());
  EXPECT_GE(stats.stats().writable_layer().used_bytes().value(), 8u << 20);
}

class PinnedImagesTest : public ImagesTest {
 protected:
  PinnedImagesTest() : ImagesTest("images: {pinned: [busybox]}\n") {}
};

TEST_F(PinnedImagesTest, AreMarkedAsLongAsTheyHaveTheName) {
  ASSERT_TRUE(Import(node_.directory() + "/busybox", "other.test/name:1").ok());
  EXPECT_TRUE(List()[0].pinned());
  EXPECT_TRUE(ImageStatus("other.test/name:1").image().pinned()) << "it is the same image";
  ASSERT_TRUE(Remove("busybox").ok()) << "who asks for it may remove it";
  EXPECT_FALSE(ImageStatus("other.test/name:1").image().pinned());
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
  // kubelet takes two mount points for a split file system.
  ASSERT_EQ(response.container_filesystems_size(), 1);
  EXPECT_EQ(response.container_filesystems(0).fs_id().mountpoint(),
            response.image_filesystems(0).fs_id().mountpoint());
}

TEST_F(ImagesTest, AContainersRootDirectoryIsTheImages) {
  const auto rootfs = FsRoot::OpenOrCreate(absl::StrCat(node_.directory(), "/private"), 0755);
  ASSERT_TRUE(rootfs.ok()) << rootfs.status();
  ASSERT_TRUE(MakeBusyboxRootfs(*rootfs).ok());
  ASSERT_EQ(chown(rootfs->path().c_str(), 1000, 2000), 0);
  ASSERT_EQ(chmod(rootfs->path().c_str(), 01750), 0);
  ASSERT_TRUE(Import(rootfs->path(), "private").ok());
  cri::ContainerConfig config = Shell("stat -c '%a %u:%g' /");
  config.mutable_image()->set_image("private");
  const std::string id = Start(RunPod(), config);
  AwaitExit(id);
  EXPECT_EQ(Output(id), "1750 1000:2000\n");
}

}  // namespace
}  // namespace plimsoll::testing
