// Keeps a server's socket file in place while the server runs, whatever removes it.
#ifndef PLIMSOLL_BASE_SOCKET_KEEPER_H_
#define PLIMSOLL_BASE_SOCKET_KEEPER_H_

#include <sys/types.h>

#include <functional>
#include <memory>
#include <optional>
#include <thread>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "base/socket_file.h"
#include "base/unique_fd.h"

namespace plimsoll {

// No client finds a unix socket without its file, though its server listens: this then listens
// again at the path. Open connections stay. inotify(7) reports a removal at once; what it doesn't
// report, as a mount over the directory, is found within 5 s. A removed directory is not made
// again. Another file at the path is left alone until it goes. Thread-safe.
class SocketKeeper {
 public:
  // `serve` gets each connection, non-blocking. `tell` is called once each time the file is made
  // again (OK) or can't be (the keeper then retries every second), and once for each file that
  // takes its place (ALREADY_EXISTS). Both are called from this object's thread. RESOURCE_EXHAUSTED
  // if that thread can't be made. `listener`: of ListenAt, if the server doesn't listen by itself;
  // `serve` then gets every connection, and an error removes the file.
  static absl::StatusOr<std::unique_ptr<SocketKeeper>> Start(
      SocketFile socket, std::function<void(UniqueFd)> serve,
      std::function<void(const absl::Status&)> tell, UniqueFd listener = UniqueFd());
  // Leaves the file in place.
  ~SocketKeeper();
  SocketKeeper(const SocketKeeper&) = delete;
  SocketKeeper& operator=(const SocketKeeper&) = delete;

  // False: there is no file at the path, or another's.
  bool HoldsPath() const;
  // The end of a server that listens no more: ends its keeper and removes its file. Another's file
  // at the path stays. Nothing without a keeper.
  static void RemoveFile(std::unique_ptr<SocketKeeper> keeper);

 private:
  // The file's device and inode. A socket that is open keeps its inode, so no other file has it.
  using Identity = std::pair<dev_t, ino_t>;

  SocketKeeper(SocketFile socket, std::function<void(UniqueFd)> serve,
               std::function<void(const absl::Status&)> tell, UniqueFd changes, UniqueFd stop,
               UniqueFd listener);
  void Loop();
  void Look();
  // The file at the path; nullopt: none.
  std::optional<Identity> Found() const;
  bool IsOurs(const Identity& file) const;
  void Accept();

  const SocketFile socket_;
  const std::function<void(UniqueFd)> serve_;
  const std::function<void(const absl::Status&)> tell_;
  const UniqueFd changes_;  // inotify
  const UniqueFd stop_;     // eventfd
  mutable absl::Mutex mutex_;
  std::optional<Identity> ours_ ABSL_GUARDED_BY(mutex_);
  // Used by the thread alone:
  std::optional<Identity> foreign_;  // the one that was told
  UniqueFd listener_;
  bool missing_ = false;  // and can't be made again
  bool starved_ = false;  // accept fails: descriptors or memory are used up
  std::thread thread_;
};

}  // namespace plimsoll

#endif  // PLIMSOLL_BASE_SOCKET_KEEPER_H_
