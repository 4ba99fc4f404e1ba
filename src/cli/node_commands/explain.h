// The effect of a file of rdt or blockio classes on a machine, computed without a change to it:
// `plimsoll classes explain`.
#ifndef PLIMSOLL_CLI_NODE_COMMANDS_EXPLAIN_H_
#define PLIMSOLL_CLI_NODE_COMMANDS_EXPLAIN_H_

#include <string>

#include "absl/status/statusor.h"
#include "base/fs_root.h"
#include "linux/cgroup/cgroup.h"
#include "linux/resctrl.h"

namespace plimsoll::cli {

// The explanation of one file.
struct Explanation {
  std::string text;  // for people, with the warnings
  std::string json;
  std::string svg;  // a picture; only for rdt
};

// "rdt" or "blockio", by the keys of the file. INVALID_ARGUMENT: the keys fit both, or neither.
absl::StatusOr<std::string> ClassTypeOf(const std::string& file, const std::string& text);

// Explains the file for a machine's resctrl, or a captured one. Errors are those of ParseRdtConfig
// and CompileRdt. `group_prefix` is the configuration's (classes.rdt.group_prefix).
absl::StatusOr<Explanation> ExplainRdt(const std::string& file, const std::string& text,
                                       const linux::Resctrl& resctrl,
                                       const std::string& group_prefix = "");
// The errors of ExplainRdt that hold on every machine.
absl::Status CheckRdtFile(const std::string& file, const std::string& text);

// Explains the file for the disks below `host` (sys/, dev/). Errors are those of
// ParseBlockioConfig.
absl::StatusOr<Explanation> ExplainBlockio(const std::string& file, const std::string& text,
                                           const FsRoot& host, const linux::CgroupManager& cgroups);

// Lines such as "L3: caches 0-1, 20 ways of which a mask has 2 at least, 16 groups".
std::string DescribeResctrl(const linux::ResctrlInfo& machine);

}  // namespace plimsoll::cli

#endif  // PLIMSOLL_CLI_NODE_COMMANDS_EXPLAIN_H_
