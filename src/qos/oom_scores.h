// oom_score_adj of many processes at once.
#ifndef PLIMSOLL_QOS_OOM_SCORES_H_
#define PLIMSOLL_QOS_OOM_SCORES_H_

#include <sys/types.h>

#include <cstddef>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "base/fs_root.h"
#include "base/unique_fd.h"

namespace plimsoll::qos {

// A change of many processes that can be undone.
//
// A pid may be reused before its file is opened. So members are listed twice and files are opened
// in between: an open file of /proc never becomes another process's, and a pid that is a member
// afterwards was no stranger before.
class OomScores {
 public:
  // Lists the processes; sorted, asked again each time.
  using Members = std::function<absl::StatusOr<std::vector<pid_t>>()>;

  // `host` holds proc/ and outlives this.
  OomScores(const FsRoot& host, Members members) : host_(host), members_(std::move(members)) {}

  // Sets all members; those that end meanwhile don't matter. PERMISSION_DENIED for a lower value
  // without CAP_SYS_RESOURCE; on error some are set.
  absl::Status SetAll(int value);
  // Number of members whose value was changed.
  size_t changed() const { return changed_.size(); }
  // Sets back what SetAll changed, each as far as can be; the error says what could not be.
  absl::Status Undo();

 private:
  using Values = std::vector<std::pair<pid_t, int>>;

  // Sets values up to the first error and adds the old ones to `before`; without `before`, sets as
  // many as possible.
  absl::Status Set(absl::Span<const std::pair<pid_t, int>> values, Values* before) const;
  // False: it had the value already, or has ended.
  absl::StatusOr<bool> SetOne(const UniqueFd& file, pid_t pid, int value, int* before) const;

  const FsRoot& host_;
  const Members members_;
  Values changed_;  // with their old values
};

}  // namespace plimsoll::qos

#endif  // PLIMSOLL_QOS_OOM_SCORES_H_
