// The address that a server of TCP listens on, as configurations give it.
#ifndef PLIMSOLL_BASE_TEXT_LISTEN_ADDRESS_H_
#define PLIMSOLL_BASE_TEXT_LISTEN_ADDRESS_H_

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace plimsoll {

// The decimal digits of a port that can be: 0 (a free one) to 65535.
bool IsPort(absl::string_view text);

// INVALID_ARGUMENT unless it is "127.0.0.1:9464" or "[::1]:9464": an IP address and a port from
// `least_port` on. A host's name is none: it may resolve to another address tomorrow.
absl::Status CheckListenAddress(absl::string_view address, int least_port = 1);

}  // namespace plimsoll

#endif  // PLIMSOLL_BASE_TEXT_LISTEN_ADDRESS_H_
