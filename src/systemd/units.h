// The operations on systemd's units that control groups need: org.freedesktop.systemd1 on the
// system bus.
#ifndef PLIMSOLL_SYSTEMD_UNITS_H_
#define PLIMSOLL_SYSTEMD_UNITS_H_

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/fs_root.h"
#include "systemd/properties.h"

namespace plimsoll::systemd {

// Thread-safe. Each call waits for systemd; a change of state waits until it is done, even while
// systemd re-executes itself or the bus restarts. After half a minute: UNAVAILABLE or
// DEADLINE_EXCEEDED, and the call may have been done or not. Errors name the unit and hold
// systemd's own words.
class Units {
 public:
  virtual ~Units() = default;

  // E.g. 252.
  virtual int version() const = 0;
  // Makes a unit without a unit file, and starts it. ALREADY_EXISTS: systemd has a unit of that
  // name.
  virtual absl::Status StartTransient(const std::string& unit,
                                      const std::vector<Property>& properties) = 0;
  virtual absl::Status Start(const std::string& unit) = 0;
  // Ends the unit's processes. OK when no such unit exists.
  virtual absl::Status Stop(const std::string& unit) = 0;
  // Sets them until the next boot. NOT_FOUND: no such unit. systemd writes the values shortly
  // after; if the kernel refuses one then, only systemd's log says so.
  virtual absl::Status SetProperties(const std::string& unit,
                                     const std::vector<Property>& properties) = 0;
  // Calls Listen's `rewritten` for some seconds, since systemd will write values.
  virtual void Expect() = 0;
  // `rewritten` is called in another thread, never twice at a time, whenever systemd may have
  // written values of units; it must not call this. Null: no more calls, and none is under way when
  // this returns.
  virtual void Listen(std::function<void()> rewritten) = 0;
};

// FAILED_PRECONDITION, with advice, where systemd doesn't run the machine or its bus is missing.
absl::StatusOr<std::unique_ptr<Units>> ConnectUnits(const FsRoot& host);

// For tests. `address`: in D-Bus' format ("unix:path=/run/bus").
absl::StatusOr<std::unique_ptr<Units>> ConnectUnitsAt(const std::string& address,
                                                      absl::Duration patience);

// True when systemd is process 1, as sd_booted(3) decides it.
bool SystemdRuns(const FsRoot& host);
// True when ConnectUnits would find systemd and a bus; asks neither.
bool SystemdIsThere(const FsRoot& host);

}  // namespace plimsoll::systemd

#endif  // PLIMSOLL_SYSTEMD_UNITS_H_
