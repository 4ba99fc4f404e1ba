#include "daemon/daemon.h"

#include <malloc.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_join.h"
#include "base/fs_root.h"
#include "base/programs/subprocess.h"
#include "base/status.h"
#include "cri/server.h"
#include "daemon/cgroup_driver.h"
#include "daemon/cluster_front.h"
#include "daemon/config/changed_keys.h"
#include "daemon/config/find_group.h"
#include "daemon/configured_images.h"
#include "daemon/describe_node.h"
#include "daemon/front.h"
#include "daemon/kubelet_questions.h"
#include "daemon/node_engine.h"
#include "daemon/node_nri.h"
#include "daemon/node_resources.h"
#include "daemon/own_programs.h"
#include "daemon/preconditions.h"
#include "daemon/run_directory.h"
#include "daemon/telemetry/activity.h"
#include "daemon/telemetry/telemetry.h"
#include "linux/cgroup/cgroup.h"
#include "runtime/engine.h"
#include "runtime/oci/container_runtime.h"
#include "service/directory_lock.h"

namespace plimsoll::daemon {
namespace {

// Starting pods keeps the processor busy: more at once than its cores, with some to spare for file
// waits, only makes each slower.
cri::LaneOptions LanesFor(const FsRoot& host, int workers) {
  cri::LaneOptions lanes{.host = host};
  lanes.waiting_threads = workers;
  const int useful = std::max(16, 2 * static_cast<int>(std::thread::hardware_concurrency()));
  lanes.work_threads = std::min(workers, useful);
  return lanes;
}

// The state directory, and the run directory in it or elsewhere, both locked.
struct Directories {
  std::optional<FsRoot> state;
  std::optional<DirectoryLock> state_lock;
  std::unique_ptr<RunDirectory> run;
};

class DaemonImpl final : public Daemon {
 public:
  DaemonImpl(DaemonOptions options, FsRoot host, Log* log)
      : options_(std::move(options)), host_(std::move(host)), log_(log) {}

  ~DaemonImpl() override { Close(); }

  absl::Status Start() {
    PLIMSOLL_RETURN_IF_ERROR(CheckPrograms(options_.config));
    PLIMSOLL_RETURN_IF_ERROR(CheckInstalledWhole(options_.version));
    PLIMSOLL_RETURN_IF_ERROR(BecomeChildSubreaper());
    PLIMSOLL_ASSIGN_OR_RETURN(const runtime::DescriptorLimit descriptors, RaiseDescriptorLimit());
    PLIMSOLL_RETURN_IF_ERROR(CheckFileSizeLimit());
    PLIMSOLL_RETURN_IF_ERROR(OpenDriver());
    PLIMSOLL_ASSIGN_OR_RETURN(const size_t sandboxes, OpenDirectories());
    absl::Cleanup undo = [&] { directories_.run->Undo().IgnoreError(); };
    PLIMSOLL_RETURN_IF_ERROR(OpenParts(descriptors, sandboxes));
    PLIMSOLL_RETURN_IF_ERROR(engine_->Recover(nri_.hooks()));
    telemetry_->Recovered(engine_->engine());
    PLIMSOLL_RETURN_IF_ERROR(Serve());
    std::move(undo).Cancel();
    return absl::OkStatus();
  }

  void Reload(const Config& config) override {
    log_->set_level(ParseLogLevel(config.log.level));
    engine_->images()->Replace(ImageSettingsOf(config));
    // The remaining differences, once the keys just taken over are made equal.
    Config rest = config;
    rest.log.level = options_.config.log.level;
    rest.insecure_registries = options_.config.insecure_registries;
    rest.pinned_images = options_.config.pinned_images;
    rest.node_resources.partition = options_.config.node_resources.partition;
    rest.node_resources.outside = options_.config.node_resources.outside;
    const std::vector<std::string> waiting = ChangedKeys(options_.config, rest);
    const bool all = waiting.empty();
    std::vector<LogField> fields = {{"log_level", config.log.level}};
    if (!all) fields.push_back({"keys", absl::StrJoin(waiting, ", ")});
    log_->Write(
        all ? LogLevel::kInfo : LogLevel::kWarning,
        all ? "configuration reloaded"
            : "configuration reloaded: log.level, registries.insecure, images.pinned and "
              "nodeResources are in force, other keys have changed too and wait for a restart",
        fields);
    ReloadNodeResources(config.node_resources);
    engine_->classes()->Reload();
    if (const absl::Status served = cluster_.FollowGroup(); !served.ok()) {
      log_->Write(LogLevel::kError, "the socket for plimsoll-kube has not taken its group",
                  {{"error", std::string(served.message())}});
    }
  }

