#include "runtime/oci/monitor.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "base/monotonic_time.h"
#include "base/programs/kill_timeout.h"
#include "base/status.h"
#include "monitor/protocol.h"
#include "runtime/oci/create_failure.h"

namespace plimsoll::runtime {
namespace {

constexpr absl::Duration kRequestTimeout = absl::Seconds(5);

// Waits until `fd` is readable. False at the deadline.
bool WaitReadable(int fd, absl::Time deadline) {
  while (true) {
    struct pollfd poller = {fd, POLLIN, 0};
    const int64_t left = absl::ToInt64Milliseconds(deadline - MonotonicNow()) + 1;
    const int ready = poll(&poller, 1, static_cast<int>(std::clamp<int64_t>(left, 0, 1 << 30)));
    if (ready > 0) return true;
    if (ready < 0 && errno == EINTR) continue;
    return false;
  }
}

// Adds the next bytes to `text`. False at the stream's end.
absl::StatusOr<bool> Receive(int socket, absl::Time deadline, std::string* text) {
  char buffer[monitor::kMaxMessage];
  while (true) {
    if (!WaitReadable(socket, deadline)) {
      return absl::DeadlineExceededError("the monitor does not answer in time: is it stopped?");
    }
    const ssize_t n = recv(socket, buffer, sizeof(buffer), 0);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno != ECONNRESET) return ErrnoStatus(errno, "receive from the monitor");
    if (n > 0) text->append(buffer, static_cast<size_t>(n));
    return n > 0;
  }
}

// Receives one message: a line, or an error, which may have several and ends with the stream.
absl::StatusOr<std::string> ReceiveMessage(int socket, absl::Time deadline) {
  std::string text;
  while (text.size() < monitor::kMaxMessage &&
         (absl::StartsWith(text, "error ") || !absl::EndsWith(text, "\n"))) {
    PLIMSOLL_ASSIGN_OR_RETURN(const bool more, Receive(socket, deadline, &text));
    if (!more) break;
  }
  return text;
}

absl::Status Send(int socket, absl::string_view text) {
  while (!text.empty()) {
    const ssize_t n = send(socket, text.data(), text.size(), MSG_NOSIGNAL);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno == EAGAIN) {
      return absl::DeadlineExceededError("the monitor doesn't listen: is it stopped?");
    }
    if (n < 0) return ErrnoStatus(errno, "send to the monitor");
    text.remove_prefix(static_cast<size_t>(n));
  }
  return absl::OkStatus();
}

// A stopped monitor reads nothing: sending then fails with EAGAIN, and so does connecting once many
// have connected.
absl::Status LimitSending(int socket) {
  const timeval limit = absl::ToTimeval(kRequestTimeout);
  if (setsockopt(socket, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit)) != 0) {
    return ErrnoStatus(errno, "limit the time of a socket");
  }
  return absl::OkStatus();
}

std::string ReadMemfd(int fd) {
  std::string text(4096, '\0');
  const ssize_t n = pread(fd, text.data(), text.size(), 0);
  text.resize(static_cast<size_t>(std::max<ssize_t>(n, 0)));
  return std::string(absl::StripAsciiWhitespace(text));
}

// A connection to the control socket in `directory`, whose own path may be too long for an address.
absl::StatusOr<UniqueFd> Connect(const FsRoot& directory) {
  UniqueFd socket(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  if (!socket.valid()) return ErrnoStatus(errno, "make a socket");
  PLIMSOLL_RETURN_IF_ERROR(LimitSending(socket.get()));
  const std::string path =
      absl::StrCat("/proc/self/fd/", directory.fd(), "/", monitor::kControlSocket);
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof(address.sun_path) - 1);
  if (connect(socket.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)) != 0) {
    if (errno == EAGAIN) {
      return absl::DeadlineExceededError("the monitor takes no connection: is it stopped?");
    }
    return ErrnoStatus(errno,
                       absl::StrCat("connect to ", directory.PathOf(monitor::kControlSocket)));
  }
  return socket;
}

// The connection, after the monitor has carried out the request.
absl::StatusOr<UniqueFd> Request(const FsRoot& directory, absl::string_view what) {
  absl::StatusOr<UniqueFd> socket = Connect(directory);
  if (absl::IsDeadlineExceeded(socket.status())) return Annotate(socket.status(), what);
  if (!socket.ok()) {
    return absl::FailedPreconditionError(
        absl::StrCat(what, ": the container's monitor isn't there: ", socket.status().message()));
  }
  // The monitor may end during the request, as its container does.
  const auto ended = [&] {
    return absl::FailedPreconditionError(absl::StrCat(what, ": the container's monitor has ended"));
  };
  if (const absl::Status sent = Send(socket->get(), what); !sent.ok()) {
    return ErrnoOf(sent) == EPIPE || ErrnoOf(sent) == ECONNRESET ? ended() : Annotate(sent, what);
  }
  if (!WaitReadable(socket->get(), MonotonicNow() + kRequestTimeout)) {
    return absl::DeadlineExceededError(
        absl::StrCat(what, ": the monitor doesn't answer: is it stopped?"));
  }
  char answer[monitor::kMaxMessage];
  const ssize_t n = recv(socket->get(), answer, sizeof(answer), 0);
  if (n <= 0) return ended();
  const absl::string_view text(answer, static_cast<size_t>(n));
  if (text == "ok") return socket;
  return absl::InternalError(absl::StrCat(what, ": the monitor can't: ", text));
}

