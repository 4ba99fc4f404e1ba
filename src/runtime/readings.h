// The kernel's counters of pods and containers, for statistics and metrics.
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

// Thread-safe. No method waits for an operation. An id may be any unambiguous prefix; NOT_FOUND for
// an unknown one.
class Readings {
 public:
  virtual ~Readings() = default;

  // The counters of the container's or sandbox's control group. FAILED_PRECONDITION for a container
  // that has ended, or a sandbox that is not Ready.
  virtual absl::StatusOr<linux::CgroupStats> Stats(absl::string_view id) const = 0;
  virtual absl::StatusOr<linux::CgroupStats> SandboxStats(absl::string_view id) const = 0;
  // The interface counters of the pods' own network namespaces, loopback included: an answer for
  // each id, in that order. Empty for pods with the host's network, whose counters are the host's.
  // FAILED_PRECONDITION for a sandbox that is not Ready.
  using Links = absl::StatusOr<std::vector<linux::LinkCounters>>;
  virtual std::vector<Links> SandboxLinks(const std::vector<std::string>& ids) const = 0;
  // All counters of a container, at several times the cost of Stats. FAILED_PRECONDITION for a
  // container that has ended.
  virtual absl::StatusOr<ContainerCounters> Counters(absl::string_view id) const = 0;

  // The file system that writable layers are on.
  virtual absl::StatusOr<FileSystem> WritableLayersFileSystem() const = 0;
  // The disk usage of writable layers. See WritableUsage::Read.
  virtual absl::StatusOr<std::shared_ptr<const WritableLayers>> WritableLayersUsage(
      absl::Duration max_age) = 0;
  // The last known disk usage of writable layers, without a wait for the disk. See
  // WritableUsage::ReadLast.
  virtual absl::StatusOr<std::shared_ptr<const WritableLayers>> LastWritableLayersUsage(
      absl::Duration max_age) = 0;
  // Ends all walks of the disk, for a daemon that ends: their callers, waiting and later ones, get
  // CANCELLED.
  virtual void CallOffWalks() = 0;
};

}  // namespace plimsoll::runtime

#endif  // PLIMSOLL_RUNTIME_READINGS_H_
