// A control group's settings in the kernel, raw files included.
#ifndef PLIMSOLL_RUNTIME_CGROUPS_GROUP_SETTINGS_H_
#define PLIMSOLL_RUNTIME_CGROUPS_GROUP_SETTINGS_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "linux/cgroup/cgroup.h"
#include "runtime/oci/container_runtime.h"

namespace plimsoll::runtime {

// The kernel's text of the raw files of `asked`, which CgroupManager::Read leaves out. A file that
// can't be read or is empty is left out. Empty if limits are in v1: raw files aren't written there.
std::map<std::string, std::string> ReadRawFiles(const linux::CgroupManager& cgroups,
                                                const std::string& group,
                                                const linux::CgroupSettings& asked);

// `settings` for CgroupManager::Apply: on v2 their shares become the weight that `runtime` makes of
// them. `id` is the container's; empty: the default OCI runtime, as for a pod's group or a
// container that it makes.
linux::CgroupSettings WithWeight(const linux::CgroupManager& cgroups,
                                 const ContainerRuntime& runtime, absl::string_view id,
                                 linux::CgroupSettings settings);

// The shares to report for those that CgroupManager::Read gave on v2: `asked`, if the weight is
// that of them by either formula (the group may be older than the OCI runtime's present version),
// else the least shares of the weight by the present formula.
uint64_t ReportedShares(const ContainerRuntime& runtime, absl::string_view id,
                        std::optional<uint64_t> asked, uint64_t read);

// CgroupManager::Read, with the raw files of `asked`. Errors are those of CgroupManager::Read.
absl::StatusOr<linux::CgroupSettings> ReadGroup(const linux::CgroupManager& cgroups,
                                                const std::string& group,
                                                const linux::CgroupSettings& asked);

}  // namespace plimsoll::runtime

#endif  // PLIMSOLL_RUNTIME_CGROUPS_GROUP_SETTINGS_H_
