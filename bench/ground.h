// What the programs that time a node stand on.
#ifndef PLIMSOLL_BENCH_GROUND_H_
#define PLIMSOLL_BENCH_GROUND_H_

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "base/fs_root.h"
#include "bench/bare_runner.h"
#include "bench/own_daemon.h"
#include "bench/scratch.h"

namespace plimsoll::bench {

// Ended and removed in the order from the last to the first.
struct Ground {
  std::unique_ptr<Scratch> scratch;
  std::unique_ptr<BareRunner> bare;   // has its bundle
  std::unique_ptr<OwnDaemon> daemon;  // has kImage
};

// Flags of a daemon's in this directory; what they name is made there.
using MakeFlags = std::function<absl::StatusOr<std::vector<std::string>>(const FsRoot& directory)>;

// To be called while the process has one thread. `plimsolld`: empty for the one beside this
// program. `make_flags`: empty for a daemon without any but those that all have.
absl::StatusOr<Ground> Prepare(std::string plimsolld, bool keep, const MakeFlags& make_flags = {});

}  // namespace plimsoll::bench

#endif  // PLIMSOLL_BENCH_GROUND_H_
