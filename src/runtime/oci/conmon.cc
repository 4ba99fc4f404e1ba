#include "runtime/oci/conmon.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "base/status.h"
#include "base/subprocess.h"

namespace plimsoll::runtime {
namespace {

constexpr absl::Duration kCreateTimeout = absl::Minutes(2);
constexpr absl::Duration kReopenTimeout = absl::Seconds(5);
// How long a monitor whose create failed may take to end by itself.
constexpr absl::Duration kEndTimeout = absl::Seconds(2);
constexpr int kSyncDescriptor = 3;
constexpr char kPidFile[] = "conmon.pid";
constexpr size_t kMaxMessage = 64 * 1024;

// Waits until `fd` is readable. False at the deadline.
bool WaitReadable(int fd, absl::Time deadline) {
  while (true) {
    struct pollfd poller = {fd, POLLIN, 0};
    const int64_t left = absl::ToInt64Milliseconds(deadline - absl::Now()) + 1;
    const int ready = poll(&poller, 1, static_cast<int>(std::clamp<int64_t>(left, 0, 1 << 30)));
    if (ready > 0) return true;
    if (ready < 0 && errno == EINTR) continue;
    return false;
  }
}

// One line from the sync pipe; empty at its end.
absl::StatusOr<std::string> ReadLine(int fd, absl::Time deadline) {
  std::string line;
  char buffer[4096];
  while (line.find('\n') == std::string::npos && line.size() < kMaxMessage) {
    if (!WaitReadable(fd, deadline)) {
      return absl::DeadlineExceededError(
          absl::StrCat("the monitor said nothing for ", absl::FormatDuration(kCreateTimeout)));
    }
    const ssize_t n = read(fd, buffer, sizeof(buffer));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return ErrnoStatus(errno, "read from the monitor");
    if (n == 0) break;
    line.append(buffer, static_cast<size_t>(n));
  }
  return line;
}

std::string ReadMemfd(int fd) {
  std::string text(4096, '\0');
  const ssize_t n = pread(fd, text.data(), text.size(), 0);
  text.resize(static_cast<size_t>(std::max<ssize_t>(n, 0)));
  return std::string(absl::StripAsciiWhitespace(text));
}

// {"pid": 123} or {"pid": -1, "message": "..."}.
absl::StatusOr<pid_t> ParseSync(const std::string& line, const std::string& errors) {
  const auto json = nlohmann::json::parse(line, nullptr, /*allow_exceptions=*/false);
  const auto pid = json.is_object() ? json.find("pid") : json.end();
  if (!json.is_object() || pid == json.end() || !pid->is_number_integer()) {
    return absl::InternalError(
        absl::StrCat("the monitor gave up: ", errors.empty() ? "it said nothing" : errors));
  }
  if (pid->get<int>() > 0) return pid->get<pid_t>();
  const auto message = json.find("message");
  std::string text = errors;
  if (message != json.end() && message->is_string()) text = message->get<std::string>();
  text = std::string(absl::StripAsciiWhitespace(text));
  return absl::InternalError(text.empty() ? "the OCI runtime failed and said nothing" : text);
}

class Conmon : public Monitor {
 public:
  Conmon(std::string path, std::string version, FsRoot host)
      : path_(std::move(path)), version_(std::move(version)), host_(std::move(host)) {}

  std::string version() const override { return version_; }
  absl::StatusOr<Monitored> Start(const FsRoot& directory,
                                  const MonitorRequest& request) const override;
  absl::StatusOr<std::optional<ExitRecord>> ReadExit(const FsRoot& directory,
                                                     absl::string_view id) const override;
  absl::Status ReopenLog(const FsRoot& directory) const override;
  bool SawOom(const FsRoot& directory) const override;
  absl::Status End(const FsRoot& directory, absl::string_view id,
                   absl::Time deadline) const override;

 private:
  Command MakeCommand(const FsRoot& directory, const MonitorRequest& request) const;
  // The pidfd of the container's monitor, if it runs.
  absl::StatusOr<UniqueFd> Find(const FsRoot& directory, absl::string_view id) const;

