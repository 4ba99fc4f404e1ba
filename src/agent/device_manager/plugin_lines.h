// The log's lines about plugins that have registered.
#ifndef PLIMSOLL_AGENT_DEVICE_MANAGER_PLUGIN_LINES_H_
#define PLIMSOLL_AGENT_DEVICE_MANAGER_PLUGIN_LINES_H_

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "agent/device_manager/device_stock.h"
#include "base/steady_time.h"

namespace plimsoll::agent {

// A plugin that registers in a loop gets kMostLines in kWindow; the line after them says how many
// were left out. Thread-safe.
class PluginLines {
 public:
  static constexpr int64_t kMostLines = 5;
  static constexpr absl::Duration kWindow = absl::Minutes(1);

  explicit PluginLines(std::function<SteadyTime()> now) : now_(std::move(now)) {}

  // The line about a registration, with the plugin's socket and the devices of its first list;
  // nullopt: it is left out.
  std::optional<std::string> Registered(const std::string& resource, const std::string& socket_path,
                                        const std::vector<Device>& devices);

 private:
  // More resources than plugins can have: those of plugins that went long ago are forgotten.
  static constexpr size_t kMostResources = 256;

  struct Told {
    SteadyTime window_end;
    int64_t lines = 0;     // in the window
    int64_t left_out = 0;  // since the last line
  };
  const std::function<SteadyTime()> now_;
  absl::Mutex mutex_;
  std::map<std::string, Told> told_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace plimsoll::agent

#endif  // PLIMSOLL_AGENT_DEVICE_MANAGER_PLUGIN_LINES_H_
