// A network's plugins by themselves, one after the other: no runtime can be quicker.
//
//   PLIMSOLL_ASSIGN_OR_RETURN(BareChain::Pod pod, BareChain::MakePod("a"));
//   PLIMSOLL_RETURN_IF_ERROR(chain.Add(&pod));
//   PLIMSOLL_RETURN_IF_ERROR(chain.Delete(pod));
#ifndef PLIMSOLL_BENCH_BARE_CHAIN_H_
#define PLIMSOLL_BENCH_BARE_CHAIN_H_

#include <cstddef>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/unique_fd.h"

namespace plimsoll::bench {

// Thread-safe for different pods.
class BareChain {
 public:
  struct Pod {
    std::string id;
    UniqueFd netns;
    std::string result;  // of ADD, JSON
  };

  // `list`: the text of a .conflist.
  explicit BareChain(std::string list) : list_(std::move(list)) {}

  // A pod that has a network namespace of its own, and nothing else.
  static absl::StatusOr<Pod> MakePod(std::string id);

  absl::Status Add(Pod* pod) const;
  absl::Status Delete(const Pod& pod) const;

 private:
  absl::StatusOr<std::string> Run(const Pod& pod, size_t plugin, const char* command) const;

  const std::string list_;
};

}  // namespace plimsoll::bench

#endif  // PLIMSOLL_BENCH_BARE_CHAIN_H_
