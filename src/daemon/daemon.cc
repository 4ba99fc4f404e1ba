#include "daemon/daemon.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"
#include "base/fs_root.h"
#include "base/status.h"
#include "base/subprocess.h"
#include "cri/server.h"
#include "daemon/activity.h"
#include "daemon/cgroup_driver.h"
#include "daemon/changed_keys.h"
#include "daemon/configured_images.h"
#include "daemon/counts.h"
#include "daemon/describe_node.h"
#include "daemon/directory_lock.h"
#include "daemon/find_group.h"
#include "daemon/freed_memory.h"
#include "daemon/metrics.h"
#include "daemon/node_classes.h"
#include "daemon/node_health.h"
#include "daemon/node_resources.h"
#include "daemon/preconditions.h"
#include "daemon/run_directory.h"
#include "daemon/status_pages.h"
#include "image/image_service.h"
#include "linux/cgroup/cgroup.h"
#include "network/network.h"
#include "runtime/engine.h"
#include "runtime/event_log.h"
#include "runtime/image_events.h"
#include "runtime/oci/container_runtime.h"
#include "runtime/store/store.h"
#include "streaming/backend.h"
#include "streaming/server.h"

namespace plimsoll::daemon {
namespace {

// Starting takes the processor: more at once than it has cores, with some to spare for what waits
// for files, only makes each slower.
cri::LaneOptions LanesFor(int workers) {
  cri::LaneOptions lanes;
  lanes.waiting_threads = workers;
  const int useful = std::max(16, 2 * static_cast<int>(std::thread::hardware_concurrency()));
  lanes.work_threads = std::min(workers, useful);
  return lanes;
}

ImageSettings ImageSettingsOf(const Config& config) {
  return {config.insecure_registries, config.pinned_images};
}

class DaemonImpl final : public Daemon {
 public:
  DaemonImpl(DaemonOptions options, FsRoot host, Log* log)
      : options_(std::move(options)), host_(std::move(host)), log_(log) {}

  ~DaemonImpl() override { CloseEngine(); }

  absl::Status Start() {
    const Config& config = options_.config;
    PLIMSOLL_RETURN_IF_ERROR(CheckPrograms(config));
    PLIMSOLL_RETURN_IF_ERROR(BecomeChildSubreaper());
    PLIMSOLL_ASSIGN_OR_RETURN(descriptor_limit_, RaiseDescriptorLimit());
    PLIMSOLL_RETURN_IF_ERROR(CheckFileSizeLimit());
    PLIMSOLL_ASSIGN_OR_RETURN(driver_, OpenCgroupDriver(host_, config, options_.standalone));
    if (driver_.systemd) {
      log_->Write(LogLevel::kInfo, "control groups are managed by systemd", {});
    } else if (!driver_.warning.empty()) {
      log_->Write(LogLevel::kWarning, driver_.warning, {});
    }

    PLIMSOLL_ASSIGN_OR_RETURN(state_, FsRoot::OpenOrCreate(config.state_dir));
    PLIMSOLL_ASSIGN_OR_RETURN(state_lock_, DirectoryLock::Take(*state_, "state directory"));
    PLIMSOLL_ASSIGN_OR_RETURN(const size_t sandboxes, CountSandboxes(host_, config.run_dir));
    PLIMSOLL_ASSIGN_OR_RETURN(run_, RunDirectory::Open(host_, config.run_dir));
    absl::Cleanup undo = [&] { run_->Undo().IgnoreError(); };

    PLIMSOLL_ASSIGN_OR_RETURN(store_, runtime::Store::Open(*state_, sandboxes));
    PLIMSOLL_RETURN_IF_ERROR(OpenParts());
    PLIMSOLL_RETURN_IF_ERROR(StartStatusPages());
    PLIMSOLL_RETURN_IF_ERROR(OpenEngine());
    PLIMSOLL_ASSIGN_OR_RETURN(
        node_, NodeResources::Start(config.node_resources, host_, config.run_dir, *state_,
                                    engine_.get(), log_));
    PLIMSOLL_RETURN_IF_ERROR(StartStreaming());
    health_->Recovered(engine_.get(), [this] { return node_->Ready(); });
    PLIMSOLL_RETURN_IF_ERROR(StartServer());
    std::move(undo).Cancel();
    return absl::OkStatus();
  }

