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

namespace plimsoll::linux {

// Parts of a label that somebody asks for; empty: as the policy has it.
struct SelinuxOptions {
  std::string user;
  std::string role;
  std::string type;
  std::string level;
  bool empty() const { return *this == SelinuxOptions(); }
  bool operator==(const SelinuxOptions&) const = default;
};

// What the policy gives containers where nobody asks for anything else.
struct SelinuxLabels {
  std::string process;
  std::string file;
  bool operator==(const SelinuxLabels&) const = default;
};

// Whether the kernel has it and a policy is configured, as libselinux tells it. `root` holds sys/
// and etc/.
bool HasSelinux(const FsRoot& root);

// From contexts/lxc_contexts of the policy that etc/selinux/config names (lxc_contexts(5)).
// FAILED_PRECONDITION where the policy has none, or none that is a label.
absl::StatusOr<SelinuxLabels> ReadSelinuxLabels(const FsRoot& root);

// `labels` with the parts that are asked for, of which files have user and level. A level is left
// out where a label has none: then the policy has no levels. INVALID_ARGUMENT where a part can't be
// one of a label; `field` is for the message.
absl::StatusOr<SelinuxLabels> LabelsWith(absl::string_view field, const SelinuxLabels& labels,
                                         const SelinuxOptions& options);

// Whether a label has a level, and so each pod may have one of its own.
bool HasLevel(absl::string_view label);
// One of 523,776, by chance: the sensitivity of `label` with two categories.
std::string RandomLevel(absl::string_view label);

// Gives a file or directory this label. The last component is not followed.
absl::Status SetFileLabel(const FsRoot& root, absl::string_view path, const std::string& label);
// As SetFileLabel, and all that is below a directory, mounts included; what vanishes meanwhile or
// is on a file system without labels is passed over. INVALID_ARGUMENT for directories that the
// system itself lives in: with their labels changed, it does not.
absl::Status Relabel(const FsRoot& root, const std::string& path, const std::string& label);

}  // namespace plimsoll::linux

#endif  // PLIMSOLL_LINUX_SELINUX_H_
