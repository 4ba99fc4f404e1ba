#include "kube/publish/node_publications.h"

#include <utility>

#include "base/status.h"
#include "kube/publish/metadata_patch.h"
#include "kube/publish/node_conditions.h"
#include "kube/publish/node_facts.h"

namespace plimsoll::kube {

MetadataPublication::MetadataPublication(PublishOptions options,
                                         std::function<void(const std::string&)> note)
    : options_(std::move(options)), note_(std::move(note)) {}

absl::StatusOr<bool> MetadataPublication::Publish(const DesiredNode& desired, OwnNode& node,
                                                  const Moment&) {
  if (desired.report() == nullptr) return false;  // facts of an earlier run stay
  NodeFacts facts = FactsOf(*desired.report(), options_);
  if (facts.left_out != left_out_) {
    left_out_ = facts.left_out;
    for (const std::string& sentence : left_out_) note_(sentence);
  }
  const nlohmann::json patch = MetadataPatch(node.object(), facts);
  if (patch.is_null()) return false;
  PLIMSOLL_RETURN_IF_ERROR(node.Patch("", "application/merge-patch+json", patch));
  return true;
}

absl::StatusOr<bool> ConditionPublication::Publish(const DesiredNode& desired, OwnNode& node,
                                                   const Moment& at) {
  const std::vector<NodeCondition> wanted =
      enabled_ ? desired.Conditions(at.now) : std::vector<NodeCondition>();
  if (enabled_ && wanted.empty()) return false;
  const nlohmann::json patch = ConditionsPatch(node.object(), wanted, at.time);
  if (patch.is_null()) return false;
  PLIMSOLL_RETURN_IF_ERROR(node.Patch("/status", "application/strategic-merge-patch+json", patch));
  return true;
}

}  // namespace plimsoll::kube
