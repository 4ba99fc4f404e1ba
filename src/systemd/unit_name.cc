#include "systemd/unit_name.h"

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "linux/cgroup/cgroup.h"
#include "linux/cgroup/tree.h"

namespace plimsoll::systemd {
namespace {

constexpr size_t kLongestName = 255;

// Our names have no character that systemd would escape. A group whose name starts with "_" or "."
// may be named differently from its unit.
bool IsUnitName(absl::string_view name) {
  return name.size() <= kLongestName && !absl::StartsWith(name, "_") &&
         !absl::StartsWith(name, ".") && absl::c_all_of(name, [](char c) {
           return absl::ascii_isalnum(static_cast<unsigned char>(c)) ||
                  absl::StrContains(":-_.\\@", c);
         });
}

}  // namespace

bool IsSlice(absl::string_view unit) {
  return absl::EndsWith(unit, ".slice");
}
bool IsScope(absl::string_view unit) {
  return absl::EndsWith(unit, ".scope");
}

std::optional<std::string> UnitOf(absl::string_view group) {
  if (group == "/") return "-.slice";
  const size_t slash = group.rfind('/');
  if (slash == absl::string_view::npos) return std::nullopt;
  const std::string name(group.substr(slash + 1));
  if (!IsUnitName(name)) return std::nullopt;
  if (IsSlice(name)) {
    const auto place = linux::ExpandCgroupParent(name);
    if (place.ok() && *place == group) return name;
    return std::nullopt;
  }
  constexpr size_t kSuffix = sizeof(".scope") - 1;
  if (!IsScope(name) || name.size() == kSuffix) return std::nullopt;
  const auto parent = UnitOf(linux::ParentGroup(group));
  if (!parent.has_value() || !IsSlice(*parent)) return std::nullopt;
  return name;
}

}  // namespace plimsoll::systemd
