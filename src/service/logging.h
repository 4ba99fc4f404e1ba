// The daemon's log: one line per entry on standard error, for people or for programs.
//
//   Log log(LogFormat::kJson, LogLevel::kInfo, sink);
//   log.Write(LogLevel::kInfo, "serving", {{"address", config.address}});
//
//   text: 2026-11-21T00:45:01.123Z info    serving address=unix:///run/plimsoll/plimsoll.sock
//   json: {"time":"2026-11-21T00:45:01.123Z","level":"info","message":"serving","address":"..."}
//
// Only programs log; libraries return errors. Messages may contain clients' text: control
// characters are escaped in both formats, so an entry is always one line.
#ifndef PLIMSOLL_SERVICE_LOGGING_H_
#define PLIMSOLL_SERVICE_LOGGING_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "base/clock.h"

namespace plimsoll {

enum class LogLevel { kDebug, kInfo, kWarning, kError };
enum class LogFormat { kText, kJson };

// "debug", "info", "warning", "error"; anything else is kInfo.
LogLevel ParseLogLevel(absl::string_view name);
LogFormat ParseLogFormat(absl::string_view name);

struct LogField {
  absl::string_view key;
  std::string value;
};

// One entry without the newline. Bytes that are not UTF-8 become U+FFFD.
std::string FormatLogEntry(LogFormat format, absl::Time time, LogLevel level,
                           absl::string_view message, const std::vector<LogField>& fields);

// Lets through a burst and then a rate; counts the rest. Thread-safe.
class RateLimit {
 public:
  RateLimit(double per_second, double burst, Clock* clock)
      : per_second_(per_second), burst_(burst), clock_(clock), tokens_(burst) {}

  struct Decision {
    bool pass = false;
    uint64_t held_back = 0;  // if `pass`: number held back since the last passed one
  };
  Decision Ask();

 private:
  const double per_second_;
  const double burst_;
  Clock* const clock_;
  absl::Mutex mutex_;
  double tokens_ ABSL_GUARDED_BY(mutex_);
  absl::Time last_ ABSL_GUARDED_BY(mutex_) = absl::InfinitePast();
  uint64_t held_back_ ABSL_GUARDED_BY(mutex_) = 0;
};

// Thread-safe.
class Log {
 public:
  using Sink = std::function<void(LogLevel, const std::string& line)>;

  // Writes to standard error; a line that it doesn't take is lost, and counted (log_output.h).
  Log(LogFormat format, LogLevel level);
  // Writes to `sink`, which one thread at a time calls.
  Log(LogFormat format, LogLevel level, Sink sink, Clock* clock = &Clock::Real());
  ~Log();

  void Write(LogLevel level, absl::string_view message, const std::vector<LogField>& fields = {});
  // For entries whose number a client controls: at most 200 at once and 50 a second; then one entry
  // counts the missing ones.
  void WriteLimited(LogLevel level, absl::string_view message,
                    const std::vector<LogField>& fields = {});

  void set_level(LogLevel level);
  LogLevel level() const;

 private:
  struct Backend;

  const LogFormat format_;
  Clock* const clock_;
  RateLimit limit_;
  std::unique_ptr<Backend> backend_;
};

}  // namespace plimsoll

#endif  // PLIMSOLL_SERVICE_LOGGING_H_
