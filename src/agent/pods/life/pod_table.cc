#include "agent/pods/life/pod_table.h"

#include <algorithm>
#include <utility>

#include "base/steady_wait.h"

namespace plimsoll::agent {
namespace {

// The scheduler tries again after this when the machine gave the pool no thread.
constexpr absl::Duration kNoThread = absl::Milliseconds(100);
constexpr size_t kMostQueued = 10'000;

}  // namespace

PodTable::PodTable(int max_threads, std::function<void(const PodKey&)> on_gone)
    : on_gone_(std::move(on_gone)),
      pool_(max_threads, kMostQueued),
      scheduler_([this] { Schedule(); }) {}

PodTable::~PodTable() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    is_ending_ = true;
    changed_.notify_all();
  }
  scheduler_.join();
}

void PodTable::Add(Worker worker) {
  const std::string uid = worker->uid();
  const std::lock_guard<std::mutex> lock(mutex_);
  pods_[uid] = {
      .worker = std::move(worker), .due = SteadyNow(), .is_stepping = false, .has_news = false};
  changed_.notify_all();
}

PodTable::Worker PodTable::Find(const PodKey& pod) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  for (const auto& [uid, entry] : pods_) {
    if (entry.worker->key() == pod) return entry.worker;
  }
  return nullptr;
}

std::vector<PodTable::Worker> PodTable::All() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  std::vector<Worker> all;
  for (const auto& [uid, entry] : pods_) all.push_back(entry.worker);
  return all;
}

void PodTable::Wake(const std::string& uid) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto it = pods_.find(uid);
  if (it == pods_.end()) return;
  it->second.has_news = it->second.is_stepping;
  it->second.due = SteadyNow();
  changed_.notify_all();
}

void PodTable::WakeAll() {
  const std::lock_guard<std::mutex> lock(mutex_);
  for (auto& [uid, entry] : pods_) {
    entry.has_news = entry.is_stepping;
    entry.due = SteadyNow();
  }
  changed_.notify_all();
}

void PodTable::Schedule() {
  std::unique_lock<std::mutex> lock(mutex_);
  while (!is_ending_) {
    SteadyTime next = kNever;
    for (auto& [uid, entry] : pods_) {
      if (entry.is_stepping) continue;
      if (entry.due > SteadyNow()) {
        next = std::min(next, entry.due);
        continue;
      }
      entry.is_stepping =
          pool_.TrySchedule([this, uid = uid, worker = entry.worker] { Step(uid, worker); });
      if (!entry.is_stepping) next = std::min(next, SteadyAfter(kNoThread));
    }
    AwaitChange(changed_, lock, next);
  }
}

void PodTable::Step(const std::string& uid, const Worker& worker) {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (is_ending_) return;
  }
  const PodWorker::Next next = worker->Step();
  Settle(uid, next);
  if (next.gone) on_gone_(worker->key());
}

void PodTable::Settle(const std::string& uid, const PodWorker::Next& next) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto it = pods_.find(uid);
  if (next.gone) {
    pods_.erase(it);
    return;
  }
  Entry& entry = it->second;
  entry.is_stepping = false;
  entry.due = std::exchange(entry.has_news, false) ? SteadyNow() : SteadyAfter(next.pause);
  changed_.notify_all();
}

}  // namespace plimsoll::agent