  bool Stop(absl::Duration grace) override {
    telemetry_->health()->Stopping();
    cluster_.StopServing();
    return front_.Stop(grace, options_.streams_ended);
  }

  int LeaveStreams() override {
    if (front_.open_streams() == 0) return 0;
    engine_->runtime()->CancelExecs();  // their clients have been cut off
    Close();
    if (const absl::Status left = LeaveUnit(); !left.ok()) {
      log_->Write(LogLevel::kWarning, "open streams stay in the unit's control group",
                  {{"error", std::string(left.message())}});
    }
    driver_.stop_following();
    directories_ = {};
    malloc_trim(0);
    return front_.open_streams();
  }

  absl::Status RemoveRunDirectoryIfUnused() override {
    if (!engine_->engine()->ListSandboxes().empty()) return absl::OkStatus();
    Close();
    return FirstError(driver_.cgroups->RemoveIfUnused(driver_.pod_parent),
                      directories_.run->Remove());
  }

 private:
  // Ends the engine last: the others ask it.
  void Close() {
    if (telemetry_ != nullptr) telemetry_->ClosePages();
    cluster_.StopServing();
    front_.Close();
    cluster_.Close();
    kubelet_.reset();
    nri_.Stop();
    node_.reset();
    if (telemetry_ != nullptr) telemetry_->LetGoOfEngine();
    if (engine_ != nullptr && front_.open_streams() > 0) front_.Keep(engine_->EndAllButRuntime());
    engine_.reset();
    telemetry_.reset();
  }

  // Moves this process and the commands' supervisors to the monitors, as the unit may end or be
  // killed.
  absl::Status LeaveUnit() {
    if (driver_.own.empty()) return absl::OkStatus();
    linux::CgroupManager& cgroups = *driver_.cgroups;
    absl::Status status = cgroups.AddProcess(driver_.monitors, getpid());
    if (absl::IsNotFound(status)) {
      PLIMSOLL_RETURN_IF_ERROR(cgroups.Create(driver_.monitors).status());
      status = cgroups.AddProcess(driver_.monitors, getpid());
    }
    PLIMSOLL_RETURN_IF_ERROR(status);
    PLIMSOLL_ASSIGN_OR_RETURN(const std::vector<pid_t> others,
                              cgroups.Processes(driver_.own, /*recursive=*/false));
    for (const pid_t pid : others) {
      if (pid == getppid()) continue;
      const absl::Status moved = cgroups.AddProcess(driver_.monitors, pid);
      if (!absl::IsNotFound(moved)) status = FirstError(status, moved);  // else it has ended
    }
    return status;
  }

  absl::Status OpenDriver() {
    PLIMSOLL_ASSIGN_OR_RETURN(driver_,
                              OpenCgroupDriver(host_, options_.config, options_.standalone));
    if (driver_.systemd) {
      log_->Write(LogLevel::kInfo, "control groups are managed by systemd", {});
    } else if (!driver_.warning.empty()) {
      log_->Write(LogLevel::kWarning, driver_.warning, {});
    }
    return absl::OkStatus();
  }

  // Returns how many sandboxes a daemon before this one has left in the run directory.
  absl::StatusOr<size_t> OpenDirectories() {
    const Config& config = options_.config;
    PLIMSOLL_ASSIGN_OR_RETURN(const size_t sandboxes, CountSandboxes(host_, config.run_dir));
    PLIMSOLL_RETURN_IF_ERROR(CheckStateIsThere(config.state_dir, sandboxes));
    PLIMSOLL_RETURN_IF_ERROR(WithRemedy(OpenState(), "state directory", config.state_dir));
    absl::StatusOr<std::unique_ptr<RunDirectory>> run = RunDirectory::Open(host_, config.run_dir);
    PLIMSOLL_RETURN_IF_ERROR(WithRemedy(run.status(), "run directory", config.run_dir));
    directories_.run = *std::move(run);
    return sandboxes;
  }

