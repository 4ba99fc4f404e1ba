// A server's socket file for as long as the server runs, whoever removes it.
#ifndef PLIMSOLL_CRI_SOCKET_KEEPER_H_
#define PLIMSOLL_CRI_SOCKET_KEEPER_H_

#include <functional>
#include <memory>
#include <thread>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/unique_fd.h"
#include "cri/socket_file.h"

namespace plimsoll::cri {

// A unix socket without its file is found by nobody, though its server listens: this one listens at
// the path anew then. What is connected stays so. inotify(7) tells of a removal, so that nothing is
// done meanwhile. Another file at the path is left alone, and a directory that goes is not made
// again. Thread-safe.
class SocketKeeper {
 public:
  // `serve` gets each connection, non-blocking. `tell` is told once of each time the file is made
  // again (OK) or can't be (which is tried each second then). Both are called by a thread of this.
  // RESOURCE_EXHAUSTED when there is no such thread to be had.
  static absl::StatusOr<std::unique_ptr<SocketKeeper>> Start(
      SocketFile socket, std::function<void(UniqueFd)> serve,
      std::function<void(const absl::Status&)> tell);
  // Leaves the file.
  ~SocketKeeper();
  SocketKeeper(const SocketKeeper&) = delete;
  SocketKeeper& operator=(const SocketKeeper&) = delete;

 private:
  SocketKeeper(SocketFile socket, std::function<void(UniqueFd)> serve,
               std::function<void(const absl::Status&)> tell, UniqueFd changes, UniqueFd stop);
  void Loop();
  void Look();
  void Accept();

  const SocketFile socket_;
  const std::function<void(UniqueFd)> serve_;
  const std::function<void(const absl::Status&)> tell_;
  const UniqueFd changes_;  // inotify
  const UniqueFd stop_;     // eventfd
  // The thread's:
  UniqueFd listener_;
  bool missing_ = false;  // and can't be made
  bool starved_ = false;  // no connection can be had: descriptors or memory are used up
  std::thread thread_;
};

}  // namespace plimsoll::cri

#endif  // PLIMSOLL_CRI_SOCKET_KEEPER_H_
