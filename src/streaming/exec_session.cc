// Exec: a command started for its client, and ended with it.
#include <fcntl.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <utility>

#include "streaming/command_session.h"

namespace plimsoll::streaming {
namespace {

constexpr size_t kOutputBytes = 64 * 1024;
// Limit of the output read after the command's end, the most that a pipe holds: its remaining
// children may go on writing.
constexpr size_t kMaxRest = 1024 * 1024;
// Wait while no process has the terminal open.
constexpr absl::Duration kLookAgain = absl::Milliseconds(100);

class ExecSession final : public CommandSession {
 public:
  ExecSession(const SessionContext& context, StreamRequest request, Link* link)
      : CommandSession(context, std::move(request), link), look_again_(context.io) {}

 protected:
  using Command = std::unique_ptr<runtime::RunningCommand>;

  asio::awaitable<absl::StatusOr<int>> Serve() override;
  void Stop() override { WakeAll(); }
  void Resize(const TerminalSize& size) override {
    size_ = size;
    ApplySize();
  }

 private:
  asio::awaitable<absl::StatusOr<int>> Carry(runtime::RunningCommand& command);
  asio::awaitable<void> PumpOutput(AsyncFd* from, uint32_t channel);
  asio::awaitable<void> PumpInput(AsyncFd* to);
  asio::awaitable<absl::StatusOr<int>> TellEnd(runtime::RunningCommand& command);
  asio::awaitable<void> Kill(runtime::RunningCommand& command);
  void ApplySize();
  // Wakes all coroutines that wait for the command.
  void WakeAll();

