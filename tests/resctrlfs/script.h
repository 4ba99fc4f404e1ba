// What a test has set out to happen, and what has happened: refusals on order, and a journal.
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
  // Of the commands that match, lets `skip` pass and refuses the next one, once, with nothing done.
  // With an error of 0 the program stops itself (SIGSTOP) before that command, and does it when it
  // is let go on.
  void RefuseNext(const std::string& verb, const std::string& path, Errno error, int skip);
  // 0, or with what a command is to fail. Commands must be asked about in their order.
  Errno Refusal(absl::string_view verb, absl::string_view path);

  // One line a command, refused ones too: "write gold/schemata L3:0=f", "mkdir gold: ENOSPC".
  void Record(absl::string_view verb, absl::string_view path, absl::string_view text, Errno error);
  // What was recorded since it was last taken.
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
