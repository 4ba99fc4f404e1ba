#include "agent/pods/life/back_off.h"

#include <algorithm>

namespace plimsoll::agent {

absl::Duration BackOff::Pause(const std::string& name) const {
  const auto it = pauses_.find(name);
  return it == pauses_.end() ? absl::ZeroDuration() : it->second.pause;
}

absl::Time BackOff::NotBefore(const std::string& name, absl::Time ended) const {
  const auto it = pauses_.find(name);
  if (it == pauses_.end() || ended - it->second.since > 2 * kLongest) return ended;
  return ended + it->second.pause;
}

void BackOff::OnAttempt(const std::string& name, absl::Time ended) {
  const auto [it, is_new] = pauses_.try_emplace(name, Entry{kFirst, ended});
  if (is_new) return;
  const bool starts_over = ended - it->second.since > 2 * kLongest;
  it->second.pause = starts_over ? kFirst : std::min(2 * it->second.pause, kLongest);
  it->second.since = ended;
}

void BackOff::Resume(const std::string& name, uint32_t attempts, absl::Time since) {
  absl::Duration pause = kFirst;
  for (uint32_t i = 1; i < attempts && pause < kLongest; ++i) pause = std::min(2 * pause, kLongest);
  pauses_[name] = {pause, since};
}

}  // namespace plimsoll::agent
