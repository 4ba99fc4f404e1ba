#include "agent/groups/group_names.h"

#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "base/status.h"
#include "linux/cgroup/cgroup.h"
#include "systemd/unit_name.h"

namespace plimsoll::agent {
namespace {

constexpr char kKubepods[] = "kubepods";
constexpr size_t kLongestUid = 128;

bool IsSlicePath(absl::string_view group) {
  const auto unit = systemd::UnitOf(group);
  return unit.has_value() && systemd::IsSlice(*unit);
}

// kubelet's escape: in a slice's name "-" leads to the parent.
std::string EscapeDashes(absl::string_view part) {
  return absl::StrReplaceAll(part, {{"-", "_"}});
}

absl::StatusOr<std::string> SliceOfRoot(absl::string_view root) {
  PLIMSOLL_ASSIGN_OR_RETURN(const std::string path, linux::ExpandCgroupParent(root));
  if (IsSlicePath(path)) return path;
  std::vector<std::string> parts;
  for (absl::string_view part : absl::StrSplit(path, '/', absl::SkipEmpty())) {
    parts.push_back(EscapeDashes(part));
  }
  const auto slice = linux::ExpandCgroupParent(absl::StrCat(absl::StrJoin(parts, "-"), ".slice"));
  if (slice.ok() && IsSlicePath(*slice) && !absl::StrContains(path, ".slice")) return *slice;
  return absl::InvalidArgumentError(
      absl::StrCat("cgroup root \"", root,
                   "\" can't be a slice, as the cgroup driver systemd needs it; write one like "
                   "\"/a.slice/a-b.slice\", or a path like \"/a/b\""));
}

const char* NameOf(resources::QosClass qos) {
  return qos == resources::QosClass::kBurstable ? "burstable" : "besteffort";
}

}  // namespace

absl::StatusOr<GroupNames> GroupNames::Make(CgroupDriver driver, absl::string_view root) {
  std::string path;
  if (driver == CgroupDriver::kSystemd) {
    PLIMSOLL_ASSIGN_OR_RETURN(path, SliceOfRoot(root));
  } else {
    PLIMSOLL_ASSIGN_OR_RETURN(path, linux::ExpandCgroupParent(root));
  }
  return GroupNames(driver, std::move(path));
}

std::string GroupNames::Kubepods() const {
  if (root_ != "/") {
    return driver_ == CgroupDriver::kSystemd ? linux::ChildCgroup(root_, kKubepods)
                                             : absl::StrCat(root_, "/", kKubepods);
  }
  return absl::StrCat("/", kKubepods, driver_ == CgroupDriver::kSystemd ? ".slice" : "");
}

std::string GroupNames::Qos(resources::QosClass qos) const {
  const std::string kubepods = Kubepods();
  if (qos == resources::QosClass::kGuaranteed) return kubepods;
  return driver_ == CgroupDriver::kSystemd ? linux::ChildCgroup(kubepods, NameOf(qos))
                                           : absl::StrCat(kubepods, "/", NameOf(qos));
}

std::string GroupNames::Pod(resources::QosClass qos, absl::string_view uid) const {
  const std::string parent = Qos(qos);
  if (driver_ == CgroupDriver::kCgroupfs) return absl::StrCat(parent, "/pod", uid);
  return linux::ChildCgroup(parent, absl::StrCat("pod", EscapeDashes(uid)));
}

std::string GroupNames::CgroupParent(resources::QosClass qos, absl::string_view uid) const {
  const std::string group = Pod(qos, uid);
  return driver_ == CgroupDriver::kSystemd ? group.substr(group.rfind('/') + 1) : group;
}

absl::Status CheckUid(absl::string_view uid) {
  const bool is_plain = absl::c_all_of(
      uid, [](char c) { return c == '-' || absl::ascii_isalnum(static_cast<unsigned char>(c)); });
  if (is_plain && !uid.empty() && uid.size() <= kLongestUid) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("pod uid \"", uid, "\": must be 1 to ", kLongestUid,
                   " letters, digits and \"-\", because a control group is named after it"));
}

}  // namespace plimsoll::agent
