#include "agent/pods/records/pod_state.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "agent/pods/records/pod_change.h"
#include "base/status.h"

namespace plimsoll::agent {

PodState::PodState(PodStore& store, PodRecord record, std::shared_ptr<const pod::Manifest> manifest,
                   PodOrigin origin)
    : store_(store),
      uid_(record.uid),
      record_(std::move(record)),
      manifest_(std::move(manifest)),
      seen_(origin == PodOrigin::kNew ? Seen::kNew : Seen::kNever) {}

PodRecord PodState::record() const {
  const absl::MutexLock lock(&mutex_);
  return record_;
}

void PodState::Read(absl::FunctionRef<void(const PodRecord&)> look) const {
  const absl::MutexLock lock(&mutex_);
  look(record_);
}

PodGrant PodState::grant() const {
  const absl::MutexLock lock(&mutex_);
  return record_.grant;
}

std::shared_ptr<const pod::Manifest> PodState::manifest() const {
  const absl::MutexLock lock(&mutex_);
  return manifest_;
}

ObservedPod PodState::observed() const {
  const absl::MutexLock lock(&mutex_);
  return observed_;
}

bool PodState::is_active() const {
  const absl::MutexLock lock(&mutex_);
  return !HasEnded();
}

bool PodState::has_looked() const {
  const absl::MutexLock lock(&mutex_);
  return seen_ == Seen::kByAStep;
}

bool PodState::is_known() const {
  const absl::MutexLock lock(&mutex_);
  return seen_ != Seen::kNever;
}

bool PodState::holds_grant() const {
  const absl::MutexLock lock(&mutex_);
  return HoldsGrant();
}

bool PodState::HasEnded() const {
  return has_ended_ || record_.verdict.has_value();
}

bool PodState::HoldsGrant() const {
  if (record_.grant.Empty()) return false;
  return seen_ != Seen::kByAStep || !HasEnded() || may_have_started_ || observed_.AnyRunning();
}

absl::Status PodState::Change(absl::FunctionRef<void(PodRecord&)> change,
                              std::shared_ptr<const pod::Manifest> manifest) {
  const absl::MutexLock lock(&mutex_);
  if (is_gone_) {
    return absl::NotFoundError(absl::StrCat(PodName(record_.key), " was removed"));
  }
  PodRecord next = record_;
  change(next);
  PLIMSOLL_RETURN_IF_ERROR(store_.Put({next}));
  ++changes_;
  record_ = std::move(next);
  if (manifest != nullptr) manifest_ = std::move(manifest);
  return absl::OkStatus();
}

absl::StatusOr<bool> PodState::Delete(absl::Time now, int64_t grace_s) {
  bool changes = false;
  PLIMSOLL_RETURN_IF_ERROR(Change([&](PodRecord& record) {
    changes = !record.deleted || grace_s < record.grace_s;
    if (!changes) return;
    if (!record.deleted) record.deleted = now;
    record.grace_s = grace_s;
  }));
  return changes;
}

absl::Status PodState::Put(const SpecChange& change) {
  return Change(
      [&](PodRecord& record) {
        const nlohmann::json before = record.Allocated();
        if (ChangeOf(record.object, change.object).any) ++record.generation;
        record.object = change.object;
        record.pending = change.pending;
        record.allocated = change.manifest == nullptr ? before : nlohmann::json();
        // Classes have their own way (ClassKeeper), which waits for no generation.
        if (change.manifest == nullptr || !ChangeOf(before, change.object).amounts) return;
        record.allocated_generation = record.generation;
        if (record.actuated.is_null()) record.actuated = before;
      },
      change.manifest);
}

absl::Status PodState::Evict(const PodVerdict& verdict) {
  return Change([&](PodRecord& record) {
    if (!record.verdict) record.verdict = verdict;
  });
}

absl::Status PodState::ReleaseGrant() {
  const absl::Status status = Change([](PodRecord& record) { Apply(std::nullopt, record); });
  return absl::IsNotFound(status) ? absl::OkStatus() : status;
}

absl::Status PodState::Forget() {
  const absl::MutexLock lock(&mutex_);
  PLIMSOLL_RETURN_IF_ERROR(store_.Remove(uid_));
  is_gone_ = true;
  return absl::OkStatus();
}

void PodState::Apply(const std::optional<PodGrant>& grant, PodRecord& record) {
  if (!grant) {
    record.grant = {};
    record.is_grant_released = true;
    return;
  }
  record.grant.containers = grant->containers;
  record.grant.pod = grant->pod;
}

absl::Status PodState::PutGrants(PodStore& store, std::vector<Regrant> regrants) {
  // The order of the locks is always the same.
  std::sort(regrants.begin(), regrants.end(), [](const Regrant& one, const Regrant& other) {
    return one.pod->uid_ < other.pod->uid_;
  });
  std::vector<PodRecord> next;
  return PutLocked(store, regrants, next);
}

// No record may change between its copy here and the row on the disk, so all locks are held then.
absl::Status PodState::PutLocked(PodStore& store, absl::Span<const Regrant> regrants,
                                 std::vector<PodRecord>& next) {
  if (regrants.empty()) return next.empty() ? absl::OkStatus() : store.Put(next);
  PodState& pod = *regrants.front().pod;
  const absl::MutexLock lock(&pod.mutex_);
  if (pod.is_gone_) return PutLocked(store, regrants.subspan(1), next);
  const size_t place = next.size();
  next.push_back(pod.record_);
  Apply(regrants.front().grant, next.back());
  PLIMSOLL_RETURN_IF_ERROR(PutLocked(store, regrants.subspan(1), next));
  ++pod.changes_;
  pod.record_ = std::move(next[place]);
  return absl::OkStatus();
}

void PodState::OnDevices() {
  const absl::MutexLock lock(&mutex_);
  has_device_news_ = true;
}

PodState::Begun PodState::BeginStep() {
  const absl::MutexLock lock(&mutex_);
  may_have_started_ |= !HasEnded();
  return {record_, manifest_, std::exchange(has_device_news_, false)};
}

bool PodState::EndStep(ObservedPod observed, bool has_ended) {
  const absl::MutexLock lock(&mutex_);
  const bool held = HoldsGrant();
  const bool ends = has_ended && !has_ended_;
  observed_ = std::move(observed);
  has_ended_ = has_ended;
  seen_ = Seen::kByAStep;
  may_have_started_ = false;
  return ends || (held && !HoldsGrant());
}

PodState::Shown PodState::ToShow() const {
  const absl::MutexLock lock(&mutex_);
  return {record_, manifest_, changes_};
}

bool PodState::IsLatest(const Shown& shown) const {
  return changes_ == shown.changes;
}

}  // namespace plimsoll::agent
