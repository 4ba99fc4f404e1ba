// A daemon of our own, where none runs: `plimsoll` starts `plimsolld --standalone` and shares it
// with every other `plimsoll` of the same directories.
//
// A user of the daemon holds a shared flock(2) on <run directory>/clients.lock. The daemon ends
// when it gets that lock exclusively; pods run on. <run directory>/start.lock is held during
// the search for the daemon and its start, so that two `plimsoll` don't start two.
#ifndef PLIMSOLL_CLI_COMMAND_STANDALONE_H_
#define PLIMSOLL_CLI_COMMAND_STANDALONE_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/programs/subprocess.h"
#include "base/unique_fd.h"

namespace plimsoll::cli {

struct StandaloneDirs {
  std::string state = "/var/lib/plimsoll/standalone";
  std::string run = "/run/plimsoll-standalone";  // plimsolld mounts upon /run/plimsoll

  // <root>/state and <root>/run; the defaults for an empty root.
  static StandaloneDirs Below(const std::string& root);
  std::string socket() const { return run + "/plimsoll.sock"; }
  // The daemon's log, for the error when it fails.
  std::string log() const { return run + "/plimsolld.log"; }
};

struct StandaloneOptions {
  StandaloneDirs dirs;
  std::string daemon;  // path of plimsolld; empty: beside this program, else in PATH
  absl::Duration timeout = absl::Seconds(60);
};

// Keeps the daemon running; the destructor lets go of it.
class Standalone {
 public:
  // Returns when the daemon's socket answers. NOT_FOUND: there is no plimsolld.
  // FAILED_PRECONDITION: the daemon refused to start; the message is the daemon's. UNAVAILABLE: the
  // directories are those of a killed plimsolld that no command started.
  // DEADLINE_EXCEEDED.
  static absl::StatusOr<Standalone> Join(const StandaloneOptions& options);

  std::string socket() const { return dirs_.socket(); }
  // True: this Join started the daemon.
  bool started() const { return child_.has_value(); }

  // Lets go of the daemon. Where no other client holds it, waits for its end, at most `patience`.
  void Leave(absl::Duration patience);

 private:
  StandaloneDirs dirs_;
  std::optional<Child> child_;
  UniqueFd lock_;
};

// Reasons why Join would not start a daemon in these directories, or would wait in vain, as far as
// they show from outside of plimsolld; empty too where a daemon answers there. Changes nothing.
std::vector<absl::Status> StartHindrances(const StandaloneDirs& dirs);

// The path of plimsolld: beside this program, else in PATH. NOT_FOUND.
absl::StatusOr<std::string> FindDaemon();

}  // namespace plimsoll::cli

#endif  // PLIMSOLL_CLI_COMMAND_STANDALONE_H_
