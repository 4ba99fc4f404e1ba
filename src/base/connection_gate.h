// Bounds the connections of a server that takes any number.
#ifndef PLIMSOLL_BASE_CONNECTION_GATE_H_
#define PLIMSOLL_BASE_CONNECTION_GATE_H_

#include <sys/types.h>

#include <functional>
#include <vector>

#include "base/unique_fd.h"

namespace plimsoll {

struct GateOptions {
  size_t most = 64;
  // The limit of one user: another user of the socket's group must not keep the rest out.
  size_t most_of_user = 16;
};

// gRPC takes every connection and reports no end. So the gate keeps a second descriptor of each:
// it hangs up once client or server has closed. A connection that comes while there are too many is
// closed at once. One thread at a time.
class ConnectionGate {
 public:
  // `serve` gets the connections that are let in.
  explicit ConnectionGate(std::function<void(UniqueFd)> serve, GateOptions options = GateOptions())
      : serve_(std::move(serve)), options_(options) {}

  // Closes it, or hands it on. `connection` is a connected unix socket.
  void Admit(UniqueFd connection);
  // The number of connections that were open at the last Admit.
  size_t open() const { return open_.size(); }

 private:
  struct Connection {
    UniqueFd second;
    uid_t user = 0;
  };
  void DropClosed();
  bool HasRoom(uid_t user) const;

  const std::function<void(UniqueFd)> serve_;
  const GateOptions options_;
  std::vector<Connection> open_;
};

}  // namespace plimsoll

#endif  // PLIMSOLL_BASE_CONNECTION_GATE_H_
