// Values that were asked for, beside the values that the kernel holds.
#ifndef PLIMSOLL_CLI_POD_COMMANDS_RESOURCE_REPORT_H_
#define PLIMSOLL_CLI_POD_COMMANDS_RESOURCE_REPORT_H_

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/terminal/api.h"

namespace plimsoll::cli {

// One value of a container.
struct ResourceLine {
  std::string resource;  // "cpu request"
  std::string wanted;    // in the manifest, "100m"; empty: no request
  std::string sent;      // to Linux, "102 shares"
  std::string held;      // by the kernel; "-": not reported
  bool differs = false;
};

// The values in `config`, which was sent, beside those in `held`, ContainerStatus.resources. Only
// values that were asked for.
std::vector<ResourceLine> CompareResources(const cri::ContainerConfig& config,
                                           const cri::ContainerResources& held);

// The values of one LinuxContainerResources as pairs of name and value, for people. Unset and
// unlimited values are left out.
std::vector<std::pair<std::string, std::string>> DescribeResources(
    const cri::LinuxContainerResources& resources);

// The values of a pod as a whole.
struct PodResources {
  cri::LinuxContainerResources asked;
  cri::LinuxContainerResources held;  // by the kernel
};

// nullopt: the response has no such values. It isn't verbose, or comes from an older daemon, or the
// pod has ended.
std::optional<PodResources> PodResourcesOf(const cri::PodSandboxStatusResponse& response);

// Like DescribeResources: "66 MiB", or "64 MiB, asked for 66 MiB". Without the OOM score, which a
// pod has not.
std::vector<std::pair<std::string, std::string>> DescribePodResources(
    const PodResources& resources);

// One value before and after an update.
struct ResourceChange {
  std::string resource;
  std::string before;  // "no limit" where none is set
  std::string now;
};

// All values of either side, in DescribeResources' order.
std::vector<ResourceChange> CompareStates(const cri::LinuxContainerResources& before,
                                          const cri::LinuxContainerResources& after);

// The same for pods, without the OOM score.
std::vector<ResourceChange> ComparePods(const cri::LinuxContainerResources& before,
                                        const cri::LinuxContainerResources& after);

}  // namespace plimsoll::cli

#endif  // PLIMSOLL_CLI_POD_COMMANDS_RESOURCE_REPORT_H_
