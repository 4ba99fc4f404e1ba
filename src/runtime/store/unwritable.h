// Write errors that mean the disk can't take any row.
#ifndef PLIMSOLL_RUNTIME_STORE_UNWRITABLE_H_
#define PLIMSOLL_RUNTIME_STORE_UNWRITABLE_H_

#include <cerrno>

#include "absl/status/status.h"
#include "base/status.h"

namespace plimsoll::runtime {

// Whether a write to the store has failed because its disk is full, or has become read-only, as a
// failing disk does. Changes already made in the kernel stand.
inline bool IsUnwritable(const absl::Status& status) {
  return absl::IsResourceExhausted(status) || ErrnoOf(status) == EROFS;
}

}  // namespace plimsoll::runtime

#endif  // PLIMSOLL_RUNTIME_STORE_UNWRITABLE_H_
