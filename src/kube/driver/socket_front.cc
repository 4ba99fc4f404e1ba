#include "kube/driver/socket_front.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/fs_root.h"
#include "base/socket_file.h"
#include "base/status.h"

namespace plimsoll::kube {
namespace {

// The pause of an accept that finds no descriptor left.
constexpr int kStarvedMilliseconds = 100;

absl::StatusOr<UniqueFd> MakeSocket(const SocketFile& file) {
  PLIMSOLL_RETURN_IF_ERROR(CheckSocketPath(file.path));
  PLIMSOLL_ASSIGN_OR_RETURN(const FsRoot root, FsRoot::Open("/"));
  PLIMSOLL_RETURN_IF_ERROR(root.MakeDirs(file.path.substr(1, file.path.rfind('/') - 1), 0750));
  PLIMSOLL_RETURN_IF_ERROR(CheckNobodyListens(file.path));
  return ListenAt(file);
}

absl::Status MakeNonBlocking(int fd) {
  const int flags = fcntl(fd, F_GETFL);
  if (flags >= 0 && fcntl(fd, F_SETFL, flags | O_NONBLOCK) == 0) return absl::OkStatus();
  return ErrnoStatus(errno, "an inherited socket");
}

}  // namespace

absl::StatusOr<std::unique_ptr<SocketFront>> SocketFront::Start(std::vector<FrontSocket> sockets,
                                                                Serve serve, Tell tell) {
  UniqueFd stop(eventfd(0, EFD_CLOEXEC));
  if (!stop.valid()) return ErrnoStatus(errno, "eventfd");
  std::unique_ptr<SocketFront> front(new SocketFront(std::move(serve), std::move(stop)));
  for (FrontSocket& each : sockets) {
    PLIMSOLL_RETURN_IF_ERROR(front->Add(std::move(each), tell));
  }
  try {
    front->thread_ = std::thread([raw = front.get()] { raw->Loop(); });
  } catch (const std::system_error& error) {
    return absl::ResourceExhaustedError(absl::StrCat("start a thread: ", error.what()));
  }
  return front;
}

SocketFront::SocketFront(Serve serve, UniqueFd stop)
    : serve_(std::move(serve)), stop_(std::move(stop)) {}

absl::Status SocketFront::Add(FrontSocket socket, const Tell& tell) {
  if (socket.listener.valid()) {
    PLIMSOLL_RETURN_IF_ERROR(MakeNonBlocking(socket.listener.get()));
    listeners_.push_back(std::move(socket.listener));
    return absl::OkStatus();
  }
  const SocketFile file{socket.path, 0600, std::nullopt};
  PLIMSOLL_ASSIGN_OR_RETURN(UniqueFd listener, MakeSocket(file));
  listeners_.push_back(std::move(listener));
  auto keeper =
      SocketKeeper::Start(file, serve_, [tell, path = socket.path](const absl::Status& status) {
        if (tell) tell(path, status);
      });
  if (!keeper.ok()) {
    unlink(file.path.c_str());
    return keeper.status();
  }
  keepers_.push_back(*std::move(keeper));
  return absl::OkStatus();
}

SocketFront::~SocketFront() {
  for (std::unique_ptr<SocketKeeper>& each : keepers_) SocketKeeper::RemoveFile(std::move(each));
  const uint64_t one = 1;
  while (write(stop_.get(), &one, sizeof(one)) < 0 && errno == EINTR) {
  }
  if (thread_.joinable()) thread_.join();
}

void SocketFront::Loop() {
  bool starved = false;
  while (true) {
    std::vector<pollfd> polls = {{stop_.get(), POLLIN, 0}};
    // A listener whose connections can't be accepted would be ready without end.
    for (const UniqueFd& each : listeners_) {
      polls.push_back({starved ? -1 : each.get(), POLLIN, 0});
    }
    if (poll(polls.data(), polls.size(), starved ? kStarvedMilliseconds : -1) < 0) continue;
    if (polls[0].revents != 0) return;
    starved = false;
    for (size_t i = 1; i < polls.size(); ++i) {
      const bool ready = polls[i].fd < 0 || polls[i].revents != 0;
      if (!ready) continue;
      UniqueFd connection(
          accept4(listeners_[i - 1].get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
      if (connection.valid()) {
        serve_(std::move(connection));
      } else if (errno != EINTR && errno != ECONNABORTED && errno != EAGAIN) {
        starved = true;
      }
    }
  }
}

}  // namespace plimsoll::kube
