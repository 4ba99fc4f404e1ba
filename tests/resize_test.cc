// Containers resized in place: the rows of docs/resize.md, on this machine's kernel.
#include <sys/sysinfo.h>

#include <map>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "harness/kernel.h"
#include "harness/node.h"

namespace plimsoll::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class ResizeTest : public NodeTest {
 protected:
  static cri::LinuxContainerResources Sized(int64_t quota, int64_t memory) {
    cri::LinuxContainerResources resources;
    resources.set_cpu_shares(512);
    resources.set_cpu_period(100000);
    resources.set_cpu_quota(quota);
    resources.set_memory_limit_in_bytes(memory);
    return resources;
  }
  cri::ContainerConfig Sleeper() {
    cri::ContainerConfig config = Shell("sleep 1000");
    *config.mutable_linux()->mutable_resources() = Sized(50000, 64 * kMiB);
    return config;
  }
  // The kernel's values, through the status.
  cri::LinuxContainerResources Held(const std::string& id) {
    return Status(id).resources().linux();
  }
  std::string Text(const std::string& id) { return Held(id).ShortDebugString(); }
  grpc::Status Shrink(const std::string& id, int64_t memory, const std::string& how) {
    cri::UpdateContainerResourcesRequest request;
    request.set_container_id(id);
    *request.mutable_linux() = Sized(70000, memory);
    (*request.mutable_annotations())["plimsoll.dev/memory-shrink"] = how;
    cri::UpdateContainerResourcesResponse response;
    grpc::ClientContext context;
    return node_.runtime().UpdateContainerResources(&context, request, &response);
  }
  grpc::Status UpdatePodsQuota(const std::string& pod, int64_t quota) {
    cri::UpdatePodSandboxResourcesRequest request;
    request.set_pod_sandbox_id(pod);
    request.mutable_resources()->set_cpu_period(100000);
    request.mutable_resources()->set_cpu_quota(quota);
    cri::UpdatePodSandboxResourcesResponse response;
    grpc::ClientContext context;
    return node_.runtime().UpdatePodSandboxResources(&context, request, &response);
  }
  std::vector<plimsoll::v1::Event> Events(const std::string& type) {
    plimsoll::v1::ListEventsRequest request;
    grpc::ClientContext context;
    const auto reader = node_.node().ListEvents(&context, request);
    std::vector<plimsoll::v1::Event> events;
    plimsoll::v1::Event event;
    while (reader->Read(&event)) {
      if (event.type() == type) events.push_back(event);
    }
    EXPECT_TRUE(reader->Finish().ok());
    return events;
  }
  std::vector<plimsoll::v1::Event> Updates(const std::string& id) {
    std::vector<plimsoll::v1::Event> updates = Events("ContainerUpdated");
    std::erase_if(updates, [&](const auto& event) { return event.container_id() != id; });
    return updates;
  }
  // Warnings about a container, or about the pod itself.
  std::vector<std::string> Warnings(const std::string& id) {
    std::vector<std::string> messages;
    for (const plimsoll::v1::Event& event : Events("Warning")) {
      const std::string& of =
          event.container_id().empty() ? event.sandbox_id() : event.container_id();
      if (of == id) messages.push_back(event.message());
    }
    return messages;
  }
};

TEST_F(ResizeTest, ZeroAndAbsentAreUnchanged) {
  const std::string id = Start(RunPod(), Sleeper());
  const std::string before = Text(id);
  cri::LinuxContainerResources update;
  ASSERT_TRUE(TryUpdate(id, update).ok());
  EXPECT_EQ(Text(id), before);
  update.set_cpu_quota(0);
  update.set_cpuset_cpus("");
  ASSERT_TRUE(TryUpdate(id, update).ok());
  EXPECT_EQ(Text(id), before);
}

