// Errors. Everything below the gRPC boundary returns absl::Status or absl::StatusOr, whose codes
// are gRPC's, so that a code chosen at the point of failure reaches the client unchanged.
//
//   PLIMSOLL_RETURN_IF_ERROR(dir.MakeDirs("layers"));
//   PLIMSOLL_ASSIGN_OR_RETURN(std::string text, root.Read("proc/meminfo"));
#ifndef PLIMSOLL_BASE_STATUS_H_
#define PLIMSOLL_BASE_STATUS_H_

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace plimsoll {

// The one place where errno becomes an error. `what` names operation and object, e.g.
// "open /sys/fs/cgroup/cpu/cpu.shares"; the message is "<what>: <strerror>". ENOENT and ENODEV
// give NOT_FOUND, EEXIST ALREADY_EXISTS, EACCES and EPERM PERMISSION_DENIED, EINVAL and ERANGE
// INVALID_ARGUMENT, ENOSPC, EDQUOT, EMFILE, ENFILE and ENOMEM RESOURCE_EXHAUSTED, EBUSY
// FAILED_PRECONDITION, EAGAIN UNAVAILABLE, ENOSYS and EOPNOTSUPP UNIMPLEMENTED, ETIMEDOUT
// DEADLINE_EXCEEDED; everything else INTERNAL.
absl::Status ErrnoStatus(int err, absl::string_view what);

// The errno that ErrnoStatus recorded in `status`, or 0.
int ErrnoOf(const absl::Status& status);

// Puts "<context>: " in front of the message; code and payloads stay. OK stays OK.
absl::Status Annotate(const absl::Status& status, absl::string_view context);

// Puts "; <aftermath>" behind the message, for a further failure on the way back: "; and the group
// stays: ...". Code and payloads stay. OK stays OK.
absl::Status AlsoSay(const absl::Status& status, absl::string_view aftermath);

// AlsoSay of an undo that failed: "; and not set back: <its message>". `undo` adds nothing when it
// is OK, or NOT_FOUND: a removed object holds nothing to set back.
absl::Status AlsoNotSetBack(const absl::Status& status, const absl::Status& undo);

// The first error, with "; " and the second's message behind its own.
absl::Status BothErrors(const absl::Status& first, const absl::Status& second);

// Keeps `first` if it is an error, else `second`. For clean-up that goes on after a failure.
absl::Status FirstError(absl::Status first, absl::Status second);

}  // namespace plimsoll

#define PLIMSOLL_CONCAT_INNER(a, b) a##b
#define PLIMSOLL_CONCAT(a, b) PLIMSOLL_CONCAT_INNER(a, b)

#define PLIMSOLL_RETURN_IF_ERROR(expr)                                    \
  do {                                                                    \
    if (absl::Status plimsoll_status_ = (expr); !plimsoll_status_.ok()) { \
      return plimsoll_status_;                                            \
    }                                                                     \
  } while (false)

#define PLIMSOLL_ASSIGN_OR_RETURN(lhs, expr) \
  PLIMSOLL_ASSIGN_OR_RETURN_INNER(PLIMSOLL_CONCAT(plimsoll_or_, __LINE__), lhs, expr)
#define PLIMSOLL_ASSIGN_OR_RETURN_INNER(tmp, lhs, expr) \
  auto tmp = (expr);                                    \
  if (!tmp.ok()) return std::move(tmp).status();        \
  lhs = *std::move(tmp)

#endif  // PLIMSOLL_BASE_STATUS_H_
