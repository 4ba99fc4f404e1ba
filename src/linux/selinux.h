// SELinux labels: "user:role:type", and with a policy that has levels ":level" behind it
// (selinux(8), selabel_file(5)). The level of a container, "s0:c1,c2", keeps it from others' files.
#ifndef PLIMSOLL_LINUX_SELINUX_H_
#define PLIMSOLL_LINUX_SELINUX_H_

#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/fs_root.h"
#include "base/unique_fd.h"

namespace plimsoll::linux {

// The parts of a label that a pod asks for; empty: the policy's.
struct SelinuxOptions {
  std::string user;
  std::string role;
  std::string type;
  std::string level;
  bool empty() const { return *this == SelinuxOptions(); }
  bool operator==(const SelinuxOptions&) const = default;
};

// The policy's default labels of containers.
struct SelinuxLabels {
  std::string process;
  std::string file;
  bool operator==(const SelinuxLabels&) const = default;
};

// True when the kernel has SELinux and a policy is configured, as libselinux decides it. `root`
// holds sys/ and etc/.
bool HasSelinux(const FsRoot& root);

// Reads contexts/lxc_contexts of the policy that etc/selinux/config names (lxc_contexts(5)).
// FAILED_PRECONDITION where the policy has no such file, or the file no valid labels.
absl::StatusOr<SelinuxLabels> ReadSelinuxLabels(const FsRoot& root);

// `labels` with the requested parts; the file label takes only user and level. A label without a
// level keeps none: its policy has no levels. INVALID_ARGUMENT, naming `field`, for an invalid
// part.
absl::StatusOr<SelinuxLabels> LabelsWith(absl::string_view field, const SelinuxLabels& labels,
                                         const SelinuxOptions& options);

// True when a label has a level, so that each pod may have its own.
bool HasLevel(absl::string_view label);
// A random level, one of 523,776: the sensitivity of `label` with two categories.
std::string RandomLevel(absl::string_view label);

// Gives a file or directory this label. The last component is not followed.
absl::Status SetFileLabel(const FsRoot& root, absl::string_view path, const std::string& label);
// Labels an open file (O_PATH) and everything below it, mounts included. The file's name isn't
// looked up again. Passes over files that vanish meanwhile or are on a file system without labels.
// INVALID_ARGUMENT if `path`, the file's own, is a directory of the system itself, which needs its
// labels as they are.
absl::Status Relabel(const UniqueFd& file, const std::string& path, const std::string& label);

}  // namespace plimsoll::linux

#endif  // PLIMSOLL_LINUX_SELINUX_H_
