// Swap that comes and goes, and its effect on a container. In the virtual machine only: a machine
// with other users keeps its swap.
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/dir_for_test.h"
#include "gmock/gmock.h"
#include "harness/kernel.h"
#include "harness/node.h"
#include "harness/statistics.h"
#include "harness/topology_stream.h"
#include "swap_space.h"
#include "topology_sums.h"

namespace plimsoll::testing {
namespace {

constexpr int64_t kSwapBytes = 64 * kMiB;

class SwapTest : public NodeTest {
 protected:
  // A file without holes.
  void SetUp() override {
    NodeTest::SetUp();
    const std::string content(kSwapBytes, '\0');
    ASSERT_TRUE(directory_.root().ReplaceFile("swap", content, 0600).ok());
    const absl::Status formatted = swap_.Format();
    ASSERT_TRUE(formatted.ok()) << formatted;
  }
  void TearDown() override {
    swap_.Off().IgnoreError();
    NodeTest::TearDown();
  }
  void SwapOn() {
    const absl::Status on = swap_.On();
    ASSERT_TRUE(on.ok()) << on;
  }
  void SwapOff() {
    const absl::Status off = swap_.Off();
    ASSERT_TRUE(off.ok()) << off;
  }

  TestDir directory_;
  SwapSpace swap_{directory_.path() + "/swap"};
};

TEST_F(SwapTest, IsTold) {
  TopologyStream stream(node_);
  cri::ResourceTopology topology;
  ASSERT_TRUE(stream.Next(&topology));
  ASSERT_EQ(Sum(topology, "swap"), 0);
  SwapOn();
  ASSERT_TRUE(stream.Next(&topology)) << stream.Finish().error_message();
  EXPECT_EQ(Sum(topology, "swap"), kSwapBytes - kSwapPageBytes)
      << "without the page that says what it is";
  SwapOff();
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
    SwapOff();
  }
}

TEST_F(SwapTest, AMemoryLimitAloneSwapsNothing) {
  SwapOn();
  const std::string sandbox = RunPod();
  cri::ContainerConfig config = Shell("sleep 1000");
  config.mutable_linux()->mutable_resources()->set_memory_limit_in_bytes(16 * kMiB);
  const std::string id = Start(sandbox, config);
  const std::string group = CgroupOf(sandbox, id);
  EXPECT_EQ(KernelNumber(group, "memory", "memory.swap.max"), 0u);
  // The kernel kills the command rather than swap its memory out.
  EXPECT_EQ(ExecOutput(id, "dd if=/dev/zero of=/dev/null bs=40000000 count=1 2>/dev/null; echo $?"),
            "137\n");
  EXPECT_EQ(KernelNumber(group, "memory", "memory.swap.current"), 0u);
  ASSERT_TRUE(StopContainer(id, 0).ok());
  SwapOff();
}

TEST_F(SwapTest, WhatAContainerHasOfItIsTold) {
  cri::PodSandboxConfig pod = PodConfig();
  (*pod.mutable_annotations())["plimsoll.dev/memory-shrink"] = "best-effort";
  const std::string sandbox = RunPod(pod);
  cri::ContainerConfig config = Shell("sleep 1000");
  cri::LinuxContainerResources limits;
  limits.set_memory_limit_in_bytes(64 * kMiB);
  limits.set_memory_swap_limit_in_bytes(128 * kMiB);
  *config.mutable_linux()->mutable_resources() = limits;
  const std::string id = Start(sandbox, config);
  Statistics told(node_);
  EXPECT_TRUE(told.Of(id).has_swap());
  EXPECT_EQ(told.Of(id).swap().swap_usage_bytes().value(), 0u);
  ExecOutput(id, "head -c 20000000 /dev/zero > /dev/shm/full");
  SwapOn();
  limits.set_memory_limit_in_bytes(8 * kMiB);
  const grpc::Status updated = TryUpdate(id, limits);
  ASSERT_TRUE(updated.ok()) << updated.error_message();
  EXPECT_EQ(ExecOutput(id, "wc -c < /dev/shm/full"), "20000000\n");

  const std::string group = CgroupOf(sandbox, id);
  const uint64_t limit = KernelNumber(group, "memory", "memory.swap.max");
  EXPECT_EQ(limit, 120 * kMiB);
  // The memory limit caps what stays in memory; the rest of the file is swapped.
  constexpr uint64_t kLeast = 20'000'000 - 8 * kMiB;
  // True if the usage didn't change during the call, and the answer matches the kernel.
  const auto agrees = [&](const std::function<uint64_t()>& ask, bool left) {
    const uint64_t used = KernelNumber(group, "memory", "memory.swap.current");
    const uint64_t answer = ask();
    return used == KernelNumber(group, "memory", "memory.swap.current") && used >= kLeast &&
           answer == (left ? limit - used : used);
  };
  const auto expect = [&](const char* what, const std::function<uint64_t()>& ask, bool left) {
    EXPECT_TRUE(Eventually([&] { return agrees(ask, left) || HasFailure(); }, absl::Seconds(30)))
        << what << " is " << ask() << ", and the kernel has swapped "
        << KernelNumber(group, "memory", "memory.swap.current") << " of " << limit;
  };
  const std::vector<std::pair<const char*, std::function<cri::SwapUsage()>>> calls = {
      {"ContainerStats", [&] { return told.Of(id).swap(); }},
      {"ListContainerStats", [&] { return told.Listed(id).swap(); }},
      {"PodSandboxStats", [&] {
         const cri::LinuxPodSandboxStats stats = told.OfPod(sandbox).linux();
         return stats.containers_size() == 1 ? stats.containers(0).swap() : cri::SwapUsage();
       }}};
  for (const auto& [call, ask] : calls) {
    expect(
        call, [&ask = ask] { return ask().swap_usage_bytes().value(); }, false);
    expect(
        call, [&ask = ask] { return ask().swap_available_bytes().value(); }, true);
    EXPECT_GT(ask().timestamp(), 0) << call;
  }
  expect(
      "container_memory_swap", [&] { return told.Metrics(id)["container_memory_swap"]; }, false);
  EXPECT_EQ(told.Metrics(id)["container_spec_memory_swap_limit_bytes"], limit)
      << "of swap alone, without the memory";
  // Reading the file makes it wait for memory.
  const uint64_t before = KernelPressure(group, "memory", "some");
  const uint64_t waited = told.Of(id).memory().psi().some().total();
  EXPECT_GT(waited, 0u);
  EXPECT_GE(waited, before * 1000);
  EXPECT_LE(waited, KernelPressure(group, "memory", "some") * 1000);
  ASSERT_TRUE(StopContainer(id, 0).ok());
  SwapOff();
}

}  // namespace
}  // namespace plimsoll::testing
