// CPU use of containers and sandboxes, as rates between two readings.
#ifndef PLIMSOLL_CRI_MESSAGES_CPU_RATES_H_
#define PLIMSOLL_CRI_MESSAGES_CPU_RATES_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/synchronization/mutex.h"

namespace plimsoll::cri {

// Thread-safe.
class CpuRates {
 public:
  // Nanoseconds of CPU per second since an earlier reading of `id`, at least one second old.
  // nullopt until there is one.
  std::optional<uint64_t> Update(const std::string& id, int64_t unix_nanos, uint64_t usage_ns) {
    absl::MutexLock lock(&mutex_);
    auto [it, is_new] = samples_.try_emplace(id, Sample{unix_nanos, usage_ns, std::nullopt});
    Sample& last = it->second;
    const int64_t elapsed = unix_nanos - last.unix_nanos;
    if (is_new || (elapsed >= 0 && elapsed < kShortest)) return last.rate;
    // A clock that was set back starts over.
    if (elapsed > 0 && usage_ns >= last.usage_ns) {
      last.rate = static_cast<uint64_t>(static_cast<double>(usage_ns - last.usage_ns) * 1e9 /
                                        static_cast<double>(elapsed));
    }
    last.unix_nanos = unix_nanos;
    last.usage_ns = usage_ns;
    return last.rate;
  }

  // Forgets ids that are not in `ids`.
  void Retain(const absl::flat_hash_set<std::string>& ids) {
    absl::MutexLock lock(&mutex_);
    absl::erase_if(samples_, [&](const auto& entry) { return !ids.contains(entry.first); });
  }
  size_t size() const {
    absl::MutexLock lock(&mutex_);
    return samples_.size();
  }

 private:
  static constexpr int64_t kShortest = 1'000'000'000;
  struct Sample {
    int64_t unix_nanos;
    uint64_t usage_ns;
    std::optional<uint64_t> rate;
  };
  mutable absl::Mutex mutex_;
  absl::flat_hash_map<std::string, Sample> samples_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace plimsoll::cri

#endif  // PLIMSOLL_CRI_MESSAGES_CPU_RATES_H_
