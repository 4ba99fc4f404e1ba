// Times a bare `crun run`: the yardstick for everything that Plimsoll adds.
#ifndef PLIMSOLL_BENCH_BARE_RUNNER_H_
#define PLIMSOLL_BENCH_BARE_RUNNER_H_

#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/unique_fd.h"

namespace plimsoll::bench {

struct BareRunnerOptions {
  std::string crun;    // path of the program
  std::string state;   // --root: a directory of its own
  std::string bundle;  // holds config.json and rootfs/
};

// A small process, forked off before this one has threads, that starts crun and waits for it: crun
// gets the cheapest possible parent. It lives in a mount namespace of its own, where a hybrid
// machine's v2 controllers are hidden from crun 1.8, which would refuse to run (docs/decisions.md).
class BareRunner {
 public:
  // To be called while the process has one thread.
  static absl::StatusOr<std::unique_ptr<BareRunner>> Start(const BareRunnerOptions& options);

  // From before crun is started to its end, container run and removed. The error has crun's words.
  absl::StatusOr<absl::Duration> Run();

 private:
  BareRunner(BareRunnerOptions options, UniqueFd socket)
      : options_(std::move(options)), socket_(std::move(socket)) {}

  BareRunnerOptions options_;
  UniqueFd socket_;  // closing it ends the process; base/subprocess.h collects it, or init does
};

// Makes `directory` a bundle that runs /bin/true of Debian's static busybox on the host's network,
// no seccomp filter, in `cgroup_path`.
absl::Status MakeBundle(const std::string& crun, const std::string& image_tar,
                        const std::string& directory, const std::string& cgroup_path);

}  // namespace plimsoll::bench

#endif  // PLIMSOLL_BENCH_BARE_RUNNER_H_