  absl::Status OpenState() {
    PLIMSOLL_ASSIGN_OR_RETURN(directories_.state, FsRoot::OpenOrCreate(options_.config.state_dir));
    PLIMSOLL_RETURN_IF_ERROR(CheckStateFileSystem(*directories_.state, options_.config.state_dir));
    PLIMSOLL_ASSIGN_OR_RETURN(directories_.state_lock,
                              DirectoryLock::Take(*directories_.state, "state directory"));
    return absl::OkStatus();
  }

  // Opens all that the engine uses. The status pages are served before the engine recovers, so that
  // they can tell of it.
  absl::Status OpenParts(const runtime::DescriptorLimit& descriptors, size_t sandboxes) {
    const Config& config = options_.config;
    telemetry_ = std::make_unique<Telemetry>(
        options_.version, host_, [this] { return front_.Lanes(); }, log_);
    absl::StatusOr<std::unique_ptr<NodeEngine>> engine =
        NodeEngine::Open({.config = config,
                          .standalone = options_.standalone,
                          .host = host_,
                          .state = *directories_.state,
                          .run = directories_.run->root(),
                          .sandboxes = sandboxes,
                          .driver = driver_,
                          .descriptor_limit = descriptors,
                          .log = log_,
                          .metrics = telemetry_->metrics()});
    PLIMSOLL_RETURN_IF_ERROR(engine.status());
    engine_ = *std::move(engine);
    PLIMSOLL_RETURN_IF_ERROR(nri_.Open({.config = config,
                                        .version = options_.version,
                                        .host = host_,
                                        .run = directories_.run->root(),
                                        .images = engine_->images(),
                                        .events = engine_->events(),
                                        .log = log_}));
    telemetry_->metrics()->SetNri([this] { return NriMetrics(nri_.State()); });
    telemetry_->metrics()->SetClasses(engine_->classes()->registry());
    telemetry_->metrics()->SetCluster([this] { return cluster_.Counts(); });
    telemetry_->Follow(engine_->events());
    telemetry_->OpenHealth({.host = host_,
                            .state = *directories_.state,
                            .run = directories_.run->root(),
                            .state_directory = config.state_dir,
                            .run_directory = config.run_dir,
                            .runtime = engine_->runtime(),
                            .cgroups = driver_.cgroups.get(),
                            .network = [this] { return engine_->network()->Ready(); },
                            .lanes = [this] { return front_.Lanes(); }});
    return telemetry_->ServePages(config.metrics_address);
  }

  absl::Status Serve() {
    const Config& config = options_.config;
    PLIMSOLL_ASSIGN_OR_RETURN(node_,
                              NodeResources::Start(config.node_resources, host_, config.run_dir,
                                                   *directories_.state, engine_->engine(), log_));
    PLIMSOLL_RETURN_IF_ERROR(nri_.Start(engine_->engine(), node_.get()));
    PLIMSOLL_RETURN_IF_ERROR(
        front_.StartStreaming(config.streaming, options_.standalone, engine_->engine(), log_));
    telemetry_->health()->Recovered(engine_->engine(), [this] { return node_->Ready(); });
    cluster_.Open({.config = config,
                   .version = options_.version,
                   .host = host_,
                   .state = *directories_.state,
                   .run = directories_.run->root(),
                   .engine = engine_->engine(),
                   .classes = engine_->classes(),
                   .node = node_.get(),
                   .activity = telemetry_->activity(),
                   .log = log_,
                   .grants = [this] { return AskGrants(); }});
    PLIMSOLL_ASSIGN_OR_RETURN(cri::ServerOptions server, MakeServerOptions());
    PLIMSOLL_RETURN_IF_ERROR(front_.StartServer(std::move(server)));
    PLIMSOLL_RETURN_IF_ERROR(cluster_.Serve());
    telemetry_->health()->Serving();
    return absl::OkStatus();
  }

