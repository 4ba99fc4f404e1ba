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

// Changes that can be taken back.
//
// A pid may be another process's by the time that its file is opened. So members are asked for
// twice, and files are opened in between: an open file of /proc never becomes another process's,
// and who is a member after that was no stranger before.
class OomScores {
 public:
  // Whose processes they are; sorted, asked anew each time.
  using Members = std::function<absl::StatusOr<std::vector<pid_t>>()>;

  // `host` holds proc/ and outlives this.
  OomScores(const FsRoot& host, Members members) : host_(host), members_(std::move(members)) {}

  // Of all members; those that end meanwhile don't matter. PERMISSION_DENIED for a lower value,
  // where CAP_SYS_RESOURCE is missing; on error some have it.
  absl::Status SetAll(int value);
  // How many had another value.
  size_t changed() const { return changed_.size(); }
  // Sets back what SetAll changed, each as far as can be; the error says what could not be.
  absl::Status Undo();

 private:
  using Values = std::vector<std::pair<pid_t, int>>;

  // Up to the first error, with what had to be changed; without `before`, all that can be set.
  absl::Status Set(absl::Span<const std::pair<pid_t, int>> values, Values* before) const;
  // False: it has the value, or has ended.
  absl::StatusOr<bool> SetOne(const UniqueFd& file, pid_t pid, int value, int* before) const;

  const FsRoot& host_;
  const Members members_;
  Values changed_;  // with what they had
};

}  // namespace plimsoll::qos

#endif  // PLIMSOLL_QOS_OOM_SCORES_H_
