// A client's connection to a container's own streams.
#ifndef PLIMSOLL_RUNTIME_OCI_ATTACHED_CONTAINER_H_
#define PLIMSOLL_RUNTIME_OCI_ATTACHED_CONTAINER_H_

#include "base/unique_fd.h"

namespace plimsoll::runtime {

// The streams of a container's own process, as its monitor passes them on: packets of
// monitor/protocol.h, "Attached clients".
struct AttachedContainer {
  UniqueFd connection;  // SOCK_SEQPACKET, non-blocking; closed: detached
  bool terminal = false;
};

}  // namespace plimsoll::runtime

#endif  // PLIMSOLL_RUNTIME_OCI_ATTACHED_CONTAINER_H_
