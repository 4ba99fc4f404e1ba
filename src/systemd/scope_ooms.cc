#include "systemd/scope_ooms.h"

#include "base/status.h"
#include "linux/cgroup/tree.h"

namespace plimsoll::systemd {
namespace {

// The difference, at least 0: the part may be counted a moment later than the whole.
uint64_t Less(uint64_t all, uint64_t part) {
  return all > part ? all - part : 0;
}

}  // namespace

void ScopeOoms::Refresh(Slice& slice) const {
  for (auto& [scope, kills] : slice.scopes) {
    const absl::StatusOr<uint64_t> now = files_.OomKills(scope);
    if (now.ok()) kills = *now;
  }
}

void ScopeOoms::Watch(const std::string& scope) {
  const std::string parent = linux::ParentGroup(scope);
  absl::MutexLock lock(&mutex_);
  Slice& slice = slices_[parent];
  if (slice.scopes.contains(scope)) return;
  // Earlier kills of an older scope are among the slice's earlier kills.
  const uint64_t own = files_.OomKills(scope).value_or(0);
  if (slice.scopes.empty()) slice.before = files_.OomKills(parent).value_or(0);
  slice.before = Less(slice.before, own);
  slice.scopes[scope] = own;
}

void ScopeOoms::Forget(const std::string& scope) {
  absl::MutexLock lock(&mutex_);
  const auto at = slices_.find(linux::ParentGroup(scope));
  if (at == slices_.end()) return;
  const auto one = at->second.scopes.find(scope);
  if (one == at->second.scopes.end()) return;
  at->second.before += one->second;
  at->second.scopes.erase(one);
  if (at->second.scopes.empty()) slices_.erase(at);
}

absl::StatusOr<uint64_t> ScopeOoms::Kills(const std::string& scope) {
  absl::MutexLock lock(&mutex_);
  const absl::StatusOr<uint64_t> now = files_.OomKills(scope);
  const auto slice = slices_.find(linux::ParentGroup(scope));
  if (slice == slices_.end() || !slice->second.scopes.contains(scope)) return now;
  uint64_t& own = slice->second.scopes[scope];
  if (now.ok()) return own = *now;
  if (!absl::IsNotFound(now.status())) return now;
  // Reads the whole first, so that kills in between count for a living scope.
  const absl::StatusOr<uint64_t> all = files_.OomKills(slice->first);
  if (!all.ok()) return own;
  Refresh(slice->second);
  uint64_t told = slice->second.before;
  for (const auto& [each, kills] : slice->second.scopes) told += kills;
  own += Less(*all, told);
  return own;
}

}  // namespace plimsoll::systemd
