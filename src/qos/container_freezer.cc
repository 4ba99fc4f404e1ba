#include "qos/container_freezer.h"

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"

namespace plimsoll::qos {
namespace {

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
  for (const auto& [path, unused] : owed_) TryThaw(path).IgnoreError();
}

bool ContainerFreezer::Freeze(const std::string& path) {
  {
    absl::MutexLock lock(&mutex_);
    if (const auto owed = owed_.find(path); owed != owed_.end()) {
      if (!TryThaw(path).ok()) return false;
      owed_.erase(owed);
    }
  }
  const absl::StatusOr<bool> froze = cgroups_.Freeze(path, absl::Now() + kFreezeTime);
  if (absl::IsAborted(froze.status())) {
    absl::MutexLock lock(&mutex_);
    Owe(path, froze.status());
  }
  return froze.ok() && *froze;
}

absl::Status ContainerFreezer::TryThaw(const std::string& path) {
  const absl::Status status = cgroups_.Thaw(path);
  return absl::IsNotFound(status) ? absl::OkStatus() : status;  // nothing is left to be thawed
}

void ContainerFreezer::Thaw(const std::string& path) {
  const absl::Status status = TryThaw(path);
  if (status.ok()) return;
  absl::MutexLock lock(&mutex_);
  Owe(path, status);
}

void ContainerFreezer::Owe(const std::string& path, const absl::Status& why) {
  owed_[path] = why;
  if (std::exchange(has_thread_, true)) return;
  thread_ = std::thread([this] { Run(); });
}

void ContainerFreezer::Run() {
  const auto has_work = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return stop_ || !owed_.empty();
  };
  const auto stops = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return stop_; };
  absl::MutexLock lock(&mutex_);
  while (true) {
    mutex_.Await(absl::Condition(&has_work));
    if (stop_) return;
    for (auto owed = owed_.begin(); owed != owed_.end();) {
      owed->second = TryThaw(owed->first);
      owed = owed->second.ok() ? owed_.erase(owed) : std::next(owed);
    }
    if (!owed_.empty()) mutex_.AwaitWithTimeout(absl::Condition(&stops), kBetweenTries);
  }
}

std::string ContainerFreezer::Trouble(const std::string& cgroup_path) const {
  absl::MutexLock lock(&mutex_);
  const auto owed = owed_.find(cgroup_path);
  return owed == owed_.end() ? "" : Sentence(owed->second);
}

std::vector<std::string> ContainerFreezer::Troubles() const {
  absl::MutexLock lock(&mutex_);
  std::vector<std::string> all;
  for (const auto& [path, why] : owed_) all.push_back(absl::StrCat(path, ": ", Sentence(why)));
  return all;
}

}  // namespace plimsoll::qos
