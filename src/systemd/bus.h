// Calls methods of systemd's manager over D-Bus, by sd-bus.
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
  // Reads the answer; negative: -errno. Null: the answer is ignored, or is a job. May run after the
  // call has ended with an error, so it must own the place that it writes to.
  std::function<int(sd_bus_message*)> read;
  bool awaits_job = false;  // the answer is a job; waits for its end
};

// A connection that reconnects when it is lost. Only a thread of its own uses sd-bus, which isn't
// thread-safe; several threads may have calls under way at a time. Thread-safe.
class Bus {
 public:
  virtual ~Bus() = default;

  // Call LoadSdBus before. `address`: in D-Bus' format. No call takes longer than `patience`.
  static std::unique_ptr<Bus> Make(const std::string& address, absl::Duration patience);

  // UNAVAILABLE: no connection, a lost one, or no systemd; the method may have run or not. An error
  // of systemd becomes the matching code.
  virtual absl::Status Call(const BusCall& call) = 0;
  // Repeats Call while it is UNAVAILABLE, until time is up.
  virtual absl::Status CallPatiently(const BusCall& call) = 0;

  // See Units.
  virtual void Listen(std::function<void()> rewritten) = 0;
  virtual void Expect() = 0;
};

}  // namespace plimsoll::systemd

#endif  // PLIMSOLL_SYSTEMD_BUS_H_
