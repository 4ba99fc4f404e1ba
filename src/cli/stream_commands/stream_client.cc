#include "cli/stream_commands/stream_client.h"

#include <poll.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include <boost/asio/signal_set.hpp>
#include <cerrno>
#include <csignal>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <thread>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/cleanup/cleanup.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "base/status.h"
#include "cli/stream_commands/detach_keys.h"
#include "cli/stream_commands/web_socket.h"
#include "cli/terminal/errors.h"

namespace plimsoll::cli {
namespace {

constexpr size_t kReadBytes = 32 * 1024;
// The shell's exit code for a process that a signal ended.
constexpr int kSignalExit = 128;
constexpr char kInput = 0;
constexpr char kOutput = 1;
constexpr char kErrors = 2;
constexpr char kStatus = 3;
constexpr char kSize = 4;
constexpr char kClose = static_cast<char>(255);

// Writes everything. The errno of a failure, or 0.
int Deliver(int fd, absl::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t n = write(fd, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno == EAGAIN) {
      pollfd look = {fd, POLLOUT, 0};
      poll(&look, 1, -1);
      continue;
    }
    if (n < 0) return errno;
    bytes.remove_prefix(static_cast<size_t>(n));
  }
  return 0;
}

// While an object lives, the terminal passes keys on as they are.
class RawTerminal {
 public:
  absl::Status Begin() {
    if (tcgetattr(STDIN_FILENO, &before_) != 0) {
      return WithHint(absl::FailedPreconditionError("standard input is no terminal"),
                      "Without -t, -i passes on input from a pipe.");
    }
    termios raw = before_;
    cfmakeraw(&raw);
    if (tcsetattr(STDIN_FILENO, TCSANOW, &raw) != 0) return ErrnoStatus(errno, "set the terminal");
    begun_ = true;
    return absl::OkStatus();
  }
  ~RawTerminal() {
    if (begun_) tcsetattr(STDIN_FILENO, TCSANOW, &before_);
  }

