// What the kernel counts of pods and containers, for statistics and metrics.
#ifndef PLIMSOLL_RUNTIME_READINGS_H_
#define PLIMSOLL_RUNTIME_READINGS_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "linux/cgroup/cgroup.h"
#include "linux/link_counters.h"
#include "runtime/counters.h"
#include "runtime/writable_usage.h"

namespace plimsoll::runtime {

// Thread-safe. Nothing here waits for an operation. Ids may be given as an unambiguous prefix;
// NOT_FOUND.
class Readings {
 public:
  virtual ~Readings() = default;

  // What the group has counted. FAILED_PRECONDITION of a container that has ended, or a sandbox
  // that is not Ready.
  virtual absl::StatusOr<linux::CgroupStats> Stats(absl::string_view id) const = 0;
  virtual absl::StatusOr<linux::CgroupStats> SandboxStats(absl::string_view id) const = 0;
  // What the interfaces of the pods' own network namespaces have counted, loopback included: an
  // answer for each id, in that order. Those of pods with the host's network are empty: what it
  // counts is the host's. FAILED_PRECONDITION of a sandbox that is not Ready.
  using Links = absl::StatusOr<std::vector<linux::LinkCounters>>;
  virtual std::vector<Links> SandboxLinks(const std::vector<std::string>& ids) const = 0;
  // All that there is to count of a container; costs several times what Stats costs.
  // FAILED_PRECONDITION of one that has ended.
  virtual absl::StatusOr<ContainerCounters> Counters(absl::string_view id) const = 0;

  // The file system that writable layers are on.
  virtual absl::StatusOr<FileSystem> WritableLayersFileSystem() const = 0;
  // What writable layers take on the disk. See WritableUsage::Read.
  virtual absl::StatusOr<std::shared_ptr<const WritableLayers>> WritableLayersUsage(
      absl::Duration max_age) = 0;
  // What was found last, without waiting for the disk. See WritableUsage::ReadLast.
  virtual absl::StatusOr<std::shared_ptr<const WritableLayers>> LastWritableLayersUsage(
      absl::Duration max_age) = 0;
  // No disk is walked any more: CANCELLED, also for who waits for a walk. For a daemon that ends.
  virtual void CallOffWalks() = 0;
};

}  // namespace plimsoll::runtime

#endif  // PLIMSOLL_RUNTIME_READINGS_H_
