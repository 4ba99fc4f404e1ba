// For tests: a socket's other end, which says what it likes, and bytes spelled out.
#ifndef PLIMSOLL_NRI_TTRPC_PEER_FOR_TEST_H_
#define PLIMSOLL_NRI_TTRPC_PEER_FOR_TEST_H_

#include <linux/sockios.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <cerrno>
#include <cstdint>
#include <string>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/string_view.h"
#include "base/unique_fd.h"
#include "nri/ttrpc/frames.h"
#include "nri/ttrpc/message.h"
#include "ttrpc/ttrpc.pb.h"

namespace plimsoll::nri {

// "0000 0001 ff": the bytes; blanks don't count. Stops at a pair that is no hexadecimal number.
inline std::string Hex(absl::string_view digits) {
  const std::string packed = absl::StrReplaceAll(digits, {{" ", ""}, {"\n", ""}});
  std::string bytes;
  uint32_t byte = 0;
  for (size_t i = 0; i < packed.size(); i += 2) {
    if (!absl::SimpleHexAtoi(packed.substr(i, 2), &byte)) break;
    bytes += static_cast<char>(byte);
  }
  return bytes;
}

struct SocketPair {
  UniqueFd ours;
  UniqueFd theirs;
};
inline SocketPair MakeSocketPair() {
  int ends[2] = {-1, -1};
  socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends);
  return {UniqueFd(ends[0]), UniqueFd(ends[1])};
}

inline std::string RequestBody(absl::string_view service, absl::string_view method,
                               absl::string_view payload) {
  ttrpc::Request request;
  request.set_service(std::string(service));
  request.set_method(std::string(method));
  request.set_payload(std::string(payload));
  return request.SerializeAsString();
}

inline std::string ResponseBody(absl::string_view payload, int code = 0) {
  ttrpc::Response response;
  if (code != 0) response.mutable_status()->set_code(code);
  if (code != 0) response.mutable_status()->set_message(std::string(payload));
  if (code == 0) response.set_payload(std::string(payload));
  return response.SerializeAsString();
}

// Waits half a minute at most for what it receives.
class Peer {
 public:
  explicit Peer(UniqueFd socket) : socket_(std::move(socket)) {
    const timeval patience = {.tv_sec = 30, .tv_usec = 0};
    setsockopt(socket_.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
  }

  // False: the other end takes no more.
  bool Send(absl::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t count = send(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (count <= 0) return false;
      bytes.remove_prefix(static_cast<size_t>(count));
    }
    return true;
  }
  // Sends frames of the connection.
  bool SendMessage(uint32_t connection, uint32_t stream, uint8_t type, absl::string_view body) {
    std::string frames;
    AppendFrames(connection, MessageBytes(stream, type, body), &frames);
    return Send(frames);
  }

  // So many bytes, or less at the end of the stream.
  std::string Receive(size_t count) {
    std::string bytes(count, '\0');
    size_t done = 0;
    while (done < count) {
      const ssize_t part = recv(socket_.get(), bytes.data() + done, count - done, 0);
      if (part <= 0) break;
      done += static_cast<size_t>(part);
    }
    bytes.resize(done);
    return bytes;
  }
  // The next message of any connection, read frame by frame. Stream 0: the stream has ended.
  Message ReceiveMessage() {
    Message message;
    MessageDecoder decoder;
    bool is_whole = false;
    while (!is_whole) {
      const std::string header = Receive(kFrameHeaderBytes);
      if (header.size() < kFrameHeaderBytes) return {};
      const std::string payload = Receive(ReadNumber(absl::string_view(header).substr(4)));
      const absl::Status status = decoder.Feed(payload, [&](Message whole) {
        message = std::move(whole);
        is_whole = true;
        return absl::OkStatus();
      });
      if (!status.ok()) return {};
    }
    return message;
  }
  // The other end has closed, and sent nothing more.
  bool IsAtTheEnd() {
    errno = 0;  // the end of a stream sets none, and an earlier test may have left EAGAIN
    return Receive(1).empty() && errno != EAGAIN;
  }

  // Bytes sent that the other end has not read.
  int Unread() const {
    int bytes = -1;
    ioctl(socket_.get(), SIOCOUTQ, &bytes);
    return bytes;
  }

  void Close() { socket_.Reset(); }

 private:
  UniqueFd socket_;
};

}  // namespace plimsoll::nri

#endif  // PLIMSOLL_NRI_TTRPC_PEER_FOR_TEST_H_
