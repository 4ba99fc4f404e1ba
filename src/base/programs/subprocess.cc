#include "base/programs/subprocess.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "absl/algorithm/container.h"
#include "absl/cleanup/cleanup.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/fault_injection.h"
#include "base/monotonic_time.h"
#include "base/programs/child_reaper.h"
#include "base/programs/kill_timeout.h"
#include "base/programs/null_device.h"
#include "base/programs/pipe.h"
#include "base/programs/program_machine.h"
#include "base/status.h"

namespace plimsoll {
namespace {

// Time for reading a program's last output from its pipes after it ended, whoever else still
// writes.
constexpr absl::Duration kLastWords = absl::Seconds(1);

std::vector<char*> Pointers(const std::vector<std::string>& strings) {
  std::vector<char*> pointers;
  pointers.reserve(strings.size() + 1);
  for (const std::string& s : strings) pointers.push_back(const_cast<char*>(s.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

// The child's descriptor table as posix_spawn actions. Sources are first moved above every target
// number, so that no dup2 overwrites a source that is still needed.
class DescriptorPlan {
 public:
  explicit DescriptorPlan(posix_spawn_file_actions_t* actions) : actions_(actions) {}

  absl::Status Add(const std::vector<std::pair<int, int>>& descriptors) {
    int highest = 2;
    for (const auto& [from, to] : descriptors) highest = std::max(highest, to);
    std::vector<bool> named(3, false);
    for (const auto& [from, to] : descriptors) {
      UniqueFd moved(fcntl(from, F_DUPFD_CLOEXEC, highest + 1));
      if (!moved.valid()) return ErrnoStatus(errno, absl::StrCat("duplicate descriptor ", from));
      posix_spawn_file_actions_adddup2(actions_, moved.get(), to);
      if (to < 3) named[static_cast<size_t>(to)] = true;
      moved_.push_back(std::move(moved));
    }
    PLIMSOLL_RETURN_IF_ERROR(AddNull(named, highest));
    posix_spawn_file_actions_addclosefrom_np(actions_, highest + 1);
    return absl::OkStatus();
  }

 private:
  // Gives the null device to the standard streams that are not `named`.
  absl::Status AddNull(const std::vector<bool>& named, int highest) {
    if (!absl::c_linear_search(named, false)) return absl::OkStatus();
    PLIMSOLL_ASSIGN_OR_RETURN(const UniqueFd device, OpenNullDevice());
    UniqueFd moved(fcntl(device.get(), F_DUPFD_CLOEXEC, highest + 1));
    if (!moved.valid()) return ErrnoStatus(errno, "duplicate a null device");
    for (int fd = 0; fd < 3; ++fd) {
      if (named[static_cast<size_t>(fd)]) continue;
      posix_spawn_file_actions_adddup2(actions_, moved.get(), fd);
    }
    moved_.push_back(std::move(moved));
    return absl::OkStatus();
  }

  posix_spawn_file_actions_t* actions_;
  std::vector<UniqueFd> moved_;
};

// One stream being collected, cut at a maximum.
struct Stream {
  UniqueFd fd;
  std::string* text;
  size_t max;
  bool* truncated;

  // Reads all there is now; closes at end of file.
  void Drain() {
    ReadSome(&fd, [this](absl::string_view part) {
      const size_t room = max - std::min(max, text->size());
      absl::StrAppend(text, part.substr(0, room));
      if (part.size() > room) *truncated = true;
    });
  }
};

// Writes input and reads both outputs until they are closed and the child has exited, `cancelled`
// polls readable, or the deadline. A child that never stops writing doesn't put off the end.
void Pump(int pidfd, int cancelled, UniqueFd input_fd, absl::string_view input, Stream* out,
          Stream* err, absl::Time deadline) {
  if (input.empty()) input_fd.Reset();
  bool exited = false;
  while (out->fd.valid() || err->fd.valid() || !exited) {
    struct pollfd polls[5] = {{out->fd.get(), POLLIN, 0},
                              {err->fd.get(), POLLIN, 0},
                              {input_fd.get(), POLLOUT, 0},
                              {exited ? -1 : pidfd, POLLIN, 0},
                              {exited ? -1 : cancelled, POLLIN, 0}};
    // After the exit, a grandchild may hold the pipes: take only what is already in them.
    const int64_t left = exited ? 0 : absl::ToInt64Milliseconds(deadline - MonotonicNow()) + 1;
    const int ready = poll(polls, 5, static_cast<int>(std::clamp<int64_t>(left, 0, 1 << 30)));
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0) return;
    if (polls[0].revents != 0) out->Drain();
    if (polls[1].revents != 0) err->Drain();
    if (polls[2].revents != 0) {
      const ssize_t n = write(input_fd.get(), input.data(), input.size());
      if (n > 0) input.remove_prefix(static_cast<size_t>(n));
      if (input.empty() || (n < 0 && errno != EAGAIN && errno != EINTR)) input_fd.Reset();
    }
    if (polls[3].revents != 0 && !exited) {
      exited = true;
      deadline = MonotonicNow() + kLastWords;
    }
    if (polls[4].revents != 0 && !exited) return;
    if (MonotonicNow() > deadline) return;
  }
}

// Waits until a process has ended or `deadline`, whichever comes first.
bool HasEnded(int pidfd, absl::Time deadline) {
  constexpr absl::Duration kLongest = absl::Hours(1);  // of one poll(2) call
  while (true) {
    struct pollfd ended = {pidfd, POLLIN, 0};
    const absl::Duration left =
        std::clamp(deadline - MonotonicNow(), absl::ZeroDuration(), kLongest);
    const int64_t ms = absl::ToInt64Milliseconds(absl::Ceil(left, absl::Milliseconds(1)));
    if (poll(&ended, 1, static_cast<int>(ms)) > 0) return true;
    if (MonotonicNow() >= deadline) return false;
  }
}

std::string LastLines(absl::string_view text, size_t max_bytes) {
  text = absl::StripAsciiWhitespace(text);
  if (text.size() > max_bytes) text.remove_prefix(text.size() - max_bytes);
  return std::string(text);
}

}  // namespace

std::string ExitStatus::ToString() const {
  if (signal == 0) return absl::StrCat("exit code ", code);
  return absl::StrCat("killed by signal ", signal, " (", strsignal(signal), ")");
}

absl::StatusOr<Child> Spawn(const Command& command) {
  if (command.argv.empty()) return absl::InvalidArgumentError("spawn: empty command");
  const std::string& path = command.executable.empty() ? command.argv[0] : command.executable;
  PLIMSOLL_RETURN_IF_ERROR(InjectedFault("run", path));

  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  absl::Cleanup destroy_actions = [&] { posix_spawn_file_actions_destroy(&actions); };
  DescriptorPlan plan(&actions);
  PLIMSOLL_RETURN_IF_ERROR(plan.Add(command.descriptors));
  if (!command.working_directory.empty()) {
    posix_spawn_file_actions_addchdir_np(&actions, command.working_directory.c_str());
  }

  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  absl::Cleanup destroy_attributes = [&] { posix_spawnattr_destroy(&attributes); };
  sigset_t none;
  sigset_t all;
  sigemptyset(&none);
  sigfillset(&all);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &all);
  short flags = POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF;
  if (command.new_session) flags |= POSIX_SPAWN_SETSID;
  posix_spawnattr_setflags(&attributes, flags);

  const std::vector<char*> argv = Pointers(command.argv);
  const std::vector<char*> environment = Pointers(command.environment);
  Child child;
  child.shared_ = std::make_shared<Child::Shared>();
  int pidfd_error = 0;
  const pid_t pid = ChildReaper::Get().StartRegistered(
      [&]() -> pid_t {
        pid_t started = -1;
        const int err = posix_spawn(&started, path.c_str(), &actions, &attributes, argv.data(),
                                    environment.data());
        if (err != 0) return -err;
        child.pidfd_.Reset(static_cast<int>(syscall(SYS_pidfd_open, started, 0)));
        pidfd_error = child.pidfd_.valid() ? 0 : errno;
        return started;
      },
      child.shared_);
  if (pid < 0) {
    const absl::Status refused = ErrnoStatus(-pid, absl::StrCat("run ", path));
    return pid == -ENOEXEC ? AlsoSay(refused, WhyNoProgram(path)) : refused;
  }
  child.pid_ = pid;
  if (pidfd_error != 0) {
    kill(pid, SIGKILL);
    return ErrnoStatus(pidfd_error, absl::StrCat("pidfd_open for ", path));
  }
  return child;
}

absl::StatusOr<ExitStatus> Child::Wait(absl::Time deadline) {
  if (!shared_->exited.HasBeenNotified() && !HasEnded(pidfd_.get(), deadline)) {
    return absl::DeadlineExceededError(absl::StrCat("process ", pid_, " still runs"));
  }
  shared_->exited.WaitForNotification();  // the reaper is reading its status
  return shared_->status;
}

absl::Status Child::Signal(int signal, bool group) {
  const std::string what = absl::StrCat("send signal ", signal, " to process ", pid_);
  if (shared_->exited.HasBeenNotified() && !group) return absl::NotFoundError(what);
  const long result = group ? kill(-pid_, signal)
                            : syscall(SYS_pidfd_send_signal, pidfd_.get(), signal, nullptr, 0);
  if (result == 0) return absl::OkStatus();
  if (errno == ESRCH) return absl::NotFoundError(what);
  return ErrnoStatus(errno, what);
}

absl::Status Child::KillGroup(absl::Time deadline) {
  Signal(SIGKILL, /*group=*/true).IgnoreError();
  if (Wait(deadline).ok()) return absl::OkStatus();
  return absl::DeadlineExceededError(
      absl::StrCat("process ", pid_, " was killed and has not ended: the kernel keeps it"));
}

absl::StatusOr<RunResult> RunProgram(Command command, const RunLimits& limits) {
  PLIMSOLL_ASSIGN_OR_RETURN(Pipe out_pipe, MakePipe());
  PLIMSOLL_ASSIGN_OR_RETURN(Pipe err_pipe, MakePipe());
  PLIMSOLL_ASSIGN_OR_RETURN(Pipe in_pipe, MakePipe());
  command.descriptors.emplace_back(in_pipe.reader.get(), 0);
  command.descriptors.emplace_back(out_pipe.writer.get(), 1);
  command.descriptors.emplace_back(err_pipe.writer.get(), 2);
  command.new_session = true;
  for (const UniqueFd* own : {&in_pipe.writer, &out_pipe.reader, &err_pipe.reader}) {
    PLIMSOLL_RETURN_IF_ERROR(SetNonBlocking(*own));
  }
  PLIMSOLL_ASSIGN_OR_RETURN(Child child, Spawn(command));
  in_pipe.reader.Reset();
  out_pipe.writer.Reset();
  err_pipe.writer.Reset();

  RunResult result;
  const absl::Time deadline = MonotonicNow() + limits.timeout;
  Stream out{std::move(out_pipe.reader), &result.out, limits.max_output_bytes, &result.truncated};
  Stream err{std::move(err_pipe.reader), &result.err, limits.max_output_bytes, &result.truncated};
  Pump(child.pidfd(), limits.cancellation == nullptr ? -1 : limits.cancellation->fd(),
       std::move(in_pipe.writer), limits.input, &out, &err, deadline);

  const bool cancelled = limits.cancellation != nullptr && limits.cancellation->cancelled();
  absl::StatusOr<ExitStatus> exit = child.Wait(cancelled ? absl::InfinitePast() : deadline);
  if (!exit.ok()) {
    const absl::Status killed = child.KillGroup(MonotonicNow() + kHelperKillTimeout);
    const std::string why =
        cancelled ? "cancelled"
                  : absl::StrCat("not finished after ", absl::FormatDuration(limits.timeout));
    const std::string message =
        absl::StrCat(command.argv[0], ": ", why, killed.ok() ? "" : "; ", killed.message());
    return cancelled ? absl::CancelledError(message) : absl::DeadlineExceededError(message);
  }
  result.exit = *exit;
  return result;
}

absl::StatusOr<std::string> RunChecked(Command command, const RunLimits& limits) {
  const std::string name = command.argv.empty() ? "" : command.argv[0];
  PLIMSOLL_ASSIGN_OR_RETURN(RunResult result, RunProgram(std::move(command), limits));
  if (result.exit.success()) return std::move(result.out);
  return absl::InternalError(
      absl::StrCat(name, ": ", result.exit.ToString(), ": ", LastLines(result.err, 2000)));
}

absl::StatusOr<std::string> FindProgram(absl::string_view name) {
  const char* path = getenv("PATH");
  const std::string places = absl::StrCat(path != nullptr ? path : "", ":/usr/local/sbin",
                                          ":/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin");
  for (absl::string_view directory : absl::StrSplit(places, ':', absl::SkipEmpty())) {
    std::string candidate = absl::StrCat(directory, "/", name);
    if (access(candidate.c_str(), X_OK) == 0) return candidate;
  }
  return absl::NotFoundError(absl::StrCat("no program ", name, " in ", places));
}

absl::Status BecomeChildSubreaper() {
  if (prctl(PR_SET_CHILD_SUBREAPER, 1) != 0) return ErrnoStatus(errno, "become child subreaper");
  return absl::OkStatus();
}

}  // namespace plimsoll
