// A server's socket of the test's own on the host's loopback network.
#ifndef PLIMSOLL_TESTS_HARNESS_LOOPBACK_LISTENER_H_
#define PLIMSOLL_TESTS_HARNESS_LOOPBACK_LISTENER_H_

#include <cstdint>

#include "absl/time/time.h"
#include "base/unique_fd.h"

namespace plimsoll::testing {

class LoopbackListener {
 public:
  // At 127.0.0.1 (AF_INET) or ::1 (AF_INET6), at a free port.
  explicit LoopbackListener(int family);
  // False: the host has no such address.
  bool valid() const { return fd_.valid(); }
  uint16_t port() const { return port_; }
  // The next connection; its sends and receives end with EAGAIN after a minute. Invalid, and a
  // failure of the test, when none comes within `limit`.
  UniqueFd Accept(absl::Duration limit = absl::Seconds(30)) const;

 private:
  UniqueFd fd_;
  uint16_t port_ = 0;
};

}  // namespace plimsoll::testing

#endif  // PLIMSOLL_TESTS_HARNESS_LOOPBACK_LISTENER_H_
