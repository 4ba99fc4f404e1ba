#include <climits>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "base/status.h"
#include "linux/cgroup/cgroup.h"

namespace plimsoll::linux {
namespace {

constexpr absl::string_view kSlice = ".slice";

// "a-b-c.slice" lies in "a-b.slice", which lies in "a.slice" (systemd.slice(5)); "-.slice" is the
// root.
absl::StatusOr<std::string> ExpandSlice(absl::string_view slice) {
  const absl::string_view stem = absl::StripSuffix(slice, kSlice);
  if (stem == "-") return std::string("/");
  std::string path;
  std::string name;
  for (absl::string_view part : absl::StrSplit(stem, '-')) {
    if (part.empty()) {
      return absl::InvalidArgumentError(
          absl::StrCat("cgroup parent \"", slice,
                       "\" is no systemd slice name: nothing may be empty around a \"-\", as in "
                       "\"kubepods-burstable.slice\""));
    }
    absl::StrAppend(&name, name.empty() ? "" : "-", part);
    absl::StrAppend(&path, "/", name, kSlice);
  }
  return path;
}

// "a-b-" for "/a.slice/a-b.slice"; empty if `parent` is no slice.
std::string PrefixOfChildren(absl::string_view parent) {
  if (!absl::EndsWith(parent, kSlice)) return "";
  return absl::StrCat(absl::StripSuffix(parent.substr(parent.rfind('/') + 1), kSlice), "-");
}

}  // namespace

absl::StatusOr<std::string> NormalizeCgroupPath(absl::string_view path) {
  if (path.size() > PATH_MAX) {
    return absl::InvalidArgumentError(absl::StrCat("cgroup path of ", path.size(),
                                                   " bytes; at most ", PATH_MAX, " are possible"));
  }
  std::string normal;
  for (absl::string_view part : absl::StrSplit(path, '/', absl::SkipEmpty())) {
    if (part == ".") continue;
    if (part == "..") {
      return absl::InvalidArgumentError(
          absl::StrCat("cgroup path \"", path, "\" must not hold \"..\""));
    }
    for (const char c : part) {
      if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
        return absl::InvalidArgumentError("cgroup path holds a control character");
      }
    }
    if (part.size() > NAME_MAX) {
      return absl::InvalidArgumentError(
          absl::StrCat("cgroup path component \"", part, "\" is longer than ", NAME_MAX, " bytes"));
    }
    absl::StrAppend(&normal, "/", part);
  }
  return normal.empty() ? "/" : normal;
}

absl::StatusOr<std::string> ExpandCgroupParent(absl::string_view cgroup_parent) {
  PLIMSOLL_ASSIGN_OR_RETURN(std::string path, NormalizeCgroupPath(cgroup_parent));
  const absl::string_view name = absl::string_view(path).substr(1);
  const bool is_slice_name = !absl::StartsWith(cgroup_parent, "/") &&
                             absl::EndsWith(name, kSlice) && name.size() > kSlice.size() &&
                             name.find('/') == absl::string_view::npos;
  if (!is_slice_name) return path;
  PLIMSOLL_ASSIGN_OR_RETURN(const std::string expanded, ExpandSlice(name));
  return NormalizeCgroupPath(expanded);
}

std::string ChildCgroup(absl::string_view parent, absl::string_view name) {
  const std::string prefix = PrefixOfChildren(parent);
  return absl::StrCat(parent, "/", prefix, name, prefix.empty() ? "" : kSlice);
}

absl::string_view NameOfChildCgroup(absl::string_view parent, absl::string_view directory) {
  const std::string prefix = PrefixOfChildren(parent);
  if (prefix.empty()) return directory;
  const bool is_child =
      absl::ConsumePrefix(&directory, prefix) && absl::ConsumeSuffix(&directory, kSlice);
  return is_child ? directory : absl::string_view();
}

}  // namespace plimsoll::linux
