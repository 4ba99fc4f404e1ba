#include "linux/cgroup/v2_tree.h"

#include <cerrno>

#include "absl/strings/ascii.h"
#include "base/status.h"

namespace plimsoll::linux {

std::string CgroupV2Tree::AllOf(absl::string_view file) const {
  const char* source = file == "cpuset.cpus"   ? "sys/devices/system/cpu/possible"
                       : file == "cpuset.mems" ? "sys/devices/system/node/possible"
                                               : nullptr;
  if (source == nullptr) return "";
  const absl::StatusOr<std::string> all = host_.Read(source);
  return all.ok() ? std::string(absl::StripAsciiWhitespace(*all)) : "";
}

absl::StatusOr<std::string> CgroupV2Tree::Read(absl::string_view group,
                                               absl::string_view file) const {
  PLIMSOLL_ASSIGN_OR_RETURN(std::string text, CgroupTree::Read(group, file));
  if (!text.empty() && text == AllOf(file)) text.clear();
  return text;
}

absl::Status CgroupV2Tree::Write(absl::string_view group, absl::string_view file,
                                 absl::string_view value) {
  const absl::Status written = CgroupTree::Write(group, file, value);
  if (!value.empty() || ErrnoOf(written) != ENOSPC) return written;
  const std::string all = AllOf(file);
  return all.empty() ? written : CgroupTree::Write(group, file, all);
}

}  // namespace plimsoll::linux