  // The terminal of the running command; null without one.
  AsyncFd* terminal_ = nullptr;
  AsyncFd* ended_fd_ = nullptr;
  AsyncFd* output_ = nullptr;
  AsyncFd* errors_ = nullptr;
  AsyncFd* input_ = nullptr;
  bool ended_ = false;
  Sleep look_again_;
  std::optional<TerminalSize> size_;
};

void ExecSession::WakeAll() {
  for (AsyncFd* each : {terminal_, ended_fd_, output_, errors_, input_}) {
    if (each != nullptr) each->Cancel();
  }
  look_again_.End();
}

void ExecSession::ApplySize() {
  if (terminal_ == nullptr || !terminal_->open() || !size_.has_value()) return;
  winsize size = {};
  size.ws_col = size_->columns;
  size.ws_row = size_->rows;
  // Fails if the terminal is gone, which shows elsewhere.
  static_cast<void>(ioctl(terminal_->fd(), TIOCSWINSZ, &size));
}

asio::awaitable<absl::StatusOr<int>> ExecSession::Serve() {
  Backend* const backend = &context().backend;
  const StreamRequest* const asked = &request();
  absl::StatusOr<Command> started = co_await RunBlocking<absl::StatusOr<Command>>(
      context().io, context().pool, [backend, asked] { return backend->Exec(*asked); });
  if (!started.ok()) co_return started.status();
  absl::StatusOr<int> end = co_await Carry(**started);
  co_return end;
}

asio::awaitable<absl::StatusOr<int>> ExecSession::Carry(runtime::RunningCommand& command) {
  runtime::CommandStreams& streams = command.streams();
  AsyncFd ended(context().io, UniqueFd(fcntl(command.ended_fd(), F_DUPFD_CLOEXEC, 0)));
  AsyncFd terminal(context().io, std::move(streams.terminal));
  AsyncFd output(context().io, std::move(streams.output));
  AsyncFd errors(context().io, std::move(streams.errors));
  AsyncFd input(context().io, std::move(streams.input));
  for (const AsyncFd* each : {&terminal, &output, &errors, &input}) {
    if (!each->failed()) continue;
    // The command can't go on: its exit code would report success with output missing.
    co_await Kill(command);
    co_return absl::ResourceExhaustedError(
        "the kernel has no memory to watch the command's streams; the command was killed");
  }
  ended_fd_ = &ended;
  terminal_ = &terminal;
  output_ = &output;
  errors_ = &errors;
  input_ = &input;
  ApplySize();
  Tasks pumps(context().io);
  if (terminal.open()) pumps.Spawn(PumpOutput(&terminal, kStdout));
  if (output.open()) pumps.Spawn(PumpOutput(&output, kStdout));
  if (errors.open()) pumps.Spawn(PumpOutput(&errors, kStderr));
  if (terminal.open() && request().input) pumps.Spawn(PumpInput(&terminal));
  if (input.open()) pumps.Spawn(PumpInput(&input));

  while (!gone() && ended.open()) {
    pollfd look = {ended.fd(), POLLIN, 0};
    if (poll(&look, 1, 0) > 0) break;
    co_await ended.Readable();
  }
  ended_ = true;
  DropInput();
  WakeAll();
  co_await pumps.Join();
  ended_fd_ = terminal_ = output_ = errors_ = input_ = nullptr;
  // Remaining readers and writers see the close.
  for (AsyncFd* each : {&terminal, &output, &errors, &input}) each->Close();
  if (!gone() && ended.open()) {
    absl::StatusOr<int> end = co_await TellEnd(command);
    co_return end;
  }
  co_await Kill(command);
  if (gone()) co_return absl::CancelledError("the client has left");
  co_return absl::ResourceExhaustedError(
      "the daemon has no descriptor left to watch the command; the command was killed");
}

asio::awaitable<void> ExecSession::PumpOutput(AsyncFd* from, uint32_t channel) {
  std::string buffer(kOutputBytes, '\0');
  size_t rest = kMaxRest;
  while (rest > 0) {
    const bool room = co_await link().RoomToSend();
    if (!room) break;
    const ssize_t n = read(from->fd(), buffer.data(), buffer.size());
    if (n > 0) {
      wire().Send(channel, absl::string_view(buffer.data(), static_cast<size_t>(n)));
      if (ended_) rest -= std::min(rest, static_cast<size_t>(n));
      continue;
    }
    if (n == 0) break;
    if (errno == EINTR) continue;
    if (ended_ || gone()) break;
    if (errno == EAGAIN) {
      co_await from->Readable();
    } else if (errno == EIO) {
      co_await look_again_.For(kLookAgain);
    } else {
      break;
    }
  }
}

asio::awaitable<void> ExecSession::PumpInput(AsyncFd* to) {
  bool taken = true;
  while (taken) {
    const std::string next = co_await NextInput();
    if (next.empty()) break;
    absl::string_view left = next;
    while (!left.empty() && !ended_ && !gone()) {
      const ssize_t n = write(to->fd(), left.data(), left.size());
      if (n >= 0) {
        left.remove_prefix(static_cast<size_t>(n));
      } else if (errno == EAGAIN) {
        co_await to->Writable();
      } else if (errno != EINTR) {
        taken = false;  // no reader is left
        break;
      }
    }
  }
  DropInput();
  // A terminal stays open both ways while it exists.
  if (to == input_) to->Close();
}

asio::awaitable<absl::StatusOr<int>> ExecSession::TellEnd(runtime::RunningCommand& command) {
  using End = absl::StatusOr<runtime::CommandEnd>;
  const End end = co_await RunBlocking<End>(context().io, context().pool,
                                            [&command] { return command.Finish(); });
  if (!end.ok()) co_return end.status();
  if (!end->message.empty()) wire().Send(NoteChannel(), end->message);
  co_return end->exit_code;
}

asio::awaitable<void> ExecSession::Kill(runtime::RunningCommand& command) {
  absl::Status killed = absl::ResourceExhaustedError("");
  Sleep patience(context().io);
  // Not left to the destructor, which would hold up all other clients.
  while (absl::IsResourceExhausted(killed)) {
    killed = co_await RunBlocking<absl::Status>(context().io, context().pool,
                                                [&command] { return command.Kill(); });
    if (absl::IsResourceExhausted(killed)) co_await patience.For(kLookAgain);
  }
}

}  // namespace

std::unique_ptr<CommandSession> NewExecSession(const SessionContext& context, StreamRequest request,
                                               Link* link) {
  return std::make_unique<ExecSession>(context, std::move(request), link);
}

}  // namespace plimsoll::streaming