  absl::StatusOr<cri::ServerOptions> MakeServerOptions() {
    const Config& config = options_.config;
    cri::ServerOptions server{.socket_path = SocketPath(config), .calls = ObservedCalls()};
    if (!config.socket_group.empty()) {
      PLIMSOLL_ASSIGN_OR_RETURN(server.socket_group, FindGroup(config.socket_group));
    }
    server.info = DescribeNode({.options = options_,
                                .driver = driver_,
                                .runtime = engine_->runtime(),
                                .classes = engine_->classes(),
                                .cdi = engine_->cdi(),
                                .network = engine_->network(),
                                .node = node_.get(),
                                .cluster = &cluster_,
                                .nri = &nri_,
                                .health = telemetry_->health()});
    if (config.kubelet.pods == "auto" && PicturesAreOn(config)) {
      kubelet_ = std::make_unique<KubeletQuestions>(
          kubelet::Kubelet::Make({.root = config.kubelet.root}), log_, telemetry_->metrics());
      server.info.facts = kubelet_->Source();
    }
    server.engine = engine_->engine();
    server.images = engine_->images();
    server.events = engine_->events();
    if (config.feature_gates.enabled("KubeletResourceDiscoveryFromCRI")) {
      server.topology = node_->publisher();
    }
    server.topology_hooks = {
        .on_sent =
            [metrics = telemetry_->metrics()](cri::TopologyFeed::Reader reader) {
              metrics->ObserveTopologySent(reader == cri::TopologyFeed::Reader::kClient);
            },
        .on_client = [node = node_.get()](bool is_there) { node->ClientTakes(is_there); },
        .why_none = [node = node_.get()] { return std::string(node->Ready().message()); }};
    server.abandon_calls = [engine = engine_.get()] {
      engine->images()->CallOff();
      engine->runtime()->CancelExecs();
      engine->engine()->CallOffUpdates();
      engine->engine()->readings().CallOffWalks();
    };
    return server;
  }

  absl::StatusOr<kubelet::Grants> AskGrants() {
    if (kubelet_ == nullptr) return absl::UnavailableError("no kubelet is asked");
    return kubelet_->Grants();
  }

  cri::CallOptions ObservedCalls() {
    cri::CallOptions calls{.lanes = LanesFor(host_, options_.config.workers)};
    Activity* const activity = telemetry_->activity();
    calls.lanes.on_exhausted = [activity](const cri::LaneState& lane) {
      activity->OnExhausted(lane);
    };
    calls.observer = [activity](const cri::FinishedCall& call) { activity->OnCall(call); };
    calls.tracer = [activity](absl::string_view method, const std::string& request) {
      activity->OnRequest(method, request);
    };
    return calls;
  }

  void ReloadNodeResources(const topology::NodeResourcesConfig& config) {
    const absl::Status status = node_->Reload(config);
    if (status.ok()) return;
    log_->Write(LogLevel::kError,
                "nodeResources not reloaded, the previous configuration stays in force",
                {{"error", std::string(status.message())}});
  }

  const DaemonOptions options_;
  const FsRoot host_;
  Log* const log_;
  // Each uses those above it.
  Directories directories_;
  CgroupSetup driver_;
  Front front_;
  std::unique_ptr<Telemetry> telemetry_;
  std::unique_ptr<KubeletQuestions> kubelet_;  // null: nothing is asked
  std::unique_ptr<NodeEngine> engine_;
  NodeNri nri_;                          // its hooks are the engine's
  std::unique_ptr<NodeResources> node_;  // asks the engine
  ClusterFront cluster_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Daemon>> Daemon::Start(DaemonOptions options, Log* log) {
  if (geteuid() != 0) {
    return absl::PermissionDeniedError(
        "plimsolld must be started by root: it mounts, makes namespaces and writes cgroups");
  }
  PLIMSOLL_ASSIGN_OR_RETURN(FsRoot host, FsRoot::Open("/"));
  auto daemon = std::make_unique<DaemonImpl>(std::move(options), std::move(host), log);
  PLIMSOLL_RETURN_IF_ERROR(daemon->Start());
  return std::unique_ptr<Daemon>(std::move(daemon));
}

}  // namespace plimsoll::daemon
