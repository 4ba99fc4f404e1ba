#include "image/registry/skopeo_proxy.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "base/monotonic_time.h"
#include "base/programs/kill_timeout.h"
#include "base/status.h"
#include "nlohmann/json.hpp"

namespace plimsoll::image {
namespace {

using Json = nlohmann::json;

constexpr int kProxyTickMs = 100;
constexpr int kSocketNumber = 3;
constexpr size_t kMaxReplyBytes = 64 * 1024;
constexpr size_t kMaxProxyErrorBytes = 64 * 1024;
constexpr int kPipeBytes = 1024 * 1024;

std::string Request(const char* method, Json arguments) {
  const Json request = {{"method", method}, {"args", std::move(arguments)}};
  return request.dump(-1, ' ', false, Json::error_handler_t::replace);
}

absl::Status NoStreams() {
  return absl::UnimplementedError("this skopeo can't stream blobs");
}

// A file in memory that can't grow, since a registry controls how much skopeo writes. Writes beyond
// its end fail.
absl::StatusOr<UniqueFd> MakeErrorFile() {
  UniqueFd file(memfd_create("skopeo-errors", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!file.valid() || ftruncate(file.get(), kMaxProxyErrorBytes) != 0 ||
      fcntl(file.get(), F_ADD_SEALS, F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL) != 0) {
    return ErrnoStatus(errno, "make a file in memory");
  }
  return file;
}

}  // namespace

struct SkopeoProxy::Reply {
  std::string error;  // empty: success
  Json value;
  uint64_t pipe = 0;
  UniqueFd descriptor;
};

absl::StatusOr<std::unique_ptr<SkopeoProxy>> SkopeoProxy::Start(Command command, Waiting waiting) {
  int ends[2] = {};
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) {
    return ErrnoStatus(errno, "make a pair of sockets");
  }
  UniqueFd ours(ends[0]);
  UniqueFd theirs(ends[1]);
  PLIMSOLL_ASSIGN_OR_RETURN(UniqueFd errors, MakeErrorFile());
  command.argv.insert(command.argv.end(), {"--sockfd", absl::StrCat(kSocketNumber)});
  command.descriptors = {{theirs.get(), kSocketNumber}, {errors.get(), 2}};
  command.new_session = true;
  PLIMSOLL_ASSIGN_OR_RETURN(Child child, Spawn(command));
  theirs.Reset();
  std::unique_ptr<SkopeoProxy> proxy(
      new SkopeoProxy(std::move(child), std::move(ours), std::move(errors), std::move(waiting)));
  PLIMSOLL_RETURN_IF_ERROR(proxy->Initialize());
  return proxy;
}

absl::Status SkopeoProxy::Initialize() {
  PLIMSOLL_RETURN_IF_ERROR(Send(Request("Initialize", Json::array())));
  PLIMSOLL_ASSIGN_OR_RETURN(const Reply reply, Receive());
  if (!reply.error.empty() || !reply.value.is_string() ||
      !reply.value.get<std::string>().starts_with("0.2.")) {
    return NoStreams();
  }
  is_proxy_ = true;
  return absl::OkStatus();
}

SkopeoProxy::~SkopeoProxy() {
  child_.KillGroup(MonotonicNow() + kHelperKillTimeout).IgnoreError();
}

absl::Status SkopeoProxy::AwaitReadable(int fd, absl::Time last) const {
  if (waiting_.stopped && waiting_.stopped()) {
    return absl::CancelledError(absl::StrCat(waiting_.what, ": cancelled"));
  }
  struct pollfd wanted = {fd, POLLIN, 0};
  if (poll(&wanted, 1, kProxyTickMs) < 0 && errno != EINTR)
    return ErrnoStatus(errno, "poll skopeo");
  if (wanted.revents == 0 && MonotonicNow() - last > waiting_.stall_timeout) {
    return absl::UnavailableError(absl::StrCat(waiting_.what, ": nothing has come from registry ",
                                               waiting_.registry, " for ",
                                               absl::FormatDuration(waiting_.stall_timeout)));
  }
  return absl::OkStatus();
}

// The error of an ended process, with its words. A skopeo without the subcommand ends at once by
// itself, before or after the first request.
absl::Status SkopeoProxy::Gone() {
  const absl::StatusOr<ExitStatus> exit = child_.Wait(MonotonicNow() + kHelperKillTimeout);
  if (!is_proxy_ && (!exit.ok() || exit->signal == 0)) return NoStreams();
  std::string words(kMaxProxyErrorBytes, '\0');
  const ssize_t n = pread(errors_.get(), words.data(), words.size(), 0);
  words.resize(n > 0 ? std::min(words.find('\0'), static_cast<size_t>(n)) : 0);
  return waiting_.ended(exit.ok() ? exit->ToString() : "its socket is closed", words);
}

absl::Status SkopeoProxy::Send(absl::string_view request) {
  owes_answer_ = true;
  while (send(socket_.get(), request.data(), request.size(), MSG_NOSIGNAL) < 0) {
    if (errno == EPIPE || errno == ECONNRESET) return Gone();
    if (errno != EINTR) return ErrnoStatus(errno, "ask skopeo");
  }
  return absl::OkStatus();
}

absl::StatusOr<SkopeoProxy::Reply> SkopeoProxy::Receive() {
  PLIMSOLL_ASSIGN_OR_RETURN(Reply reply, ReceiveMessage());
  owes_answer_ = false;
  return reply;
}

absl::StatusOr<SkopeoProxy::Reply> SkopeoProxy::ReceiveMessage() {
  std::string text(kMaxReplyBytes, '\0');
  alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  struct iovec part = {text.data(), text.size()};
  struct msghdr message = {};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof(control);
  const absl::Time asked = MonotonicNow();
  ssize_t n = -1;
  while (n < 0) {
    PLIMSOLL_RETURN_IF_ERROR(AwaitReadable(socket_.get(), asked));
    n = recvmsg(socket_.get(), &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    if (n >= 0 || errno == EINTR || errno == EAGAIN) continue;
    if (errno == ECONNRESET) return Gone();
    return ErrnoStatus(errno, "read skopeo's answer");
  }
  Reply reply;
  for (struct cmsghdr* header = CMSG_FIRSTHDR(&message); header != nullptr;
       header = CMSG_NXTHDR(&message, header)) {
    if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS) continue;
    int fd = -1;
    std::memcpy(&fd, CMSG_DATA(header), sizeof(fd));
    reply.descriptor.Reset(fd);
  }
  if (n == 0) return Gone();
  const Json json =
      Json::parse(text.begin(), text.begin() + n, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object() || !json.contains("success") || !json["success"].is_boolean()) {
    return is_proxy_ ? absl::InternalError("skopeo sent an invalid answer") : NoStreams();
  }
  if (!json["success"].get<bool>()) {
    reply.error = json.contains("error") && json["error"].is_string() ? json["error"] : "";
    if (reply.error.empty()) reply.error = "skopeo failed without a message";
  }
  if (json.contains("value")) reply.value = json["value"];
  if (json.contains("pipeid") && json["pipeid"].is_number_unsigned()) reply.pipe = json["pipeid"];
  return reply;
}

absl::Status SkopeoProxy::OpenImage(const std::string& source) {
  PLIMSOLL_RETURN_IF_ERROR(Send(Request("OpenImage", Json::array({source}))));
  PLIMSOLL_ASSIGN_OR_RETURN(const Reply reply, Receive());
  if (!reply.error.empty()) return waiting_.translate(reply.error);
  if (!reply.value.is_number_unsigned() || reply.value.get<uint64_t>() == 0) {
    return absl::InternalError("skopeo opened no image");
  }
  image_ = reply.value;
  return absl::OkStatus();
}

absl::StatusOr<UniqueFd> SkopeoProxy::Begin(absl::string_view digest, int64_t size) {
  PLIMSOLL_RETURN_IF_ERROR(
      Send(Request("GetBlob", Json::array({image_, std::string(digest), size}))));
  PLIMSOLL_ASSIGN_OR_RETURN(Reply reply, Receive());
  if (!reply.error.empty()) return waiting_.translate(reply.error);
  if (!reply.descriptor.valid() || fcntl(reply.descriptor.get(), F_SETFL, O_NONBLOCK) != 0) {
    return absl::InternalError("skopeo gave no pipe");
  }
  // A larger pipe saves switches between the processes; a user with many pipes may be refused it.
  fcntl(reply.descriptor.get(), F_SETPIPE_SZ, kPipeBytes);
  // The pipe ends only after FinishPipe, which is answered when everything has been written.
  PLIMSOLL_RETURN_IF_ERROR(Send(Request("FinishPipe", Json::array({reply.pipe}))));
  return std::move(reply.descriptor);
}

absl::Status SkopeoProxy::End() {
  PLIMSOLL_ASSIGN_OR_RETURN(const Reply reply, Receive());
  return reply.error.empty() ? absl::OkStatus() : waiting_.translate(reply.error);
}

}  // namespace plimsoll::image
