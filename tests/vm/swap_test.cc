// Swap that comes and goes, and what a container gets by it. In the virtual machine only: a machine
// that others use keeps its swap as it is.
#include <sys/stat.h>
#include <sys/swap.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <string>

#include "absl/strings/str_cat.h"
#include "base/test_dir.h"
#include "gmock/gmock.h"
#include "harness/kernel.h"
#include "harness/node.h"
#include "harness/topology_stream.h"
#include "topology_sums.h"

namespace plimsoll::testing {
namespace {

constexpr int64_t kMiB = 1 << 20;
constexpr size_t kPageBytes = 4096;
constexpr size_t kSwapBytes = 64 * kMiB;

class SwapTest : public NodeTest {
 protected:
  // A file of zeros that mkswap has been at.
  void SetUp() override {
    NodeTest::SetUp();
    std::string content(kSwapBytes, '\0');
    const uint32_t version_and_last_page[] = {1, kSwapBytes / kPageBytes - 1};
    std::memcpy(content.data() + 1024, version_and_last_page, sizeof(version_and_last_page));
    std::memcpy(content.data() + kPageBytes - 10, "SWAPSPACE2", 10);
    ASSERT_TRUE(directory_.root().ReplaceFile("swap", content, 0600).ok());
  }
  void TearDown() override {
    swapoff(file_.c_str());
    NodeTest::TearDown();
  }
  void SwapOn() { ASSERT_EQ(swapon(file_.c_str(), 0), 0) << strerror(errno); }

  TestDir directory_;
  const std::string file_ = directory_.path() + "/swap";
};

TEST_F(SwapTest, IsTold) {
  TopologyStream stream(node_);
  cri::ResourceTopology topology;
  ASSERT_TRUE(stream.Next(&topology));
  ASSERT_EQ(Sum(topology, "swap"), 0);
  SwapOn();
  ASSERT_TRUE(stream.Next(&topology)) << stream.Finish().error_message();
  EXPECT_EQ(Sum(topology, "swap"), kSwapBytes - kPageBytes)
      << "without the page that says what it is";
  ASSERT_EQ(swapoff(file_.c_str()), 0) << strerror(errno);
  ASSERT_TRUE(stream.Next(&topology)) << stream.Finish().error_message();
  EXPECT_EQ(Sum(topology, "swap"), 0);
}

TEST_F(SwapTest, MakesRoomForAMemoryLimitBelowWhatIsUsed) {
  cri::PodSandboxConfig pod = PodConfig();
  (*pod.mutable_annotations())["plimsoll.dev/memory-shrink"] = "best-effort";
  const std::string asking = RunPod(pod);
  for (const std::string& sandbox : {RunPod(), asking}) {
    cri::ContainerConfig config = Shell("sleep 1000");
    cri::LinuxContainerResources limits;
    limits.set_memory_limit_in_bytes(64 * kMiB);
    limits.set_memory_swap_limit_in_bytes(128 * kMiB);
    *config.mutable_linux()->mutable_resources() = limits;
    const std::string id = Start(sandbox, config);
    ExecOutput(id, "head -c 20000000 /dev/zero > /dev/shm/full");
    SwapOn();
    limits.set_memory_limit_in_bytes(8 * kMiB);
    const bool asked = sandbox == asking;
    EXPECT_EQ(TryUpdate(id, limits).ok(), asked);
    EXPECT_EQ(Status(id).resources().linux().memory_limit_in_bytes(), asked ? 8 * kMiB : 64 * kMiB);
    EXPECT_EQ(ExecOutput(id, "wc -c < /dev/shm/full"), "20000000\n") << "it lives";
    ASSERT_TRUE(StopContainer(id, 0).ok());
    ASSERT_EQ(swapoff(file_.c_str()), 0) << strerror(errno);
  }
}

}  // namespace
}  // namespace plimsoll::testing
