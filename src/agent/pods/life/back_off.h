// Growing pauses between attempts, as kubelet makes them for restarts and pulls
// (k8s.io/client-go/util/flowcontrol, "Backoff").
#ifndef PLIMSOLL_AGENT_PODS_LIFE_BACK_OFF_H_
#define PLIMSOLL_AGENT_PODS_LIFE_BACK_OFF_H_

#include <cstdint>
#include <map>
#include <string>

#include "absl/time/time.h"

namespace plimsoll::agent {

// Pauses of things with a name. A first attempt waits for nothing. Not thread-safe.
class BackOff {
 public:
  static constexpr absl::Duration kFirst = absl::Seconds(10);
  static constexpr absl::Duration kLongest = absl::Minutes(5);

  // The earliest time of the next attempt after one that ended at `ended`.
  absl::Time NotBefore(const std::string& name, absl::Time ended) const;
  // The present pause of the thing; zero before its first attempt.
  absl::Duration Pause(const std::string& name) const;
  // An attempt begins: the next pause is twice as long. It starts over after a success of twice the
  // longest pause, which `ended`, the end of the attempt before, shows.
  void OnAttempt(const std::string& name, absl::Time ended);
  // Goes on where another BackOff was: after so many attempts (at least one), of which the one
  // before the last ended at `since`.
  void Resume(const std::string& name, uint32_t attempts, absl::Time since);
  void Forget(const std::string& name) { pauses_.erase(name); }

 private:
  struct Entry {
    absl::Duration pause;
    absl::Time since;  // the end of the attempt that this pause followed
  };
  std::map<std::string, Entry> pauses_;
};

}  // namespace plimsoll::agent

#endif  // PLIMSOLL_AGENT_PODS_LIFE_BACK_OFF_H_