// True if the other end of the socket was closed.
bool HasEnded(const absl::Status& sent) {
  return ErrnoOf(sent) == EPIPE || ErrnoOf(sent) == ECONNRESET;
}

absl::Status SendPlan(int socket, PlanWriter* plan) {
  const absl::string_view end("\0", 1);
  PLIMSOLL_RETURN_IF_ERROR(Send(socket, absl::StrCat(plan->text(), end)));
  for (const UniqueFd& tree : plan->TakeTrees()) {
    PLIMSOLL_RETURN_IF_ERROR(SendDescriptor(socket, tree));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status SendDescriptor(int socket, const UniqueFd& descriptor) {
  char byte = 0;
  iovec part = {&byte, 1};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr message = {};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof(control);
  cmsghdr* const header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(sizeof(int));
  const int number = descriptor.get();
  memcpy(CMSG_DATA(header), &number, sizeof(number));
  ssize_t n = -1;
  do {
    n = sendmsg(socket, &message, MSG_NOSIGNAL);
  } while (n < 0 && errno == EINTR);
  if (n == 1) return absl::OkStatus();
  if (errno == EAGAIN) {
    return absl::DeadlineExceededError("the monitor takes no mounts: is it stopped?");
  }
  return ErrnoStatus(errno, "pass a mount to the monitor");
}

absl::StatusOr<StartingMonitor> StartMonitor(const std::string& program, const FsRoot& directory,
                                             absl::string_view id) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
    return ErrnoStatus(errno, "make a socket pair");
  }
  UniqueFd ours(ends[0]);
  const UniqueFd theirs(ends[1]);
  PLIMSOLL_RETURN_IF_ERROR(LimitSending(ours.get()));
  UniqueFd errors(memfd_create("monitor-errors", MFD_CLOEXEC));
  if (!errors.valid()) return ErrnoStatus(errno, "memfd for the monitor's errors");
  Command command;
  command.executable = program;
  command.argv = {"plimsoll-monitor", std::string(id)};
  command.descriptors = {{theirs.get(), monitor::kSyncDescriptor}, {errors.get(), 2}};
  command.working_directory = directory.path();
  command.new_session = true;  // a signal that ends this process must not end the monitor
  PLIMSOLL_ASSIGN_OR_RETURN(Child child, Spawn(command));
  return StartingMonitor(std::move(child), std::move(ours), std::move(errors));
}

StartingMonitor::~StartingMonitor() {
  if (!socket_.valid()) return;
  socket_.Reset();
  // After a failure the monitor is ending already.
  child_.Signal(SIGKILL).IgnoreError();
  child_.Wait(MonotonicNow() + kHelperKillTimeout).IgnoreError();
}

absl::StatusOr<pid_t> StartingMonitor::Talk(PlanWriter plan, absl::Duration timeout) {
  const absl::Time deadline = MonotonicNow() + timeout;
  PLIMSOLL_ASSIGN_OR_RETURN(std::string said, ReceiveMessage(socket_.get(), deadline));
  if (said != "ready\n") {
    return absl::InternalError(
        absl::StrCat("the monitor gave up: ", said, ReadMemfd(errors_.get())));
  }
  // If the monitor has ended, it may have said why.
  const absl::Status sent = SendPlan(socket_.get(), &plan);
  if (!HasEnded(sent)) PLIMSOLL_RETURN_IF_ERROR(sent);
  absl::StatusOr<std::string> outcome = ReceiveMessage(socket_.get(), deadline);
  if (absl::IsDeadlineExceeded(outcome.status())) {
    return absl::DeadlineExceededError(
        absl::StrCat("the OCI runtime is not done after ", absl::FormatDuration(timeout),
                     ": it hangs, or waits for a file system; it is ended"));
  }
  PLIMSOLL_ASSIGN_OR_RETURN(said, std::move(outcome));
  absl::string_view text = said;
  pid_t pid = 0;
  if (absl::ConsumePrefix(&text, "pid ") && absl::SimpleAtoi(text, &pid) && pid > 0) return pid;
  if (absl::ConsumePrefix(&text, "error ")) {
    return absl::InternalError(absl::StripAsciiWhitespace(text));
  }
  const std::string errors = ReadMemfd(errors_.get());
  return absl::InternalError(
      absl::StrCat("the monitor gave up: ", errors.empty() ? "it said nothing" : errors));
}

