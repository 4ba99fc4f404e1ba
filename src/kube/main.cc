// plimsoll-kube.
#include <malloc.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "base/status.h"
#include "base/unique_fd.h"
#include "kube/api_access.h"
#include "kube/commands.h"
#include "kube/flags.h"
#include "kube/inherited_sockets.h"
#include "kube/program.h"
#include "service/logging.h"
#include "service/notify.h"
#include "service/stop_signals.h"

namespace plimsoll::kube {
namespace {

const char* Getenv(const char* name) {
  return std::getenv(name);
}

void Warn(Log& log, const absl::Status& status) {
  if (!status.ok()) log.Write(LogLevel::kWarning, status.message());
}

absl::Status Serve(const KubeProgramConfig& config, int ready_fd, Log& log) {
  PLIMSOLL_ASSIGN_OR_RETURN(const UniqueFd signals, BlockStopSignals());
  PLIMSOLL_ASSIGN_OR_RETURN(auto sockets, InheritedSockets(Getenv, getpid()));
  PLIMSOLL_ASSIGN_OR_RETURN(const std::unique_ptr<Program> program,
                            Program::Start(config, std::move(sockets), Getenv, &log));
  log.Write(LogLevel::kInfo, "serving",
            {{"version", PLIMSOLL_VERSION},
             {"node", config.node_name},
             {"kubelet", config.kubelet_root},
             {"runtime", config.runtime_socket}});
  Warn(log, NotifyServiceManager("READY=1"));
  Warn(log, NotifyReadyFd(ready_fd));
  // SIGHUP changes nothing: tokens and certificates are read again as they change.
  WaitForStop(signals);
  Warn(log, NotifyServiceManager("STOPPING=1"));
  log.Write(LogLevel::kInfo, "stopping; what is published stays");
  return absl::OkStatus();
}

int Fail(const absl::Status& status, int code) {
  std::fprintf(stderr, "plimsoll-kube: %s\n", std::string(status.message()).c_str());
  return code;
}

void Complain(const std::string& warning) {
  std::fprintf(stderr, "plimsoll-kube: warning: %s\n", warning.c_str());
}

int Print(absl::string_view text) {
  const absl::Status status = WriteAndClose(text, stdout);
  return status.ok() ? 0 : Fail(status, 1);
}

int PrintManifests(const KubeFlags& flags) {
  absl::StatusOr<ManifestOptions> options = ManifestOptionsOf(flags);
  if (!options.ok()) return Fail(options.status(), 2);
  if (options->classes.empty() && NeedsClasses(*options)) {
    const std::string socket =
        flags.config.runtime_socket.value_or(KubeProgramConfig().runtime_socket);
    auto classes = ClassesOfNode(socket, absl::Seconds(5));
    if (!classes.ok()) return Fail(classes.status(), 1);
    options->classes = *std::move(classes);
  }
  const absl::StatusOr<std::string> text = Manifests(*options);
  if (!text.ok()) return Fail(text.status(), 2);
  return Print(*text);
}

int TakeBack(const KubeProgramConfig& config, bool force) {
  const absl::StatusOr<std::unique_ptr<ApiClient>> api = OpenApi(config, Getenv, Complain);
  if (!api.ok()) return Fail(api.status(), 2);
  const auto link =
      RuntimeLink::Open(config.runtime_socket, [](const std::shared_ptr<const NodeReport>&) {});
  const absl::StatusOr<std::string> done = Remove(config, **api, *link, force);
  if (!done.ok()) return Fail(done.status(), 1);
  return Print(*done);
}

int Main(int argc, char** argv) {
  // Few arenas: the program has threads that wait, and little to allocate.
  mallopt(M_ARENA_MAX, 2);
#ifdef NDEBUG
  // The library's look for deadlocks is right for tests, which run a debug build.
  absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);
#endif
  KubeFlags flags;
  if (const auto exit = ParseFlags(argc, argv, PLIMSOLL_BUILD, flags); exit.has_value()) {
    return Leave(*exit);
  }
  if (flags.command == KubeFlags::Command::kManifests) return PrintManifests(flags);
  const absl::StatusOr<KubeProgramConfig> config = LoadConfig(flags.config, Getenv);
  if (!config.ok()) return Fail(config.status(), 2);
  if (flags.check_config) {
    const absl::Status files = WithPlaces(CheckFiles(*config, Complain), flags.config);
    return files.ok() ? Print("configuration is valid\n") : Fail(files, 2);
  }
  umask(022);
  if (flags.command == KubeFlags::Command::kRemove) return TakeBack(*config, flags.force);
  // Never destroyed: gRPC's threads may write until the process has ended.
  Log& log = *new Log(ParseLogFormat(config->log_format), ParseLogLevel(config->log_level));
  const absl::Status status = Serve(*config, flags.ready_fd, log);
  if (!status.ok()) log.Write(LogLevel::kError, status.message());
  return status.ok() ? 0 : 1;
}

}  // namespace
}  // namespace plimsoll::kube

int main(int argc, char** argv) {
  return plimsoll::kube::Main(argc, argv);
}
