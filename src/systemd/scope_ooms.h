// OOM kills in a scope, known even after systemd has removed its group, which happens as soon as
// the last process has ended.
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

// A slice counts the kills in all groups below, including those already gone (cgroup v2,
// memory.events). Kills beyond the living scopes' counts belong to ended scopes; of several that
// ended together, the first one asked for gets them all. Needs a mount without memory_localevents.
// Thread-safe.
class ScopeOoms {
 public:
  explicit ScopeOoms(const linux::CgroupManager* files) : files_(*files) {}

  // Counts kills from now on. `scope`: an existing group, as CgroupManager names it.
  void Watch(const std::string& scope);
  void Forget(const std::string& scope);
  // NOT_FOUND: the scope is gone and wasn't watched.
  absl::StatusOr<uint64_t> Kills(const std::string& scope);

 private:
  struct Slice {
    uint64_t before = 0;  // kills outside `scopes`
    std::map<std::string, uint64_t> scopes;
  };
  // Updates the counts of the living scopes.
  void Refresh(Slice& slice) const;

  const linux::CgroupManager& files_;
  absl::Mutex mutex_;
  std::map<std::string, Slice> slices_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace plimsoll::systemd

#endif  // PLIMSOLL_SYSTEMD_SCOPE_OOMS_H_
