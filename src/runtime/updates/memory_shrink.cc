#include "runtime/updates/memory_shrink.h"

#include <cerrno>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "base/status.h"

namespace plimsoll::runtime {
namespace {

struct Files {
  absl::string_view controller;
  absl::string_view limit;
  absl::string_view usage;
};

Files FilesOf(const linux::CgroupManager& cgroups) {
  if (cgroups.layout() == linux::CgroupLayout::kV2) return {"", "memory.high", "memory.current"};
  return {"memory", "memory.limit_in_bytes", "memory.usage_in_bytes"};
}

absl::StatusOr<int64_t> ReadUsage(const linux::CgroupManager& cgroups, absl::string_view group) {
  const Files files = FilesOf(cgroups);
  PLIMSOLL_ASSIGN_OR_RETURN(const std::string text,
                            cgroups.ReadFile(group, files.controller, files.usage));
  int64_t bytes = 0;
  if (absl::SimpleAtoi(text, &bytes)) return bytes;
  return absl::InternalError(
      absl::StrCat(files.usage, " of cgroup ", group, " is \"", text, "\", no number"));
}

}  // namespace

absl::StatusOr<std::string> ReadShrinkLimit(const linux::CgroupManager& cgroups,
                                            absl::string_view group) {
  const Files files = FilesOf(cgroups);
  PLIMSOLL_ASSIGN_OR_RETURN(const std::string text,
                            cgroups.ReadFile(group, files.controller, files.limit));
  return std::string(absl::StripTrailingAsciiWhitespace(text));
}

absl::Status WriteShrinkLimit(linux::CgroupManager& cgroups, absl::string_view group,
                              absl::string_view limit) {
  const Files files = FilesOf(cgroups);
  return cgroups.WriteFile(group, files.controller, files.limit, limit);
}

absl::Status ShrinkMemory(linux::CgroupManager& cgroups, absl::string_view group, int64_t bytes,
                          bool* lowered) {
  *lowered = false;
  // Writes nothing if nothing must be reclaimed: v1 refuses a memory limit above the limit of
  // memory and swap together (EINVAL).
  PLIMSOLL_ASSIGN_OR_RETURN(const int64_t usage, ReadUsage(cgroups, group));
  if (usage <= bytes) return absl::OkStatus();
  PLIMSOLL_ASSIGN_OR_RETURN(const std::string before, ReadShrinkLimit(cgroups, group));
  const absl::Status asked = WriteShrinkLimit(cgroups, group, absl::StrCat(bytes));
  if (ErrnoOf(asked) == EBUSY) return absl::OkStatus();  // v1 has reclaimed, and set no limit
  PLIMSOLL_RETURN_IF_ERROR(asked);
  const absl::Status restored = WriteShrinkLimit(cgroups, group, before);
  if (restored.ok() || absl::IsNotFound(restored)) return restored;
  *lowered = true;
  return Annotate(restored, absl::StrCat(FilesOf(cgroups).limit, " is ", bytes,
                                         " now and could not be put back to ", before));
}

absl::Status MakeRoom(linux::CgroupManager& cgroups, const std::string& group, int64_t bytes,
                      UpdateMark* mark) {
  PLIMSOLL_ASSIGN_OR_RETURN(const std::string limit, ReadShrinkLimit(cgroups, group));
  PLIMSOLL_RETURN_IF_ERROR(mark->Set(limit));
  bool lowered = false;
  const absl::Status shrunk = ShrinkMemory(cgroups, group, bytes, &lowered);
  if (!lowered) return shrunk;
  mark->Keep();
  return Annotate(shrunk, "(the next update or start of the daemon tries again)");
}

absl::Status PutLimitBack(linux::CgroupManager& cgroups, const FsRoot& run, absl::string_view mark,
                          const std::string& group) {
  const absl::StatusOr<std::string> limit = run.Read(UpdateMarkOf(mark));
  if (absl::IsNotFound(limit.status())) return absl::OkStatus();
  PLIMSOLL_RETURN_IF_ERROR(limit.status());
  if (limit->empty()) return absl::OkStatus();
  const absl::Status written = WriteShrinkLimit(cgroups, group, *limit);
  if (absl::IsNotFound(written)) return absl::OkStatus();  // it has just ended
  return Annotate(written, "put back the memory limit that an earlier update lowered");
}

}  // namespace plimsoll::runtime
