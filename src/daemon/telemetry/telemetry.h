// The daemon's own signs of life: metrics, log lines of what happens, health, and the HTTP pages
// that show them.
#ifndef PLIMSOLL_DAEMON_TELEMETRY_TELEMETRY_H_
#define PLIMSOLL_DAEMON_TELEMETRY_TELEMETRY_H_

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "base/fs_root.h"
#include "cri/calls/lanes.h"
#include "daemon/telemetry/activity.h"
#include "daemon/telemetry/freed_memory.h"
#include "daemon/telemetry/metrics.h"
#include "daemon/telemetry/node_health.h"
#include "runtime/engine.h"
#include "runtime/objects/event_log.h"
#include "service/http_server.h"
#include "service/logging.h"

namespace plimsoll::daemon {

// Made before the engine, which counts in its metrics, and ended after it. One thread opens and
// ends it; metrics, activity and health are thread-safe.
class Telemetry {
 public:
  // `lanes`: the threads of calls, none while nothing is served. `log` outlives it.
  Telemetry(const std::string& version, const FsRoot& host,
            std::function<std::vector<cri::LaneState>()> lanes, Log* log);
  ~Telemetry();
  Telemetry(const Telemetry&) = delete;
  Telemetry& operator=(const Telemetry&) = delete;

  // Logs and counts events from now on; `events` outlives it.
  void Follow(runtime::EventLog* events);
  void OpenHealth(NodeHealth::Parts parts) { health_.emplace(std::move(parts)); }
  // Serves /metrics, /healthz and /readyz at `address`; empty: nowhere. After OpenHealth.
  // UNAVAILABLE.
  absl::Status ServePages(const std::string& address);
  // The engine has found everything again; it is there until LetGoOfEngine.
  void Recovered(const runtime::Engine* engine);
  void ClosePages() { pages_.reset(); }
  // Asks the engine and its parts nothing any more, and hears no event of theirs. They still count
  // in the metrics. After ClosePages.
  void LetGoOfEngine();

  Metrics* metrics() { return &metrics_; }
  Activity* activity() { return &activity_; }
  NodeHealth* health() { return &*health_; }  // after OpenHealth

 private:
  Log* const log_;
  std::atomic<const runtime::Engine*> engine_ = nullptr;  // null: still looking
  Metrics metrics_;
  Activity activity_;
  FreedMemory freed_memory_;
  std::optional<NodeHealth> health_;
  runtime::EventLog* events_ = nullptr;
  std::optional<int> listener_;        // of `events_`
  std::unique_ptr<HttpServer> pages_;  // asks metrics and health
};

}  // namespace plimsoll::daemon

#endif  // PLIMSOLL_DAEMON_TELEMETRY_TELEMETRY_H_
