// Kernel files that QoS classes set, and the values that a client's settings have for them. Files
// have their cgroup v2 names; "oom_score_adj" is one more.
#ifndef PLIMSOLL_RUNTIME_CGROUPS_CLASS_FILES_H_
#define PLIMSOLL_RUNTIME_CGROUPS_CLASS_FILES_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "linux/cgroup/settings.h"
#include "qos/registry.h"

namespace plimsoll::runtime {

// The files that the classes of the pod or container `id` set (qos::Registry::OwnedFiles). Null
// `classes`: there are no classes. A caller that writes settings by the result holds the registry's
// definitions().
std::vector<std::string> ClassFilesOf(const qos::Registry* classes, const std::string& id);

// Removes from `settings` the values of `files`: a class sets them for now.
void LeaveOut(const std::vector<std::string>& files, linux::CgroupSettings* settings);

// The text that `settings` and `oom_score_adj` give `file`, in the file's own format ("50000
// 100000" for cpu.max). nullopt: they don't set it.
std::optional<std::string> AskedValue(const linux::CgroupSettings& settings, int oom_score_adj,
                                      absl::string_view file);

}  // namespace plimsoll::runtime

#endif  // PLIMSOLL_RUNTIME_CGROUPS_CLASS_FILES_H_
