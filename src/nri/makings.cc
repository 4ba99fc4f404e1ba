#include "nri/makings.h"

#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"

namespace plimsoll::nri {
namespace {

// Updates kept for one container; more are refused as for a container that isn't there.
constexpr size_t kMostKept = 256;
constexpr size_t kMostKeptBytes = 1024 * 1024;

}  // namespace

struct Makings::State {
  struct Making {
    int times = 0;  // copies of an id may be under way for a moment: a retry after an undo
    bool hooked = false;
    uint64_t number = 0;
  };
  struct Kept {
    std::vector<AskedUpdate> updates;
    size_t bytes = 0;
  };

  void End(const std::string& id) {
    {
      absl::MutexLock lock(&mutex);
      const auto found = live.find(id);
      if (found != live.end() && --found->second.times == 0) live.erase(found);
      if (kept.contains(id) && ended) ended(id);
    }
    news.Tell();
  }

  SteadyNews news;
  absl::Mutex mutex;
  std::function<void(const std::string&)> ended ABSL_GUARDED_BY(mutex);  // null: nobody listens
  absl::flat_hash_map<std::string, Making> live ABSL_GUARDED_BY(mutex);
  absl::flat_hash_map<std::string, Kept> kept ABSL_GUARDED_BY(mutex);
  uint64_t begun ABSL_GUARDED_BY(mutex) = 0;
};

Makings::Makings(std::function<void(const std::string& id)> ended)
    : state_(std::make_shared<State>()) {
  absl::MutexLock lock(&state_->mutex);
  state_->ended = std::move(ended);
}

Makings::~Makings() {
  absl::MutexLock lock(&state_->mutex);
  state_->ended = nullptr;
}

std::shared_ptr<void> Makings::Begin(const std::string& id) {
  {
    absl::MutexLock lock(&state_->mutex);
    State::Making& making = state_->live[id];
    ++making.times;
    making.number = ++state_->begun;
  }
  return std::shared_ptr<void>(nullptr, [state = state_, id](void*) { state->End(id); });
}

void Makings::MarkHooked(const std::string& id) {
  {
    absl::MutexLock lock(&state_->mutex);
    if (auto found = state_->live.find(id); found != state_->live.end()) {
      found->second.hooked = true;
    }
  }
  state_->news.Tell();
}

void Makings::ForgetHooked() {
  absl::MutexLock lock(&state_->mutex);
  for (auto& [id, making] : state_->live) making.hooked = false;
}

bool Makings::AwaitUnhooked(SteadyTime until, absl::FunctionRef<bool()> give_up) {
  uint64_t last = 0;
  {
    absl::MutexLock lock(&state_->mutex);
    last = state_->begun;
  }
  const auto waits = [&] {
    absl::MutexLock lock(&state_->mutex);
    for (const auto& [id, making] : state_->live) {
      if (!making.hooked && making.number <= last) return true;
    }
    return false;
  };
  while (true) {
    const uint64_t seen = state_->news.count();
    if (!waits()) return true;
    if (give_up() || SteadyNow() >= until) return false;
    state_->news.Await(seen, until);
  }
}

void Makings::Wake() {
  state_->news.Tell();
}

bool Makings::Keep(const AskedUpdate& update) {
  const std::string& id = update.update.container_id();
  absl::MutexLock lock(&state_->mutex);
  if (!state_->live.contains(id)) return false;
  State::Kept& kept = state_->kept[id];
  const size_t bytes = kept.bytes + update.update.ByteSizeLong();
  if (kept.updates.size() >= kMostKept || bytes > kMostKeptBytes) return false;
  kept.bytes = bytes;
  kept.updates.push_back(update);
  return true;
}

std::vector<AskedUpdate> Makings::TakeKept(const std::string& id) {
  absl::MutexLock lock(&state_->mutex);
  const auto found = state_->kept.find(id);
  if (found == state_->kept.end()) return {};
  std::vector<AskedUpdate> kept = std::move(found->second.updates);
  state_->kept.erase(found);
  return kept;
}

std::vector<AskedUpdate> Makings::TakeAllEnded() {
  absl::MutexLock lock(&state_->mutex);
  std::vector<AskedUpdate> ended;
  absl::erase_if(state_->kept, [&](auto& entry) ABSL_EXCLUSIVE_LOCKS_REQUIRED(state_->mutex) {
    if (state_->live.contains(entry.first)) return false;
    for (AskedUpdate& update : entry.second.updates) ended.push_back(std::move(update));
    return true;
  });
  return ended;
}

void Makings::DropKept(const std::string& id) {
  absl::MutexLock lock(&state_->mutex);
  state_->kept.erase(id);
}

}  // namespace plimsoll::nri