  void Reload(const Config& config) override {
    log_->set_level(ParseLogLevel(config.log.level));
    images_->Replace(ImageSettingsOf(config));
    // What is left after making equal what has just been taken over.
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
    classes_->Reload();
  }

  bool Stop(absl::Duration grace) override {
    health_->Stopping();
    // Streams have no end that could be waited for.
    if (streaming_ != nullptr) streaming_->Stop();
    return server_->Shutdown(grace);
  }

  absl::Status RemoveRunDirectoryIfUnused() override {
    if (!engine_->ListSandboxes().empty()) return absl::OkStatus();
    CloseEngine();
    return FirstError(driver_.cgroups->RemoveIfUnused(driver_.pod_parent), run_->Remove());
  }

 private:
  // What asks the engine goes before it.
  void CloseEngine() {
    pages_.reset();
    std::unique_ptr<cri::Server> server;
    {
      absl::MutexLock lock(&server_mutex_);
      server = std::move(server_);
    }
    server.reset();
    streaming_.reset();
    node_.reset();
    if (listener_.has_value()) events_->Unlisten(*listener_);
    listener_.reset();
    health_.reset();
    activity_.reset();
    metrics_.reset();
    if (classes_ != nullptr) classes_->StopFollowing();
    // Before the engine, which now asks it for nothing more: containers that go on keep their
    // layers when the engine lets go of the leases, also those of an image that was removed.
    images_.reset();
    engine_.reset();
    classes_.reset();
    runtime_.reset();
  }

  // What the engine is made from, and what counts and watches it.
  absl::Status OpenParts() {
    const Config& config = options_.config;
    OpenMetrics();
    PLIMSOLL_ASSIGN_OR_RETURN(const FsRoot image_root,
                              FsRoot::OpenOrCreate(state_->PathOf("images")));
    image::ImageServiceOptions image_options{.registries_conf = config.registries_file,
                                             .share_layers = config.share_layers};
    image_options.on_pull_start = [this] { metrics_->ObservePullStart(); };
    image_options.on_pull_end = [this](const image::FinishedPull& pull) {
      metrics_->ObservePullEnd(pull.status, pull.duration, pull.bytes);
    };
    PLIMSOLL_ASSIGN_OR_RETURN(std::unique_ptr<image::ImageService> images,
                              image::ImageService::Open(image_root, store_.get(), image_options));
    events_.emplace(static_cast<size_t>(config.event_log_capacity));
    images_ = std::make_unique<ConfiguredImages>(
        runtime::WithImageEvents(std::move(images), &*events_), ImageSettingsOf(config));

    runtime::OciOptions oci{.host = host_,
                            .state = *state_,
                            .run = run_->root(),
                            .crun = config.crun,
                            .restrict_oom_score_adj = config.restrict_oom_score_adj,
                            .cgroups = driver_.cgroups.get(),
                            .monitor_cgroup = driver_.monitors,
                            .descriptor_limit = descriptor_limit_,
                            .runs_image_volumes = config.image_volumes == "exec",
                            .enters_directly = config.exec == "direct"};
    for (const auto& [name, handler] : config.runtime_handlers) {
      if (!handler.program.empty()) oci.programs.insert(handler.program);
    }
    PLIMSOLL_ASSIGN_OR_RETURN(runtime_, runtime::ContainerRuntime::Create(std::move(oci)));
    if (!options_.standalone) {
      for (const std::string& limitation : runtime_->Limitations()) {
        log_->Write(LogLevel::kWarning, "this machine has a limitation", {{"what", limitation}});
      }
    }

    PLIMSOLL_ASSIGN_OR_RETURN(
        classes_, NodeClasses::Open(host_, config, driver_.cgroups.get(), store_.get(), log_));
    cdi_ = std::make_unique<cdi::Registry>(host_, config.cdi_spec_dirs);

    PLIMSOLL_RETURN_IF_ERROR(OpenNetwork());

    metrics_->SetClasses(classes_->registry());
    listener_ =
        events_->Listen([this](const runtime::Event& event, const runtime::EventSubject& subject) {
          activity_->OnEvent(event, subject);
          if (event.type == runtime::EventType::kSandboxRemoved) freed_memory_.Note();
        });
    OpenHealth();
    return absl::OkStatus();
  }

