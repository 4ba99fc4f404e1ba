// Processes and their descendants.
#ifndef PLIMSOLL_LINUX_PROCESS_TREE_H_
#define PLIMSOLL_LINUX_PROCESS_TREE_H_

#include <sys/types.h>

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "base/fs_root.h"
#include "linux/process.h"

namespace plimsoll::linux {

// Every process that `root`'s proc/ shows. A process that ends meanwhile may be missing; one that
// can't be read is an error.
absl::StatusOr<std::vector<ProcessEntry>> ListProcessTable(const FsRoot& root);

// The entries of `table` that descend from `ancestor`; parents before children.
std::vector<ProcessEntry> DescendantsOf(const std::vector<ProcessEntry>& table, pid_t ancestor);

// SIGKILL to every process below `ancestor`; not waited for. Returns whether there were any that
// aren't zombies. Each is tried; the first error is returned.
absl::StatusOr<bool> KillDescendants(const FsRoot& root, pid_t ancestor);

// The words of a process's "cmdline" or "environ" in /proc. Empty when it has ended, when they may
// not be read, or when they are larger than FsRoot::Read reads: a process makes them as large as it
// likes (prctl's PR_SET_MM_MAP).
absl::StatusOr<std::vector<std::string>> ReadWords(const FsRoot& root, pid_t pid, const char* file);

}  // namespace plimsoll::linux

#endif  // PLIMSOLL_LINUX_PROCESS_TREE_H_
