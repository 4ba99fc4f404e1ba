// One device plugin that has registered.
#ifndef PLIMSOLL_AGENT_DEVICE_MANAGER_PLUGIN_H_
#define PLIMSOLL_AGENT_DEVICE_MANAGER_PLUGIN_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "pod_runner/cri_requests/context.h"

namespace plimsoll::agent {

// How long a plugin may take for its answers. kubelet limits PreStartContainer alone, and hangs
// with a plugin that doesn't answer the others.
struct PluginLimits {
  absl::Duration options = absl::Seconds(10);
  absl::Duration prefer = absl::Seconds(5);  // the pod isn't admitted before it
  absl::Duration allocate = absl::Seconds(60);
  absl::Duration pre_start = absl::Seconds(30);
};

// Thread-safe. Calls wait for the plugin, each for a limited time: DEADLINE_EXCEEDED after it.
// UNAVAILABLE: the plugin has ended. Other errors are the plugin's own, in the words in which Go's
// gRPC shows them ("rpc error: code = Unknown desc = ...").
class Plugin {
 public:
  virtual ~Plugin() = default;

  virtual bool has_preference() const = 0;
  virtual bool wants_pre_start() const = 0;
  virtual absl::StatusOr<std::vector<std::string>> Prefer(
      const std::vector<std::string>& available, const std::vector<std::string>& must_include,
      int64_t count) = 0;
  // INVALID_ARGUMENT also for an answer that no container can get.
  virtual absl::StatusOr<pod::GivenDevices> Allocate(const std::vector<std::string>& ids) = 0;
  virtual absl::Status PreStart(const std::vector<std::string>& ids) = 0;
  // Ends its stream soon. Calls under way go on.
  virtual void Close() = 0;
  // Whether the plugin's stream is over.
  virtual bool has_ended() const = 0;
};

}  // namespace plimsoll::agent

#endif  // PLIMSOLL_AGENT_DEVICE_MANAGER_PLUGIN_H_
