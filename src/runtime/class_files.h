// Kernel files that QoS classes set, and what a client's settings say about the same files. Files
// are named as cgroup v2 names them, "oom_score_adj" beside.
#ifndef PLIMSOLL_RUNTIME_CLASS_FILES_H_
#define PLIMSOLL_RUNTIME_CLASS_FILES_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "linux/cgroup/settings.h"
#include "qos/registry.h"

namespace plimsoll::runtime {

// Files that the classes of a pod or container set (qos::Registry::OwnedFiles). Null: there are no
// classes. What is written by it is written under the registry's definitions().
std::vector<std::string> ClassFilesOf(const qos::Registry* classes, const std::string& id);

// Takes out of the settings what would be written to those files: they belong to a class for now.
void LeaveOut(const std::vector<std::string>& files, linux::CgroupSettings* settings);

// What the settings would have in that file, in its own format ("50000 100000" for cpu.max);
// nullopt when they say nothing of it.
std::optional<std::string> AskedValue(const linux::CgroupSettings& settings, int oom_score_adj,
                                      absl::string_view file);

}  // namespace plimsoll::runtime

#endif  // PLIMSOLL_RUNTIME_CLASS_FILES_H_
