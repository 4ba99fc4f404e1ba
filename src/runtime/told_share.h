// What of the node clients may have been told of since the machine's start, and what was in force.
#ifndef PLIMSOLL_RUNTIME_TOLD_SHARE_H_
#define PLIMSOLL_RUNTIME_TOLD_SHARE_H_

#include <optional>
#include <string>

#include "absl/status/status.h"
#include "base/fs_root.h"
#include "runtime/node_share.h"

namespace plimsoll::runtime {

// The sum of all shares that clients may count on. A kubelet sends the CPUs of its own start for as
// long as it runs (KEP-5224 "kubelet"), also those that have gone since, and it outlives this
// daemon: so the sum is kept in the run directory, under the boot id. For one user at a time.
class ToldShare {
 public:
  // Reads what a daemon before this one has left. What can't be read counts as nothing.
  void Load(const FsRoot& run, const std::string& boot_id);
  // An error says that the next daemon will not know yet; this one does all the same.
  absl::Status Add(const NodeShare& share);
  // Stores what Add could not, as on a disk that was full. OK where all is stored.
  absl::Status Retry();
  // is_whole and is_told mean nothing in either.
  const NodeShare& sum() const { return sum_; }
  // With those that stood in for another (is_told), of this daemon's time.
  const NodeShare& in_force() const { return in_force_; }

 private:
  absl::Status Store() const;

  std::optional<FsRoot> run_;  // none: nowhere to keep it
  std::string boot_id_;
  NodeShare sum_;
  NodeShare in_force_;
  bool is_stored_ = true;  // the sum
};

}  // namespace plimsoll::runtime

#endif  // PLIMSOLL_RUNTIME_TOLD_SHARE_H_