TEST_F(ResizeTest, MinusOneLiftsALimit) {
  const std::string id = Start(RunPod(), Sleeper());
  const grpc::Status updated = TryUpdate(id, Sized(-1, -1));
  ASSERT_TRUE(updated.ok()) << updated.error_message();
  EXPECT_EQ(Held(id).cpu_quota(), -1);
  EXPECT_EQ(Held(id).memory_limit_in_bytes(), -1);
  EXPECT_EQ(Held(id).cpu_period(), 100000);
  // More than the old limit.
  EXPECT_EQ(ExecOutput(id, "dd if=/dev/zero of=/dev/null bs=80000000 count=1 2>/dev/null"), "");
}

TEST_F(ResizeTest, CreatedAndRunningOnesAreResizedEndedOnesAreNot) {
  const std::string pod = RunPod();
  const std::string id = Create(pod, Sleeper());
  ASSERT_TRUE(TryUpdate(id, Sized(60000, 65 * kMiB)).ok());
  EXPECT_EQ(Held(id).cpu_quota(), 60000);
  ASSERT_TRUE(TryStart(id).ok());
  EXPECT_EQ(Held(id).memory_limit_in_bytes(), 65 * kMiB);
  ASSERT_TRUE(TryUpdate(id, Sized(70000, 66 * kMiB)).ok());
  ASSERT_TRUE(StopContainer(id, 0).ok());
  const grpc::Status refused = TryUpdate(id, Sized(80000, 67 * kMiB));
  EXPECT_EQ(refused.error_code(), grpc::StatusCode::FAILED_PRECONDITION);
  EXPECT_THAT(refused.error_message(), HasSubstr("needs one that is Created or Running"));
  EXPECT_EQ(Held(id).memory_limit_in_bytes(), 66 * kMiB) << "its last values";
}

// Compared with the earlier value, not the requested one: lowering a score takes a right that not
// every machine gives.
TEST_F(ResizeTest, AnEndedOneShowsWhatItHad) {
  cri::ContainerConfig config = Sleeper();
  config.mutable_linux()->mutable_resources()->set_oom_score_adj(-997);
  const std::string pod = RunPod();
  const std::string id = Start(pod, config);
  const std::string before = Text(id);
  ASSERT_TRUE(StopContainer(id, 0).ok());
  EXPECT_EQ(Text(id), before);
  // A container that ends before any reading of its values.
  config.mutable_metadata()->set_name("unseen");
  const std::string unseen = Start(pod, config);
  ASSERT_TRUE(StopContainer(unseen, 0).ok());
  EXPECT_EQ(Text(unseen), before);
}

TEST_F(ResizeTest, MemoryBelowItsUseIsRefusedBeforeAnythingIsWritten) {
  const std::string id = Start(RunPod(), Sleeper());
  // The kernel can't reclaim the page cache of a tmpfs file.
  ExecOutput(id, "head -c 20000000 /dev/zero > /dev/shm/full");
  const std::string before = Text(id);
  const grpc::Status refused = TryUpdate(id, Sized(70000, 8 * kMiB));
  EXPECT_EQ(refused.error_code(), grpc::StatusCode::FAILED_PRECONDITION);
  EXPECT_THAT(refused.error_message(), HasSubstr("memory"));
  EXPECT_EQ(Text(id), before);
  EXPECT_EQ(ExecOutput(id, "wc -c < /dev/shm/full"), "20000000\n") << "it lives";
  ASSERT_TRUE(TryUpdate(id, Sized(70000, 40 * kMiB)).ok());
  EXPECT_EQ(Held(id).memory_limit_in_bytes(), 40 * kMiB);
}

