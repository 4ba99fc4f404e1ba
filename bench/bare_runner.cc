#include "bench/bare_runner.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <nlohmann/json.hpp>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/fs_root.h"
#include "base/programs/subprocess.h"
#include "base/status.h"

namespace plimsoll::bench {
namespace {

constexpr size_t kMaxRequest = 4096;
constexpr size_t kMaxArguments = 32;
constexpr char kLog[] = "stderr";  // the program's standard error
constexpr char kControllers[] = "/sys/fs/cgroup/unified/cgroup.controllers";

// The runner's answer to one request.
struct Answer {
  int64_t nanoseconds = 0;
  int wait_status = 0;
  int error = 0;  // errno of a spawn that failed
};

int64_t NowNanos() {
  timespec now = {};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

// Hides the v2 controllers of a hybrid machine from this process and its children.
bool HideControllers() {
  if (access(kControllers, F_OK) != 0) return true;
  return unshare(CLONE_NEWNS) == 0 &&
         mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
         mount("/dev/null", kControllers, nullptr, MS_BIND, nullptr) == 0;
}

// The runner's whole life. Only plain system calls: it is a fork, and its cost is measured. A
// request is a program's path and its arguments, each ended by a NUL byte.
[[noreturn]] void Serve(int socket, const std::string& log) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  Answer answer;
  if (!HideControllers()) answer.error = errno;
  if (write(socket, &answer, sizeof answer) != sizeof answer || answer.error != 0) _exit(1);

  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_addopen(&actions, 2, log.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);

  char path[] = "PATH=/usr/sbin:/usr/bin:/sbin:/bin";
  char* environment[] = {path, nullptr};
  static char request[kMaxRequest];
  for (ssize_t size = read(socket, request, sizeof request); size > 0;
       size = read(socket, request, sizeof request)) {
    char* arguments[kMaxArguments + 1] = {};
    size_t count = 0;
    for (char* at = request; at < request + size && count < kMaxArguments; at += strlen(at) + 1) {
      arguments[count++] = at;
    }
    answer = Answer();
    pid_t pid = -1;
    const int64_t start = NowNanos();
    answer.error = posix_spawn(&pid, arguments[0], &actions, nullptr, arguments, environment);
    if (answer.error == 0) waitpid(pid, &answer.wait_status, 0);
    answer.nanoseconds = NowNanos() - start;
    if (write(socket, &answer, sizeof answer) != sizeof answer) break;
  }
  _exit(0);
}

absl::StatusOr<Answer> ReadAnswer(int socket) {
  Answer answer;
  const ssize_t got = read(socket, &answer, sizeof answer);
  if (got != sizeof answer) return absl::InternalError("the process that runs crun has died");
  return answer;
}

}  // namespace

absl::StatusOr<std::unique_ptr<BareRunner>> BareRunner::Start(const FsRoot& directory) {
  PLIMSOLL_ASSIGN_OR_RETURN(const std::string crun, FindProgram("crun"));
  for (const char* name : {"bare/state", "bare/bundle"}) {
    PLIMSOLL_RETURN_IF_ERROR(directory.MakeDirs(name));
  }
  PLIMSOLL_ASSIGN_OR_RETURN(FsRoot own, directory.Sub("bare"));
  int sockets[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets) != 0) {
    return ErrnoStatus(errno, "socketpair");
  }
  UniqueFd ours(sockets[0]), theirs(sockets[1]);
  const pid_t pid = fork();
  if (pid < 0) return ErrnoStatus(errno, "fork");
  if (pid == 0) {
    ours.Reset();
    Serve(theirs.get(), own.PathOf(kLog));
  }
  theirs.Reset();
  PLIMSOLL_ASSIGN_OR_RETURN(const Answer ready, ReadAnswer(ours.get()));
  if (ready.error != 0) {
    return ErrnoStatus(ready.error, absl::StrCat("hide ", kControllers, " from crun"));
  }
  return std::unique_ptr<BareRunner>(new BareRunner(crun, std::move(own), std::move(ours)));
}

absl::StatusOr<absl::Duration> BareRunner::Time(const std::vector<std::string>& arguments) {
  std::string request;
  for (const std::string& argument : arguments) request.append(argument).push_back('\0');
  if (arguments.size() > kMaxArguments || request.size() > kMaxRequest ||
      write(socket_.get(), request.data(), request.size()) !=
          static_cast<ssize_t>(request.size())) {
    return absl::InternalError(absl::StrCat("can't ask for a run of ", arguments.front()));
  }
  PLIMSOLL_ASSIGN_OR_RETURN(const Answer answer, ReadAnswer(socket_.get()));
  if (answer.error != 0)
    return ErrnoStatus(answer.error, absl::StrCat("start ", arguments.front()));
  if (!WIFEXITED(answer.wait_status) || WEXITSTATUS(answer.wait_status) != 0) {
    return absl::InternalError(absl::StrCat(arguments.front(), " ended with wait status ",
                                            answer.wait_status, ": ",
                                            directory_.Read(kLog).value_or("")));
  }
  return absl::Nanoseconds(answer.nanoseconds);
}

absl::StatusOr<absl::Duration> BareRunner::Run() {
  return Time({crun_, absl::StrCat("--root=", state()), "run", absl::StrCat("--bundle=", bundle()),
               absl::StrCat("plimsoll-bench-", number_++)});
}

absl::StatusOr<absl::Duration> BareRunner::Exec(const std::string& state,
                                                const std::string& container) {
  return Time({crun_, absl::StrCat("--root=", state), "exec", container, "/bin/true"});
}

absl::Status BareRunner::SetCommand(const std::vector<std::string>& command) {
  PLIMSOLL_ASSIGN_OR_RETURN(const FsRoot bundle, directory_.Sub("bundle"));
  PLIMSOLL_ASSIGN_OR_RETURN(const std::string text, bundle.Read("config.json"));
  nlohmann::json config = nlohmann::json::parse(text);  // as MakeBundle has written it
  config["process"]["args"] = command;
  return bundle.ReplaceFile("config.json", config.dump(1), 0644);
}

absl::Status BareRunner::MakeBundle(const std::string& image_tar, const std::string& cgroup_path) {
  PLIMSOLL_ASSIGN_OR_RETURN(const FsRoot bundle, directory_.Sub("bundle"));
  PLIMSOLL_RETURN_IF_ERROR(bundle.MakeDirs("rootfs", 0755));
  PLIMSOLL_RETURN_IF_ERROR(
      RunChecked({.argv = {"/bin/tar", "-xf", image_tar, "-C", bundle.PathOf("rootfs")}}).status());
  PLIMSOLL_RETURN_IF_ERROR(
      RunChecked({.argv = {crun_, "spec"}, .working_directory = bundle.path()}).status());
  PLIMSOLL_ASSIGN_OR_RETURN(const std::string text, bundle.Read("config.json"));

  nlohmann::json config = nlohmann::json::parse(text, nullptr, false);
  if (!config.is_object()) return absl::InternalError("crun spec wrote no JSON object");
  config["process"]["terminal"] = false;
  config["process"]["args"] = {"/bin/true"};
  config["root"]["readonly"] = false;
  nlohmann::json& config_linux = config["linux"];
  config_linux["cgroupsPath"] = cgroup_path;
  config_linux.erase("seccomp");
  nlohmann::json namespaces = nlohmann::json::array();
  for (const char* type : {"pid", "ipc", "uts", "mount"}) namespaces.push_back({{"type", type}});
  config_linux["namespaces"] = namespaces;
  return bundle.ReplaceFile("config.json", config.dump(1), 0644);
}

}  // namespace plimsoll::bench
