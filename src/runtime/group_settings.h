// A control group's settings in the kernel, raw files included.
#ifndef PLIMSOLL_RUNTIME_GROUP_SETTINGS_H_
#define PLIMSOLL_RUNTIME_GROUP_SETTINGS_H_

#include <map>
#include <string>

#include "absl/status/statusor.h"
#include "linux/cgroup/cgroup.h"

namespace plimsoll::runtime {

// The kernel's text of the raw files of `asked`, which CgroupManager::Read leaves out. A file that
// can't be read or is empty is left out. Empty if limits are in v1: raw files aren't written there.
std::map<std::string, std::string> ReadRawFiles(const linux::CgroupManager& cgroups,
                                                const std::string& group,
                                                const linux::CgroupSettings& asked);

// CgroupManager::Read, with the raw files of `asked`. Errors are those of CgroupManager::Read.
absl::StatusOr<linux::CgroupSettings> ReadGroup(const linux::CgroupManager& cgroups,
                                                const std::string& group,
                                                const linux::CgroupSettings& asked);

}  // namespace plimsoll::runtime

#endif  // PLIMSOLL_RUNTIME_GROUP_SETTINGS_H_
