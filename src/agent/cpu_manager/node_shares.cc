#include "agent/cpu_manager/node_shares.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

namespace plimsoll::agent {
namespace {

// Whether kubelet, when it tries `next`, overwrites the `noted` combination with it.
bool Overwrites(const Combination& next, const Combination& noted) {
  const size_t prefix = NotedPrefix(noted.size());
  return prefix < noted.size() &&
         std::equal(noted.begin(), noted.begin() + static_cast<std::ptrdiff_t>(prefix),
                    next.begin());
}

// `best`, a choice of 0 to n - 1, as it is noted after all others have been tried.
Combination NotedAfterAll(Combination best, size_t n) {
  const size_t k = best.size();
  for (size_t at = NotedPrefix(k); at < k; ++at) best[at] = n - k + at;
  return best;
}

double ToThreeDecimals(double value) {
  return std::round(value * 1000) / 1000;
}

}  // namespace

NodeShares::NodeShares(Request request) : request_(std::move(request)) {}

std::optional<std::vector<NodeShares::Turn>> NodeShares::Best(size_t nodes) {
  if (nodes == 0) return std::nullopt;
  share_ = request_.count / nodes / request_.group_size * request_.group_size;
  rest_groups_ = (request_.count - share_ * nodes) / request_.group_size;
  std::optional<Choice> best;
  Combination noted;
  ForEachCombination(request_.free.size(), nodes, [&](const Combination& next) {
    if (++tries_ > kMostTries) return false;
    if (best && Overwrites(next, noted)) noted = next;
    if (best && best->balance == 0) return false;
    if (auto better = Evaluate(next, best)) {
      best = std::move(better);
      noted = next;
    }
    return true;
  });
  if (!best) return std::nullopt;
  Combination candidates;
  for (const size_t node : best->nodes) {
    if (request_.free[node] >= share_ + request_.group_size) candidates.push_back(node);
  }
  Combination places;
  for (const size_t node : best->rest) {
    places.push_back(static_cast<size_t>(std::find(candidates.begin(), candidates.end(), node) -
                                         candidates.begin()));
  }
  Combination noted_rest;
  for (const size_t place : NotedAfterAll(places, candidates.size())) {
    noted_rest.push_back(candidates[place]);
  }
  if (auto turns = Turns(noted, noted_rest)) return turns;
  return Turns(best->nodes, best->rest);
}

std::optional<NodeShares::Choice> NodeShares::Evaluate(const Combination& nodes,
                                                       const std::optional<Choice>& best) {
  size_t free = 0;
  size_t groups = 0;
  for (const size_t node : nodes) {
    if (request_.free[node] < share_) return std::nullopt;
    free += request_.free[node];
    groups += request_.free[node] / request_.group_size;
  }
  if (free < request_.count || groups * request_.group_size < request_.count) return std::nullopt;
  left_.assign(request_.free.begin(), request_.free.end());
  for (const size_t node : nodes) left_[node] -= static_cast<int64_t>(share_);
  squares_left_ = std::inner_product(left_.begin(), left_.end(), left_.begin(), int64_t{0});
  const double to_beat = best ? best->balance : std::numeric_limits<double>::infinity();
  if (rest_groups_ == 0) {
    const double balance = Balance(squares_left_);
    if (!(balance < to_beat)) return std::nullopt;
    return Choice{nodes, {}, balance};
  }
  Combination candidates;
  for (const size_t node : nodes) {
    if (left_[node] >= static_cast<int64_t>(request_.group_size)) candidates.push_back(node);
  }
  auto rest = BestRest(candidates, to_beat);
  if (!rest) return std::nullopt;
  return Choice{nodes, std::move(rest->nodes), rest->balance};
}

std::optional<NodeShares::Rest> NodeShares::BestRest(const Combination& candidates,
                                                     double to_beat) {
  const auto least = LeastSquares(candidates, rest_groups_);
  if (!least || !(Balance(*least) < to_beat)) return std::nullopt;
  std::optional<Rest> best;
  for (size_t nodes = candidates.size(); nodes > 0; --nodes) {
    ForEachCombination(candidates.size(), nodes, [&](const Combination& places) {
      if (++tries_ > kMostTries) return false;
      Combination subset;
      for (const size_t place : places) subset.push_back(candidates[place]);
      const auto squares = SquaresAfter(subset, rest_groups_);
      if (!squares) return true;
      const double balance = Balance(*squares);
      if (balance < (best ? best->balance : to_beat)) best = Rest{std::move(subset), balance};
      return !best || best->balance > Balance(*least);
    });
    if (best && best->balance == Balance(*least)) break;
  }
  return best;
}

std::optional<int64_t> NodeShares::SquaresAfter(const Combination& nodes, size_t groups) const {
  const auto group = static_cast<int64_t>(request_.group_size);
  int64_t squares = squares_left_;
  for (int64_t round = 0; groups > 0; ++round) {
    const size_t before = groups;
    for (const size_t node : nodes) {
      const int64_t left = left_[node] - round * group;
      if (groups == 0 || left < group) continue;
      squares -= (2 * left - group) * group;
      --groups;
    }
    if (groups == before) return std::nullopt;
  }
  return squares;
}

std::optional<int64_t> NodeShares::LeastSquares(const Combination& nodes, size_t groups) const {
  const auto group = static_cast<int64_t>(request_.group_size);
  std::vector<int64_t> left;
  for (const size_t node : nodes) left.push_back(left_[node]);
  int64_t squares = squares_left_;
  for (; groups > 0; --groups) {
    const auto most = std::max_element(left.begin(), left.end());
    if (most == left.end() || *most < group) return std::nullopt;
    squares -= (2 * *most - group) * group;
    *most -= group;
  }
  return squares;
}

// The sum of what is left is the same for all choices, and so is the mean.
double NodeShares::Balance(int64_t squares) const {
  const auto nodes = static_cast<double>(request_.free.size());
  const auto sum = static_cast<double>(
      std::accumulate(request_.free.begin(), request_.free.end(), size_t{0}) - request_.count);
  const double mean = ToThreeDecimals(sum / nodes);
  const double deviations = static_cast<double>(squares) - 2 * mean * sum + nodes * mean * mean;
  return ToThreeDecimals(std::sqrt(std::max(0.0, deviations) / nodes));
}

std::optional<std::vector<NodeShares::Turn>> NodeShares::Turns(const Combination& nodes,
                                                               const Combination& rest) const {
  std::vector<size_t> left = request_.free;
  std::vector<Turn> turns;
  for (const size_t node : nodes) {
    if (left[node] < share_) return std::nullopt;
    left[node] -= share_;
    turns.push_back({node, share_});
  }
  for (size_t groups = rest_groups_; groups > 0;) {
    const size_t before = groups;
    for (const size_t node : rest) {
      if (groups == 0 || left[node] < request_.group_size) continue;
      left[node] -= request_.group_size;
      turns.push_back({node, request_.group_size});
      --groups;
    }
    if (groups == before) return std::nullopt;
  }
  return turns;
}

}  // namespace plimsoll::agent
