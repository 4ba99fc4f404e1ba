// Keeps a server's socket file in place while the server runs, whatever removes it.
#ifndef PLIMSOLL_BASE_SOCKET_KEEPER_H_
#define PLIMSOLL_BASE_SOCKET_KEEPER_H_

#include <functional>
#include <memory>
#include <thread>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/socket_file.h"
#include "base/unique_fd.h"

namespace plimsoll {

// No client finds a unix socket without its file, though its server listens: this then listens anew
// at the path. Open connections stay. inotify(7) reports a removal, so nothing is done meanwhile.
// Another file at the path is left alone, and a removed directory is not made again. Thread-safe.
class SocketKeeper {
 public:
  // `serve` gets each connection, non-blocking. `tell` is called once each time the file is made
  // again (OK) or can't be (the keeper then retries every second). Both are called from this
  // object's thread. RESOURCE_EXHAUSTED if that thread can't be made. `listener`: of ListenAt, if
  // the server doesn't listen by itself; `serve` then gets every connection.
  static absl::StatusOr<std::unique_ptr<SocketKeeper>> Start(
      SocketFile socket, std::function<void(UniqueFd)> serve,
      std::function<void(const absl::Status&)> tell, UniqueFd listener = UniqueFd());
  // Leaves the file in place.
  ~SocketKeeper();
  SocketKeeper(const SocketKeeper&) = delete;
  SocketKeeper& operator=(const SocketKeeper&) = delete;

 private:
  SocketKeeper(SocketFile socket, std::function<void(UniqueFd)> serve,
               std::function<void(const absl::Status&)> tell, UniqueFd changes, UniqueFd stop,
               UniqueFd listener);
  void Loop();
  void Look();
  void Accept();

  const SocketFile socket_;
  const std::function<void(UniqueFd)> serve_;
  const std::function<void(const absl::Status&)> tell_;
  const UniqueFd changes_;  // inotify
  const UniqueFd stop_;     // eventfd
  // Of the thread alone:
  UniqueFd listener_;
  bool missing_ = false;  // and can't be made again
  bool starved_ = false;  // accept fails: descriptors or memory are used up
  std::thread thread_;
};

}  // namespace plimsoll

#endif  // PLIMSOLL_BASE_SOCKET_KEEPER_H_