  // Finds again what there is.
  absl::Status OpenEngine() {
    const Config& config = options_.config;
    const absl::Time start = absl::Now();
    runtime::EngineOptions engine{
        .host = host_,
        .state = *state_,
        .run = run_->root(),
        .default_cgroup_parent = driver_.pod_parent,
        .store = store_.get(),
        .images = images_.get(),
        .cgroups = driver_.cgroups.get(),
        .runtime = runtime_.get(),
        .events = &*events_,
        .classes = classes_->registry(),
        .devices = cdi_.get(),
        .handlers = &config.runtime_handlers,
        .network = network_.get(),
        .collect_network_garbage = config.network.collect_garbage && !options_.standalone,
        .show_pictures = PicturesAreOn(config),
        .assign_classes = ClassesAreOn(config)};
    engine.observe_phase = [this](const char* phase, absl::Duration duration) {
      metrics_->ObservePhase(phase, duration);
    };
    PLIMSOLL_ASSIGN_OR_RETURN(engine_, runtime::Engine::Create(std::move(engine)));
    found_ = engine_.get();
    metrics_->ObserveRecovery(CountRecovered(*engine_, absl::Now() - start));
    classes_->Follow();
    freed_memory_.Note();  // what the start needed
    return absl::OkStatus();
  }

  absl::Status OpenNetwork() {
    const NetworkConfig& config = options_.config.network;
    network::Options options{.host = host_, .state = *state_};
    options.config_directory = config.config_dir;
    options.plugin_directories = config.plugin_dirs;
    options.plugin_timeout = absl::Seconds(config.plugin_timeout);
    options.interfaces = config.interfaces;
    options.is_optional = options_.standalone;
    options.tell = [this](const std::string& text) {
      log_->WriteLimited(LogLevel::kInfo, absl::StrCat("network: ", text), {});
    };
    PLIMSOLL_ASSIGN_OR_RETURN(network_, network::Network::Open(std::move(options)));
    return absl::OkStatus();
  }

  void OpenMetrics() {
    metrics_.emplace(options_.version, [this] {
      const runtime::Engine* engine = found_;
      return engine == nullptr ? StateCounts() : CountStates(*engine);
    });
    metrics_->SetLanes([this] { return CountLanes(Lanes()); });
    metrics_->SetHost(host_);
    activity_.emplace(log_, &*metrics_);
  }

  void OpenHealth() {
    health_.emplace(NodeHealth::Parts{.host = host_,
                                      .state = *state_,
                                      .state_directory = options_.config.state_dir,
                                      .run_directory = options_.config.run_dir,
                                      .runtime = runtime_.get(),
                                      .cgroups = driver_.cgroups.get(),
                                      .network = [this] { return network_->Ready(); },
                                      .lanes = [this] { return Lanes(); }});
  }

  // Before anything is found again, so that it can be told that this is under way.
  absl::Status StartStatusPages() {
    if (options_.config.metrics_address.empty()) return absl::OkStatus();
    PLIMSOLL_ASSIGN_OR_RETURN(
        pages_, ServeStatusPages(options_.config.metrics_address,
                                 {.metrics = [this] { return metrics_->Text(); },
                                  .alive = [this] { return health_->Alive(); },
                                  .conditions = [this] { return health_->Conditions(); }},
                                 [this](absl::string_view text) {
                                   log_->Write(LogLevel::kWarning, absl::StrCat("metrics: ", text),
                                               {});
                                 }));
    return absl::OkStatus();
  }

  absl::Status StartStreaming() {
    const StreamingConfig& config = options_.config.streaming;
    if (config.address.empty()) return absl::OkStatus();
    streamed_ = streaming::NewEngineBackend(&engine_->commands());
    absl::StatusOr<std::unique_ptr<streaming::Server>> started =
        streaming::Server::Start({.address = config.address,
                                  .certificate = config.certificate,
                                  .key = config.key,
                                  .idle_timeout = absl::Seconds(config.idle_timeout),
                                  .creation_timeout = absl::Seconds(config.creation_timeout),
                                  .backend = streamed_.get()});
    // `plimsoll run` needs none, and works where loopback is down.
    if (!started.ok() && options_.standalone) {
      log_->Write(LogLevel::kWarning, "no streams are served",
                  {{"error", std::string(started.status().message())}});
      return absl::OkStatus();
    }
    PLIMSOLL_RETURN_IF_ERROR(Annotate(started.status(), "streaming"));
    streaming_ = *std::move(started);
    log_->Write(LogLevel::kInfo, "streams are served", {{"url", streaming_->base_url()}});
    return absl::OkStatus();
  }

