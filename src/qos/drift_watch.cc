#include "qos/drift_watch.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"

namespace plimsoll::qos {

void DriftWatch::LookAt(const Target& target) {
  std::map<Key, std::string> differs;
  for (const auto& [type, held] : registry_.Effective(target, /*look=*/true)) {
    // A type that is unavailable now differs for good; a warning reports it elsewhere.
    if (!held.drift.empty() && registry_.Has(target.level, type)) {
      differs[{target.level, type, held.name}] = absl::StrCat(target.name, ": ", held.drift);
    }
  }
  Seen& seen = seen_[target.id];
  seen.drifted.clear();
  for (const auto& [key, sentence] : differs) {
    if (seen.differs.contains(key)) seen.drifted[key] = sentence;
  }
  seen.differs = std::move(differs);
}

std::map<DriftWatch::Key, uint64_t> DriftWatch::Look(absl::Duration budget) {
  const absl::Time end = absl::Now() + budget;
  absl::MutexLock lock(&mutex_);
  std::vector<Target> targets = registry_.Targets();  // sorted by id
  std::set<std::string> ids;
  for (const Target& target : targets) ids.insert(target.id);
  std::erase_if(seen_, [&](const auto& one) { return ids.count(one.first) == 0; });
  const auto next =
      std::upper_bound(targets.begin(), targets.end(), last_,
                       [](const std::string& id, const Target& target) { return id < target.id; });
  std::rotate(targets.begin(), next, targets.end());
  for (const Target& target : targets) {
    LookAt(target);
    last_ = target.id;
    if (absl::Now() >= end) break;
  }
  std::map<Key, uint64_t> counts;
  for (const auto& [id, seen] : seen_) {
    for (const auto& [key, sentence] : seen.drifted) ++counts[key];
  }
  return counts;
}

std::map<DriftWatch::Key, std::vector<std::string>> DriftWatch::Drifted(size_t most) const {
  absl::MutexLock lock(&mutex_);
  std::map<Key, std::vector<std::string>> all;
  for (const auto& [id, seen] : seen_) {
    for (const auto& [key, sentence] : seen.drifted) {
      std::vector<std::string>& of_class = all[key];
      if (of_class.size() < most) of_class.push_back(sentence);
    }
  }
  return all;
}

bool DriftWatch::HasNew() const {
  absl::MutexLock lock(&mutex_);
  return absl::c_any_of(
      seen_, [](const auto& one) { return one.second.differs.size() > one.second.drifted.size(); });
}

}  // namespace plimsoll::qos