absl::StatusOr<Monitored> StartingMonitor::Create(const FsRoot& host, PlanWriter plan,
                                                  absl::Duration timeout) {
  Monitored result;
  PLIMSOLL_ASSIGN_OR_RETURN(result.init, Talk(std::move(plan), timeout));
  PLIMSOLL_ASSIGN_OR_RETURN(result.monitor, linux::IdentifyProcess(host, child_.pid()));
  socket_.Reset();
  return result;
}

absl::StatusOr<std::optional<ExitRecord>> ReadExit(const FsRoot& directory) {
  const absl::StatusOr<std::string> text = directory.Read(monitor::kExitFile, 64);
  if (absl::IsNotFound(text.status())) return std::nullopt;
  PLIMSOLL_RETURN_IF_ERROR(text.status());
  const std::vector<absl::string_view> words =
      absl::StrSplit(*text, absl::ByAnyChar(" \n"), absl::SkipEmpty());
  ExitRecord record;
  if (words.size() == 2 && absl::SimpleAtoi(words[0], &record.code) &&
      absl::SimpleAtoi(words[1], &record.finished_unix_nanos)) {
    absl::StatusOr<std::string> why =
        directory.Read(monitor::kStartErrorFile, monitor::kMaxStartError);
    if (absl::IsNotFound(why.status())) return record;
    // That the file exists counts more than that it can't be read.
    const absl::StatusOr<std::string> foreign = directory.Read(kForeignArchitectureFile, 64);
    record.start_error = ExplainExecFailure(why.value_or(""), foreign.value_or(""));
    return record;
  }
  return absl::DataLossError(absl::StrCat(directory.PathOf(monitor::kExitFile), " says \"", *text,
                                          "\" instead of exit code and time"));
}

absl::Status ReopenLog(const FsRoot& directory) {
  return Request(directory, "reopen-log").status();
}

absl::StatusOr<UniqueFd> AttachToMonitor(const FsRoot& directory, bool input) {
  absl::StatusOr<UniqueFd> socket = Request(directory, input ? "attach stdin" : "attach");
  if (!socket.ok()) {
    const bool full = absl::StrContains(socket.status().message(), monitor::kTooManyAttached);
    if (!full) return socket.status();
    return absl::ResourceExhaustedError(
        absl::StrCat("attach: ", monitor::kMaxAttached,
                     " clients are attached to the container, the most possible"));
  }
  fcntl(socket->get(), F_SETFL, fcntl(socket->get(), F_GETFL) | O_NONBLOCK);
  return socket;
}

absl::StatusOr<UniqueFd> FindMonitor(const FsRoot& directory) {
  absl::StatusOr<UniqueFd> file = directory.OpenFile(monitor::kLockFile, O_RDWR);
  if (absl::IsNotFound(file.status())) return absl::NotFoundError("no monitor");
  PLIMSOLL_RETURN_IF_ERROR(file.status());
  const auto holder = [&]() -> absl::StatusOr<pid_t> {
    struct flock lock = {};
    lock.l_type = F_WRLCK;
    lock.l_whence = SEEK_SET;
    if (fcntl(file->get(), F_GETLK, &lock) != 0) {
      return ErrnoStatus(errno, absl::StrCat("read the holder of the lock ",
                                             directory.PathOf(monitor::kLockFile)));
    }
    if (lock.l_type == F_UNLCK || lock.l_pid <= 0) return absl::NotFoundError("no monitor");
    return lock.l_pid;
  };
  PLIMSOLL_ASSIGN_OR_RETURN(const pid_t pid, holder());
  PLIMSOLL_ASSIGN_OR_RETURN(UniqueFd pidfd, linux::OpenPidfd(pid));
  // The holder hasn't changed, so the pidfd is the holder's.
  PLIMSOLL_ASSIGN_OR_RETURN(const pid_t again, holder());
  if (again != pid) return absl::NotFoundError("no monitor");
  return pidfd;
}

absl::Status EndMonitor(const FsRoot& directory, absl::Time deadline) {
  const absl::StatusOr<UniqueFd> pidfd = FindMonitor(directory);
  if (absl::IsNotFound(pidfd.status())) return absl::OkStatus();
  PLIMSOLL_RETURN_IF_ERROR(pidfd.status());
  if (linux::AwaitExit(*pidfd, deadline)) return absl::OkStatus();
  const absl::Status killed = linux::SignalProcess(*pidfd, SIGKILL);
  if (!killed.ok() && !absl::IsNotFound(killed)) return killed;
  if (linux::AwaitExit(*pidfd, MonotonicNow() + kHelperKillTimeout)) return absl::OkStatus();
  return absl::DeadlineExceededError(
      absl::StrCat("the monitor in ", directory.path(), " survives SIGKILL"));
}

}  // namespace plimsoll::runtime
