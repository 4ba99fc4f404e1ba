#include "linux/tcp_peer.h"

#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstring>
#include <iterator>

#include "base/unique_fd.h"

namespace plimsoll::linux {
namespace {

struct Request {
  nlmsghdr header;
  inet_diag_req_v2 body;
};

struct Endpoint {
  int family = AF_UNSPEC;
  __be16 port = 0;
  __be32 words[4] = {};
};

// An IPv4 connection of an IPv6 socket is a plain IPv4 connection at the other end.
Endpoint EndpointOf(const sockaddr_storage& from) {
  Endpoint address;
  if (from.ss_family == AF_INET) {
    const auto& v4 = reinterpret_cast<const sockaddr_in&>(from);
    address.family = AF_INET;
    address.port = v4.sin_port;
    address.words[0] = v4.sin_addr.s_addr;
  } else if (from.ss_family == AF_INET6) {
    const auto& v6 = reinterpret_cast<const sockaddr_in6&>(from);
    address.port = v6.sin6_port;
    if (IN6_IS_ADDR_V4MAPPED(&v6.sin6_addr)) {
      address.family = AF_INET;
      address.words[0] = v6.sin6_addr.s6_addr32[3];
    } else {
      address.family = AF_INET6;
      std::copy(std::begin(v6.sin6_addr.s6_addr32), std::end(v6.sin6_addr.s6_addr32),
                std::begin(address.words));
    }
  }
  return address;
}

// Asks for the socket whose own address is this one's peer, and whose peer is this one.
Request AskForPeer(const Endpoint& own, const Endpoint& peer) {
  Request request = {};
  request.header.nlmsg_len = sizeof(request);
  request.header.nlmsg_type = SOCK_DIAG_BY_FAMILY;
  request.header.nlmsg_flags = NLM_F_REQUEST;
  request.body.sdiag_family = static_cast<__u8>(own.family);
  request.body.sdiag_protocol = IPPROTO_TCP;
  request.body.idiag_states = ~0U;
  request.body.id.idiag_sport = peer.port;
  request.body.id.idiag_dport = own.port;
  std::copy(std::begin(peer.words), std::end(peer.words), std::begin(request.body.id.idiag_src));
  std::copy(std::begin(own.words), std::end(own.words), std::begin(request.body.id.idiag_dst));
  for (__u32& cookie : request.body.id.idiag_cookie) cookie = INET_DIAG_NOCOOKIE;
  return request;
}

}  // namespace

std::optional<int> StateOfTcpPeer(int socket) {
  sockaddr_storage own = {};
  sockaddr_storage peer = {};
  socklen_t own_size = sizeof(own);
  socklen_t peer_size = sizeof(peer);
  if (getsockname(socket, reinterpret_cast<sockaddr*>(&own), &own_size) != 0 ||
      getpeername(socket, reinterpret_cast<sockaddr*>(&peer), &peer_size) != 0) {
    return std::nullopt;
  }
  const Endpoint from = EndpointOf(own);
  const Endpoint to = EndpointOf(peer);
  if (from.family == AF_UNSPEC || from.family != to.family) return std::nullopt;
  const UniqueFd diag(::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG));
  if (!diag.valid()) return std::nullopt;
  const Request request = AskForPeer(from, to);
  if (send(diag.get(), &request, sizeof(request), 0) != sizeof(request)) return std::nullopt;
  // The kernel has answered by the time send(2) returns.
  alignas(nlmsghdr) char answer[4096];
  const ssize_t size = recv(diag.get(), answer, sizeof(answer), MSG_DONTWAIT);
  nlmsghdr header = {};
  inet_diag_msg found = {};
  if (size < static_cast<ssize_t>(NLMSG_LENGTH(sizeof(found)))) return std::nullopt;
  memcpy(&header, answer, sizeof(header));
  if (header.nlmsg_type != SOCK_DIAG_BY_FAMILY) return std::nullopt;  // NLMSG_ERROR: no such socket
  memcpy(&found, answer + NLMSG_HDRLEN, sizeof(found));
  return found.idiag_state;
}

bool TcpPeerHasClosed(int socket) {
  switch (StateOfTcpPeer(socket).value_or(TCP_ESTABLISHED)) {
    case TCP_FIN_WAIT1:
    case TCP_FIN_WAIT2:
    case TCP_CLOSING:
    case TCP_LAST_ACK:
    case TCP_TIME_WAIT:
    case TCP_CLOSE:
      return true;
    default:
      return false;
  }
}

}  // namespace plimsoll::linux
