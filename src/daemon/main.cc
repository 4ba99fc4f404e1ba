// plimsolld.
#include <google/protobuf/stubs/logging.h>
#include <google/protobuf/util/json_util.h>
#include <grpc/support/log.h>
#include <malloc.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "base/fs_root.h"
#include "base/status.h"
#include "base/text/problems.h"
#include "base/unique_fd.h"
#include "daemon/cgroup_driver.h"
#include "daemon/check_node.h"
#include "daemon/classes.h"
#include "daemon/config/settings.h"
#include "daemon/daemon.h"
#include "daemon/inspect_stopped.h"
#include "daemon/main_process.h"
#include "daemon/node_nri.h"
#include "daemon/node_resources.h"
#include "daemon/preconditions.h"
#include "service/directory_lock.h"
#include "service/logging.h"
#include "service/notify.h"
#include "streaming/server.h"

namespace plimsoll::daemon {
namespace {

constexpr absl::Duration kGrace = absl::Seconds(10);

std::atomic<Log*> library_log = nullptr;

void OnGrpcLog(gpr_log_func_args* args) {
  Log* log = library_log.load();
  if (log == nullptr) return;
  const LogLevel level =
      args->severity == GPR_LOG_SEVERITY_ERROR ? LogLevel::kWarning : LogLevel::kDebug;
  log->WriteLimited(level, args->message, {{"from", "gRPC"}});
}

// By default each text of a request that isn't UTF-8 becomes a line of standard error.
void OnProtobufLog(google::protobuf::LogLevel severity, const char* /*file*/, int /*line*/,
                   const std::string& message) {
  Log* log = library_log.load();
  if (log == nullptr) return;
  const bool ends = severity == google::protobuf::LOGLEVEL_FATAL;
  log->WriteLimited(ends ? LogLevel::kError : LogLevel::kDebug, message, {{"from", "protobuf"}});
}

void TakeLibrariesLines(Log* log) {
  library_log = log;
  gpr_set_log_function(OnGrpcLog);
  google::protobuf::SetLogHandler(OnProtobufLog);
}

// From the first moment: a SIGHUP during the daemon's start must not end it.
sigset_t BlockSignals() {
  sigset_t signals;
  sigemptyset(&signals);
  for (const int number : {SIGTERM, SIGINT, SIGHUP}) sigaddset(&signals, number);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  return signals;
}

// Events that end or change the service. Signals are blocked in every thread and read here.
class Wakeups {
 public:
  enum class Kind { kStop, kReload, kIdle };  // kIdle: no client is left, or no stream

  static absl::StatusOr<Wakeups> Open() {
    // A failed write reports the same: its reader has left, or RLIMIT_FSIZE is reached.
    for (const int number : {SIGPIPE, SIGXFSZ}) signal(number, SIG_IGN);
    const sigset_t signals = BlockSignals();
    Wakeups wakeups;
    wakeups.signals_.Reset(signalfd(-1, &signals, SFD_CLOEXEC));
    if (!wakeups.signals_.valid()) return ErrnoStatus(errno, "signalfd");
    wakeups.idle_ = std::make_shared<UniqueFd>(eventfd(0, EFD_CLOEXEC));
    if (!wakeups.idle_->valid()) return ErrnoStatus(errno, "eventfd");
    return wakeups;
  }

  // Makes Wait return when the last client has left. The thread can't be interrupted while it waits
  // for the lock, and holds it until the process ends: it is detached.
  void WatchClients(const FsRoot& run_directory, Log* log) {
    std::thread([run_directory, log, event = idle_] {
      absl::StatusOr<UniqueFd> lock = WaitUntilNoClientIsLeft(run_directory);
      if (!lock.ok()) log->Write(LogLevel::kError, lock.status().message());
      if (lock.ok()) lock->Release();
      eventfd_write(event->get(), 1);
    }).detach();
  }

  // Makes Wait return when it is called; for any thread.
  std::function<void()> OnNoStreams() const {
    return [event = idle_] { eventfd_write(event->get(), 1); };
  }

  // Forgets signals that have come: a stop may be asked for twice, of the main process and of this
  // one.
  void Forget() const {
    pollfd ready = {signals_.get(), POLLIN, 0};
    signalfd_siginfo info = {};
    while (poll(&ready, 1, 0) == 1 && read(signals_.get(), &info, sizeof(info)) > 0) {
    }
  }

  Kind Wait() const {
    pollfd ready[] = {{signals_.get(), POLLIN, 0}, {idle_->get(), POLLIN, 0}};
    while (poll(ready, 2, -1) < 0 && errno == EINTR) {
    }
    if (ready[1].revents != 0) return Kind::kIdle;
    signalfd_siginfo info = {};
    if (read(signals_.get(), &info, sizeof(info)) != sizeof(info)) return Kind::kStop;
    return info.ssi_signo == SIGHUP ? Kind::kReload : Kind::kStop;
  }

