#include "agent/topology_manager/node_range.h"

#include <cstddef>
#include <cstdint>

namespace plimsoll::agent {
namespace {

constexpr size_t kMostQuestions = size_t{1} << 20;

// Adds nodes in their order until a set suffices: those sets are the least.
class Walk {
 public:
  Walk(NodeMask needed, const std::vector<uint32_t>& nodes,
       absl::FunctionRef<bool(NodeMask)> suffices)
      : nodes_(nodes), suffices_(suffices), rest_(nodes.size() + 1) {
    for (size_t i = nodes.size(); i-- > 0;) rest_[i] = rest_[i + 1] | NodeMask::Of(nodes[i]);
    all_ = needed | rest_.front();
    if (!Suffices(all_)) return;
    if (!needed.Empty() && Suffices(needed)) {
      Found(needed);
    } else {
      Extend(needed, 0);
    }
  }

  std::vector<NodeRange> ranges() && { return std::move(ranges_); }

 private:
  bool Suffices(NodeMask mask) {
    ++questions_;
    return !mask.Empty() && suffices_(mask);
  }

  void Found(NodeMask mask) { ranges_.push_back({.least = mask, .most = all_}); }

  // `begun` doesn't suffice; with all nodes from `from` on it does.
  void Extend(NodeMask begun, size_t from) {
    for (size_t i = from; i < nodes_.size() && questions_ < kMostQuestions; ++i) {
      if (i > from && !Suffices(begun | rest_[i])) return;
      const NodeMask with = begun | NodeMask::Of(nodes_[i]);
      if (Suffices(with)) {
        Found(with);
      } else {
        Extend(with, i + 1);
      }
    }
  }

  const std::vector<uint32_t>& nodes_;
  const absl::FunctionRef<bool(NodeMask)> suffices_;
  std::vector<NodeMask> rest_;  // the nodes from a place on
  NodeMask all_;
  size_t questions_ = 0;
  std::vector<NodeRange> ranges_;
};

}  // namespace

std::vector<NodeRange> RangesThatSuffice(NodeMask needed, const std::vector<uint32_t>& nodes,
                                         absl::FunctionRef<bool(NodeMask)> suffices) {
  return Walk(needed, nodes, suffices).ranges();
}

}  // namespace plimsoll::agent
