// What a file of rdt or blockio classes means on a machine, without changing anything on it:
// `plimsoll classes explain`.
#ifndef PLIMSOLL_CLI_EXPLAIN_H_
#define PLIMSOLL_CLI_EXPLAIN_H_

#include <string>

#include "absl/status/statusor.h"
#include "base/fs_root.h"
#include "linux/cgroup/cgroup.h"
#include "linux/resctrl.h"

namespace plimsoll::cli {

// One reading of a file.
struct Explanation {
  std::string text;  // for people, warnings and all
  std::string json;
  std::string svg;  // the picture; rdt's only
};

// "rdt" or "blockio", by the keys that the file has. INVALID_ARGUMENT when they don't tell.
absl::StatusOr<std::string> ClassTypeOf(const std::string& file, const std::string& text);

// For a machine's resctrl, or a captured one. Errors are ParseRdtConfig's and CompileRdt's.
// `group_prefix` is the configuration's (classes.rdt.group_prefix).
absl::StatusOr<Explanation> ExplainRdt(const std::string& file, const std::string& text,
                                       const linux::Resctrl& resctrl,
                                       const std::string& group_prefix = "");
// The same errors for what is wrong with the file wherever it is used.
absl::Status CheckRdtFile(const std::string& file, const std::string& text);

// For the disks below `host` (sys/, dev/). Errors are ParseBlockioConfig's.
absl::StatusOr<Explanation> ExplainBlockio(const std::string& file, const std::string& text,
                                           const FsRoot& host, const linux::CgroupManager& cgroups);

// "L3: caches 0-1, 20 ways of which a mask has 2 at least, 16 groups" and so on, a line each.
std::string DescribeResctrl(const linux::ResctrlInfo& machine);

}  // namespace plimsoll::cli

#endif  // PLIMSOLL_CLI_EXPLAIN_H_
