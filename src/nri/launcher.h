// Starts the pre-installed plugins, and starts them again.
#ifndef PLIMSOLL_NRI_LAUNCHER_H_
#define PLIMSOLL_NRI_LAUNCHER_H_

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "base/programs/subprocess.h"
#include "base/retry_delay.h"
#include "base/steady_time.h"
#include "base/unique_fd.h"
#include "nri/parts.h"
#include "nri/plugin_connection.h"

namespace plimsoll::nri {

struct LaunchTimes {
  RetryDelayOptions restart{.first = absl::Milliseconds(500), .longest = absl::Minutes(1)};
  // A plugin that was ready for so long starts again after the shortest wait.
  absl::Duration healthy = absl::Minutes(1);
  absl::Duration stop_grace = absl::Seconds(2);
};

// The programs run in plimsolld's own control group, in sessions of their own, without standard
// streams. Used by one thread at a time.
class Launcher {
 public:
  Launcher(Parts* parts, RuntimeCalls* calls, LaunchTimes times)
      : parts_(parts), calls_(calls), times_(std::move(times)) {}

  // Looks for plugins. Those that are found later are not started.
  void Find();
  // Starts those that are due, and adds them to the roster.
  void StartDue();
  SteadyTime next_start() const;
  // A connection has ended: ends its program, and plans its next start. Returns the reason, with
  // the program's exit if that came first.
  std::string Ended(const PluginConnection& plugin);
  // SIGTERM, and SIGKILL after the grace.
  void Stop();

 private:
  struct Program {
    PluginName name;
    RetryDelay delay;
    SteadyTime due;  // kNever: it runs
    const PluginConnection* connection = nullptr;
    std::optional<Child> child;
    UniqueFd file;  // it runs by this descriptor: see Spawn
    SteadyTime started;
    bool started_before = false;
  };

  absl::Status Start(Program* program);
  void Plan(Program* program);

  Parts* const parts_;
  RuntimeCalls* const calls_;
  const LaunchTimes times_;
  std::vector<Program> programs_;
};

}  // namespace plimsoll::nri

#endif  // PLIMSOLL_NRI_LAUNCHER_H_
