// The choices of k of n things, in kubelet's order.
#ifndef PLIMSOLL_AGENT_CPU_MANAGER_COMBINATIONS_H_
#define PLIMSOLL_AGENT_CPU_MANAGER_COMBINATIONS_H_

#include <cstddef>
#include <numeric>
#include <vector>

namespace plimsoll::agent {

// `k` numbers, ascending.
using Combination = std::vector<size_t>;

// Calls `visit` with each choice of `k` of the numbers 0 to n - 1, in lexicographic order, until it
// returns false. With k = 0 or k > n there is none.
template <typename Visit>
void ForEachCombination(size_t n, size_t k, Visit visit) {
  if (k == 0 || k > n) return;
  Combination combination(k);
  std::iota(combination.begin(), combination.end(), size_t{0});
  while (visit(combination)) {
    size_t at = k;
    while (at > 0 && combination[at - 1] == n - k + at - 1) --at;
    if (at == 0) return;
    ++combination[at - 1];
    std::iota(combination.begin() + static_cast<std::ptrdiff_t>(at), combination.end(),
              combination[at - 1] + 1);
  }
}

// How many of a combination's `k` numbers stay as kubelet has noted them, while it tries further
// ones. It makes a combination by Go's append, number by number, and notes the slice; the next ones
// with the same first numbers are written into the same array, as far as that has room. An array
// has room for 1, 2, 4, 8, … numbers, so that one of 6 has been copied when it grew to 5, and its
// last number is overwritten. What kubelet then acts on is the last such combination that it tried.
constexpr size_t NotedPrefix(size_t k) {
  size_t full = 0;
  for (size_t room = 1; room < k; room *= 2) full = room;
  return k == 0 ? 0 : full + 1;
}

}  // namespace plimsoll::agent

#endif  // PLIMSOLL_AGENT_CPU_MANAGER_COMBINATIONS_H_
