// A node as kubelet uses it: the client makes the pods' groups.
#ifndef PLIMSOLL_TESTS_KUBELET_KUBELET_TEST_H_
#define PLIMSOLL_TESTS_KUBELET_KUBELET_TEST_H_

#include <algorithm>
#include <string>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "harness/kernel.h"
#include "harness/node.h"
#include "kubelet/requests.h"

namespace plimsoll::testing {

class KubeletTest : public NodeTest {
 protected:
  explicit KubeletTest(const std::string& extra_config = "") : NodeTest(extra_config) {}

  // kubelet's group for a pod, with the limits that kubelet writes itself.
  std::string GroupOf(const std::string& name) {
    return absl::StrCat(node_.cgroup_parent(), "/kubepods/pod5c0e3bd2-", name);
  }
  void WriteGroup(const std::string& name, const kubelet::Resources& resources) {
    linux::CgroupSettings settings;
    settings.cpu_quota_us = !resources.exclusive_cpus.empty() ? -1
                            : resources.cpu_limit_milli == 0  ? -1
                                                              : resources.cpu_limit_milli * 100;
    settings.memory_limit_bytes =
        resources.memory_limit_bytes == 0 ? -1 : resources.memory_limit_bytes;
    const absl::Status written = Cgroups().Apply(GroupOf(name), settings);
    EXPECT_TRUE(written.ok()) << written;
  }
  // RunPodSandbox of a pod with one such container.
  std::string KubeletsPod(const std::string& name, const kubelet::Resources& resources) {
    const auto made = Cgroups().Create(GroupOf(name));
    EXPECT_TRUE(made.ok()) << made.status();
    WriteGroup(name, resources);
    return RunPod(kubelet::PodSandbox(name, GroupOf(name),
                                      absl::StrCat(node_.directory(), "/logs/", name), resources));
  }
  grpc::Status Update(const cri::UpdateContainerResourcesRequest& request) {
    grpc::ClientContext context;
    cri::UpdateContainerResourcesResponse response;
    return node_.runtime().UpdateContainerResources(&context, request, &response);
  }
  grpc::Status Update(const cri::UpdatePodSandboxResourcesRequest& request) {
    grpc::ClientContext context;
    cri::UpdatePodSandboxResourcesResponse response;
    return node_.runtime().UpdatePodSandboxResources(&context, request, &response);
  }
  // The kernel's limits for a container.
  linux::CgroupSettings Held(const std::string& pod_name, const std::string& container) {
    const auto held = Cgroups().Read(absl::StrCat(GroupOf(pod_name), "/", container));
    EXPECT_TRUE(held.ok()) << held.status();
    return held.value_or(linux::CgroupSettings());
  }
  // -997 if the machine allows lowering it; else the daemon's own score, as its Status says.
  int64_t Lowest(int64_t wanted) {
    const auto own = Host().Read("proc/self/oom_score_adj");
    int64_t adj = 0;
    EXPECT_TRUE(own.ok() && absl::SimpleAtoi(*own, &adj));
    return CanLower() ? wanted : std::max(wanted, adj);
  }

 private:
  // CAP_SYS_RESOURCE, bit 24.
  static bool CanLower() {
    const std::string status = Host().Read("proc/self/status").value_or("");
    const size_t at = status.find("CapEff:\t");
    uint64_t capabilities = 0;
    EXPECT_TRUE(at != std::string::npos &&
                absl::SimpleHexAtoi(status.substr(at + 8, 16), &capabilities));
    return (capabilities >> 24 & 1) != 0;
  }
};

}  // namespace plimsoll::testing

#endif  // PLIMSOLL_TESTS_KUBELET_KUBELET_TEST_H_
