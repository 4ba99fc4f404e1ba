#include "base/status.h"

#include <cerrno>
#include <cstring>
#include <optional>
#include <string>

#include "absl/strings/cord.h"
#include "absl/strings/numbers.h"

namespace plimsoll {
namespace {

constexpr char kErrnoPayload[] = "plimsoll.dev/errno";

absl::StatusCode CodeOf(int err) {
  switch (err) {
    case ENOENT:
    case ENODEV:
      return absl::StatusCode::kNotFound;
    case EEXIST:
      return absl::StatusCode::kAlreadyExists;
    case EACCES:
    case EPERM:
      return absl::StatusCode::kPermissionDenied;
    case EINVAL:
    case ERANGE:
      return absl::StatusCode::kInvalidArgument;
    case ENOSPC:
    case EDQUOT:
    case EMFILE:
    case ENFILE:
    case ENOMEM:
      return absl::StatusCode::kResourceExhausted;
    case EBUSY:
    case EROFS:
      return absl::StatusCode::kFailedPrecondition;
    case EAGAIN:
      return absl::StatusCode::kUnavailable;
    case ENOSYS:
    case EOPNOTSUPP:
      return absl::StatusCode::kUnimplemented;
    case ETIMEDOUT:
      return absl::StatusCode::kDeadlineExceeded;
    default:
      return absl::StatusCode::kInternal;
  }
}

absl::Status Reworded(const absl::Status& status, absl::string_view message) {
  if (status.ok()) return status;
  absl::Status reworded(status.code(), message);
  status.ForEachPayload([&reworded](absl::string_view url, const absl::Cord& payload) {
    reworded.SetPayload(url, payload);
  });
  return reworded;
}

}  // namespace

absl::Status ErrnoStatus(int err, absl::string_view what) {
  absl::Status status(CodeOf(err), absl::StrCat(what, ": ", std::strerror(err)));
  status.SetPayload(kErrnoPayload, absl::Cord(absl::StrCat(err)));
  return status;
}

int ErrnoOf(const absl::Status& status) {
  int err = 0;
  const auto payload = status.GetPayload(kErrnoPayload);
  if (payload.has_value() && absl::SimpleAtoi(std::string(*payload), &err)) return err;
  return 0;
}

absl::Status Annotate(const absl::Status& status, absl::string_view context) {
  return Reworded(status, absl::StrCat(context, ": ", status.message()));
}

absl::Status AlsoSay(const absl::Status& status, absl::string_view aftermath) {
  return Reworded(status, absl::StrCat(status.message(), "; ", aftermath));
}

absl::Status AlsoNotSetBack(const absl::Status& status, const absl::Status& undo) {
  if (undo.ok() || absl::IsNotFound(undo)) return status;
  return AlsoSay(status, absl::StrCat("and not set back: ", undo.message()));
}

absl::Status BothErrors(const absl::Status& first, const absl::Status& second) {
  if (first.ok() || second.ok()) return FirstError(first, second);
  return AlsoSay(first, second.message());
}

absl::Status FirstError(absl::Status first, absl::Status second) {
  return first.ok() ? second : first;
}

}  // namespace plimsoll
