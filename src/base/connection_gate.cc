#include "base/connection_gate.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <utility>

namespace plimsoll {

void ConnectionGate::DropClosed() {
  std::vector<struct pollfd> polls;
  // Both ends' close() count: gRPC shuts its end down before it closes it.
  for (const Connection& one : open_) polls.push_back({one.second.get(), POLLRDHUP, 0});
  if (polls.empty() || poll(polls.data(), polls.size(), 0) <= 0) return;
  std::vector<Connection> still_open;
  for (size_t i = 0; i < open_.size(); ++i) {
    if ((polls[i].revents & (POLLHUP | POLLRDHUP | POLLERR)) == 0) {
      still_open.push_back(std::move(open_[i]));
    }
  }
  open_ = std::move(still_open);
}

bool ConnectionGate::HasRoom(uid_t user) const {
  const auto of_user = static_cast<size_t>(std::count_if(
      open_.begin(), open_.end(), [user](const Connection& one) { return one.user == user; }));
  return open_.size() < options_.most && of_user < options_.most_of_user;
}

void ConnectionGate::Admit(UniqueFd connection) {
  DropClosed();
  struct ucred peer = {};
  socklen_t length = sizeof(peer);
  if (getsockopt(connection.get(), SOL_SOCKET, SO_PEERCRED, &peer, &length) != 0) return;
  if (!HasRoom(peer.uid)) return;
  UniqueFd second(fcntl(connection.get(), F_DUPFD_CLOEXEC, 0));
  if (!second.valid()) return;  // there are none left
  open_.push_back({std::move(second), peer.uid});
  serve_(std::move(connection));
}

}  // namespace plimsoll
