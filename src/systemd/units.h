// systemd's units, as far as control groups need them: org.freedesktop.systemd1 on the system bus.
#ifndef PLIMSOLL_SYSTEMD_UNITS_H_
#define PLIMSOLL_SYSTEMD_UNITS_H_

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/fs_root.h"
#include "systemd/properties.h"

namespace plimsoll::systemd {

// Thread-safe. Each call waits for systemd, a change of state until it is done, and goes on waiting
// while systemd executes itself anew or the bus is restarted: for half a minute in all, then
// UNAVAILABLE or DEADLINE_EXCEEDED, and whether it was done is not known. Errors name the unit and
// hold systemd's own words.
class Units {
 public:
  virtual ~Units() = default;

  // Such as 252.
  virtual int version() const = 0;
  // Makes a unit that is in no file, and starts it. ALREADY_EXISTS: systemd knows one of the name.
  virtual absl::Status StartTransient(const std::string& unit,
                                      const std::vector<Property>& properties) = 0;
  virtual absl::Status Start(const std::string& unit) = 0;
  // Ends what runs in it. OK when there is none of the name.
  virtual absl::Status Stop(const std::string& unit) = 0;
  // Until the next boot. NOT_FOUND: no such unit. systemd writes the values shortly after, and what
  // the kernel refuses then is in systemd's log alone.
  virtual absl::Status SetProperties(const std::string& unit,
                                     const std::vector<Property>& properties) = 0;
  // Has what Listen was given called for some seconds, since systemd will write values.
  virtual void Expect() = 0;
  // `rewritten` is called, in another thread and never twice at a time, whenever systemd has
  // written or may have written values of units anew; it must not call this. Null: nothing more,
  // also none that is under way when this returns.
  virtual void Listen(std::function<void()> rewritten) = 0;
};

// FAILED_PRECONDITION where systemd doesn't run the machine, or its bus isn't there, and what to
// do.
absl::StatusOr<std::unique_ptr<Units>> ConnectUnits(const FsRoot& host);

// For tests: `address` as in D-Bus' specification ("unix:path=/run/bus").
absl::StatusOr<std::unique_ptr<Units>> ConnectUnitsAt(const std::string& address,
                                                      absl::Duration patience);

// Whether it is process 1, as sd_booted(3) tells.
bool SystemdRuns(const FsRoot& host);
// Whether ConnectUnits would find systemd and a bus, without asking them.
bool SystemdIsThere(const FsRoot& host);

}  // namespace plimsoll::systemd

#endif  // PLIMSOLL_SYSTEMD_UNITS_H_
