// A soak's calls, counts and faults, from any thread.
#ifndef PLIMSOLL_TESTS_SOAK_JOURNAL_H_
#define PLIMSOLL_TESTS_SOAK_JOURNAL_H_

#include <map>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"

namespace plimsoll::testing {

struct CallFigures {
  std::string name;
  size_t count = 0;
  size_t refused = 0;  // answered with an error, as expected
  double p50_ms = 0;
  double p99_ms = 0;
  double max_ms = 0;
};

// Thread-safe.
class Journal {
 public:
  void Call(const std::string& name, absl::Duration took, bool refused);
  // Prints a fault at once; of many, the first ones.
  void Fault(const std::string& text);
  // Adds to a count that the report shows.
  void Count(const std::string& what, size_t more = 1);

  int faults() const;
  std::vector<CallFigures> calls() const;  // by name
  std::map<std::string, size_t> counts() const;

 private:
  struct Series {
    std::vector<float> milliseconds;
    size_t refused = 0;
  };
  mutable absl::Mutex mutex_;
  std::map<std::string, Series> calls_ ABSL_GUARDED_BY(mutex_);
  std::map<std::string, size_t> counts_ ABSL_GUARDED_BY(mutex_);
  int faults_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace plimsoll::testing

#endif  // PLIMSOLL_TESTS_SOAK_JOURNAL_H_
