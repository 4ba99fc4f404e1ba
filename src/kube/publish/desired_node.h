// The node as it is to be published: the newest report of plimsolld, and its silence.
#ifndef PLIMSOLL_KUBE_PUBLISH_DESIRED_NODE_H_
#define PLIMSOLL_KUBE_PUBLISH_DESIRED_NODE_H_

#include <memory>
#include <vector>

#include "absl/time/time.h"
#include "base/steady_time.h"
#include "kube/link/runtime_link.h"
#include "kube/publish/node_conditions.h"

namespace plimsoll::kube {

// Not thread-safe.
class DesiredNode {
 public:
  // A restart of plimsolld is shorter, and not told.
  static constexpr absl::Duration kSilence = absl::Seconds(30);

  // nullptr: the link broke.
  void Take(std::shared_ptr<const NodeReport> report, SteadyTime now);

  // The newest, also while plimsolld is silent; nullptr: none yet.
  const std::shared_ptr<const NodeReport>& report() const { return report_; }
  // There is something to tell.
  bool IsKnown(SteadyTime now) const { return report_ != nullptr || IsSilent(now); }
  // Empty: there is nothing to tell.
  std::vector<NodeCondition> Conditions(SteadyTime now) const;
  // The moment from which plimsolld counts as silent; kNever: it answers.
  SteadyTime silent_from() const { return silent_from_; }
  bool IsSilent(SteadyTime now) const { return now >= silent_from_; }

 private:
  std::shared_ptr<const NodeReport> report_;
  SteadyTime silent_from_ = kNever;
};

}  // namespace plimsoll::kube

#endif  // PLIMSOLL_KUBE_PUBLISH_DESIRED_NODE_H_
