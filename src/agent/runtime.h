// The runtime that an agent uses, and the facts that it reports of itself.
#ifndef PLIMSOLL_AGENT_RUNTIME_H_
#define PLIMSOLL_AGENT_RUNTIME_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "agent/counters/counters.h"
#include "agent/pods/classes/class_requests.h"
#include "cri/runtime/v1/api.pb.h"
#include "pod_runner/runtime_client/client.h"

namespace plimsoll::agent {

// Thread-safe.
class Runtime {
 public:
  // A call waits so long for a runtime that is frozen, or has much to do.
  static constexpr int64_t kPatienceSeconds = 3;

  // Connects at the first call. `classes`: gate ClassResources. INVALID_ARGUMENT: no such address.
  // `counters` counts its calls, and outlives this.
  static absl::StatusOr<std::unique_ptr<Runtime>> Open(const std::string& address, bool classes,
                                                       Counters& counters,
                                                       int64_t patience_s = kPatienceSeconds);

  pod::Client& client() { return *client_; }
  // "plimsoll"; empty until the runtime answers.
  std::string Name();
  // The runtime's class types (KEP-3008). None: it has none, reports none, or the gate is off.
  // While the runtime can't be reached, those that it reported last; UNAVAILABLE if it never did.
  absl::StatusOr<NodeClasses> Classes();
  // For an agent without a pod on record, before CheckUse: `warn` gets a sentence, once, if the
  // runtime runs pods that the agent of this name made.
  void ExpectNoPodsOf(const std::string& agent, const std::string& state_directory,
                      std::function<void(const std::string&)> warn);
  // FAILED_PRECONDITION: it has pods of a kubelet. Asks until it had none once; errors of that
  // call.
  absl::Status CheckUse();
  // Returns what the last call of Classes brought, without asking.
  absl::StatusOr<NodeClasses> KnownClasses() const;

 private:
  using Sandboxes = std::vector<::runtime::v1::PodSandbox>;

  Runtime(std::unique_ptr<pod::Client> client, bool classes, int64_t patience_s)
      : client_(std::move(client)), classes_(classes), patience_s_(patience_s) {}
  absl::StatusOr<NodeClasses> Told() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const std::unique_ptr<pod::Client> client_;
  const bool classes_;
  const int64_t patience_s_;
  std::function<void(const Sandboxes&)> at_first_look_;  // see ExpectNoPodsOf
  mutable absl::Mutex mutex_;                            // held during no call
  bool is_checked_ ABSL_GUARDED_BY(mutex_) = false;      // see CheckUse
  std::string name_ ABSL_GUARDED_BY(mutex_);
  std::optional<NodeClasses> told_ ABSL_GUARDED_BY(mutex_);
  absl::Status failure_ ABSL_GUARDED_BY(mutex_) = absl::UnavailableError("it was not asked yet");
};

}  // namespace plimsoll::agent

#endif  // PLIMSOLL_AGENT_RUNTIME_H_
