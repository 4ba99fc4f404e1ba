#include "qos/container_freezer.h"

#include <set>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "base/monotonic_time.h"
#include "base/status.h"

namespace plimsoll::qos {
namespace {

constexpr char kFrozenKind[] = "frozen";
constexpr absl::Duration kFreezeTime = absl::Milliseconds(20);
constexpr absl::Duration kBetweenTries = absl::Milliseconds(100);

std::string Sentence(const absl::Status& why) {
  return absl::StrCat("it is still frozen from a change of its class and is tried again (",
                      why.message(), ")");
}

}  // namespace

ContainerFreezer::~ContainerFreezer() {
  {
    absl::MutexLock lock(&mutex_);
    stop_ = true;
  }
  if (thread_.joinable()) thread_.join();
  for (auto& [path, group] : groups_) LetGo(path, group);
}

absl::Status ContainerFreezer::Recover() {
  if (owned_ == nullptr) return absl::OkStatus();
  PLIMSOLL_ASSIGN_OR_RETURN(const std::set<std::string> paths, owned_->ListOwned(kFrozenKind));
  absl::Status status;
  for (const std::string& path : paths) {
    Group group = Take(path);
    group.marked = true;
    group.frozen = true;
    if (!LetGo(path, group)) status = FirstError(status, Annotate(group.why, path));
    Put(path, group);
  }
  return status;
}

ContainerFreezer::Group ContainerFreezer::Take(const std::string& path) {
  const auto is_free = [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    const auto at = groups_.find(path);
    return at == groups_.end() || !at->second.busy;
  };
  absl::MutexLock lock(&mutex_);
  mutex_.Await(absl::Condition(&is_free));
  Group& group = groups_[path];
  group.busy = true;
  return group;
}

void ContainerFreezer::Put(const std::string& path, const Group& group) {
  absl::MutexLock lock(&mutex_);
  if (group.stops == 0 && !group.frozen && !group.marked) {
    groups_.erase(path);
    return;
  }
  Group& ours = groups_[path];
  ours = group;
  ours.busy = false;
  if (group.stops == 0 && !std::exchange(has_thread_, true)) {
    thread_ = std::thread([this] { Run(); });
  }
}

bool ContainerFreezer::Freeze(const std::string& path) {
  Group group = Take(path);
  // An owed thaw comes first: only a new freeze shows whether everything has stopped.
  const bool is_still = group.stops > 0 || (LetGo(path, group) && Hold(path, group));
  if (is_still) ++group.stops;
  Put(path, group);
  return is_still;
}

void ContainerFreezer::Thaw(const std::string& path) {
  Group group = Take(path);
  if (--group.stops == 0) LetGo(path, group);
  Put(path, group);
}

bool ContainerFreezer::Hold(const std::string& path, Group& group) {
  if (owned_ != nullptr) {
    if (!owned_->AddOwned(kFrozenKind, path).ok()) return false;
    group.marked = true;
  }
  const absl::StatusOr<bool> froze = cgroups_.Freeze(path, MonotonicNow() + kFreezeTime);
  group.frozen = (froze.ok() && *froze) || absl::IsAborted(froze.status());
  if (froze.ok() && *froze) return true;
  if (group.frozen) {
    group.why = froze.status();  // for the retries
  } else {
    LetGo(path, group);
  }
  return false;
}

bool ContainerFreezer::LetGo(const std::string& path, Group& group) {
  if (group.frozen) {
    const absl::Status status = cgroups_.Thaw(path);
    if (!status.ok() && !absl::IsNotFound(status)) {  // not found: the group is gone
      group.why = status;
      return false;
    }
    group.frozen = false;
  }
  if (group.marked) {
    group.why = owned_->RemoveOwned(kFrozenKind, path);
    group.marked = !group.why.ok();
  }
  return !group.marked;
}

std::vector<std::string> ContainerFreezer::Owed() const {
  std::vector<std::string> paths;
  for (const auto& [path, group] : groups_) {
    if (group.stops == 0 && !group.busy) paths.push_back(path);
  }
  return paths;
}

void ContainerFreezer::Run() {
  const auto has_work = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return stop_ || !Owed().empty();
  };
  const auto stops = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return stop_; };
  while (true) {
    std::vector<std::string> paths;
    {
      absl::MutexLock lock(&mutex_);
      mutex_.Await(absl::Condition(&has_work));
      if (stop_) return;
      paths = Owed();
    }
    for (const std::string& path : paths) {
      Group group = Take(path);
      if (group.stops == 0) LetGo(path, group);
      Put(path, group);
    }
    absl::MutexLock lock(&mutex_);
    if (mutex_.AwaitWithTimeout(absl::Condition(&stops), kBetweenTries)) return;
  }
}

std::string ContainerFreezer::Trouble(const std::string& cgroup_path) const {
  absl::MutexLock lock(&mutex_);
  const auto at = groups_.find(cgroup_path);
  if (at == groups_.end() || !at->second.frozen || at->second.stops > 0) return "";
  return Sentence(at->second.why);
}

std::vector<std::string> ContainerFreezer::Troubles() const {
  absl::MutexLock lock(&mutex_);
  std::vector<std::string> all;
  for (const auto& [path, group] : groups_) {
    if (!group.frozen || group.stops > 0) continue;
    all.push_back(absl::StrCat(path, ": ", Sentence(group.why)));
  }
  return all;
}

}  // namespace plimsoll::qos
