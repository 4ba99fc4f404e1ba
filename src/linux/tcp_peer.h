// The other end of a TCP connection, where that is on this machine.
#ifndef PLIMSOLL_LINUX_TCP_PEER_H_
#define PLIMSOLL_LINUX_TCP_PEER_H_

#include <optional>

namespace plimsoll::linux {

// Its state (TCP_ESTABLISHED and so on, of netinet/tcp.h), by sock_diag(7). nullopt: it isn't in
// this network namespace, or the kernel can't tell. Doesn't block. Thread-safe.
std::optional<int> StateOfTcpPeer(int socket);

// Whether whoever has the other end has closed it, or the half that sends. It tells of those whose
// end is still behind what they have sent, and does not arrive as long as this one isn't read.
// False where it can't be told.
bool TcpPeerHasClosed(int socket);

}  // namespace plimsoll::linux

#endif  // PLIMSOLL_LINUX_TCP_PEER_H_
