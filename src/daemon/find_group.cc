#include "daemon/find_group.h"

#include <grp.h>

#include "absl/strings/str_cat.h"

namespace plimsoll::daemon {

absl::StatusOr<gid_t> FindGroup(const std::string& name) {
  const group* found = getgrnam(name.c_str());
  if (found == nullptr) return absl::NotFoundError(absl::StrCat("no group '", name, "'"));
  return found->gr_gid;
}

}  // namespace plimsoll::daemon
