#include "agent/memory_manager/node_sets.h"

#include <algorithm>
#include <bit>
#include <functional>
#include <tuple>

#include "agent/topology_manager/mask_walk.h"

namespace plimsoll::agent {
namespace {

using Numbers = std::vector<uint32_t>;

// How many sets of `size` there are of n nodes; more than kMostSets: any number above.
size_t CountSets(size_t n, size_t size) {
  size_t count = 1;
  for (size_t i = 0; i < std::min(size, n - size) && count <= kMostSets; ++i) {
    count = count * (n - i) / (i + 1);
  }
  return count;
}

// `inside` and each run of the sorted nodes' first ones.
void AddGrowing(NodeMask inside, const Numbers& nodes, std::vector<NodeMask>& sets) {
  NodeMask mask = inside;
  for (const uint32_t node : nodes) {
    mask.Add(node);
    sets.push_back(mask);
  }
}

void AddRuns(const Numbers& nodes, std::vector<NodeMask>& sets) {
  for (size_t first = 0; first < nodes.size(); ++first) {
    AddGrowing({}, Numbers(nodes.begin() + static_cast<ptrdiff_t>(first), nodes.end()), sets);
  }
}

// Nodes by what they have of each resource, the most first.
void AddRichest(const std::vector<NodeMemory>& nodes, size_t resources, NodeMask inside,
                std::vector<NodeMask>& sets) {
  for (const auto member : {&NodeMemory::free, &NodeMemory::allocatable}) {
    for (size_t resource = 0; resource < resources; ++resource) {
      std::vector<NodeMemory> sorted = nodes;
      std::stable_sort(sorted.begin(), sorted.end(), [&](const auto& a, const auto& b) {
        return (a.*member)[resource] > (b.*member)[resource];
      });
      Numbers numbers;
      for (const NodeMemory& node : sorted) numbers.push_back(node.node);
      AddGrowing(inside, numbers, sets);
    }
  }
}

bool ComesFirst(NodeMask a, NodeMask b) {
  if (a.Count() != b.Count()) return a.Count() < b.Count();
  const uint64_t different = a.bits() ^ b.bits();
  return (a.bits() & (different & (~different + 1))) != 0;  // the lowest node that differs
}

void AddLikelySets(const MemoryState& state, const std::vector<NodeMask>& wanted, NodeMask inside,
                   const Numbers& numbers, std::vector<NodeMask>& sets) {
  NodeMask all;
  std::vector<NodeMemory> unused;
  Numbers unused_numbers;
  for (const NodeMemory& node : state.nodes()) {
    all.Add(node.node);
    if (!node.group.Empty()) continue;
    unused.push_back(node);
    unused_numbers.push_back(node.node);
  }
  AddRuns(numbers, sets);
  AddRuns(unused_numbers, sets);
  for (const NodeMask begun : {NodeMask(), inside}) {
    AddRichest(state.nodes(), state.request().size(), begun, sets);
    AddRichest(unused, state.request().size(), begun, sets);
  }
  for (const NodeMemory& node : state.nodes()) sets.push_back(node.group);
  sets.insert(sets.end(), wanted.begin(), wanted.end());
  std::erase_if(sets, [all](NodeMask mask) { return mask.Empty() || !mask.IsSubsetOf(all); });
  std::sort(sets.begin(), sets.end(), ComesFirst);
  sets.erase(std::unique(sets.begin(), sets.end()), sets.end());
}

}  // namespace

void ForEachNodeSet(const MemoryState& state, const std::vector<NodeMask>& wanted, NodeMask inside,
                    absl::FunctionRef<bool(NodeMask)> visit) {
  Numbers numbers;
  for (const NodeMemory& node : state.nodes()) numbers.push_back(node.node);
  if (numbers.size() <= kExactNodes) {
    ForEachMask(numbers, visit);
    return;
  }
  std::vector<NodeMask> sets;
  for (size_t size = 1; size <= numbers.size(); ++size) {
    if (sets.size() + CountSets(numbers.size(), size) > kMostSets) break;
    ForEachMaskOf(size, numbers, [&](NodeMask mask) {
      sets.push_back(mask);
      return true;
    });
  }
  AddLikelySets(state, wanted, inside, numbers, sets);
  for (const NodeMask mask : sets) {
    if (!visit(mask)) return;
  }
}

}  // namespace plimsoll::agent
