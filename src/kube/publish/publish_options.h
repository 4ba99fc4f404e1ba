// The facts of its node that plimsoll-kube publishes, as an administrator chose them.
#ifndef PLIMSOLL_KUBE_PUBLISH_PUBLISH_OPTIONS_H_
#define PLIMSOLL_KUBE_PUBLISH_PUBLISH_OPTIONS_H_

#include <string>
#include <vector>

#include "absl/status/status.h"

namespace plimsoll::kube {

struct PublishOptions {
  // Names of facts (LabelFacts, AnnotationFacts); none by default.
  std::vector<std::string> labels;
  std::vector<std::string> annotations;
  bool conditions = true;
  bool events = true;
  bool topology = true;  // the object NodeResourceTopology
  // kubelet's topologyManagerPolicy and topologyManagerScope, for scheduler plugins; empty: not
  // told.
  std::string topology_manager_policy;
  std::string topology_manager_scope;
};

// The facts that may be labels and annotations, in the order in which people read them.
const std::vector<std::string>& LabelFacts();
const std::vector<std::string>& AnnotationFacts();

// INVALID_ARGUMENT names each wrong value and what would be right.
absl::Status CheckPublishOptions(const PublishOptions& options);

}  // namespace plimsoll::kube

#endif  // PLIMSOLL_KUBE_PUBLISH_PUBLISH_OPTIONS_H_
