// Events ordered by a test, and events that happened: refusals, and a journal.
#ifndef PLIMSOLL_TESTS_RESCTRLFS_SCRIPT_H_
#define PLIMSOLL_TESTS_RESCTRLFS_SCRIPT_H_

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "resctrlfs/command_status.h"

namespace plimsoll::resctrlfs {

// A command of the file system: "mkdir", "rmdir", "rename" or "write", and a path below the mount
// point ("gold/tasks").
class Script {
 public:
  // Lets `skip` matching commands pass and refuses the next one, once, with nothing done. With
  // error 0 the program stops itself (SIGSTOP) before that command and carries it out when
  // continued.
  void RefuseNext(const std::string& verb, const std::string& path, Errno error, int skip);
  // The error with which a command is to fail, or 0. Call it for commands in their order.
  Errno Refusal(absl::string_view verb, absl::string_view path);

  // One line a command, refused ones too: "write gold/schemata L3:0=f", "mkdir gold: ENOSPC".
  void Record(absl::string_view verb, absl::string_view path, absl::string_view text, Errno error);
  // Lines recorded since the last call.
  std::vector<std::string> TakeJournal() { return std::exchange(journal_, {}); }

 private:
  struct Order {
    std::string verb;
    std::string path;
    Errno error;
    int skip;
  };
  std::vector<Order> orders_;
  std::vector<std::string> journal_;
};

}  // namespace plimsoll::resctrlfs

#endif  // PLIMSOLL_TESTS_RESCTRLFS_SCRIPT_H_