 private:
  termios before_ = {};
  bool begun_ = false;
};

// State of the thread that reads standard input: no event loop can wait for a file. A read may keep
// the thread alive after the stream, so the thread shares this.
struct Shared {
  Shared() : io(1), socket(io) {}
  asio::io_context io;
  WebSocket socket;
  absl::Mutex mutex;
  int waiting ABSL_GUARDED_BY(mutex) = 0;  // pieces of input for the loop to send
  bool detached = false;                   // used by the loop alone
};

asio::awaitable<void> SendPiece(std::shared_ptr<Shared> shared, std::string piece) {
  co_await shared->socket.Room();
  shared->socket.Send(std::move(piece));
  absl::MutexLock lock(&shared->mutex);
  --shared->waiting;
}

// Waits until the loop has sent the earlier pieces.
void HandOver(const std::shared_ptr<Shared>& shared, std::string piece) {
  const auto few = [&]() ABSL_SHARED_LOCKS_REQUIRED(shared->mutex) { return shared->waiting < 1; };
  absl::MutexLock lock(&shared->mutex);
  shared->mutex.Await(absl::Condition(&few));
  ++shared->waiting;
  asio::post(shared->io, [shared, piece = std::move(piece)] {
    asio::co_spawn(shared->io, SendPiece(shared, piece), [](const std::exception_ptr&) {});
  });
}

void ReadInput(const std::shared_ptr<Shared>& shared, DetachKeys keys) {
  std::string buffer(kReadBytes, '\0');
  const std::string channel(1, kInput);
  while (!keys.found()) {
    const ssize_t n = read(STDIN_FILENO, buffer.data(), buffer.size());
    if (n < 0 && errno == EINTR) continue;
    const std::string input =
        n > 0 ? keys.Pass(absl::string_view(buffer).substr(0, static_cast<size_t>(n)))
              : keys.TakeHeld();
    if (!input.empty()) HandOver(shared, absl::StrCat(channel, input));
    if (n > 0) continue;
    HandOver(shared, std::string{kClose, kInput});
    return;
  }
  asio::post(shared->io, [shared] {
    shared->detached = true;
    shared->socket.Close();
  });
}

void SendSize(WebSocket& socket) {
  winsize size = {};
  if (ioctl(STDIN_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0 || size.ws_row == 0) return;
  socket.Send(absl::StrCat(std::string(1, kSize), "{\"Width\":", size.ws_col,
                           ",\"Height\":", size.ws_row, "}"));
}

// Also handles signals that would end this process and leave its terminal raw: their number goes
// into `ended_by`.
asio::awaitable<void> WatchSignals(WebSocket& socket, asio::signal_set& signals, int& ended_by) {
  while (!socket.closed()) {
    SendSize(socket);
    ErrorCode error;
    const int signal =
        co_await signals.async_wait(asio::redirect_error(asio::use_awaitable, error));
    if (error) break;
    if (signal == SIGWINCH) continue;
    ended_by = signal;
    socket.Close();
  }
}

asio::awaitable<absl::StatusOr<int>> ReadOutput(WebSocket& socket) {
  std::string status;
  while (true) {
    const absl::StatusOr<std::string> message = co_await socket.Receive();
    if (absl::IsOutOfRange(message.status())) break;
    if (!message.ok()) co_return message.status();
    if (message->empty()) continue;
    const absl::string_view data = absl::string_view(*message).substr(1);
    int error = 0;
    if ((*message)[0] == kOutput) error = Deliver(STDOUT_FILENO, data);
    if ((*message)[0] == kErrors) error = Deliver(STDERR_FILENO, data);
    // Ends silently, as other programs do without a reader of their output.
    if (error == EPIPE) co_return kSignalExit + SIGPIPE;
    if (error != 0) co_return ErrnoStatus(error, "write output");
    if ((*message)[0] == kStatus) absl::StrAppend(&status, data);
  }
  co_return ExitCodeOf(status);
}

asio::awaitable<absl::StatusOr<int>> Carry(std::shared_ptr<Shared> shared, HttpUrl url,
                                           StreamOptions streams) {
  WebSocket& socket = shared->socket;
  const absl::Status connected = co_await socket.Connect(std::move(url), "v5.channel.k8s.io");
  if (!connected.ok()) co_return connected;
  const bool is_raw = streams.terminal && streams.input;
  asio::signal_set signals(shared->io);
  if (streams.terminal) signals.add(SIGWINCH);
  // Without a raw terminal these signals end this process by themselves.
  if (is_raw) {
    for (const int each : {SIGINT, SIGQUIT, SIGTERM, SIGHUP}) signals.add(each);
  }
  RawTerminal terminal;
  const absl::Status raw = is_raw ? terminal.Begin() : absl::OkStatus();
  if (!raw.ok()) co_return raw;
  streaming::Tasks tasks(shared->io);
  tasks.Spawn(socket.Write());
  int ended_by = 0;  // the number of a signal
  if (streams.terminal) tasks.Spawn(WatchSignals(socket, signals, ended_by));
  if (streams.input) {
    DetachKeys keys(is_raw ? streams.detach_keys : "");
    std::thread([shared, keys = std::move(keys)] { ReadInput(shared, keys); }).detach();
  }
  absl::StatusOr<int> end = co_await ReadOutput(socket);
  socket.Close();
  signals.cancel();
  co_await tasks.Join();
  if (ended_by != 0) co_return kSignalExit + ended_by;
  if (shared->detached) co_return 0;
  co_return end;
}

}  // namespace

absl::StatusOr<int> ExitCodeOf(const std::string& status_json) {
  const auto json = nlohmann::json::parse(status_json, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object()) {
    return absl::UnavailableError("the stream ended before the command did");
  }
  const auto text = [](const nlohmann::json& object, const char* name) {
    const auto found = object.is_object() ? object.find(name) : object.end();
    return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
  };
  if (text(json, "status") == "Success") return 0;
  if (text(json, "reason") == "NonZeroExitCode" && json.contains("details") &&
      json["details"].is_object() && json["details"].contains("causes") &&
      json["details"]["causes"].is_array()) {
    for (const nlohmann::json& cause : json["details"]["causes"]) {
      int code = 0;
      if (text(cause, "reason") == "ExitCode" && absl::SimpleAtoi(text(cause, "message"), &code)) {
        return code;
      }
    }
  }
  return absl::InternalError(text(json, "message"));
}

absl::StatusOr<int> CarryCommand(const std::string& url, const StreamOptions& streams) {
  PLIMSOLL_ASSIGN_OR_RETURN(HttpUrl parsed, ParseHttpUrl(url));
  auto shared = std::make_shared<Shared>();
  absl::StatusOr<int> end = absl::UnknownError("");
  asio::co_spawn(
      shared->io,
      [&]() -> asio::awaitable<void> { end = co_await Carry(shared, std::move(parsed), streams); },
      [&shared](const std::exception_ptr&) { shared->io.stop(); });
  shared->io.run();
  // Pieces that the reader of the input has still handed over.
  shared->io.restart();
  shared->io.poll();
  return end;
}

}  // namespace plimsoll::cli
