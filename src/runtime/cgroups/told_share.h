// CPUs and memory nodes that clients may have been told of since the machine's start, and those
// that were in force.
#ifndef PLIMSOLL_RUNTIME_CGROUPS_TOLD_SHARE_H_
#define PLIMSOLL_RUNTIME_CGROUPS_TOLD_SHARE_H_

#include <optional>
#include <string>

#include "absl/status/status.h"
#include "base/fs_root.h"
#include "runtime/cgroups/node_share.h"

namespace plimsoll::runtime {

// The sum of all shares that clients may count on. A kubelet sends the CPUs of its own start for as
// long as it runs (KEP-5224 "kubelet"), also those that have gone since, and it outlives this
// daemon: so the sum is kept in the run directory, under the boot id. Not thread-safe.
class ToldShare {
 public:
  // Loads the sum that an earlier daemon of this boot stored. A file or line that can't be read
  // counts as empty.
  void Load(const FsRoot& run, const std::string& boot_id);
  // Adds a share to the sums. An error: the sum isn't stored yet, so the next daemon would not know
  // it.
  absl::Status Add(const NodeShare& share);
  // Stores the sum if Add could not, as on a full disk. OK if it is stored already.
  absl::Status Retry();
  // The sum of all shares that clients may count on. is_whole and is_told mean nothing here or in
  // in_force.
  const NodeShare& sum() const { return sum_; }
  // The sum, plus this daemon's stand-in shares (is_told is false).
  const NodeShare& in_force() const { return in_force_; }

 private:
  absl::Status Store() const;

  std::optional<FsRoot> run_;  // nullopt: before Load; nothing is stored
  std::string boot_id_;
  NodeShare sum_;
  NodeShare in_force_;
  bool is_stored_ = true;  // the sum
};

}  // namespace plimsoll::runtime

#endif  // PLIMSOLL_RUNTIME_CGROUPS_TOLD_SHARE_H_
