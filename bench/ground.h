// The setup shared by programs that time a node.
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

// Members are ended and removed from the last to the first.
struct Ground {
  std::unique_ptr<Scratch> scratch;
  std::unique_ptr<BareRunner> bare;   // has its bundle
  std::unique_ptr<OwnDaemon> daemon;  // has kImage
};

// Makes flags for a daemon, and in this directory the files that they name.
using MakeFlags = std::function<absl::StatusOr<std::vector<std::string>>(const FsRoot& directory)>;

// Call it while the process has one thread. `plimsolld`: empty for the one beside this program.
// `make_flags`: empty for a daemon with the common flags only.
absl::StatusOr<Ground> Prepare(std::string plimsolld, bool keep, const MakeFlags& make_flags = {});

}  // namespace plimsoll::bench

#endif  // PLIMSOLL_BENCH_GROUND_H_
