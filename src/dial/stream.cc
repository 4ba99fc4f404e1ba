#include "dial/stream.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "base/unique_fd.h"
#include "dial/tls_stream.h"

namespace plimsoll::dial {
namespace {

constexpr size_t kReceiveBytes = 4096;

absl::Status BrokenBy(int error) {
  return absl::UnavailableError(absl::StrCat("the connection broke: ", strerror(error)));
}

class PlainStream : public Stream {
 public:
  PlainStream(UniqueFd fd, Until until) : fd_(std::move(fd)), until_(std::move(until)) {}

  absl::Status Send(absl::string_view text) override {
    while (!text.empty()) {
      PLIMSOLL_RETURN_IF_ERROR(AwaitSocket(fd_.get(), POLLOUT, until_));
      const ssize_t count = send(fd_.get(), text.data(), text.size(), MSG_NOSIGNAL);
      if (count < 0 && errno != EAGAIN && errno != EINTR) return BrokenBy(errno);
      text.remove_prefix(static_cast<size_t>(std::max<ssize_t>(count, 0)));
    }
    return absl::OkStatus();
  }

  absl::Status Receive(std::string* buffer) override {
    while (true) {
      PLIMSOLL_RETURN_IF_ERROR(AwaitSocket(fd_.get(), POLLIN, until_));
      const size_t before = buffer->size();
      buffer->resize(before + kReceiveBytes);
      const ssize_t count = recv(fd_.get(), buffer->data() + before, kReceiveBytes, 0);
      const int error = errno;
      buffer->resize(before + static_cast<size_t>(std::max<ssize_t>(count, 0)));
      if (count > 0) return absl::OkStatus();
      if (count == 0) return absl::OutOfRangeError("the connection was closed");
      if (error != EAGAIN && error != EINTR) return BrokenBy(error);
    }
  }

 private:
  const UniqueFd fd_;
  const Until until_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Stream>> Stream::Open(bool tls, const std::string& host,
                                                     uint16_t port, const Until& until) {
  PLIMSOLL_ASSIGN_OR_RETURN(UniqueFd fd, Connect(host, port, until));
  std::unique_ptr<Stream> plain = OverSocket(std::move(fd), until);
  if (!tls) return plain;
  return ClientOverTls(std::move(plain), host);
}

std::unique_ptr<Stream> Stream::OverSocket(UniqueFd fd, const Until& until) {
  return std::make_unique<PlainStream>(std::move(fd), until);
}

}  // namespace plimsoll::dial
