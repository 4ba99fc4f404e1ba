// How many CPUs each NUMA node gives to a request that is distributed evenly (KEP-2902).
#ifndef PLIMSOLL_AGENT_CPU_MANAGER_NODE_SHARES_H_
#define PLIMSOLL_AGENT_CPU_MANAGER_NODE_SHARES_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "agent/cpu_manager/combinations.h"

namespace plimsoll::agent {

// Arithmetic only: nodes are known by their place in Request::free.
class NodeShares {
 public:
  struct Request {
    std::vector<size_t> free;  // free CPUs, by node, in kubelet's order
    size_t count = 0;          // a multiple of group_size, at most the sum of `free`
    size_t group_size = 1;
  };
  explicit NodeShares(Request request);

  struct Turn {
    size_t node;
    size_t count;  // CPUs to take of it
    bool operator==(const Turn&) const = default;
  };
  // The turns in which to take the request from `nodes` nodes: an even share of each, then the
  // groups that are left, from those nodes that leave the free CPUs of all nodes most alike (the
  // smallest standard deviation, to three decimals), spread over as many as are no worse. nullopt:
  // no choice of so many nodes has an even share in each.
  //
  // The choice is kubelet's, with NotedPrefix; if that can't give the CPUs (kubelet then fails the
  // pod, or hangs), it is the best one. Looks at kMostTries choices at most and goes by these: all
  // on a machine of up to ten nodes.
  std::optional<std::vector<Turn>> Best(size_t nodes);

  static constexpr size_t kMostTries = size_t{1} << 16;

 private:
  struct Choice {
    Combination nodes;
    Combination rest;  // nodes that give what is left
    double balance;
  };
  struct Rest {
    Combination nodes;
    double balance;
  };

  std::optional<Choice> Evaluate(const Combination& nodes, const std::optional<Choice>& best);
  std::optional<Rest> BestRest(const Combination& candidates, double to_beat);
  // The sum of squares that is left after `groups` groups, in turns of one each from `nodes`.
  // nullopt: they have too few.
  std::optional<int64_t> SquaresAfter(const Combination& nodes, size_t groups) const;
  // A lower bound of SquaresAfter for all choices of `nodes`.
  std::optional<int64_t> LeastSquares(const Combination& nodes, size_t groups) const;
  double Balance(int64_t squares) const;
  std::optional<std::vector<Turn>> Turns(const Combination& nodes, const Combination& rest) const;

  const Request request_;
  size_t share_ = 0;           // of each node
  size_t rest_groups_ = 0;     // beyond the shares
  std::vector<int64_t> left_;  // by node, after the shares of the nodes under consideration
  int64_t squares_left_ = 0;   // the sum of their squares
  size_t tries_ = 0;
};

}  // namespace plimsoll::agent

#endif  // PLIMSOLL_AGENT_CPU_MANAGER_NODE_SHARES_H_
