// The runtime that an agent uses, and the facts that it tells of itself.
#ifndef PLIMSOLL_AGENT_RUNTIME_H_
#define PLIMSOLL_AGENT_RUNTIME_H_

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "agent/counters/counters.h"
#include "agent/pods/class_requests.h"
#include "pod/client.h"

namespace plimsoll::agent {

// Thread-safe.
class Runtime {
 public:
  // Connects at the first call. `classes`: gate ClassResources. INVALID_ARGUMENT: no such address.
  // `counters` counts its calls, and outlives this.
  static absl::StatusOr<std::unique_ptr<Runtime>> Open(const std::string& address, bool classes,
                                                       Counters& counters);

  pod::Client& client() { return *client_; }
  // "plimsoll"; empty until the runtime answers.
  std::string Name();
  // Its class types (KEP-3008). None: it has none, doesn't tell of any, or the gate is off. While
  // the runtime can't be reached, those that it told last; UNAVAILABLE if it never did.
  absl::StatusOr<NodeClasses> Classes();

 private:
  Runtime(std::unique_ptr<pod::Client> client, bool classes)
      : client_(std::move(client)), classes_(classes) {}

  const std::unique_ptr<pod::Client> client_;
  const bool classes_;
  absl::Mutex mutex_;
  std::string name_ ABSL_GUARDED_BY(mutex_);
  std::optional<NodeClasses> told_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace plimsoll::agent

#endif  // PLIMSOLL_AGENT_RUNTIME_H_
