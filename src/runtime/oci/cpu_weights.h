// The formulas by which OCI runtimes make cpu.weight (cgroup v2) of a specification's CPU shares.
// Which one a program has depends on its version, and it doesn't report it: a container is created
// in a group of its own, and the kernel's value is read back.
#ifndef PLIMSOLL_RUNTIME_OCI_CPU_WEIGHTS_H_
#define PLIMSOLL_RUNTIME_OCI_CPU_WEIGHTS_H_

#include <ctime>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "base/fs_root.h"
#include "linux/cgroup/cgroup.h"
#include "linux/cgroup/cpu_weight.h"

namespace plimsoll::runtime {

// Thread-safe. Its lock is held while a program is run.
class CpuWeights {
 public:
  // `run`: a private mount point, for the probe's files (oci/probe). `init`: a static program, the
  // probe container's; it is never executed. A killed daemon's probe is removed by the next one.
  CpuWeights(linux::CgroupManager* cgroups, FsRoot run, std::string init);

  // The formula of the program at this path. Runs the program at the first call, and again once
  // another file is there. The linear formula where limits are in v1, of other programs than crun
  // and runc, which may start a virtual machine for the probe, and if the probe fails; it is tried
  // again after a minute then.
  linux::CpuWeightFormula Of(const std::string& program);

  // A sentence for each program whose last probe failed.
  std::vector<std::string> Faults() const;

 private:
  // A file, told from the one that an upgrade puts in its place.
  using Identity = std::tuple<dev_t, ino_t, off_t, time_t, long>;
  struct Found {
    Identity identity;
    linux::CpuWeightFormula formula = linux::CpuWeightFormula::kLinear;
    std::string fault;                          // empty: the formula was read back
    absl::Time again = absl::InfiniteFuture();  // by MonotonicNow
  };

  absl::StatusOr<linux::CpuWeightFormula> Look(const std::string& program)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::StatusOr<linux::CpuWeightFormula> Probe(const std::string& program)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Makes the container of `group`, which stays as created.
  absl::Status CreateContainer(const std::string& program, const std::string& group) const;
  // Ends and removes all of the probe. OK when there is none.
  absl::Status Sweep() const;

  linux::CgroupManager* const cgroups_;
  const FsRoot run_;
  const std::string init_;
  mutable absl::Mutex mutex_;
  std::map<std::string, Found> found_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace plimsoll::runtime

#endif  // PLIMSOLL_RUNTIME_OCI_CPU_WEIGHTS_H_
