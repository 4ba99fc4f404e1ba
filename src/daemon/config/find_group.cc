#include "daemon/config/find_group.h"

#include <grp.h>

#include <cerrno>

#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status.h"

namespace plimsoll::daemon {
namespace {

// packaging/plimsoll-kube.sysusers makes it.
constexpr char kClusterGroup[] = "plimsoll-kube";

}  // namespace

absl::StatusOr<gid_t> FindGroup(const std::string& name) {
  errno = 0;
  const group* found = getgrnam(name.c_str());
  if (found != nullptr) return found->gr_gid;
  switch (errno) {
    case 0:
    case ENOENT:
    case ESRCH:
    case EBADF:
    case EPERM:  // getgrnam(3): each may mean that there is none
      return absl::NotFoundError(absl::StrCat("no group '", name, "'"));
    default:
      return ErrnoStatus(errno, absl::StrCat("look up the group '", name, "'"));
  }
}

absl::StatusOr<std::optional<gid_t>> FindClusterGroup(const KubeConfig& config) {
  if (config.socket_group.empty()) return std::nullopt;
  const bool automatic = config.socket_group == kAutomaticGroup;
  absl::StatusOr<gid_t> group = FindGroup(automatic ? kClusterGroup : config.socket_group);
  if (group.ok()) return *group;
  if (automatic && absl::IsNotFound(group.status())) return std::nullopt;
  return std::move(group).status();
}

}  // namespace plimsoll::daemon
