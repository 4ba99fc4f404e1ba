// How often the OOM killer has been in a scope, also when systemd has removed its group, which it
// does as soon as the last process has ended.
#ifndef PLIMSOLL_SYSTEMD_SCOPE_OOMS_H_
#define PLIMSOLL_SYSTEMD_SCOPE_OOMS_H_

#include <cstdint>
#include <map>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "linux/cgroup/cgroup.h"

namespace plimsoll::systemd {

// A slice counts the kills in all groups below, and goes on counting those of groups that are gone
// (cgroup v2, memory.events): what its living scopes don't account for is of those that have ended,
// and of several that ended together it is given to the one that is asked for first. Without
// mounts' option memory_localevents. Thread-safe.
class ScopeOoms {
 public:
  explicit ScopeOoms(const linux::CgroupManager* files) : files_(*files) {}

  // From now on. `scope` as CgroupManager names groups; it is there.
  void Watch(const std::string& scope);
  void Forget(const std::string& scope);
  // NOT_FOUND: it is gone and wasn't watched.
  absl::StatusOr<uint64_t> Kills(const std::string& scope);

 private:
  struct Slice {
    uint64_t before = 0;  // kills that are none of `scopes`'
    std::map<std::string, uint64_t> scopes;
  };
  // Brings what the living scopes have counted up to date.
  void Refresh(Slice& slice) const;

  const linux::CgroupManager& files_;
  absl::Mutex mutex_;
  std::map<std::string, Slice> slices_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace plimsoll::systemd

#endif  // PLIMSOLL_SYSTEMD_SCOPE_OOMS_H_
