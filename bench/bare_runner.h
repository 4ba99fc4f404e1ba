// Timing of crun by itself: the yardstick for everything that Plimsoll adds.
#ifndef PLIMSOLL_BENCH_BARE_RUNNER_H_
#define PLIMSOLL_BENCH_BARE_RUNNER_H_

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/fs_root.h"
#include "base/unique_fd.h"

namespace plimsoll::bench {

// A small process, forked off before this one has threads, that starts crun and waits for it: crun
// gets the cheapest possible parent. It lives in a mount namespace of its own, where a hybrid
// machine's v2 controllers are hidden from crun 1.8, which would refuse to run
// (src/linux/cgroup/README.md).
class BareRunner {
 public:
  // Call it while the process has one thread. Works in <directory>/bare.
  static absl::StatusOr<std::unique_ptr<BareRunner>> Start(const FsRoot& directory);

  // Makes a bundle that runs /bin/true of the image on the host's network, without a seccomp
  // filter, in `cgroup_path`.
  absl::Status MakeBundle(const std::string& image_tar, const std::string& cgroup_path);
  // Sets the bundle's command from now on.
  absl::Status SetCommand(const std::vector<std::string>& command);
  // Times `crun run` of that bundle: from before crun is started to its end, container run and
  // removed.
  absl::StatusOr<absl::Duration> Run();
  // Times `crun exec` of /bin/true in a container of another runtime, whose crun has its state in
  // `state`.
  absl::StatusOr<absl::Duration> Exec(const std::string& state, const std::string& container);

  // Times another program in crun's place, from before it is started to its end, which must be a
  // success; arguments[0] is its path. The error has its output.
  absl::StatusOr<absl::Duration> Time(const std::vector<std::string>& arguments);
  const std::string& crun() const { return crun_; }
  std::string state() const { return directory_.PathOf("state"); }
  std::string bundle() const { return directory_.PathOf("bundle"); }

 private:
  BareRunner(std::string crun, FsRoot directory, UniqueFd socket)
      : crun_(std::move(crun)), directory_(std::move(directory)), socket_(std::move(socket)) {}

  const std::string crun_;
  const FsRoot directory_;
  const UniqueFd
      socket_;  // closing it ends the process; base/programs/subprocess.h or init reaps it
  int number_ = 0;
};

}  // namespace plimsoll::bench

#endif  // PLIMSOLL_BENCH_BARE_RUNNER_H_
