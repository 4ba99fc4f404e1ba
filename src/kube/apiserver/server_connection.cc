#include "kube/apiserver/server_connection.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "dial/connect.h"

namespace plimsoll::kube {
namespace {

// After half a minute without a byte the kernel asks the peer, three times; a peer that takes
// nothing for a minute is gone (tcp(7)).
void NoticeSilence(int fd) {
  const struct {
    int level;
    int name;
    int value;
  } options[] = {{SOL_SOCKET, SO_KEEPALIVE, 1},           {IPPROTO_TCP, TCP_KEEPIDLE, 30},
                 {IPPROTO_TCP, TCP_KEEPINTVL, 10},        {IPPROTO_TCP, TCP_KEEPCNT, 3},
                 {IPPROTO_TCP, TCP_USER_TIMEOUT, 60'000}, {IPPROTO_TCP, TCP_NODELAY, 1}};
  for (const auto& each : options) {
    setsockopt(fd, each.level, each.name, &each.value, sizeof(each.value));
  }
}

}  // namespace

absl::StatusOr<std::unique_ptr<ServerConnection>> ServerConnection::Open(
    const ApiServerAddress& address, const ApiCredentials& credentials, const StopSignal& stop,
    SteadyTime deadline) {
  absl::StatusOr<UniqueFd> socket =
      dial::Connect(address.host, address.port, {.deadline = deadline, .given_up = stop.is_set});
  // A host that isn't known today may be tomorrow.
  if (absl::IsInvalidArgument(socket.status())) {
    return absl::UnavailableError(socket.status().message());
  }
  PLIMSOLL_RETURN_IF_ERROR(socket.status());
  NoticeSilence(socket->get());
  const std::string& name = address.server_name.empty() ? address.host : address.server_name;
  absl::StatusOr<std::unique_ptr<TlsStream>> stream =
      TlsStream::Open(*std::move(socket), stop.fd, name, credentials, deadline);
  if (!stream.ok()) {
    return Annotate(stream.status(), dial::HostAndPort(address.host, address.port));
  }
  return std::unique_ptr<ServerConnection>(new ServerConnection(*std::move(stream), credentials));
}

absl::Status ServerConnection::Ask(absl::string_view request, uint32_t most_header_bytes,
                                   SteadyTime deadline) {
  response_.emplace(most_header_bytes);
  whole_ = false;
  const absl::Status sent = stream_->Send(request, deadline);
  // A server may refuse a request before it has read it whole: the answer says why.
  if (absl::IsCancelled(sent) || absl::IsDeadlineExceeded(sent)) return sent;
  while (!response_->header_done()) {
    const absl::Status read = ReadOn(deadline).status();
    if (!read.ok()) return FirstError(sent, read);
  }
  return absl::OkStatus();
}

absl::StatusOr<bool> ServerConnection::ReadBody(SteadyTime deadline, std::string* body) {
  // Some of it may have come with the header.
  std::string part = response_->TakeBody();
  while (part.empty() && !whole_) {
    PLIMSOLL_RETURN_IF_ERROR(ReadOn(deadline).status());
    part = response_->TakeBody();
  }
  body->append(part);
  return !whole_;
}

absl::StatusOr<bool> ServerConnection::ReadOn(SteadyTime deadline) {
  // A peer that always has something to say is never waited for.
  if (SteadyNow() >= deadline) return absl::DeadlineExceededError("no whole answer in time");
  const absl::Status received = stream_->Receive(deadline, &input_);
  if (absl::IsOutOfRange(received)) {
    PLIMSOLL_RETURN_IF_ERROR(response_->End());
    whole_ = true;
    return whole_;
  }
  PLIMSOLL_RETURN_IF_ERROR(received);
  PLIMSOLL_ASSIGN_OR_RETURN(whole_, response_->Take(&input_));
  return whole_;
}

bool ServerConnection::IsReusable(const ApiCredentials& credentials) {
  return whole_ && response_.has_value() && response_->keeps_alive() && input_.empty() &&
         credentials.SameConnection(credentials_) && stream_->IsQuiet();
}

}  // namespace plimsoll::kube
