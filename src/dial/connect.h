// TCP connections to addresses of pods, whose waits all have an end.
#ifndef PLIMSOLL_DIAL_CONNECT_H_
#define PLIMSOLL_DIAL_CONNECT_H_

#include <cstdint>
#include <functional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/steady_time.h"
#include "base/unique_fd.h"

namespace plimsoll::dial {

// The end of a wait.
struct Until {
  SteadyTime deadline = kNever;
  // Asked every 50 ms while something is waited for, from the waiting thread; null: never.
  std::function<bool()> given_up;
};

// "10.0.0.1:80", "[fd00::1]:80".
std::string HostAndPort(const std::string& host, uint16_t port);

// Waits until the socket is ready for `events` of poll(2), or broken. DEADLINE_EXCEEDED; CANCELLED
// once it is given up.
absl::Status AwaitSocket(int fd, short events, const Until& until);

// A connected, non-blocking socket. `host` is an address or a name; of several addresses the first
// that answers counts. The look-up of a name takes as long as the machine's resolver. UNAVAILABLE:
// nobody listens there, or there is no way to it; INVALID_ARGUMENT: `host` is no name; errors as of
// AwaitSocket. Errors name host and port.
absl::StatusOr<UniqueFd> Connect(const std::string& host, uint16_t port, const Until& until);

}  // namespace plimsoll::dial

#endif  // PLIMSOLL_DIAL_CONNECT_H_
