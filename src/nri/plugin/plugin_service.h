// The plugin's service: calls of the runtime as bytes, turned into calls of a Plugin.
#ifndef PLIMSOLL_NRI_PLUGIN_PLUGIN_SERVICE_H_
#define PLIMSOLL_NRI_PLUGIN_PLUGIN_SERVICE_H_

#include <atomic>
#include <cstddef>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "nri/plugin/plugin.h"

namespace plimsoll::nri {

// Bits of a subscription, as Configure answers them; 0, all, for no event.
int32_t EventMask(const std::vector<api::Event>& events);

// Used by one thread, HasShutDown excepted.
class PluginService {
 public:
  // The bound of all parts of one Synchronize together.
  static constexpr size_t kMaxSynchronizeBytes = 64 * 1024 * 1024;

  explicit PluginService(Plugin& plugin) : plugin_(plugin) {}

  // The answer's bytes. The errors: the plugin's own; UNIMPLEMENTED: no such method;
  // INVALID_ARGUMENT: not the method's message; RESOURCE_EXHAUSTED: an endless Synchronize.
  absl::StatusOr<std::string> Serve(absl::string_view method, absl::string_view payload);

  bool HasShutDown() const { return has_shut_down_; }

 private:
  absl::StatusOr<std::string> Configure(absl::string_view payload);
  absl::StatusOr<std::string> Synchronize(absl::string_view payload);
  absl::StatusOr<std::string> StateChange(absl::string_view payload);

  Plugin& plugin_;
  api::SynchronizeRequest parts_;  // that have come of a Synchronize
  size_t parts_bytes_ = 0;
  std::atomic<bool> has_shut_down_ = false;
};

}  // namespace plimsoll::nri

#endif  // PLIMSOLL_NRI_PLUGIN_PLUGIN_SERVICE_H_