  absl::Status StartServer() {
    const Config& config = options_.config;
    cri::ServerOptions server;
    server.socket_path = SocketPath(config);
    if (!config.socket_group.empty()) {
      PLIMSOLL_ASSIGN_OR_RETURN(server.socket_group, FindGroup(config.socket_group));
    }
    server.info = DescribeNode({.options = options_,
                                .driver = driver_,
                                .runtime = runtime_.get(),
                                .classes = classes_.get(),
                                .cdi = cdi_.get(),
                                .network = network_.get(),
                                .node = node_.get(),
                                .health = &*health_});
    server.info.streaming = streaming_.get();
    server.calls.lanes = LanesFor(config.workers);
    server.calls.lanes.on_exhausted = [this](const cri::LaneState& lane) {
      activity_->OnExhausted(lane);
    };
    server.calls.observer = [this](const cri::FinishedCall& call) { activity_->OnCall(call); };
    server.calls.tracer = [this](absl::string_view method, const std::string& request) {
      activity_->OnRequest(method, request);
    };
    server.engine = engine_.get();
    server.images = images_.get();
    server.events = &*events_;
    if (config.feature_gates.enabled("KubeletResourceDiscoveryFromCRI")) {
      server.topology = node_->publisher();
    }
    server.topology_hooks.on_sent = [this](cri::TopologyFeed::Reader reader) {
      metrics_->ObserveTopologySent(reader == cri::TopologyFeed::Reader::kClient);
    };
    server.topology_hooks.on_client = [this](bool is_there) { node_->ClientTakes(is_there); };
    server.topology_hooks.why_none = [this] { return std::string(node_->Ready().message()); };
    server.abandon_calls = [this] {
      runtime_->CancelExecs();
      engine_->CallOffUpdates();
      engine_->readings().CallOffWalks();
    };
    PLIMSOLL_ASSIGN_OR_RETURN(std::unique_ptr<cri::Server> started,
                              cri::Server::Start(std::move(server)));
    {
      absl::MutexLock lock(&server_mutex_);
      server_ = std::move(started);
    }
    health_->Serving();
    return absl::OkStatus();
  }

  void ReloadNodeResources(const topology::NodeResourcesConfig& config) {
    const absl::Status status = node_->Reload(config);
    if (status.ok()) return;
    log_->Write(LogLevel::kError, "nodeResources not reloaded, what was in force before stays",
                {{"error", std::string(status.message())}});
  }

  // None before the server is there, and after. For threads other than that which starts and stops.
  std::vector<cri::LaneState> Lanes() const {
    absl::MutexLock lock(&server_mutex_);
    return server_ == nullptr ? std::vector<cri::LaneState>() : server_->Lanes();
  }

  const DaemonOptions options_;
  const FsRoot host_;
  Log* const log_;
  runtime::DescriptorLimit descriptor_limit_;  // that this process was started with
  // Each uses those above it.
  std::optional<FsRoot> state_;
  std::optional<DirectoryLock> state_lock_;
  std::unique_ptr<RunDirectory> run_;
  CgroupDriver driver_;
  std::unique_ptr<runtime::Store> store_;
  std::optional<runtime::EventLog> events_;
  std::unique_ptr<ConfiguredImages> images_;
  std::unique_ptr<runtime::ContainerRuntime> runtime_;
  std::unique_ptr<NodeClasses> classes_;
  std::unique_ptr<cdi::Registry> cdi_;
  std::unique_ptr<network::Network> network_;
  std::unique_ptr<runtime::Engine> engine_;
  std::optional<Metrics> metrics_;
  std::optional<Activity> activity_;   // tells the metrics
  std::optional<NodeHealth> health_;   // asks all of the above but the metrics
  std::unique_ptr<HttpServer> pages_;  // asks both
  FreedMemory freed_memory_;
  std::optional<int> listener_;
  std::unique_ptr<NodeResources> node_;           // asks `engine_`
  std::unique_ptr<streaming::Backend> streamed_;  // asks `engine_`
  std::unique_ptr<streaming::Server> streaming_;  // asks `streamed_`
  std::unique_ptr<cri::Server> server_;           // changed with the mutex held, by one thread
  mutable absl::Mutex server_mutex_;
  std::atomic<const runtime::Engine*> found_ = nullptr;  // `engine_`, for other threads
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
