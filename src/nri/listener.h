// The socket that plugins connect to by themselves.
#ifndef PLIMSOLL_NRI_LISTENER_H_
#define PLIMSOLL_NRI_LISTENER_H_

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/socket_keeper.h"
#include "base/steady_time.h"
#include "base/unique_fd.h"
#include "nri/parts.h"
#include "nri/plugin_connection.h"

namespace plimsoll::nri {

// The socket has mode 0600, and its directory 0700 if that is made here. Connections beyond the
// roster's room are closed at once.
class Listener {
 public:
  // FAILED_PRECONDITION: another process listens there, or it is no socket.
  static absl::StatusOr<std::unique_ptr<Listener>> Start(Parts* parts, RuntimeCalls* calls);
  // Removes the socket's file.
  ~Listener();
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;

 private:
  Listener(Parts* parts, RuntimeCalls* calls) : parts_(parts), calls_(calls) {}
  void Admit(UniqueFd socket);

  Parts* const parts_;
  RuntimeCalls* const calls_;
  SteadyTime tell_from_;  // of the keeper's thread: refusals are told now and then
  std::unique_ptr<SocketKeeper> keeper_;
};

}  // namespace plimsoll::nri

#endif  // PLIMSOLL_NRI_LISTENER_H_
