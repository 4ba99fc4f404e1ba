// plimsoll-agent.
#include <google/protobuf/stubs/logging.h>
#include <malloc.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "agent/agent.h"
#include "agent/config.h"
#include "agent/import_command.h"
#include "agent/kubelet_check.h"
#include "base/status.h"
#include "base/unique_fd.h"
#include "service/logging.h"
#include "service/notify.h"
#include "service/stop_signals.h"

namespace plimsoll::agent {
namespace {

void Warn(Log& log, const absl::Status& status) {
  if (!status.ok()) log.Write(LogLevel::kWarning, status.message());
}

absl::Status Serve(const AgentConfig& config, int ready_fd, Log& log) {
  PLIMSOLL_ASSIGN_OR_RETURN(const UniqueFd signals, BlockStopSignals());
  bool has_stopped = false;
  const absl::StatusOr<std::unique_ptr<Agent>> agent =
      Agent::Start(config, PLIMSOLL_VERSION, &log, [&] { return has_stopped = TakeStop(signals); });
  if (absl::IsCancelled(agent.status()) && has_stopped) {
    log.Write(LogLevel::kInfo, "stopping; pods run on");
    return absl::OkStatus();
  }
  PLIMSOLL_RETURN_IF_ERROR(agent.status());
  log.Write(LogLevel::kInfo, "serving",
            {{"version", PLIMSOLL_VERSION},
             {"socket", config.socket},
             {"node", config.node_name},
             {"runtime", config.runtime_endpoint}});
  Warn(log, NotifyServiceManager("READY=1"));
  Warn(log, NotifyReadyFd(ready_fd));
  // SIGHUP changes nothing: the directory of manifests is watched.
  WaitForStop(signals);
  Warn(log, NotifyServiceManager("STOPPING=1"));
  log.Write(LogLevel::kInfo, "stopping; pods run on");
  return absl::OkStatus();
}

int Main(int argc, char** argv) {
  if (argc > 1 && argv[1] == std::string(kImportCommand)) {
    return RunImportCommand(argc - 1, argv + 1);
  }
  // Two arenas instead of eight per core: the agent has many threads that wait.
  mallopt(M_ARENA_MAX, 2);
#ifdef NDEBUG
  // The library's look for deadlocks is right for tests, which run a debug build.
  absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);
#endif
  AgentFlags flags;
  if (const auto exit = ParseFlags(argc, argv, PLIMSOLL_BUILD, flags); exit.has_value()) {
    return Leave(*exit);
  }
  const absl::StatusOr<AgentConfig> config = LoadConfig(flags);
  if (!config.ok()) {
    std::fprintf(stderr, "plimsoll-agent: %s\n", std::string(config.status().message()).c_str());
    return 2;
  }
  if (flags.check_config) {
    std::puts("configuration is valid");
    return 0;
  }
  umask(022);
  // Protobuf's lines about text that isn't UTF-8 have no bound and name no source.
  google::protobuf::SetLogHandler(nullptr);
  // Never destroyed: gRPC's threads may write until the process has ended.
  Log& log = *new Log(ParseLogFormat(config->log_format), ParseLogLevel(config->log_level));
  const absl::Status status = Serve(*config, flags.ready_fd, log);
  if (status.ok()) return 0;
  log.Write(LogLevel::kError, status.message());
  return IsAKubeletsNode(status) ? kExitOfAKubeletsNode : 1;
}

}  // namespace
}  // namespace plimsoll::agent

int main(int argc, char** argv) {
  return plimsoll::agent::Main(argc, argv);
}
