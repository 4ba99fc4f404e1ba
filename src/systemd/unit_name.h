// Maps a control group to its systemd unit.
#ifndef PLIMSOLL_SYSTEMD_UNIT_NAME_H_
#define PLIMSOLL_SYSTEMD_UNIT_NAME_H_

#include <optional>
#include <string>

#include "absl/strings/string_view.h"

namespace plimsoll::systemd {

// "a-b.slice" for "/a.slice/a-b.slice", "x.scope" for "/a.slice/x.scope"; `group` is normalised.
// nullopt: no unit can have the group, because it is no slice or scope, isn't in systemd's place
// for it, or has a name that units can't have (systemd.unit(5)).
std::optional<std::string> UnitOf(absl::string_view group);

bool IsSlice(absl::string_view unit);
bool IsScope(absl::string_view unit);

}  // namespace plimsoll::systemd

#endif  // PLIMSOLL_SYSTEMD_UNIT_NAME_H_
