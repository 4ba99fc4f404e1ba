// For tests: a process to be moved between groups (member_main.cc).
#ifndef PLIMSOLL_TESTS_RESCTRLFS_MEMBER_H_
#define PLIMSOLL_TESTS_RESCTRLFS_MEMBER_H_

#include <sys/socket.h>
#include <unistd.h>

#include <cstdlib>
#include <memory>
#include <string>

#include "absl/time/clock.h"
#include "base/programs/own_program.h"
#include "base/programs/subprocess.h"
#include "base/unique_fd.h"

namespace plimsoll::resctrlfs {

class Member {
 public:
  Member() {
    int ends[2] = {-1, -1};
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) std::abort();
    control_.Reset(ends[0]);
    const UniqueFd theirs(ends[1]);
    Command command;
    command.executable = FindOwnProgram("resctrlfs-member").value();
    command.argv = {"resctrlfs-member"};
    command.descriptors = {{theirs.get(), 0}, {theirs.get(), 1}};
    child_ = std::make_unique<Child>(Spawn(command).value());
  }
  // Ends the process and its forks.
  ~Member() {
    control_.Reset();
    child_->Wait(absl::Now() + absl::Seconds(30)).status().IgnoreError();
  }

  pid_t pid() const { return child_->pid(); }
  // The answer to a line; empty once it has ended.
  std::string Ask(const std::string& line) {
    const std::string text = line + "\n";
    if (send(control_.get(), text.data(), text.size(), MSG_NOSIGNAL) < 0) return "";
    std::string answer;
    char c = 0;
    while (read(control_.get(), &c, 1) == 1 && c != '\n') answer += c;
    return answer;
  }
  pid_t Fork() { return std::atoi(Ask("fork").c_str()); }
  pid_t NewThread() { return std::atoi(Ask("thread").c_str()); }

 private:
  UniqueFd control_;
  std::unique_ptr<Child> child_;
};

}  // namespace plimsoll::resctrlfs

#endif  // PLIMSOLL_TESTS_RESCTRLFS_MEMBER_H_
