// Events from the differences between two states of the node.
#ifndef PLIMSOLL_KUBE_PUBLISH_NODE_NEWS_H_
#define PLIMSOLL_KUBE_PUBLISH_NODE_NEWS_H_

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "kube/link/runtime_link.h"
#include "kube/publish/event_board.h"
#include "kube/publish/node_conditions.h"

namespace plimsoll::kube {

// Not thread-safe.
class NodeNews {
 public:
  // `known`: the Node's conditions as an earlier run left them, so that a restart reports nothing
  // twice.
  void Begin(const std::vector<NodeCondition>& known);
  bool has_begun() const { return has_begun_; }

  // An event for each condition that became True, is True with another message, or is no longer
  // True; a status Unknown changes nothing. "ClassesChanged" for classes that came or went,
  // "TopologyChanged" for CPUs, memory and zones. Returned in that order.
  std::vector<NodeEvent> Compare(const std::shared_ptr<const NodeReport>& report,
                                 const std::vector<NodeCondition>& conditions);

 private:
  bool has_begun_ = false;
  std::map<std::string, NodeCondition> known_;  // by type; True and False only
  std::shared_ptr<const NodeReport> last_;      // report
  std::shared_ptr<const NodeReport> topology_;  // the last report with one
};

}  // namespace plimsoll::kube

#endif  // PLIMSOLL_KUBE_PUBLISH_NODE_NEWS_H_
