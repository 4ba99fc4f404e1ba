#include "daemon/find_group.h"

#include <grp.h>

#include <utility>

#include "absl/strings/str_cat.h"

namespace plimsoll::daemon {
namespace {

// packaging/plimsoll-kube.sysusers makes it.
constexpr char kClusterGroup[] = "plimsoll-kube";

}  // namespace

absl::StatusOr<gid_t> FindGroup(const std::string& name) {
  const group* found = getgrnam(name.c_str());
  if (found == nullptr) return absl::NotFoundError(absl::StrCat("no group '", name, "'"));
  return found->gr_gid;
}

absl::StatusOr<std::optional<gid_t>> FindClusterGroup(const KubeConfig& config) {
  if (config.socket_group.empty()) return std::nullopt;
  const bool automatic = config.socket_group == kAutomaticGroup;
  absl::StatusOr<gid_t> group = FindGroup(automatic ? kClusterGroup : config.socket_group);
  if (group.ok()) return *group;
  if (automatic) return std::nullopt;
  return std::move(group).status();
}

}  // namespace plimsoll::daemon
