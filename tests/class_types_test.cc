// QoS classes of the configuration's own types: oom for processes, cgroup for files.
#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "classes_fixture.h"

namespace plimsoll::testing {
namespace {

TEST_F(ClassesTest, AnOomClassIsOfEveryProcess) {
  const std::string pod = RunPod();
  cri::ContainerConfig config = Shell("sleep 1000 & sleep 1001 & wait");
  (*config.mutable_class_resources()->mutable_classes())["oom"] = "soon";
  const std::string id = Start(pod, config);
  const auto scores = [&] {
    return ExecOutput(id, "cat /proc/[0-9]*/oom_score_adj | sort -u | tr '\\n' ' '");
  };
  EXPECT_EQ(scores(), "300 ");
  cri::UpdateContainerResourcesRequest request;
  request.set_container_id(id);
  (*request.mutable_class_resources()->mutable_classes())["oom"] = "first";
  request.mutable_linux()->set_oom_score_adj(5);  // the client's value, which returns with the
                                                  // class's end
  cri::UpdateContainerResourcesResponse response;
  grpc::ClientContext context;
  ASSERT_TRUE(node_.runtime().UpdateContainerResources(&context, request, &response).ok());
  EXPECT_EQ(scores(), "800 ");
}

// Commands enter all the time while the class changes; so do the processes that they leave running.
TEST_F(ClassesTest, NoCommandThatEntersDuringAChangeStaysInTheOldClass) {
  const std::string pod = RunPod();
  cri::ContainerConfig config = Shell("sleep 1000");
  (*config.mutable_class_resources()->mutable_classes())["oom"] = "soon";
  const std::string id = Start(pod, config);
  const auto assign = [&](const char* name) {
    cri::UpdateContainerResourcesRequest request;
    request.set_container_id(id);
    (*request.mutable_class_resources()->mutable_classes())["oom"] = name;
    cri::UpdateContainerResourcesResponse response;
    grpc::ClientContext context;
    return node_.runtime().UpdateContainerResources(&context, request, &response);
  };
  std::atomic<bool> done = false;
  std::thread entering([&] {
    for (int i = 0; i < 60 && !done; ++i) ExecOutput(id, "sleep 1001 > /dev/null 2>&1 &");
  });
  const absl::Time end = absl::Now() + absl::Seconds(8);  // a busy machine makes fewer changes
  bool is_first = false;
  for (int i = 0; i < 100 && absl::Now() < end; ++i) {
    is_first = !is_first;
    const grpc::Status changed = assign(is_first ? "first" : "soon");
    ASSERT_TRUE(changed.ok()) << changed.error_message();
  }
  done = true;
  entering.join();
  const std::vector<pid_t> processes = *Cgroups().Processes(CgroupOf(pod, id), /*recursive=*/true);
  EXPECT_GE(processes.size(), 2u);
  for (const pid_t process : processes) {
    EXPECT_EQ(*Host().Read(absl::StrCat("proc/", process, "/oom_score_adj")),
              is_first ? "800\n" : "300\n")
        << process << " of " << processes.size();
  }
}

// A class defined by configuration alone, and a client's own value for one of its files.
TEST_F(ClassesTest, AFileThatAClassSetsIsTheClasss) {
  if (!IsV2()) GTEST_SKIP() << "types that name cgroup v2's files need cgroup v2";
  const std::string pod = RunPod();
  cri::ContainerConfig config = Shell("sleep 1000");
  (*config.mutable_class_resources()->mutable_classes())["tier"] = "low";
  const std::string id = Start(pod, config);
  const std::string group = CgroupOf(pod, id);
  EXPECT_EQ(*Cgroups().ReadFile(group, "cpu", "cpu.weight"), "10");
  EXPECT_EQ(*Cgroups().ReadFile(group, "memory", "memory.high"), absl::StrCat(64 * kMiB));
  cri::LinuxContainerResources linux;
  linux.set_cpu_shares(1024);
  ASSERT_TRUE(TryUpdate(id, linux).ok());
  EXPECT_EQ(*Cgroups().ReadFile(group, "cpu", "cpu.weight"), "10");
  // A request with a refused class changes nothing, raw files included.
  cri::UpdateContainerResourcesRequest refused;
  refused.set_container_id(id);
  (*refused.mutable_class_resources()->mutable_classes())["tier"] = "none";
  (*refused.mutable_linux()->mutable_unified())["memory.low"] = "4096";
  cri::UpdateContainerResourcesResponse no_response;
  grpc::ClientContext refused_context;
  EXPECT_EQ(node_.runtime()
                .UpdateContainerResources(&refused_context, refused, &no_response)
                .error_code(),
            grpc::StatusCode::NOT_FOUND);
  EXPECT_EQ(*Cgroups().ReadFile(group, "memory", "memory.low"), "0");
  cri::UpdateContainerResourcesRequest request;
  request.set_container_id(id);
  (*request.mutable_class_resources()->mutable_classes())["tier"] = "normal";
  cri::UpdateContainerResourcesResponse response;
  grpc::ClientContext context;
  ASSERT_TRUE(node_.runtime().UpdateContainerResources(&context, request, &response).ok());
  const uint64_t shares = Cgroups().Read(group)->cpu_shares.value_or(0);
  EXPECT_TRUE(HoldsShares(shares, 1024)) << shares;
  EXPECT_EQ(*Cgroups().ReadFile(group, "memory", "memory.high"), "max");
}

}  // namespace
}  // namespace plimsoll::testing