TEST_F(ResizeTest, ShrinkingHasItsWords) {
  const std::string id = Start(RunPod(), Sleeper());
  const std::string before = Text(id);
  EXPECT_EQ(Shrink(id, 8 * kMiB, "please").error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(Text(id), before);
}

TEST_F(ResizeTest, BestEffortTriesAndKillsNothing) {
  struct sysinfo machine = {};
  ASSERT_EQ(sysinfo(&machine), 0);
  if (machine.totalswap != 0) {
    GTEST_SKIP() << "with swap the file goes there, which tests/vm/swap_test.cc is about";
  }
  const std::string id = Start(RunPod(), Sleeper());
  ExecOutput(id, "head -c 20000000 /dev/zero > /dev/shm/full");
  const std::string before = Text(id);
  const grpc::Status refused = Shrink(id, 8 * kMiB, "best-effort");
  EXPECT_EQ(refused.error_code(), grpc::StatusCode::FAILED_PRECONDITION);
  EXPECT_THAT(refused.error_message(), HasSubstr("can be reclaimed"));
  EXPECT_EQ(Text(id), before);
  EXPECT_EQ(ExecOutput(id, "wc -c < /dev/shm/full"), "20000000\n") << "it lives";
}

TEST_F(ResizeTest, TheOomScoreIsChangedOnARunningProcess) {
  const std::string id = Start(RunPod(), Sleeper());
  cri::LinuxContainerResources update;
  update.set_oom_score_adj(900);
  ASSERT_TRUE(TryUpdate(id, update).ok());
  EXPECT_EQ(ExecOutput(id, "cat /proc/1/oom_score_adj"), "900\n");
  EXPECT_EQ(Held(id).oom_score_adj(), 900);
}

TEST_F(ResizeTest, RawFilesAreThoseOfVersionTwo) {
  const std::string pod = RunPod();
  const std::string id = Start(pod, Sleeper());
  const std::string before = Text(id);
  cri::LinuxContainerResources update;
  (*update.mutable_unified())["memory.low"] = "4194304";
  const grpc::Status updated = TryUpdate(id, update);
  if (Cgroups().layout() == linux::CgroupLayout::kV2) {
    ASSERT_TRUE(updated.ok()) << updated.error_message();
    EXPECT_EQ(Cgroups().ReadFile(CgroupOf(pod, id), "", "memory.low").value_or("none"), "4194304");
  } else {
    ASSERT_TRUE(updated.ok()) << "as at a creation: " << updated.error_message();
    EXPECT_EQ(Text(id), before);
    EXPECT_THAT(Warnings(id), ElementsAre(HasSubstr("unified \"memory.low\" is not written")));
  }
  update.mutable_unified()->clear();
  (*update.mutable_unified())["cgroup.freeze"] = "1";
  EXPECT_EQ(TryUpdate(id, update).error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(ExecOutput(id, "echo it runs"), "it runs\n");
}

// The kernel's current value, whichever process wrote it, for files named at the creation or in an
// update; for an ended container the last one. v1 has no such files.
TEST_F(ResizeTest, RawFilesAreReadBack) {
  const std::string pod = RunPod();
  cri::ContainerConfig config = Sleeper();
  (*config.mutable_linux()->mutable_resources()->mutable_unified())["memory.low"] = "4194304";
  const std::string id = Start(pod, config);
  cri::LinuxContainerResources update;
  (*update.mutable_unified())["memory.high"] = "64M";
  ASSERT_TRUE(TryUpdate(id, update).ok());
  const auto shown = [&] {
    const auto unified = Held(id).unified();
    return std::map<std::string, std::string>(unified.begin(), unified.end());
  };
  if (Cgroups().layout() != linux::CgroupLayout::kV2) {
    EXPECT_THAT(shown(), ::testing::IsEmpty());
    return;
  }
  std::map<std::string, std::string> expected = {{"memory.low", "4194304"},
                                                 {"memory.high", "67108864"}};
  EXPECT_EQ(shown(), expected);
  ASSERT_TRUE(Cgroups().WriteFile(CgroupOf(pod, id), "", "memory.low", "8192").ok());
  expected["memory.low"] = "8192";
  EXPECT_EQ(shown(), expected);
  ASSERT_TRUE(StopContainer(id, 0).ok());
  EXPECT_EQ(shown(), expected) << "its last values";
  node_.KillDaemon();
  ASSERT_TRUE(node_.StartDaemon().ok());
  EXPECT_EQ(shown(), expected);
}

// A v1 kernel refuses a quota above the parent's; on v2 the parent's caps it.
TEST_F(ResizeTest, APodsQuotaIsRaisedBeforeItsContainersAndLoweredAfterThem) {
  const bool refuses = Cgroups().layout() != linux::CgroupLayout::kV2;
  const std::string pod = RunPod();
  ASSERT_TRUE(UpdatePodsQuota(pod, 100000).ok());
  const std::string id = Start(pod, Sleeper());
  const std::string before = Text(id);
  const grpc::Status too_early = TryUpdate(id, Sized(150000, 70 * kMiB));
  EXPECT_EQ(too_early.ok(), !refuses) << too_early.error_message();
  if (refuses) {
    EXPECT_EQ(too_early.error_code(), grpc::StatusCode::FAILED_PRECONDITION);
    EXPECT_THAT(
        too_early.error_message(),
        HasSubstr("a CPU limit of 1500m is above the pod's limit, 1: raise the pod's first"));
    EXPECT_EQ(Text(id), before);
  }
  ASSERT_TRUE(UpdatePodsQuota(pod, 200000).ok());
  ASSERT_TRUE(TryUpdate(id, Sized(150000, 70 * kMiB)).ok());
  const grpc::Status too_low = UpdatePodsQuota(pod, 100000);
  EXPECT_EQ(too_low.ok(), !refuses);
  if (refuses) {
    EXPECT_THAT(too_low.error_message(),
                ::testing::AllOf(HasSubstr("a CPU limit of 1 is below that of container"),
                                 HasSubstr(", 1500m: lower the container's first")));
  }
  const std::string group = CgroupOf(pod, id).substr(0, CgroupOf(pod, id).rfind('/'));
  EXPECT_EQ(Cgroups().Read(group)->cpu_quota_us, refuses ? 200000 : 100000);
  ASSERT_TRUE(TryUpdate(id, Sized(50000, 70 * kMiB)).ok());
  EXPECT_TRUE(UpdatePodsQuota(pod, 100000).ok());
  EXPECT_EQ(Cgroups().Read(group)->cpu_quota_us, 100000);
}

TEST_F(ResizeTest, TheSameAgainChangesNothing) {
  const std::string id = Start(RunPod(), Sleeper());
  ASSERT_TRUE(TryUpdate(id, Sized(70000, 70 * kMiB)).ok());
  const std::string once = Text(id);
  ASSERT_TRUE(TryUpdate(id, Sized(70000, 70 * kMiB)).ok());
  EXPECT_EQ(Text(id), once);
}

TEST_F(ResizeTest, OfManyAtOnceOneIsTheLastWhole) {
  const std::string id = Start(RunPod(), Sleeper());
  std::vector<std::thread> clients;
  for (int client = 0; client < 8; ++client) {
    clients.emplace_back([this, &id, client] {
      for (int64_t step = 0; step < 10; ++step) {
        const int64_t size = 64 + client * 10 + step;
        const grpc::Status updated = TryUpdate(id, Sized(size * 1000, size * kMiB));
        EXPECT_TRUE(updated.ok()) << updated.error_message();
      }
    });
  }
  for (std::thread& client : clients) client.join();
  const cri::LinuxContainerResources held = Held(id);
  EXPECT_EQ(held.cpu_quota() / 1000, held.memory_limit_in_bytes() / kMiB);
  EXPECT_EQ(Updates(id).size(), 80u);
}

// Follows containerd and CRI-O. The kernel's own default is all of the machine's swap.
TEST_F(ResizeTest, MemoryLimitsOfClientsThatNameNoSwapForbidIt) {
  const std::string pod = RunPod();
  const auto swap = [&](const std::string& id) {
    const linux::CgroupSettings held = *Cgroups().Read(CgroupOf(pod, id));
    return held.memory_swap_limit_bytes.value_or(0) - *held.memory_limit_bytes;
  };
  const std::string limited = Start(pod, Sleeper());
  const std::string free = Start(pod, Shell("sleep 1000"));
  cri::ContainerConfig config = Sleeper();
  config.mutable_linux()->mutable_resources()->set_memory_swap_limit_in_bytes(96 * kMiB);
  const std::string chosen = Start(pod, config);
  if (!Cgroups().Read(CgroupOf(pod, free))->memory_swap_limit_bytes) {
    GTEST_SKIP() << "the kernel does not account swap";
  }
  EXPECT_EQ(swap(limited), 0);
  EXPECT_EQ(swap(free), 0) << "no limit of either";
  EXPECT_EQ(swap(chosen), 32 * kMiB);
  for (const int64_t size : {96, 48, -1, 80}) {
    const int64_t bytes = size < 0 ? -1 : size * kMiB;
    for (const std::string& id : {limited, free}) {
      const grpc::Status updated = TryUpdate(id, Sized(50000, bytes));
      ASSERT_TRUE(updated.ok()) << updated.error_message();
    }
    if (bytes < 0) continue;
    EXPECT_EQ(swap(limited), 0) << size;
    EXPECT_EQ(swap(free), 0) << size;
  }
  node_.KillDaemon();
  ASSERT_TRUE(node_.StartDaemon().ok());
  EXPECT_EQ(Held(limited).memory_swap_limit_in_bytes(), 80 * kMiB) << "the record says the same";
  EXPECT_EQ(swap(limited), 0);
}

// A kill between the row and the kernel's files. tests/kill does it at random instants.
TEST_F(ResizeTest, UpdatesThatAreLegalOneAfterTheOtherAreFinishedAtOnce) {
  const std::string pod = RunPod();
  cri::ContainerConfig config = Sleeper();
  config.mutable_linux()->mutable_resources()->set_memory_swap_limit_in_bytes(64 * kMiB);
  const std::string id = Start(pod, config);
  cri::LinuxContainerResources update;
  (*update.mutable_unified())["cpu.max"] = "30000 60000";
  ASSERT_TRUE(TryUpdate(id, update).ok());
  const std::string group = CgroupOf(pod, id);
  const linux::CgroupSettings before = *Cgroups().Read(group);
  update.clear_unified();
  update.set_cpu_quota(20000);
  update.set_memory_limit_in_bytes(128 * kMiB);
  ASSERT_TRUE(TryUpdate(id, update).ok());
  const linux::CgroupSettings after = *Cgroups().Read(group);
  EXPECT_EQ(after.cpu_quota_us, 20000);
  EXPECT_EQ(after.memory_limit_bytes, 128 * kMiB);
  for (const bool is_written : {false, true}) {
    node_.KillDaemon();
    const std::string mark = node_.run_directory() + "/updates/" + id;
    ASSERT_TRUE(Host().ReplaceFile(mark, "", 0600).ok());
    if (!is_written) {
      ASSERT_TRUE(Cgroups().Apply(group, before).ok());
    }
    ASSERT_TRUE(node_.StartDaemon().ok());
    EXPECT_EQ(*Cgroups().Read(group), after);
    EXPECT_FALSE(Host().Exists(mark));
  }
  plimsoll::v1::InspectResponse response;
  grpc::ClientContext context;
  ASSERT_TRUE(node_.node().Inspect(&context, {}, &response).ok());
  EXPECT_THAT(response.troubles(), ::testing::IsEmpty());
}

TEST_F(ResizeTest, WhatWasAcknowledgedOutlivesTheDaemon) {
  const std::string id = Start(RunPod(), Sleeper());
  for (const int64_t size : {70, 80, 90}) {
    ASSERT_TRUE(TryUpdate(id, Sized(size * 1000, size * kMiB)).ok());
    node_.KillDaemon();
    ASSERT_TRUE(node_.StartDaemon().ok());
    EXPECT_EQ(Held(id).cpu_quota(), size * 1000);
    EXPECT_EQ(Held(id).memory_limit_in_bytes(), size * kMiB);
  }
}

}  // namespace
}  // namespace plimsoll::testing
