// NodeReport (plimsoll/v1/cluster.proto): the node as a cluster needs to know it.
#ifndef PLIMSOLL_CLUSTER_SOCKET_REPORT_H_
#define PLIMSOLL_CLUSTER_SOCKET_REPORT_H_

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "kubelet/kubelet.h"
#include "plimsoll/v1/cluster.pb.h"
#include "qos/drift_watch.h"
#include "qos/registry.h"
#include "topology/publisher.h"

namespace plimsoll::cluster {

// The origins of a report. The pointers outlive their users; the functions are thread-safe, and
// cheap where nothing else is said.
struct ReportSources {
  std::string version;
  const qos::Registry* registry = nullptr;        // null: the gate ClassResources is off
  const topology::Publisher* topology = nullptr;  // null: its gate is off
  // OK if the pods' share of the node is as configured, else "<Reason>: <why>"; may be null.
  std::function<absl::Status()> partition;
  // OK if the table of told classes can be read; may be null.
  std::function<absl::Status()> told;
  // All that kubelet has given out; waits 100 ms at most. Null: there is no kubelet to ask.
  std::function<absl::StatusOr<kubelet::Grants>()> grants;
};

// The looks that cost something, for one report. The rest is read at each.
struct Looks {
  bool drift = true;
  bool grants = true;
};

// One thread at a time. Keeps the results of the last looks.
class ReportMaker {
 public:
  explicit ReportMaker(ReportSources sources);

  // Drift is looked for at some of the holders, for 20 ms or at one at most; it counts once two
  // looks in a row have seen it.
  ::plimsoll::v1::NodeReport Make(Looks looks);
  // See DriftWatch::HasNew.
  bool HasNewDrift() const { return drift_watch_ != nullptr && drift_watch_->HasNew(); }

 private:
  using Drifted = std::map<qos::DriftWatch::Key, std::vector<std::string>>;

  void AddTypes(::plimsoll::v1::NodeReport* report) const;
  void AddTopology(::plimsoll::v1::NodeReport* report) const;
  void AddExclusive(::plimsoll::v1::NodeReport* report) const;
  void AddTroubles(::plimsoll::v1::NodeReport* report) const;

  const ReportSources sources_;
  std::unique_ptr<qos::DriftWatch> drift_watch_;  // null: there is no registry
  Drifted drifted_;
  std::optional<kubelet::Grants> grants_;
};

}  // namespace plimsoll::cluster

#endif  // PLIMSOLL_CLUSTER_SOCKET_REPORT_H_
