#include "agent/pods/life/retries.h"

#include <algorithm>

namespace plimsoll::agent {

absl::Duration Retries::Left(const std::string& name, absl::Time now) const {
  const auto it = at_.find(name);
  return it == at_.end() ? absl::ZeroDuration() : std::max(it->second - now, absl::ZeroDuration());
}

absl::Duration Retries::OnFailure(const std::string& name, absl::Time now) {
  back_off_.OnAttempt(name, now);
  const absl::Time next = back_off_.NotBefore(name, now);
  at_[name] = next;
  return next - now;
}

void Retries::Forget(const std::string& name) {
  at_.erase(name);
  back_off_.Forget(name);
}

}  // namespace plimsoll::agent