  const std::string path_;
  const std::string version_;
  const FsRoot host_;
};

Command Conmon::MakeCommand(const FsRoot& directory, const MonitorRequest& request) const {
  Command command;
  command.executable = path_;
  command.argv = {
      "conmon", "--cid", request.id, "--cuuid", request.id, "--runtime", request.runtime,
      "--runtime-arg", request.plan, "--bundle", directory.path(), "--container-pidfile",
      directory.PathOf("pid"), "--exit-dir", directory.PathOf("exit"), "--persist-dir",
      directory.PathOf("exit/note"), "--log-level", "error",
      // Stays the process that we start, instead of forking once more and ending that one.
      "--sync",
      // Sockets and FIFOs into the bundle, under short names.
      "--full-attach",
      // An fsync of the log at each exit would make every pod's end wait for the disk.
      "--no-sync-log", "--log-path",
      request.log_path.empty() ? std::string("null") : absl::StrCat("k8s-file:", request.log_path)};
  if (request.terminal) command.argv.push_back("--terminal");
  if (request.open_stdin) {
    command.argv.push_back("--stdin");
    if (!request.stdin_once) command.argv.push_back("--leave-stdin-open");
  }
  command.environment.push_back(absl::StrCat("_OCI_SYNCPIPE=", kSyncDescriptor));
  command.working_directory = "/";
  command.new_session = true;  // what ends this process must not end the monitor
  return command;
}

absl::StatusOr<Monitored> Conmon::Start(const FsRoot& directory,
                                        const MonitorRequest& request) const {
  PLIMSOLL_RETURN_IF_ERROR(directory.MakeDirs("exit/note"));
  PLIMSOLL_RETURN_IF_ERROR(directory.ReplaceFile("log_path", request.log_path));
  int fds[2];
  if (pipe2(fds, O_CLOEXEC) != 0) return ErrnoStatus(errno, "pipe");
  const UniqueFd reader(fds[0]);
  UniqueFd writer(fds[1]);
  const UniqueFd errors(memfd_create("conmon-errors", MFD_CLOEXEC));
  if (!errors.valid()) return ErrnoStatus(errno, "memfd for the monitor's errors");

  Command command = MakeCommand(directory, request);
  command.descriptors = {{writer.get(), kSyncDescriptor}, {errors.get(), 2}};
  PLIMSOLL_ASSIGN_OR_RETURN(Child child, Spawn(command));
  writer.Reset();
  absl::Cleanup end = [&] {
    if (child.Wait(absl::Now() + kEndTimeout).ok()) return;
    child.Signal(SIGKILL).IgnoreError();
    child.Wait(absl::Now() + kEndTimeout).IgnoreError();
  };
  PLIMSOLL_RETURN_IF_ERROR(directory.ReplaceFile(kPidFile, absl::StrCat(child.pid())));
  const absl::Time deadline = absl::Now() + kCreateTimeout;
  PLIMSOLL_ASSIGN_OR_RETURN(const std::string line, ReadLine(reader.get(), deadline));
  Monitored result;
  PLIMSOLL_ASSIGN_OR_RETURN(result.init, ParseSync(line, ReadMemfd(errors.get())));
  PLIMSOLL_ASSIGN_OR_RETURN(result.monitor, linux::IdentifyProcess(host_, child.pid()));
  std::move(end).Cancel();
  return result;
}

absl::StatusOr<std::optional<ExitRecord>> Conmon::ReadExit(const FsRoot& directory,
                                                           absl::string_view id) const {
  const std::string file = absl::StrCat("exit/", id);
  const absl::StatusOr<UniqueFd> fd = directory.OpenFile(file, O_RDONLY);
  if (absl::IsNotFound(fd.status())) return std::nullopt;
  PLIMSOLL_RETURN_IF_ERROR(fd.status());
  char text[32] = {};
  struct stat info = {};
  const ssize_t n = pread(fd->get(), text, sizeof(text) - 1, 0);
  if (n < 0 || fstat(fd->get(), &info) != 0) {
    return ErrnoStatus(errno, absl::StrCat("read ", directory.PathOf(file)));
  }
  ExitRecord record;
  if (!absl::SimpleAtoi(text, &record.code)) {
    return absl::DataLossError(
        absl::StrCat(directory.PathOf(file), " says \"", text, "\", which is no exit code"));
  }
  record.finished_unix_nanos = info.st_mtim.tv_sec * int64_t{1000000000} + info.st_mtim.tv_nsec;
  return record;
}

absl::Status Conmon::ReopenLog(const FsRoot& directory) const {
  PLIMSOLL_ASSIGN_OR_RETURN(const std::string log_path, directory.Read("log_path", 8192));
  if (log_path.empty()) return absl::OkStatus();
  absl::StatusOr<UniqueFd> control = directory.OpenFile("ctl", O_WRONLY | O_NONBLOCK);
  if (!control.ok()) {
    return absl::FailedPreconditionError(absl::StrCat(
        "reopen log: the container's monitor isn't there: ", control.status().message()));
  }
  // "2": reopen logs; the other two numbers belong to "1", the terminal's size.
  constexpr absl::string_view kReopen = "2 0 0\n";
  if (write(control->get(), kReopen.data(), kReopen.size()) !=
      static_cast<ssize_t>(kReopen.size())) {
    return ErrnoStatus(errno, "reopen log: write to the monitor");
  }
  const absl::Time deadline = absl::Now() + kReopenTimeout;
  while (access(log_path.c_str(), F_OK) != 0) {
    if (absl::Now() > deadline) {
      return absl::DeadlineExceededError(
          absl::StrCat("reopen log: the monitor has not made ", log_path));
    }
    absl::SleepFor(absl::Milliseconds(1));
  }
  return absl::OkStatus();
}

bool Conmon::SawOom(const FsRoot& directory) const {
  return directory.Exists("exit/note/oom") || directory.Exists("oom");
}

absl::StatusOr<UniqueFd> Conmon::Find(const FsRoot& directory, absl::string_view id) const {
  PLIMSOLL_ASSIGN_OR_RETURN(const std::string text, directory.Read(kPidFile, 64));
  pid_t pid = 0;
  if (!absl::SimpleAtoi(text, &pid)) return absl::NotFoundError("no monitor");
  PLIMSOLL_ASSIGN_OR_RETURN(const linux::ProcessId process, linux::IdentifyProcess(host_, pid));
  PLIMSOLL_ASSIGN_OR_RETURN(UniqueFd pidfd, linux::OpenProcess(host_, process));
  // The pid may be another's by now: ours has the container's id on its command line.
  PLIMSOLL_ASSIGN_OR_RETURN(const std::string command_line,
                            host_.Read(absl::StrCat("proc/", pid, "/cmdline")));
  for (absl::string_view argument : absl::StrSplit(command_line, '\0')) {
    if (argument == id) return pidfd;
  }
  return absl::NotFoundError("no monitor");
}

absl::Status Conmon::End(const FsRoot& directory, absl::string_view id, absl::Time deadline) const {
  const absl::StatusOr<UniqueFd> pidfd = Find(directory, id);
  if (!pidfd.ok()) return absl::OkStatus();
  if (WaitReadable(pidfd->get(), deadline)) return absl::OkStatus();
  const absl::Status killed = linux::SignalProcess(*pidfd, SIGKILL);
  if (!killed.ok() && !absl::IsNotFound(killed)) return killed;
  if (WaitReadable(pidfd->get(), absl::Now() + absl::Seconds(5))) return absl::OkStatus();
  return absl::DeadlineExceededError(
      absl::StrCat("the monitor of container ", id, " survives SIGKILL"));
}

}  // namespace

absl::StatusOr<std::unique_ptr<Monitor>> LoadConmon(const std::string& path, FsRoot host) {
  std::string program = path;
  if (program.empty()) {
    absl::StatusOr<std::string> found = FindProgram("conmon");
    if (!found.ok()) {
      return absl::NotFoundError(
          absl::StrCat("the container monitor is missing: ", found.status().message(),
                       "; install the package conmon"));
    }
    program = *found;
  }
  if (access(program.c_str(), X_OK) != 0) {
    return absl::NotFoundError(absl::StrCat("the container monitor ", program, " can't be run: ",
                                            strerror(errno), "; install the package conmon"));
  }
  absl::StatusOr<std::string> version = RunChecked({.argv = {program, "--version"}});
  if (!version.ok()) {
    return absl::FailedPreconditionError(
        absl::StrCat("the container monitor doesn't run: ", version.status().message()));
  }
  const std::vector<std::string> words =
      absl::StrSplit(*version, absl::ByAnyChar(" \n"), absl::SkipEmpty());
  if (words.size() < 3 || words[0] != "conmon") {
    return absl::FailedPreconditionError(
        absl::StrCat(program, " is not conmon: its --version says \"", *version, "\""));
  }
  return std::unique_ptr<Monitor>(std::make_unique<Conmon>(
      std::move(program), absl::StrCat("conmon ", words[2]), std::move(host)));
}

}  // namespace plimsoll::runtime