 private:
  UniqueFd signals_;
  std::shared_ptr<UniqueFd> idle_;
};

void Warn(Log& log, const absl::Status& status) {
  if (!status.ok()) log.Write(LogLevel::kWarning, status.message());
}

void Reload(const DaemonFlags& flags, Daemon& daemon, Log& log) {
  const absl::StatusOr<Settings> settings = LoadSettings(flags);
  if (settings.ok()) {
    daemon.Reload(settings->config);
  } else {
    log.Write(LogLevel::kError, "configuration not reloaded, the old one stays in force",
              {{"error", std::string(settings.status().message())}});
  }
}

absl::Status Serve(const DaemonFlags& flags, Settings settings, Log& log) {
  PLIMSOLL_ASSIGN_OR_RETURN(Wakeups wakeups, Wakeups::Open());
  std::optional<FsRoot> clients;
  if (flags.standalone) {
    // Opened now, so that a client's lock is visible whatever mount it was taken in.
    PLIMSOLL_ASSIGN_OR_RETURN(clients, FsRoot::OpenOrCreate(settings.config.run_dir, 0755));
  }
  const std::string socket = SocketPath(settings.config);
  PLIMSOLL_ASSIGN_OR_RETURN(
      std::unique_ptr<Daemon> daemon,
      Daemon::Start({settings.config, settings.config_path, PLIMSOLL_VERSION, flags.standalone,
                     flags.keep_streams ? wakeups.OnNoStreams() : nullptr},
                    &log));
  log.Write(LogLevel::kInfo, "serving",
            {{"version", PLIMSOLL_VERSION}, {"socket", socket}, {"pid", absl::StrCat(getpid())}});
  Warn(log, NotifyByMainProcess("READY=1"));
  Warn(log, NotifyReadyFd(flags.ready_fd));
  if (clients.has_value()) wakeups.WatchClients(*clients, &log);

  Wakeups::Kind kind = wakeups.Wait();
  for (; kind == Wakeups::Kind::kReload; kind = wakeups.Wait()) Reload(flags, *daemon, log);

  Warn(log, NotifyByMainProcess("STOPPING=1"));
  if (!daemon->Stop(kGrace)) {
    log.Write(LogLevel::kWarning, "stopped with calls still under way; they are cut off",
              {{"grace", absl::FormatDuration(kGrace)}});
    std::_Exit(0);
  }
  if (kind == Wakeups::Kind::kIdle) Warn(log, daemon->RemoveRunDirectoryIfUnused());
  if (const int streams = daemon->LeaveStreams(); streams > 0) {
    log.Write(LogLevel::kInfo, "stopped, and carries its open streams to their end",
              {{"streams", absl::StrCat(streams)}, {"pid", absl::StrCat(getpid())}});
    wakeups.Forget();
    EndMainProcess();
    // Until the streams have ended, or a further SIGTERM ends them.
    while (wakeups.Wait() == Wakeups::Kind::kReload) {
    }
  }
  daemon.reset();
  log.Write(LogLevel::kInfo, "stopped");
  return absl::OkStatus();
}

// A standalone daemon starts without streams if they can't be had.
absl::Status CheckStreaming(const DaemonFlags& flags, const StreamingConfig& config) {
  if (config.address.empty() || flags.standalone) return absl::OkStatus();
  return Annotate(
      streaming::CheckCertificate({.certificate = config.certificate, .key = config.key}),
      "streaming.certificate and streaming.key");
}

// Checks that systemd can manage the groups here; a start finds out by itself.
absl::Status CheckSystemd(const Config& config, bool standalone) {
  if (config.cgroup_driver != "systemd") return absl::OkStatus();
  PLIMSOLL_ASSIGN_OR_RETURN(const FsRoot host, FsRoot::Open("/"));
  return OpenCgroupDriver(host, config, standalone).status();
}

// A start reports the same as --check-config, but for what it finds out by itself. `plimsoll
// doctor` runs this for a standalone daemon before it starts one.
absl::Status CheckAgainstMachine(const DaemonFlags& flags, const Config& config,
                                 std::vector<std::string>* warnings) {
  absl::Status fits = AlsoTell(CheckClasses(config.classes, warnings), CheckCgroupDriver(config));
  fits = AlsoTell(fits, CheckNri(config));
  fits = AlsoTell(fits, CheckStreaming(flags, config.streaming));
  if (!flags.check_config) return fits;
  if (fits.ok()) fits = CheckSystemd(config, flags.standalone);
  fits = AlsoTell(fits, CheckOciRuntime(config));
  if (flags.standalone) return AlsoTell(fits, CheckStart(config, PLIMSOLL_VERSION));
  return AlsoTell(fits, CheckNodeResources(config.node_resources));
}

// For `plimsoll doctor`, which parses the output. A missing directory is a wrong configuration.
int PrintInspection(const Config& config) {
  const absl::StatusOr<::plimsoll::v1::InspectResponse> response = InspectStopped(config);
  std::string json;
  if (response.ok() && google::protobuf::util::MessageToJsonString(*response, &json).ok()) {
    std::puts(json.c_str());
    return 0;
  }
  std::fprintf(stderr, "plimsolld: %s\n", std::string(response.status().message()).c_str());
  return absl::IsInvalidArgument(response.status()) ? 2 : 1;
}

// For `plimsoll doctor --node`, which parses the output.
int PrintNodeCheck(const Config& config) {
  const absl::StatusOr<std::vector<preflight::Problem>> problems =
      CheckThisNode(config, PLIMSOLL_VERSION);
  if (!problems.ok()) {
    std::fprintf(stderr, "plimsolld: %s\n", std::string(problems.status().message()).c_str());
    return 1;
  }
  std::puts(preflight::ToJson(*problems).c_str());
  return 0;
}

// Prints what --check-config adds to a valid configuration, which stays valid.
void TellNodeProblems(const Config& config) {
  const absl::StatusOr<std::vector<preflight::Problem>> problems =
      CheckThisNode(config, PLIMSOLL_VERSION);
  if (!problems.ok()) {
    std::fprintf(stderr, "plimsolld: node: %s\n", std::string(problems.status().message()).c_str());
    return;
  }
  for (const preflight::Problem& problem : *problems) {
    std::fprintf(stderr, "plimsolld: node: %s: %s. Remedy: %s\n",
                 problem.is_error ? "error" : "warning", problem.what.c_str(),
                 problem.remedy.c_str());
  }
}

absl::StatusOr<std::optional<int>> BecomeDaemon(const DaemonFlags& flags) {
  PLIMSOLL_RETURN_IF_ERROR(CheckDescriptorLimit());
  if (!flags.keep_streams) return std::nullopt;
  return BecomeMainProcess();
}

// The exit code of a process that doesn't go on as the daemon.
std::optional<int> BeginService(const DaemonFlags& flags) {
  BlockSignals();
  const absl::StatusOr<std::optional<int>> ended = BecomeDaemon(flags);
  if (ended.ok()) return *ended;
  std::fprintf(stderr, "plimsolld: %s\n", std::string(ended.status().message()).c_str());
  return 1;
}

int Main(int argc, char** argv) {
  if (const absl::Status stack = CheckStackLimit(); !stack.ok()) {
    std::fprintf(stderr, "plimsolld: %s\n", std::string(stack.message()).c_str());
    return 1;
  }
  // Two arenas instead of eight per core: with some eighty threads, those are most of an idle
  // daemon's memory.
  mallopt(M_ARENA_MAX, 2);
  // Large buffers go back to the kernel whole. By default the threshold rises to the largest buffer
  // ever freed, and large buffers in the heap leave the holes.
  mallopt(M_MMAP_THRESHOLD, 128 * 1024);
#ifdef NDEBUG
  // Debian's library checks every lock for deadlocks, under one lock of its own, and ends the
  // process if one is possible: right for tests, which run a debug build.
  absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);
#endif
  DaemonFlags flags;
  if (const auto exit = ParseFlags(argc, argv, PLIMSOLL_BUILD, flags); exit.has_value()) {
    return Leave(*exit);
  }
  if (!flags.check_config && !flags.inspect && !flags.check_node) {
    if (const std::optional<int> exit = BeginService(flags); exit.has_value()) return *exit;
  }
  absl::StatusOr<Settings> settings = LoadSettings(flags);
  std::vector<std::string> warnings;
  if (settings.ok() && !flags.inspect && !flags.check_node) {
    const absl::Status fits = CheckAgainstMachine(flags, settings->config, &warnings);
    if (!fits.ok()) settings = Placed(flags, settings->config_path, fits);
  }
  if (!settings.ok()) {
    std::fprintf(stderr, "plimsolld: %s\n", std::string(settings.status().message()).c_str());
    return 2;
  }
  if (flags.check_config) {
    // A start puts its own into its log.
    for (const std::string& warning : warnings) {
      std::fprintf(stderr, "plimsolld: warning: %s\n", warning.c_str());
    }
    if (!flags.standalone) TellNodeProblems(settings->config);
    std::puts("configuration is valid");
    return 0;
  }
  if (flags.check_node) return PrintNodeCheck(settings->config);
  if (flags.inspect) return PrintInspection(settings->config);
  // Modes are chosen one by one, and some files are for containers' users, who match no owner here:
  // the root directory, the pod's picture. The starter's mask may be stricter.
  umask(022);
  // Never destroyed: gRPC's threads, and the one that waits for clients, may write until the
  // process has ended.
  Log& log = *new Log(ParseLogFormat(settings->config.log.format),
                      ParseLogLevel(settings->config.log.level));
  TakeLibrariesLines(&log);
  const absl::Status status = Serve(flags, *std::move(settings), log);
  if (!status.ok()) log.Write(LogLevel::kError, status.message());
  return status.ok() ? 0 : 1;
}

}  // namespace
}  // namespace plimsoll::daemon

int main(int argc, char** argv) {
  return plimsoll::daemon::Main(argc, argv);
}
