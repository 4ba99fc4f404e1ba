// The terminal of a command in a container.
#ifndef PLIMSOLL_RUNTIME_OCI_EXEC_TERMINAL_H_
#define PLIMSOLL_RUNTIME_OCI_EXEC_TERMINAL_H_

#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/fs_root.h"
#include "base/unique_fd.h"

namespace plimsoll::runtime {

// The socket to which crun or plimsoll-exec sends the master of a command's terminal, in the
// container's run directory. Removed by the destructor.
class ExecTerminal {
 public:
  explicit ExecTerminal(FsRoot bundle) : bundle_(std::move(bundle)) {}
  ~ExecTerminal();
  ExecTerminal(const ExecTerminal&) = delete;
  ExecTerminal& operator=(const ExecTerminal&) = delete;

  absl::Status Prepare();
  // A name in the bundle.
  const std::string& console() const { return console_; }

  // The master, once it has been sent. NOT_FOUND when the process behind `pidfd` ends without
  // sending it, DEADLINE_EXCEEDED, or CANCELLED when `cancel_fd` (-1: none) is readable.
  absl::StatusOr<UniqueFd> Receive(int pidfd, int cancel_fd, absl::Time deadline);

 private:
  const FsRoot bundle_;
  std::string console_;
  UniqueFd listener_;
};

// A pseudoterminal of the machine, in raw mode and of 0 rows and columns.
struct HostTerminal {
  UniqueFd master;  // non-blocking
  UniqueFd slave;
};
absl::StatusOr<HostTerminal> MakeHostTerminal();

}  // namespace plimsoll::runtime

#endif  // PLIMSOLL_RUNTIME_OCI_EXEC_TERMINAL_H_
