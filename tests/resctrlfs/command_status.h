// How a command to the file system ends: with an errno, and with words in info/last_cmd_status.
#ifndef PLIMSOLL_TESTS_RESCTRLFS_COMMAND_STATUS_H_
#define PLIMSOLL_TESTS_RESCTRLFS_COMMAND_STATUS_H_

#include <string>

#include "absl/strings/str_cat.h"

namespace plimsoll::resctrlfs {

// 0, or the positive errno with which the system call fails. Not an absl::Status: which errno it is
// is what this program is about, and Status doesn't tell them apart.
using Errno = int;

// What info/last_cmd_status holds. Every command empties it first; empty reads as "ok", also after
// a refusal for which the kernel has no words (a cache id that there isn't). The words are this
// program's own: the kernel's differ from version to version, so nothing may depend on them.
class CommandStatus {
 public:
  void Clear() { words_.clear(); }
  // Adds a line and returns `error`, so that a refusal is one statement.
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
