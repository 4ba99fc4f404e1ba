// What was asked for beside what the kernel holds.
#ifndef PLIMSOLL_CLI_RESOURCE_REPORT_H_
#define PLIMSOLL_CLI_RESOURCE_REPORT_H_

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/api.h"

namespace plimsoll::cli {

// One value of a container.
struct ResourceLine {
  std::string resource;  // "cpu request"
  std::string wanted;    // as the manifest says it, "100m"; empty: nothing
  std::string sent;      // as Linux is told, "102 shares"
  std::string held;      // as the kernel has it; "-": not reported
  bool differs = false;
};

// `config` as it was sent, `held` as ContainerStatus.resources reported it. Only what was asked
// for.
std::vector<ResourceLine> CompareResources(const cri::ContainerConfig& config,
                                           const cri::ContainerResources& held);

// The values of one LinuxContainerResources as "name", "value" pairs for people; what is unset or
// unlimited is left out.
std::vector<std::pair<std::string, std::string>> DescribeResources(
    const cri::LinuxContainerResources& resources);

// Of a pod as a whole.
struct PodResources {
  cri::LinuxContainerResources asked;
  cri::LinuxContainerResources held;  // by the kernel
};

// Nothing where the answer says nothing of it: not verbose, an older daemon, a pod that has ended.
std::optional<PodResources> PodResourcesOf(const cri::PodSandboxStatusResponse& response);

// "66 MiB", or "64 MiB, asked for 66 MiB": as DescribeResources, without the score, which is
// no pod's.
std::vector<std::pair<std::string, std::string>> DescribePodResources(
    const PodResources& resources);

// A value before and after an update.
struct ResourceChange {
  std::string resource;
  std::string before;  // "no limit" where there is none
  std::string now;
};

// What either has, in DescribeResources' order.
std::vector<ResourceChange> CompareStates(const cri::LinuxContainerResources& before,
                                          const cri::LinuxContainerResources& after);

// The same of pods: without the score.
std::vector<ResourceChange> ComparePods(const cri::LinuxContainerResources& before,
                                        const cri::LinuxContainerResources& after);

}  // namespace plimsoll::cli

#endif  // PLIMSOLL_CLI_RESOURCE_REPORT_H_
