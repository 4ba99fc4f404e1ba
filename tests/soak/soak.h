// A node that lives through many pods, and the checks afterwards.
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
  int at_least = 0;  // pods that must have lived in the time; 0: all of them
  int at_once = 10;
  int rounds = 3;                                  // the daemon is at rest between two of them
  absl::Duration most = absl::InfiniteDuration();  // no pod starts later
  double max_growth = 0;  // maximum growth of resident memory, as a fraction; 0: only reported
  bool has_network = false;
  std::string network_config;  // lines of the daemon's configuration
};

// Used by one thread.
class Soak {
 public:
  explicit Soak(const SoakOptions& options);

  // An error means that something outside Plimsoll failed. Faults are in the report.
  absl::Status Run();
  SoakReport report() const;
  // The end of the daemon's log.
  std::string LogTail() const;

 private:
  absl::Status SetUp();
  absl::Status Rest();
  // Runs pods until `until` have lived since the start, or the time is over.
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
  std::atomic<int> histories_ = 0;  // printed so far
};

}  // namespace plimsoll::testing

#endif  // PLIMSOLL_TESTS_SOAK_SOAK_H_
