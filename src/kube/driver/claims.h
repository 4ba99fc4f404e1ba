// Prepares and unprepares claims: what the API server says of one, what plimsolld gets, what
// kubelet gets. Knows no gRPC of kubelet's.
#ifndef PLIMSOLL_KUBE_DRIVER_CLAIMS_H_
#define PLIMSOLL_KUBE_DRIVER_CLAIMS_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "kube/apiserver/api_client.h"
#include "kube/driver/claim_store.h"
#include "kube/driver/device_board.h"
#include "kube/link/runtime_link.h"

namespace plimsoll::kube {

// One device of a prepared claim, as kubelet wants it.
struct PluginDevice {
  std::string request;
  std::string device;
  std::string share_id;
  std::vector<std::string> cdi_names;  // none for a pod-level class
  bool operator==(const PluginDevice&) const = default;
};

struct ClaimsOptions {
  std::string node;
  // For an answer of the API server, and for the runtime's first report.
  absl::Duration patience = absl::Seconds(10);
  // For the API server where the disk knows the claim.
  absl::Duration short_patience = absl::Seconds(3);
};

// Thread-safe. Calls about one claim take turns. Each call waits for the API server and plimsolld,
// half a minute at most. Errors name claim, place and reason.
class Claims {
 public:
  // All outlive this.
  Claims(ApiClient& api, RuntimeLink& link, const DeviceBoard& board, ClaimStore& store,
         ClaimsOptions options);

  // Idempotent. A claim that the disk knows is prepared also without the API server.
  absl::StatusOr<std::vector<PluginDevice>> Prepare(const ClaimRef& claim);
  // Idempotent. OK for an unknown claim.
  absl::Status Unprepare(const ClaimRef& claim);
  // plimsolld answers again.
  void RuntimeIsBack() { must_tell_again_ = true; }
  // TellAgain has something to do: it hasn't succeeded yet, or not since plimsolld came back.
  bool must_tell_again() const { return must_tell_again_; }
  // Sets in plimsolld pod-level classes of prepared claims that it doesn't know: it may have lost
  // them, and kubelet never has a claim prepared twice. Claims that only plimsolld knows stay: this
  // disk may be the one that has lost them. `refused` gets one sentence if plimsolld refuses some.
  // An error: plimsolld or the disk can't answer now, and nothing or a part is set.
  absl::Status TellAgain(const std::function<void(const std::string&)>& refused);

 private:
  class Turn;

  absl::StatusOr<std::vector<PluginDevice>> PrepareInTurn(const ClaimRef& claim);
  // The claim as it has to be prepared now. `known`: what the disk has; stands where the API server
  // can't be asked.
  absl::StatusOr<PreparedClaim> Wanted(const ClaimRef& claim,
                                       const std::optional<PreparedClaim>& known);
  absl::StatusOr<PreparedClaim> Resolve(const ClaimRef& claim, const Allocation& allocation) const;
  absl::Status CheckClasses(const PreparedClaim& claim) const;
  absl::Status UnprepareInTurn(const ClaimRef& claim);
  absl::Status TellLacking(const std::function<void(const std::string&)>& refused);
  // Sets the claim's classes, if the disk has them by now.
  absl::Status TellOneAgain(const std::string& uid);

  ApiClient& api_;
  RuntimeLink& link_;
  const DeviceBoard& board_;
  ClaimStore& store_;
  const ClaimsOptions options_;
  std::atomic<bool> must_tell_again_ = true;
  absl::Mutex mutex_;
  std::set<std::string> busy_ ABSL_GUARDED_BY(mutex_);  // uids of claims whose turn it is
};

}  // namespace plimsoll::kube

#endif  // PLIMSOLL_KUBE_DRIVER_CLAIMS_H_
