// The user that a container's process runs as: resolves an image's or pod's user to numbers with
// the image's own /etc/passwd and /etc/group.
#ifndef PLIMSOLL_IMAGE_USER_LOOKUP_H_
#define PLIMSOLL_IMAGE_USER_LOOKUP_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/fs_root.h"

namespace plimsoll::image {

struct ResolvedUser {
  uint32_t uid = 0;
  uint32_t gid = 0;
  std::vector<uint32_t> additional_gids;  // sorted, without duplicates, without `gid`
  std::string home = "/";

  bool operator==(const ResolvedUser&) const = default;
};

// `spec` is "", "1000", "name", "1000:1000", "name:group" (OCI image spec, config.md, "User"):
//   ""        root, uid 0
//   a number  that uid; group, groups and home from passwd if it has the uid, else gid 0 and "/"
//   a name    must be in `passwd_text`
//   a group   replaces the user's own, and the user then has no additional groups; "1000:" has none
// Digits alone are never a name: an image whose passwd calls its root "1000" would otherwise run a
// request for uid 1000 as root. The texts are the content of /etc/passwd and /etc/group, empty if
// the image has none; malformed lines are skipped, as in the C library. NOT_FOUND names an unknown
// user or group; INVALID_ARGUMENT for a malformed spec or a number above 4294967294.
absl::StatusOr<ResolvedUser> ResolveUser(absl::string_view spec, absl::string_view passwd_text,
                                         absl::string_view group_text);

// Reads a text file of an image whose root is `rootfs`, for the above. Empty when it doesn't exist;
// INVALID_ARGUMENT when it is not a regular file: opening a fifo would block for ever, and opening
// a device would run its driver, as root. RESOURCE_EXHAUSTED when it is over 16 MiB. Symbolic links
// in the image can't lead out of it.
absl::StatusOr<std::string> ReadUserFile(const FsRoot& rootfs, absl::string_view path);

// Gids of the groups in `group_text` with `user_name` as a member, sorted.
std::vector<uint32_t> GroupsOf(absl::string_view user_name, absl::string_view group_text);

}  // namespace plimsoll::image

#endif  // PLIMSOLL_IMAGE_USER_LOOKUP_H_
