// What both programs that time a node stand on.
#ifndef PLIMSOLL_BENCH_GROUND_H_
#define PLIMSOLL_BENCH_GROUND_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
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

// To be called while the process has one thread. `plimsolld`: empty for the one beside this
// program.
absl::StatusOr<Ground> Prepare(std::string plimsolld, bool keep);

}  // namespace plimsoll::bench

#endif  // PLIMSOLL_BENCH_GROUND_H_
