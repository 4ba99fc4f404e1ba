// The two kinds that are parts of the Node object: metadata and conditions.
#ifndef PLIMSOLL_KUBE_PUBLISH_NODE_PUBLICATIONS_H_
#define PLIMSOLL_KUBE_PUBLISH_NODE_PUBLICATIONS_H_

#include <functional>
#include <string>
#include <vector>

#include "kube/publish/publication.h"
#include "kube/publish/publish_options.h"

namespace plimsoll::kube {

// By merge patches without resourceVersion: each key is this program's alone, so no patch can lose
// another writer's change, and none conflicts with kubelet's frequent ones.
class MetadataPublication : public Publication {
 public:
  // `note` gets a sentence for each fact that its bound leaves out, once.
  MetadataPublication(PublishOptions options, std::function<void(const std::string&)> note);
  absl::string_view name() const override { return "labels and annotations"; }
  absl::StatusOr<bool> Publish(const DesiredNode& desired, OwnNode& node,
                               const Moment& at) override;

 private:
  const PublishOptions options_;
  const std::function<void(const std::string&)> note_;
  std::vector<std::string> left_out_;
};

// By strategic merge patches of the status, in which conditions are a list by type.
class ConditionPublication : public Publication {
 public:
  // Not enabled: conditions of earlier runs are removed.
  explicit ConditionPublication(bool enabled) : enabled_(enabled) {}
  absl::string_view name() const override { return "conditions"; }
  absl::StatusOr<bool> Publish(const DesiredNode& desired, OwnNode& node,
                               const Moment& at) override;

 private:
  const bool enabled_;
};

}  // namespace plimsoll::kube

#endif  // PLIMSOLL_KUBE_PUBLISH_NODE_PUBLICATIONS_H_
