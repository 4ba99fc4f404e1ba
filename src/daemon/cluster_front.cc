#include "daemon/cluster_front.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "base/unique_fd.h"
#include "daemon/config/find_group.h"
#include "daemon/describe_node.h"

namespace plimsoll::daemon {
namespace {

// The classes of the pod's newest sandbox that lives.
std::optional<qos::HeldClasses> HeldBy(const runtime::Engine& engine, const std::string& pod_uid) {
  const runtime::SandboxRecord* newest = nullptr;
  const std::vector<runtime::SandboxRecord> sandboxes = engine.ListSandboxes();
  for (const runtime::SandboxRecord& sandbox : sandboxes) {
    const bool lives = sandbox.state == runtime::SandboxState::kReady ||
                       sandbox.state == runtime::SandboxState::kCreating;
    if (!lives || sandbox.spec.uid != pod_uid) continue;
    if (newest == nullptr || sandbox.created_unix_nanos > newest->created_unix_nanos) {
      newest = &sandbox;
    }
  }
  if (newest == nullptr) return std::nullopt;
  return newest->classes;
}

// The default socket's directory. Whoever mounts the run directory has the CRI's socket too.
absl::Status MakeSocketDirectory(const FsRoot& run, std::optional<gid_t> group) {
  PLIMSOLL_RETURN_IF_ERROR(run.MakeDirs(kClusterSocketDirectory, 0750));
  PLIMSOLL_ASSIGN_OR_RETURN(const UniqueFd directory,
                            run.OpenFile(kClusterSocketDirectory, O_DIRECTORY | O_NOFOLLOW));
  // Another group may have had it, and the umask its say.
  if (fchown(directory.get(), geteuid(), group.value_or(getegid())) != 0 ||
      fchmod(directory.get(), 0750) != 0) {
    return ErrnoStatus(errno,
                       absl::StrCat("set group and mode of ", run.PathOf(kClusterSocketDirectory)));
  }
  return absl::OkStatus();
}

bool TopologyIsOn(const Config& config) {
  return config.feature_gates.enabled("KubeletResourceDiscoveryFromCRI");
}

}  // namespace

void ClusterFront::Open(Parts parts) {
  parts_ = std::make_unique<Parts>(std::move(parts));
  auto classes = std::make_unique<cluster::PodClasses>(cluster::PodClassesOptions{
      .directory = parts_->state,
      .registry = ClassesAreOn(parts_->config) ? parts_->classes->registry() : nullptr,
      .held_by = [engine = parts_->engine](const std::string& uid) {
        return HeldBy(*engine, uid);
      }});
  if (const absl::Status readable = classes->readable(); !readable.ok()) {
    parts_->log->Write(LogLevel::kError, "no pod can be started",
                       {{"error", std::string(readable.message())}});
  }
  absl::MutexLock lock(&mutex_);
  classes_ = std::move(classes);
}

cluster::ReportSources ClusterFront::Sources() const {
  cluster::ReportSources sources;
  sources.version = parts_->version;
  if (ClassesAreOn(parts_->config)) sources.registry = parts_->classes->registry();
  if (TopologyIsOn(parts_->config)) sources.topology = parts_->node->publisher();
  sources.partition = [node = parts_->node] { return node->Ready(); };
  sources.told = [classes = classes_.get()] { return classes->readable(); };
  sources.grants = parts_->grants;
  return sources;
}

absl::StatusOr<cluster::ServerOptions> ClusterFront::ServerOptionsFor(
    const std::string& path) const {
  cluster::ServerOptions options{.host = parts_->host};
  options.socket.path = path;
  const KubeConfig& kube = parts_->config.kube;
  PLIMSOLL_ASSIGN_OR_RETURN(options.socket.group, FindClusterGroup(kube));
  if (kube.socket == "auto") {
    PLIMSOLL_RETURN_IF_ERROR(MakeSocketDirectory(parts_->run, options.socket.group));
  }
  options.watch = watch_.get();
  options.classes = classes_.get();
  options.observer = [activity = parts_->activity](const cri::FinishedCall& call) {
    activity->OnCall(call);
  };
  options.tracer = [activity = parts_->activity](absl::string_view method,
                                                 const std::string& request) {
    activity->OnRequest(method, request);
  };
  options.on_socket_lost = [log = parts_->log, path](const absl::Status& made) {
    log->Write(LogLevel::kWarning, "another process removed the cluster's socket",
               {{"socket", path}, {"made_again", made.ok() ? "yes" : std::string(made.message())}});
  };
  return options;
}

absl::Status ClusterFront::Serve() {
  const std::string path = ClusterSocketPath(parts_->config);
  if (path.empty()) return absl::OkStatus();
  auto maker = std::make_shared<cluster::ReportMaker>(Sources());
  cluster::NodeWatchOptions watching;
  watching.has_new_drift = [maker] { return maker->HasNewDrift(); };
  auto watch = std::make_unique<cluster::NodeWatch>(
      [maker](cluster::Looks looks) { return maker->Make(looks); }, std::move(watching));
  {
    absl::MutexLock lock(&mutex_);
    watch_ = std::move(watch);
  }
  parts_->classes->registry()->changed().Listen([watch = watch_.get()] { watch->Wake(); });
  subscription_ = parts_->node->publisher()->Subscribe(
      [watch = watch_.get()](const topology::Edition&) { watch->Wake(); });
  PLIMSOLL_ASSIGN_OR_RETURN(cluster::ServerOptions options, ServerOptionsFor(path));
  return StartServer(std::move(options));
}

absl::Status ClusterFront::StartServer(cluster::ServerOptions options) {
  served_group_ = options.socket.group;
  PLIMSOLL_ASSIGN_OR_RETURN(auto server, cluster::Server::Start(std::move(options)));
  absl::MutexLock lock(&mutex_);
  server_ = std::move(server);
  return absl::OkStatus();
}

void ClusterFront::StopServer() {
  std::unique_ptr<cluster::Server> server;
  {
    absl::MutexLock lock(&mutex_);
    server = std::move(server_);
  }
  server.reset();
}

absl::Status ClusterFront::FollowGroup() {
  const std::string path = ClusterSocketPath(parts_->config);
  if (path.empty() || watch_ == nullptr) return absl::OkStatus();
  PLIMSOLL_ASSIGN_OR_RETURN(const std::optional<gid_t> group,
                            FindClusterGroup(parts_->config.kube));
  bool serves = false;
  {
    absl::MutexLock lock(&mutex_);
    serves = server_ != nullptr;
  }
  if (serves && group == served_group_) return absl::OkStatus();
  PLIMSOLL_ASSIGN_OR_RETURN(cluster::ServerOptions options, ServerOptionsFor(path));
  StopServer();
  return Annotate(StartServer(std::move(options)), "the socket is gone until the next reload");
}

void ClusterFront::StopServing() {
  StopServer();
  if (watch_ == nullptr) return;
  parts_->classes->registry()->changed().Listen(nullptr);
  parts_->node->publisher()->Unsubscribe(subscription_);
  std::unique_ptr<cluster::NodeWatch> watch;
  {
    absl::MutexLock lock(&mutex_);
    watch = std::move(watch_);
  }
  watch.reset();  // waits for a report under way
}

void ClusterFront::Close() {
  StopServing();
  absl::MutexLock lock(&mutex_);
  classes_.reset();
}

cri::ClusterState ClusterFront::State() const {
  absl::MutexLock lock(&mutex_);
  if (classes_ == nullptr) return {};
  const qos::ClassesFrom from = parts_->config.classes.from;
  return {.socket_path = server_ == nullptr ? "" : ClusterSocketPath(parts_->config),
          .watchers = watch_ == nullptr ? 0 : watch_->watchers(),
          .told_claims = classes_->size(),
          .classes_from_scheduler = from == qos::ClassesFrom::kScheduler ||
                                    (from == qos::ClassesFrom::kAuto && classes_->scheduled())};
}

ClusterCounts ClusterFront::Counts() const {
  absl::MutexLock lock(&mutex_);
  ClusterCounts counts;
  if (classes_ != nullptr) counts.told_claims = classes_->size();
  if (watch_ == nullptr) return counts;
  counts.watchers = watch_->watchers();
  counts.reports_sent = watch_->sent();
  return counts;
}

}  // namespace plimsoll::daemon
