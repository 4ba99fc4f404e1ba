// Moves network devices between network namespaces.
#ifndef PLIMSOLL_LINUX_NET_DEVICES_H_
#define PLIMSOLL_LINUX_NET_DEVICES_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace plimsoll::linux {

// OK for a name that the kernel takes for a device; INVALID_ARGUMENT has the rule.
absl::Status CheckNetDeviceName(absl::string_view name);

// A device that is to move.
struct NetDeviceMove {
  std::string from;     // path of its network namespace; empty: the calling thread's
  std::string to;       // path of the other
  std::string name;     // in `from`; an alternative name is one too
  std::string renamed;  // in `to`
  std::string owner;    // for whom it moves: at most 64 bytes without ':'
};

struct MovedNetDevice {
  std::string name;     // its own one in `from`
  bool was_up = false;  // there
  // False: an earlier move has brought it already, and nothing was done.
  bool moved = true;
};

// Moves the device, gives it its permanent addresses of global scope again (the kernel drops them
// on the way) and brings it up. It gets an alternative name, "plimsoll:NAME:OWNER". By that a
// second move by the same names finds it in place, which makes it the second owner's.
//
// INVALID_ARGUMENT for names that no device can have; FAILED_PRECONDITION when both namespaces are
// the same, for a device that can't leave its namespace (the loopback device), and when another
// device has the name in `to`; NOT_FOUND when there is no such device. After a failure it is back.
absl::StatusOr<MovedNetDevice> MoveNetDevice(const NetDeviceMove& move);

// The way back: to `move.from` with its own name and its addresses; up only if it was. OK when this
// owner has nothing like it in `move.to` (any more): it is back, another's, or has ended.
absl::Status MoveNetDeviceBack(const NetDeviceMove& move, const MovedNetDevice& device);

}  // namespace plimsoll::linux

#endif  // PLIMSOLL_LINUX_NET_DEVICES_H_
