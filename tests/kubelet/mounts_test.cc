// Mounts of a pod that has an image volume.
#include "gmock/gmock.h"
#include "kubelet/kubelet_test.h"

namespace plimsoll::testing {
namespace {

using KubeletMountsTest = KubeletTest;

// host_path already ends in the subPath; image_sub_path repeats it, though there is no image.
TEST_F(KubeletMountsTest, ASubPathOfAVolumeThatIsNoImageIsTheHostPaths) {
  const std::string volume = absl::StrCat(node_.directory(), "/volume/conf.d");
  ASSERT_TRUE(Host().MakeDirs(volume, 0755).ok());
  ASSERT_TRUE(Host().ReplaceFile(volume + "/name", "of the volume\n").ok());
  const std::string pod = KubeletsPod("web", kubelet::BestEffort());
  cri::ContainerConfig config = kubelet::Container("main", 0, "sleep 1000", kubelet::BestEffort());
  *config.add_mounts() = kubelet::SubPathMount(volume, "/etc/web", "conf.d");
  cri::Mount* image = config.add_mounts();
  image->set_container_path("/image");
  image->mutable_image()->set_image("busybox");
  image->set_image_sub_path("bin");
  image->set_readonly(true);
  std::string id;
  const grpc::Status created = TryCreate(pod, config, &id);
  ASSERT_TRUE(created.ok()) << created.error_message();
  ASSERT_TRUE(TryStart(id).ok());
  EXPECT_EQ(ExecOutput(id, "cat /etc/web/name; test -e /image/sh && echo image"),
            "of the volume\nimage\n");
}

}  // namespace
}  // namespace plimsoll::testing
