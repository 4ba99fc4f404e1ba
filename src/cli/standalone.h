// A daemon of our own, for when none runs: `plimsoll` starts `plimsolld --standalone` and shares it
// with every other `plimsoll` of the same directories.
//
// Who uses it holds a shared flock(2) on <run directory>/clients.lock; the daemon ends once it can
// take that lock exclusively and no pod is left. <run directory>/start.lock is held while one
// looks for the daemon and starts it, so that two beginners don't start two.
#ifndef PLIMSOLL_CLI_STANDALONE_H_
#define PLIMSOLL_CLI_STANDALONE_H_

#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/subprocess.h"
#include "base/unique_fd.h"

namespace plimsoll::cli {

struct StandaloneDirs {
  std::string state = "/var/lib/plimsoll/standalone";
  std::string run = "/run/plimsoll/standalone";

  // <root>/state and <root>/run; the defaults for an empty root.
  static StandaloneDirs Below(const std::string& root);
  std::string socket() const { return run + "/plimsoll.sock"; }
  // What the daemon says, for when it fails.
  std::string log() const { return run + "/plimsolld.log"; }
};

struct StandaloneOptions {
  StandaloneDirs dirs;
  std::string daemon;  // path of plimsolld; empty: beside this program, else in PATH
  absl::Duration timeout = absl::Seconds(60);
};

// Holds the daemon; lets go of it when destroyed.
class Standalone {
 public:
  // Returns when the daemon's socket answers. NOT_FOUND: no plimsolld; FAILED_PRECONDITION with
  // the daemon's own words when it refused to start; DEADLINE_EXCEEDED.
  static absl::StatusOr<Standalone> Join(const StandaloneOptions& options);

  std::string socket() const { return dirs_.socket(); }
  // Whether this Join started it.
  bool started() const { return child_.has_value(); }

  // Lets go. Where nobody else holds the daemon, waits until it has ended, at most `patience`.
  void Leave(absl::Duration patience);

 private:
  StandaloneDirs dirs_;
  std::optional<Child> child_;
  UniqueFd lock_;
};

// The path of plimsolld: beside this program, else in PATH. NOT_FOUND.
absl::StatusOr<std::string> FindDaemon();

}  // namespace plimsoll::cli

#endif  // PLIMSOLL_CLI_STANDALONE_H_
