#include "runtime/memory_shrink.h"

#include <cerrno>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "base/status.h"

namespace plimsoll::runtime {

absl::Status ShrinkMemory(linux::CgroupManager& cgroups, absl::string_view group, int64_t bytes) {
  const bool is_v2 = cgroups.layout() == linux::CgroupLayout::kV2;
  const absl::string_view controller = is_v2 ? "" : "memory";
  const absl::string_view file = is_v2 ? "memory.high" : "memory.limit_in_bytes";
  PLIMSOLL_ASSIGN_OR_RETURN(const std::string before, cgroups.ReadFile(group, controller, file));
  const absl::Status asked = cgroups.WriteFile(group, controller, file, absl::StrCat(bytes));
  if (ErrnoOf(asked) == EBUSY) return absl::OkStatus();  // it has tried; nothing is set
  PLIMSOLL_RETURN_IF_ERROR(asked);
  return cgroups.WriteFile(group, controller, file, absl::StripTrailingAsciiWhitespace(before));
}

}  // namespace plimsoll::runtime
