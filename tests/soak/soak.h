// A node that lives through many pods, and what must be true of it afterwards.
#ifndef PLIMSOLL_TESTS_SOAK_SOAK_H_
#define PLIMSOLL_TESTS_SOAK_SOAK_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "harness/leftovers.h"
#include "harness/node.h"
#include "soak/event_watch.h"
#include "soak/journal.h"
#include "soak/report.h"

namespace plimsoll::testing {

struct SoakOptions {
  uint64_t seed = 0;
  int pods = 60;
  int at_least = 0;  // pods that must have lived when the time is over; 0: all of them
  int at_once = 10;
  int rounds = 3;                                  // between two of them the daemon is at rest
  absl::Duration most = absl::InfiniteDuration();  // no pod is begun later
  double max_growth = 0;  // of resident memory, in parts of it; 0: it is only shown
  bool has_network = false;
  std::string network_config;  // lines of the daemon's configuration
};

// Used by one thread.
class Soak {
 public:
  explicit Soak(const SoakOptions& options);

  // An error: something that isn't Plimsoll's failed. Faults are in the report.
  absl::Status Run();
  SoakReport report() const;
  // The last of what the daemon has logged.
  std::string LogTail() const;

 private:
  absl::Status SetUp();
  absl::Status Rest();
  // Lives through pods until so many have lived since the start, or the time is over.
  void Live(int until);
  void LivePod(int number);
  void CheckNothingLeft();
  void CheckDoctor();
  void CheckEvents();
  absl::Status Finish();

  const SoakOptions options_;
  Node node_;
  Journal journal_;
  std::unique_ptr<EventWatch> events_;
  InventoryScope scope_;
  Inventory before_;
  std::vector<std::string> interfaces_before_;
  std::vector<MemorySample> memory_;
  absl::Time start_;
  absl::Time end_;
  std::atomic<int> next_ = 0;
  std::atomic<int> lived_ = 0;
  std::atomic<int> histories_ = 0;  // that were printed
};

}  // namespace plimsoll::testing

#endif  // PLIMSOLL_TESTS_SOAK_SOAK_H_
