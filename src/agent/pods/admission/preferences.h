// Plugins' preferences among devices, asked without the lock under which pods are taken.
//
//   Preferences preferences(host.device_manager);
//   do {
//     const absl::MutexLock lock(&mutex);
//     Take(pod, preferences.Known());  // an unknown answer is noted as a question
//   } while (preferences.Ask());       // a plugin was asked: the pod is tried again with its
//   answer
#ifndef PLIMSOLL_AGENT_PODS_ADMISSION_PREFERENCES_H_
#define PLIMSOLL_AGENT_PODS_ADMISSION_PREFERENCES_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "absl/status/statusor.h"
#include "agent/device_manager/device_manager.h"
#include "agent/device_manager/device_stock.h"

namespace plimsoll::agent {

// For one admission of pods, in one thread. Several rounds may be needed: a container's choice
// depends on that of the one before it.
class Preferences {
 public:
  // More rounds than a pod could need: then the devices change faster than the plugins answer.
  static constexpr int kMostRounds = 64;

  // `devices` outlives this; null: nobody is asked, and nobody has a preference.
  explicit Preferences(const DeviceManager* devices) : devices_(devices) {}
  Preferences(const Preferences&) = delete;
  Preferences& operator=(const Preferences&) = delete;

  // Gives the answers that are known, at once; else UNAVAILABLE, and the question is noted. Does
  // not outlive this. Null without a device manager.
  PreferDevices Known();
  // How many questions were noted since the last Ask: a decision during which they became more is
  // none.
  size_t questions() const { return questions_.size(); }
  // Ask will ask.
  bool WillAsk() const { return !questions_.empty() && rounds_ < kMostRounds; }
  // Asks the plugins what was noted: takes as long as they do. False: there was nothing to ask, or
  // too many rounds have passed.
  bool Ask();

 private:
  using Question =
      std::tuple<std::string, std::vector<std::string>, std::vector<std::string>, int64_t>;

  const DeviceManager* const devices_;
  std::map<Question, absl::StatusOr<std::vector<std::string>>> answers_;
  std::vector<Question> questions_;
  int rounds_ = 0;
};

}  // namespace plimsoll::agent

#endif  // PLIMSOLL_AGENT_PODS_ADMISSION_PREFERENCES_H_
