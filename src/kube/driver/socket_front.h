// Unix sockets whose connections another part serves: made here, or inherited from systemd.
#ifndef PLIMSOLL_KUBE_DRIVER_SOCKET_FRONT_H_
#define PLIMSOLL_KUBE_DRIVER_SOCKET_FRONT_H_

#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/socket_keeper.h"
#include "base/unique_fd.h"

namespace plimsoll::kube {

struct FrontSocket {
  std::string path;   // absolute
  UniqueFd listener;  // listens there already; invalid: the front makes the socket, for its user
};

class SocketFront {
 public:
  using Serve = std::function<void(UniqueFd connection)>;  // non-blocking; from threads of this
  using Tell = std::function<void(const std::string& path, const absl::Status&)>;

  // Makes the sockets in their order, and their directories (0750). A leftover socket is replaced;
  // FAILED_PRECONDITION: a process listens there. `tell`: a socket that this made was removed by
  // others, and is there again (OK) or can't be made; may be null.
  static absl::StatusOr<std::unique_ptr<SocketFront>> Start(std::vector<FrontSocket> sockets,
                                                            Serve serve, Tell tell);
  // Removes the sockets that it made.
  ~SocketFront();
  SocketFront(const SocketFront&) = delete;
  SocketFront& operator=(const SocketFront&) = delete;

 private:
  SocketFront(Serve serve, UniqueFd stop);
  absl::Status Add(FrontSocket socket, const Tell& tell);
  void Loop();

  const Serve serve_;
  const UniqueFd stop_;              // eventfd
  std::vector<UniqueFd> listeners_;  // constant once the thread runs
  std::vector<std::unique_ptr<SocketKeeper>> keepers_;
  std::thread thread_;
};

}  // namespace plimsoll::kube

#endif  // PLIMSOLL_KUBE_DRIVER_SOCKET_FRONT_H_
