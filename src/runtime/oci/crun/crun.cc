#include "runtime/oci/crun/crun.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <nlohmann/json.hpp>
#include <optional>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/time.h"
#include "base/programs/sealed_copy.h"
#include "base/status.h"

namespace plimsoll::runtime {
namespace {

// The name that /proc/<pid>/exe shows as "/memfd:plimsoll-crun (deleted)".
constexpr char kCrunMemfdName[] = "plimsoll-crun";

// If the container's init is gone, nobody reads the FIFO.
absl::Status NotCreated(absl::string_view id) {
  return absl::FailedPreconditionError(
      absl::StrCat("start container ", id, ": it isn't in state created (any more)"));
}

// Whether the process has that file open. Not by name: a file at the same path of a container's own
// root shows the same name.
absl::StatusOr<bool> HoldsOpen(const FsRoot& host, pid_t pid, const struct stat& file) {
  const std::string path = absl::StrCat("proc/", pid, "/fd");
  const absl::StatusOr<UniqueFd> directory = host.OpenFile(path, O_RDONLY | O_DIRECTORY);
  if (absl::IsNotFound(directory.status())) return false;  // it has just ended
  PLIMSOLL_RETURN_IF_ERROR(directory.status());
  const absl::StatusOr<std::vector<std::string>> descriptors = host.List(path);
  if (absl::IsNotFound(descriptors.status())) return false;
  PLIMSOLL_RETURN_IF_ERROR(descriptors.status());
  for (const std::string& descriptor : *descriptors) {
    // These links lead to the open file itself; one that is closed meanwhile is another file.
    struct stat held = {};
    if (fstatat(directory->get(), descriptor.c_str(), &held, 0) != 0) continue;
    if (held.st_dev == file.st_dev && held.st_ino == file.st_ino) return true;
  }
  return false;
}

// "crun 1.8.1"; nullopt: it was killed each time, or didn't answer.
absl::StatusOr<std::optional<std::string>> ReadVersion(const std::string& program,
                                                       absl::Duration patience) {
  const absl::StatusOr<RunResult> said = AskProgram(program, "--version", patience);
  if (absl::IsDeadlineExceeded(said.status())) return std::nullopt;
  if (said.ok() && said->exit.signal != 0) return std::nullopt;
  if (!said.ok() || !said->exit.success()) {
    return absl::FailedPreconditionError(
        absl::StrCat("the OCI runtime doesn't run: ",
                     said.ok() ? absl::StrCat(program, ": ", said->exit.ToString(), ": ", said->err)
                               : std::string(said.status().message())));
  }
  std::string version = VersionIn(said->out);
  if (version.empty()) {
    return absl::FailedPreconditionError(
        absl::StrCat(program, " is no OCI runtime: its --version says \"",
                     said->out.substr(0, said->out.find('\n')),
                     "\" instead of \"NAME version VERSION\", as crun and runc do"));
  }
  return version;
}

// Path of the program at `path`; empty: of crun in PATH.
absl::StatusOr<std::string> FindOciRuntime(const std::string& path) {
  std::string program = path;
  if (program.empty()) {
    absl::StatusOr<std::string> found = FindProgram("crun");
    if (!found.ok()) {
      return absl::NotFoundError(absl::StrCat(
          "the OCI runtime is missing: ", found.status().message(), "; install the package crun"));
    }
    program = *found;
  }
  if (access(program.c_str(), X_OK) != 0) {
    return absl::NotFoundError(absl::StrCat("the OCI runtime ", program, " can't be run: ",
                                            strerror(errno), "; install the package crun"));
  }
  return program;
}

}  // namespace

absl::Status CheckOciRuntime(const std::string& path, absl::Duration patience) {
  PLIMSOLL_ASSIGN_OR_RETURN(const std::string program, FindOciRuntime(path));
  return ReadVersion(program, patience).status();
}

std::string VersionIn(absl::string_view text) {
  const std::vector<absl::string_view> words =
      absl::StrSplit(text.substr(0, text.find('\n')), ' ', absl::SkipEmpty());
  if (words.size() < 3 || words[1] != "version") return "";
  return absl::StrCat(words[0], " ", words[2]);
}

bool IsCrun(absl::string_view version) {
  return absl::StartsWith(version, "crun ");
}

absl::StatusOr<RunResult> AskProgram(const std::string& program, const std::string& argument,
                                     absl::Duration patience) {
  constexpr int kMostTries = 3;
  for (int i = 1;; ++i) {
    absl::StatusOr<RunResult> result =
        RunProgram({.argv = {program, argument}}, {.timeout = patience});
    if (i == kMostTries || !result.ok() || result->exit.signal == 0) return result;
  }
}

absl::StatusOr<std::unique_ptr<Crun>> Crun::Load(const std::string& path, FsRoot state,
                                                 absl::Duration patience) {
  PLIMSOLL_ASSIGN_OR_RETURN(const std::string program, FindOciRuntime(path));
  PLIMSOLL_ASSIGN_OR_RETURN(const std::optional<std::string> version,
                            ReadVersion(program, patience));
  PLIMSOLL_ASSIGN_OR_RETURN(UniqueFd copy, SealedCopy(program, kCrunMemfdName));
  const std::string other = version.has_value() && IsCrun(*version) ? "" : program;
  return std::unique_ptr<Crun>(new Crun(version.value_or("crun of an unknown version"),
                                        version.has_value(), other, std::move(copy),
                                        std::move(state)));
}

bool Crun::IsAtLeast(int major, int minor) const {
  int has_major = 0;
  int has_minor = 0;
  if (sscanf(version_.c_str(), "crun %d.%d", &has_major, &has_minor) != 2) return false;
  return has_major > major || (has_major == major && has_minor >= minor);
}

Crun::Crun(std::string version, bool knows_version, std::string other, UniqueFd program,
           FsRoot state)
    : version_(std::move(version)),
      knows_version_(knows_version),
      other_(std::move(other)),
      program_(std::move(program)),
      executable_(absl::StrCat("/proc/", getpid(), "/fd/", program_.get())),
      state_(std::move(state)) {}

const std::string& Crun::executable() const {
  // If renewal fails, the execution reports the error.
  RenewIfTouched(program_.get(), kCrunMemfdName).IgnoreError();
  return executable_;
}

Command Crun::MakeCommand(const std::vector<std::string>& arguments) const {
  Command command;
  command.executable = executable();
  command.argv = {"crun", absl::StrCat("--root=", state_.path())};
  command.argv.insert(command.argv.end(), arguments.begin(), arguments.end());
  return command;
}

absl::Status Crun::Start(absl::string_view id) const {
  const std::string path = absl::StrCat(id, "/exec.fifo");
  // Non-blocking, so that ENXIO shows that nobody reads it.
  const absl::StatusOr<UniqueFd> fifo = state_.OpenFile(path, O_WRONLY | O_NONBLOCK);
  if (!fifo.ok() && ErrnoOf(fifo.status()) == ENXIO) return NotCreated(id);
  struct stat info = {};
  if (!fifo.ok() || fstat(fifo->get(), &info) != 0 || !S_ISFIFO(info.st_mode)) {
    if (!state_.Exists(absl::StrCat(id, "/status"))) return NotCreated(id);
    const absl::StatusOr<std::string> started = RunChecked(MakeCommand({"start", std::string(id)}));
    if (started.ok()) return absl::OkStatus();
    return absl::FailedPreconditionError(
        absl::StrCat("start container ", id, ": ", started.status().message()));
  }
  // Without the file, crun counts the container as running. It is removed last (crun does it
  // first): a kill in between must not leave the process asleep beside a file that is gone.
  if (write(fifo->get(), "", 1) != 1) {
    if (errno == EPIPE) return NotCreated(id);
    return ErrnoStatus(errno, absl::StrCat("start container ", id));
  }
  return FinishStart(id);
}

absl::Status Crun::FinishStart(absl::string_view id) const {
  return state_.RemoveFile(absl::StrCat(id, "/exec.fifo"));
}

absl::StatusOr<std::optional<int64_t>> Crun::StartedAt(const FsRoot& host, absl::string_view id,
                                                       const linux::ProcessId& init) const {
  const absl::StatusOr<struct stat> directory = state_.Stat(id);
  if (absl::IsNotFound(directory.status())) return std::nullopt;
  PLIMSOLL_RETURN_IF_ERROR(directory.status());
  PLIMSOLL_ASSIGN_OR_RETURN(const bool is_known, state_.Has(absl::StrCat(id, "/status")));
  if (!is_known) return std::nullopt;
  PLIMSOLL_ASSIGN_OR_RETURN(const bool has_fifo, state_.Has(absl::StrCat(id, "/exec.fifo")));
  if (has_fifo) {
    // The process is crun until it is let run.
    const absl::StatusOr<std::string> program =
        host.ReadLink(absl::StrCat("proc/", init.pid, "/exe"));
    PLIMSOLL_ASSIGN_OR_RETURN(const bool runs, linux::IsRunning(host, init));
    if (!runs) return std::nullopt;
    PLIMSOLL_RETURN_IF_ERROR(program.status());
    if (absl::StrContains(*program, kCrunMemfdName)) return std::nullopt;
    // Another crun, a runtime handler's, hasn't our copy's name. It holds the FIFO until it is let
    // run.
    const absl::StatusOr<struct stat> fifo = state_.Stat(absl::StrCat(id, "/exec.fifo"));
    if (!fifo.ok() && !absl::IsNotFound(fifo.status())) return fifo.status();
    if (fifo.ok() && S_ISFIFO(fifo->st_mode)) {
      PLIMSOLL_ASSIGN_OR_RETURN(const bool holds, HoldsOpen(host, init.pid, *fifo));
      if (holds) return std::nullopt;
    }
  }
  // Removing the FIFO was the directory's last change.
  return directory->st_mtim.tv_sec * int64_t{1000000000} + directory->st_mtim.tv_nsec;
}

absl::StatusOr<std::optional<CrunStatus>> Crun::Status(absl::string_view id) const {
  const absl::StatusOr<std::string> text = state_.Read(absl::StrCat(id, "/status"), 1 << 20);
  if (absl::IsNotFound(text.status())) return std::nullopt;
  PLIMSOLL_RETURN_IF_ERROR(text.status());
  const auto json = nlohmann::json::parse(*text, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object()) return std::nullopt;
  const auto pid = json.find("pid");
  const auto start = json.find("process-start-time");
  const auto cgroup = json.find("cgroup-path");
  CrunStatus status;
  if (pid != json.end() && pid->is_number_integer()) status.pid = pid->get<pid_t>();
  if (start != json.end() && start->is_number_unsigned()) {
    status.start_time_ticks = start->get<uint64_t>();
  }
  if (cgroup != json.end() && cgroup->is_string()) status.cgroup_path = cgroup->get<std::string>();
  return status;
}

absl::StatusOr<std::vector<std::string>> Crun::List() const {
  return state_.List(".");
}

absl::Status Crun::Forget(absl::string_view id) const {
  return state_.RemoveTree(id);
}

}  // namespace plimsoll::runtime
