// Retries of what failed, each under its name, after growing pauses (see BackOff).
#ifndef PLIMSOLL_AGENT_PODS_LIFE_RETRIES_H_
#define PLIMSOLL_AGENT_PODS_LIFE_RETRIES_H_

#include <map>
#include <string>

#include "absl/time/time.h"
#include "agent/pods/life/back_off.h"

namespace plimsoll::agent {

// Not thread-safe.
class Retries {
 public:
  // How long until the next try; zero: it is due, or nothing has failed.
  absl::Duration Left(const std::string& name, absl::Time now) const;
  // A try failed at `now`. Returns how long until the next one.
  absl::Duration OnFailure(const std::string& name, absl::Time now);
  // The last try failed, whether the next one is due or not.
  bool HasFailed(const std::string& name) const { return at_.contains(name); }
  // The next try is due at once. Another failure makes a longer pause all the same.
  void Hasten(const std::string& name) { at_.erase(name); }
  // It succeeded, or another thing has the name now.
  void Forget(const std::string& name);

 private:
  BackOff back_off_;
  std::map<std::string, absl::Time> at_;  // of the next try
};

}  // namespace plimsoll::agent

#endif  // PLIMSOLL_AGENT_PODS_LIFE_RETRIES_H_
