// Methods of systemd's manager, called over D-Bus by sd-bus.
#ifndef PLIMSOLL_SYSTEMD_BUS_H_
#define PLIMSOLL_SYSTEMD_BUS_H_

#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"

struct sd_bus_message;  // of <systemd/sd-bus.h>

namespace plimsoll::systemd {

struct BusCall {
  std::string what;  // for errors: "start unit x.scope"
  std::string member;
  std::string interface = "org.freedesktop.systemd1.Manager";  // of the manager's object
  // Appends the arguments; negative: -errno. May run more than once. Null: none.
  std::function<int(sd_bus_message*)> append;
  // Reads the answer; negative: -errno. Null: the answer is not looked at, or is a job. May run
  // after the call has ended with an error: what it writes to is kept by itself.
  std::function<int(sd_bus_message*)> read;
  bool awaits_job = false;  // the answer is a job, whose end is waited for
};

// A connection that is made anew when it is lost. One thread of its own does all that sd-bus does,
// which isn't thread-safe; calls of several threads are under way at a time. Thread-safe.
class Bus {
 public:
  virtual ~Bus() = default;

  // `address` as in D-Bus' specification. No call takes longer than `patience`.
  static std::unique_ptr<Bus> Make(const std::string& address, absl::Duration patience);

  // UNAVAILABLE: there is no connection, it was lost, or systemd isn't there; whether the call was
  // done is not known then. What systemd refuses has the code that fits its error.
  virtual absl::Status Call(const BusCall& call) = 0;
  // As Call, and again while that is UNAVAILABLE, until time is up.
  virtual absl::Status CallPatiently(const BusCall& call) = 0;

  // See Units.
  virtual void Listen(std::function<void()> rewritten) = 0;
  virtual void Expect() = 0;
};

}  // namespace plimsoll::systemd

#endif  // PLIMSOLL_SYSTEMD_BUS_H_
