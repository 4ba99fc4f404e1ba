// A command that is to run in a container, and what became of it.
#ifndef PLIMSOLL_RUNTIME_OCI_EXEC_REQUEST_H_
#define PLIMSOLL_RUNTIME_OCI_EXEC_REQUEST_H_

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "base/byte_budget.h"
#include "base/programs/cancellation.h"
#include "base/steady_time.h"

namespace plimsoll::runtime {

// The streams of a command that its caller carries. The others are /dev/null.
struct ExecStreams {
  bool input = false;
  bool output = false;
  bool errors = false;
  bool terminal = false;  // one stream for all
};

struct ExecRequest {
  std::vector<std::string> argv;
  ExecStreams streams;                            // of StartExec
  absl::Duration timeout = absl::ZeroDuration();  // zero: none
  // The end of the time limit, if that began before this call; the earlier of the two counts.
  SteadyTime deadline = kNever;
  size_t max_output_bytes = 16 * 1024 * 1024;  // of both streams; more is cut, with a mark
  // The budget from which kept output is taken; output beyond it is cut too. May be null; must
  // outlive the call.
  ByteShare* output_share = nullptr;
  // Files to which the entering process writes its pid first (qos::ClassType::EntryFile).
  std::vector<std::string> entry_files;
  // The command's oom_score_adj. nullopt: its caller's, as crun leaves it.
  std::optional<int> oom_score_adj;
  // Ends the call with CANCELLED, as a timeout would. May be null; must outlive the call.
  Cancellation* cancellation = nullptr;
  // Called once, by Exec's thread, when the entering process has all of the above (and is one of
  // EnteringProcesses until it ends). Not called when nothing was started. May be null.
  std::function<void()> entered;
};

struct ExecResult {
  int exit_code = 0;
  std::string out;
  std::string err;
};

}  // namespace plimsoll::runtime

#endif  // PLIMSOLL_RUNTIME_OCI_EXEC_REQUEST_H_
