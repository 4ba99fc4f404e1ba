// The result of a command to the file system: an errno, and a text in info/last_cmd_status.
#ifndef PLIMSOLL_TESTS_RESCTRLFS_COMMAND_STATUS_H_
#define PLIMSOLL_TESTS_RESCTRLFS_COMMAND_STATUS_H_

#include <string>

#include "absl/strings/str_cat.h"

namespace plimsoll::resctrlfs {

// 0, or the positive errno of the failed system call. Not an absl::Status, which doesn't tell all
// errnos apart: here the exact one matters.
using Errno = int;

// The contents of info/last_cmd_status. Every command empties it first; empty reads as "ok", also
// after a refusal without a text in the kernel (an unknown cache id). The texts are this program's
// own: the kernel's differ from version to version, so nothing may depend on them.
class CommandStatus {
 public:
  void Clear() { words_.clear(); }
  // Adds a line and returns `error`, so that one statement refuses.
  template <typename... Parts>
  Errno Refuse(Errno error, const Parts&... parts) {
    absl::StrAppend(&words_, parts..., "\n");
    return error;
  }
  std::string Show() const { return words_.empty() ? "ok\n" : words_; }

 private:
  std::string words_;
};

}  // namespace plimsoll::resctrlfs

#endif  // PLIMSOLL_TESTS_RESCTRLFS_COMMAND_STATUS_H_
