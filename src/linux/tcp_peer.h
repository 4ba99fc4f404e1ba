// The other end of a TCP connection within this machine.
#ifndef PLIMSOLL_LINUX_TCP_PEER_H_
#define PLIMSOLL_LINUX_TCP_PEER_H_

#include <optional>

namespace plimsoll::linux {

// The peer's state (TCP_ESTABLISHED etc. of netinet/tcp.h), by sock_diag(7). nullopt: the peer
// isn't in this network namespace, or the kernel can't tell. Doesn't block. Thread-safe.
std::optional<int> StateOfTcpPeer(int socket);

// True when the peer has closed its end, or its sending half. True even while its FIN is stuck
// behind unread data, where this end can't see it. False where the answer isn't known.
bool TcpPeerHasClosed(int socket);

}  // namespace plimsoll::linux

#endif  // PLIMSOLL_LINUX_TCP_PEER_H_
