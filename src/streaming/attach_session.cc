// Attach: the streams of a container's own process, from its monitor (monitor/protocol.h).
#include <sys/socket.h>
#include <sys/types.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "monitor/protocol.h"
#include "streaming/command_session.h"

namespace plimsoll::streaming {
namespace {

class AttachSession final : public CommandSession {
 public:
  AttachSession(const SessionContext& context, StreamRequest request, Link* link)
      : CommandSession(context, std::move(request), link) {}

 protected:
  asio::awaitable<absl::StatusOr<int>> Serve() override;
  void Stop() override { Wake(); }
  void Resize(const TerminalSize& size) override {
    size_ = size;
    SendSize();
  }

 private:
  asio::awaitable<void> PumpInput(AsyncFd* monitor);
  // Waits while the monitor's socket is full. False: the monitor is gone.
  asio::awaitable<bool> SendPacket(AsyncFd* monitor, std::string packet);
  asio::awaitable<absl::StatusOr<int>> PumpOutput(AsyncFd* monitor);
  // False after the last packet.
  bool OnPacket(absl::string_view packet);
  void SendSize();
  void Wake() {
    if (monitor_ != nullptr) monitor_->Cancel();
  }

  AsyncFd* monitor_ = nullptr;
  bool over_ = false;
  std::optional<TerminalSize> size_;  // the monitor doesn't have it yet
};

asio::awaitable<absl::StatusOr<int>> AttachSession::Serve() {
  using Attached = absl::StatusOr<runtime::AttachedContainer>;
  Backend* const backend = &context().backend;
  const StreamRequest* const asked = &request();
  Attached attached = co_await RunBlocking<Attached>(
      context().io, context().pool, [backend, asked] { return backend->Attach(*asked); });
  if (!attached.ok()) co_return attached.status();
  AsyncFd monitor(context().io, std::move(attached->connection));
  if (monitor.failed()) {
    co_return absl::ResourceExhaustedError(
        "the kernel has no memory to watch the container's monitor; the container runs on");
  }
  monitor_ = &monitor;
  SendSize();
  Tasks pumps(context().io);
  if (request().input) pumps.Spawn(PumpInput(&monitor));
  absl::StatusOr<int> end = co_await PumpOutput(&monitor);
  over_ = true;
  DropInput();
  Wake();
  co_await pumps.Join();
  monitor_ = nullptr;
  co_return end;
}

asio::awaitable<absl::StatusOr<int>> AttachSession::PumpOutput(AsyncFd* monitor) {
  std::string buffer(monitor::kMaxPacket, '\0');
  while (!gone()) {
    const bool room = co_await link().RoomToSend();
    if (!room) break;
    const ssize_t n = recv(monitor->fd(), buffer.data(), buffer.size(), MSG_DONTWAIT);
    if (n > 0) {
      if (!OnPacket(absl::string_view(buffer.data(), static_cast<size_t>(n)))) co_return 0;
    } else if (n < 0 && errno == EAGAIN) {
      co_await monitor->Readable();
    } else if (n == 0 || errno != EINTR) {
      co_return absl::UnavailableError(
          "the container's monitor has ended: the container's output can't be read any more");
    }
  }
  co_return absl::CancelledError("the client has left");
}

bool AttachSession::OnPacket(absl::string_view packet) {
  const absl::string_view data = packet.substr(1);
  switch (packet[0]) {
    case monitor::kPacketOutput:
      wire().Send(kStdout, data);
      return true;
    case monitor::kPacketErrors:
      wire().Send(kStderr, data);
      return true;
    case monitor::kPacketLost: {
      const absl::string_view line = request().terminal ? "\r\n" : "\n";
      wire().Send(NoteChannel(), absl::StrCat(line, "[plimsoll: ", data,
                                              " bytes of output left out here: this client reads "
                                              "too slowly; the log has them]",
                                              line));
      return true;
    }
    case monitor::kPacketEnd:
      return false;
    default:
      return true;
  }
}

asio::awaitable<bool> AttachSession::SendPacket(AsyncFd* monitor, std::string packet) {
  while (!over_ && !gone()) {
    const ssize_t n =
        send(monitor->fd(), packet.data(), packet.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    if (n >= 0) co_return true;
    if (errno == EINTR) continue;
    if (errno != EAGAIN) co_return false;
    co_await monitor->Writable();
    SendSize();
  }
  co_return false;
}

asio::awaitable<void> AttachSession::PumpInput(AsyncFd* monitor) {
  bool taken = true;
  while (taken) {
    const std::string next = co_await NextInput();
    if (next.empty()) break;
    for (size_t at = 0; at < next.size() && taken; at += monitor::kMaxInput) {
      std::string packet(1, monitor::kPacketInput);
      packet += next.substr(at, monitor::kMaxInput);
      taken = co_await SendPacket(monitor, std::move(packet));
    }
  }
  if (taken && !over_ && !gone()) {
    co_await SendPacket(monitor, std::string(1, monitor::kPacketCloseInput));
  }
  DropInput();
}

void AttachSession::SendSize() {
  if (!size_.has_value() || monitor_ == nullptr) return;
  std::string packet(1, monitor::kPacketSize);
  absl::StrAppend(&packet, size_->rows, " ", size_->columns);
  const ssize_t n = send(monitor_->fd(), packet.data(), packet.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
  // If the socket is full, the next SendPacket tries again.
  if (n >= 0 || errno != EAGAIN) size_.reset();
}

}  // namespace

std::unique_ptr<CommandSession> NewAttachSession(const SessionContext& context,
                                                 StreamRequest request, Link* link) {
  return std::make_unique<AttachSession>(context, std::move(request), link);
}

}  // namespace plimsoll::streaming
