#include "daemon/daemon.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <map>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/synchronization/mutex.h"
#include "base/clock.h"
#include "base/fs_root.h"
#include "base/status.h"
#include "base/subprocess.h"
#include "cri/grpc_status.h"
#include "cri/server.h"
#include "daemon/cgroup_driver.h"
#include "daemon/class_warnings.h"
#include "daemon/classes.h"
#include "daemon/configured_images.h"
#include "daemon/directory_lock.h"
#include "daemon/find_group.h"
#include "daemon/held_news.h"
#include "daemon/metrics.h"
#include "daemon/node_health.h"
#include "daemon/node_resources.h"
#include "daemon/run_directory.h"
#include "daemon/status_pages.h"
#include "image/image_service.h"
#include "linux/cgroup.h"
#include "linux/uevents.h"
#include "network/network.h"
#include "runtime/engine.h"
#include "runtime/event_log.h"
#include "runtime/image_events.h"
#include "runtime/oci/container_runtime.h"
#include "runtime/state_machine.h"
#include "runtime/store/store.h"
#include "streaming/backend.h"
#include "streaming/server.h"

namespace plimsoll::daemon {
namespace {

// Before anything is made, so that on a machine without them nothing is left behind.
absl::Status CheckPrograms(const Config& config) {
  if (!config.crun.empty()) return absl::OkStatus();  // looked at by ValidateConfig
  const absl::Status found = FindProgram("crun").status();
  if (found.ok()) return found;
  return absl::Status(found.code(), absl::StrCat(found.message(),
                                                 "; install it (Debian: apt-get install crun) or "
                                                 "set crun in the configuration"));
}

// Each container costs some descriptors (monitor, exec, streams): as many as are allowed. Returns
// the limit that was found, which is for containers: programs that use select(2), or that close
// every descriptor they may have, don't bear a high one.
absl::StatusOr<runtime::DescriptorLimit> RaiseDescriptorLimit() {
  rlimit limit = {};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return ErrnoStatus(errno, "read RLIMIT_NOFILE");
  const runtime::DescriptorLimit found = {.soft = limit.rlim_cur, .hard = limit.rlim_max};
  limit.rlim_cur = limit.rlim_max;
  if (setrlimit(RLIMIT_NOFILE, &limit) != 0) return ErrnoStatus(errno, "raise RLIMIT_NOFILE");
  return found;
}

StateCounts CountStates(const runtime::Engine& engine) {
  StateCounts counts;
  for (int i = 0; i <= static_cast<int>(runtime::SandboxState::kRemoving); ++i) {
    counts.sandboxes[runtime::StateName(static_cast<runtime::SandboxState>(i))] = 0;
  }
  for (int i = 0; i <= static_cast<int>(runtime::ContainerState::kRemoving); ++i) {
    counts.containers[runtime::StateName(static_cast<runtime::ContainerState>(i))] = 0;
  }
  for (const auto& sandbox : engine.ListSandboxes()) {
    ++counts.sandboxes[runtime::StateName(sandbox.state)];
  }
  engine.VisitContainers([&counts](const runtime::ContainerRecord& container) {
    ++counts.containers[runtime::StateName(container.state)];
  });
  return counts;
}

// "crun 1.8.1" to ("crun", "1.8.1").
std::pair<std::string, std::string> NameAndVersion(const std::string& text) {
  return absl::StrSplit(text, absl::MaxSplits(' ', 1));
}

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
    const bool all = rest == options_.config;
    log_->Write(
        all ? LogLevel::kInfo : LogLevel::kWarning,
        all ? "configuration reloaded"
            : "configuration reloaded: log.level, registries.insecure, images.pinned and "
              "nodeResources are in force, other keys have changed too and wait for a restart",
        {{"log_level", config.log.level}});
    ReloadNodeResources(config.node_resources);
    ReloadClasses();
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
    metrics_.reset();
    devices_.reset();
    // Before the engine, which now asks it for nothing more: containers that go on keep their
    // layers when the engine lets go of the leases, also those of an image that was removed.
    images_.reset();
    engine_.reset();
    classes_.reset();
    freezer_.reset();
    runtime_.reset();
  }

  // What the engine is made from, and what counts and watches it.
  absl::Status OpenParts() {
    const Config& config = options_.config;
    OpenMetrics();
    PLIMSOLL_ASSIGN_OR_RETURN(const FsRoot image_root,
                              FsRoot::OpenOrCreate(state_->PathOf("images")));
    image::ImageServiceOptions image_options{.registries_conf = config.registries_file};
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
                            .descriptor_limit = descriptor_limit_};
    PLIMSOLL_ASSIGN_OR_RETURN(runtime_, runtime::ContainerRuntime::Create(std::move(oci)));

    // First: what changes while the classes look at the disks is not to be missed.
    if (config.classes.blockio) HearOfDevices();
    PLIMSOLL_RETURN_IF_ERROR(OpenClasses());
    cdi_ = std::make_unique<cdi::Registry>(host_, config.cdi_spec_dirs);

    PLIMSOLL_RETURN_IF_ERROR(OpenNetwork());

    metrics_->SetClasses(classes_.get());
    listener_ =
        events_->Listen([this](const runtime::Event& event, const runtime::EventSubject& subject) {
          OnEvent(event, subject);
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
        .classes = classes_.get(),
        .devices = cdi_.get(),
        .handlers = &config.runtime_handlers,
        .network = network_.get(),
        .collect_network_garbage = config.network.collect_garbage && !options_.standalone,
        .show_pictures = PicturesAreOn(),
        .assign_classes = ClassesAreOn()};
    engine.observe_phase = [this](const char* phase, absl::Duration duration) {
      metrics_->ObservePhase(phase, duration);
    };
    PLIMSOLL_ASSIGN_OR_RETURN(engine_, runtime::Engine::Create(std::move(engine)));
    found_ = engine_.get();
    CountRecovery(absl::Now() - start);
    // What is known only of containers that run already.
    class_warnings_.Tell(classes_->Describe(/*look=*/true));
    device_news_.Listen([this] { LookAtDevicesAgain(); });
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

  absl::Status OpenClasses() {
    freezer_.emplace(driver_.cgroups.get(), store_.get());
    // Also where no type is configured any more.
    if (const absl::Status thawed = freezer_->Recover(); !thawed.ok()) {
      log_->Write(LogLevel::kError, "a container is still frozen from a change of its class",
                  {{"error", std::string(thawed.message())}});
    }
    PLIMSOLL_ASSIGN_OR_RETURN(
        classes_, MakeClasses(options_.config.classes,
                              {.host = host_,
                               .cgroups = driver_.cgroups.get(),
                               .owned = store_.get(),
                               .freezer = &*freezer_,
                               .restrict_oom_score_adj = options_.config.restrict_oom_score_adj,
                               .warn = [this](const std::string& type, const std::string& warning) {
                                 class_warnings_.Tell(type, warning);
                               }}));
    // Whoever asks for the reload, all is told again.
    classes_->WarnWith([this](const std::vector<qos::TypeReport>& types) {
      class_warnings_.Forget();
      class_warnings_.Tell(types);
    });
    class_warnings_.Tell(classes_->Describe(/*look=*/true));
    return absl::OkStatus();
  }

  void OpenMetrics() {
    metrics_.emplace(options_.version, [this] {
      const runtime::Engine* engine = found_;
      return engine == nullptr ? StateCounts() : CountStates(*engine);
    });
    metrics_->SetLanes([this] { return CountLanes(); });
    metrics_->SetHost(host_);
  }

  void CountRecovery(absl::Duration duration) {
    RecoveryCounts counts;
    counts.duration = duration;
    counts.sandboxes = engine_->ListSandboxes().size();
    engine_->VisitContainers([&counts](const runtime::ContainerRecord&) { ++counts.containers; });
    counts.troubles = engine_->RecoveryTroubles().size();
    metrics_->ObserveRecovery(counts);
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
                                  .conditions = [this] { return health_->Conditions(); }}));
    return absl::OkStatus();
  }

  absl::Status StartStreaming() {
    const StreamingConfig& config = options_.config.streaming;
    if (config.address.empty()) return absl::OkStatus();
    streamed_ = streaming::NewEngineBackend(engine_.get());
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
    PLIMSOLL_RETURN_IF_ERROR(started.status());
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
    server.info = DescribeNode();
    server.calls.lanes = LanesFor(config.workers);
    server.calls.lanes.on_exhausted = [this](const cri::LaneState& lane) { OnExhausted(lane); };
    server.calls.observer = [this](const cri::FinishedCall& call) { OnCall(call); };
    server.calls.tracer = [this](absl::string_view method, const std::string& request) {
      log_->WriteLimited(LogLevel::kDebug, "request",
                         {{"method", std::string(method)}, {"request", request}});
    };
    server.engine = engine_.get();
    server.images = images_.get();
    server.events = &*events_;
    if (config.feature_gates.enabled("KubeletResourceDiscoveryFromCRI")) {
      server.topology = node_->publisher();
    }
    server.on_topology_sent = [this](cri::TopologyFeed::Reader reader) {
      metrics_->ObserveTopologySent();
      if (reader == cri::TopologyFeed::Reader::kClient) node_->TakenByClient();
    };
    server.abandon_calls = [this] {
      runtime_->CancelExecs();
      engine_->CallOffUpdates();
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

  cri::NodeInfo DescribeNode() const {
    const Config& config = options_.config;
    cri::NodeInfo info;
    info.version = options_.version;
    info.started_unix_nanos = Clock::Real().NowUnixNanos();
    info.state_directory = options_.config.state_dir;
    info.run_directory = options_.config.run_dir;
    info.config_path = options_.config_path;
    info.programs = {NameAndVersion(runtime_->runtime_version())};
    info.cgroup_layout = LayoutName(driver_.cgroups->layout());
    info.systemd_cgroup_driver = driver_.systemd;
    info.limitations = [this] {
      std::vector<std::string> all = runtime_->Limitations();
      for (std::string& trouble : node_->Troubles()) all.push_back(std::move(trouble));
      for (std::string& fault : cdi_->Faults()) all.push_back(std::move(fault));
      for (std::string& damage : network_->Damaged()) all.push_back(std::move(damage));
      if (ClassesAreOn()) AddUnavailableClasses(&all);
      return all;
    };
    info.ready = [this] { return health_->RuntimeReady(); };
    info.not_ready = [this] { return health_->NotReady(); };
    if (!config.metrics_address.empty()) {
      info.metrics_url = absl::StrCat("http://", config.metrics_address, "/metrics");
    }
    info.network_ready = [this] { return network_->Ready(); };
    info.set_pod_cidr = [this](const std::string& cidr) { return network_->SetPodCidr(cidr); };
    info.node_resources = [this] { return node_->Ready(); };
    info.streaming = streaming_.get();
    if (ClassesAreOn()) {
      info.classes = {classes_.get(), AnnotationPolicyFrom(options_.config.classes)};
    }
    info.pod_resources = PicturesAreOn();
    info.recursive_read_only_mounts = runtime_->has_recursive_read_only();
    info.user_namespaces = runtime_->UserNamespaces().ok();
    info.selinux = runtime_->Selinux() != nullptr;
    for (const auto& [name, handler] : options_.config.runtime_handlers) {
      info.runtime_handlers.push_back(name);
      if (handler.is_vm) info.handlers_without_user_namespaces.push_back(name);
    }
    return info;
  }

  void AddUnavailableClasses(std::vector<std::string>* all) const {
    for (const qos::UnavailableType& one : classes_->unavailable()) {
      all->push_back(absl::StrCat("no QoS classes of type ", one.name, " for ",
                                  one.level == qos::Level::kPod ? "pods" : "containers", ": ",
                                  one.reason));
    }
  }

  bool PicturesAreOn() const {
    return options_.config.feature_gates.enabled("KubeletContainerResourcesInPodSandbox");
  }
  bool ClassesAreOn() const { return options_.config.feature_gates.enabled("ClassResources"); }

  // Classes of block I/O mean other things when disks come and go. Without that news they are
  // looked at again by a reload only.
  void HearOfDevices() {
    auto devices = linux::UeventWatcher::Start(
        {.subsystems = {"block"}}, [this](const linux::UeventNews&) { device_news_.Tell(); });
    if (devices.ok()) {
      devices_ = *std::move(devices);
      return;
    }
    log_->Write(LogLevel::kWarning, "no news of devices that come and go",
                {{"error", std::string(devices.status().message())}});
  }

  void LookAtDevicesAgain() {
    const absl::Status status = classes_->Refresh();
    if (status.ok()) return;
    log_->WriteLimited(LogLevel::kWarning, "not all classes were brought up to new devices",
                       {{"error", std::string(status.message())}});
  }

  void ReloadNodeResources(const topology::NodeResourcesConfig& config) {
    const absl::Status status = node_->Reload(config);
    if (status.ok()) return;
    log_->Write(LogLevel::kError, "nodeResources not reloaded, what was in force before stays",
                {{"error", std::string(status.message())}});
  }

  void ReloadClasses() {
    const absl::StatusOr<std::vector<std::string>> changes = classes_->Reload();
    if (!changes.ok()) {
      log_->Write(LogLevel::kError, "classes not reloaded, the old ones stay in force",
                  {{"error", std::string(changes.status().message())}});
      return;
    }
    for (const std::string& change : *changes) {
      log_->Write(LogLevel::kInfo, "class changed", {{"change", change}});
    }
    class_warnings_.Tell(classes_->Describe(/*look=*/true));
  }

  void OnExhausted(const cri::LaneState& lane) {
    const RateLimit::Decision decision = exhausted_log_.Ask();
    if (!decision.pass) return;
    std::vector<LogField> fields = {{"calls", cri::LaneName(lane.lane)},
                                    {"workers", absl::StrCat(lane.workers)},
                                    {"waiting", absl::StrCat(lane.waiting)}};
    if (decision.held_back > 0) {
      fields.push_back({"more_since_last", absl::StrCat(decision.held_back)});
    }
    log_->Write(LogLevel::kWarning, "all workers for calls of this kind are taken; more wait",
                fields);
  }

  // None before the server is there, and after. For threads other than that which starts and stops.
  std::vector<cri::LaneState> Lanes() const {
    absl::MutexLock lock(&server_mutex_);
    return server_ == nullptr ? std::vector<cri::LaneState>() : server_->Lanes();
  }

  std::map<std::string, LaneCounts> CountLanes() const {
    std::map<std::string, LaneCounts> counts;
    for (const cri::LaneState& lane : Lanes()) {
      counts[cri::LaneName(lane.lane)] = {lane.workers, lane.running, lane.waiting, lane.exhausted};
    }
    return counts;
  }

  void CountEvent(const runtime::Event& event, const runtime::EventSubject& subject) {
    metrics_->ObserveEvent(runtime::EventTypeName(event.type));
    if (event.type == runtime::EventType::kSandboxStarted && subject.sandbox != nullptr) {
      metrics_->ObserveSandboxStart(subject.sandbox->spec.attempt);
    }
    if (subject.container == nullptr) return;
    if (event.type == runtime::EventType::kContainerStarted) {
      metrics_->ObserveContainerStart(subject.container->spec.attempt);
    } else if (event.type == runtime::EventType::kContainerStopped) {
      metrics_->ObserveContainerExit(subject.container->reason);
    }
  }

  void OnEvent(const runtime::Event& event, const runtime::EventSubject& subject) {
    CountEvent(event, subject);
    const char* type = runtime::EventTypeName(event.type);
    const bool bad = event.type == runtime::EventType::kWarning ||
                     event.type == runtime::EventType::kContainerOom;
    std::vector<LogField> fields = {{"event", type}};
    if (!event.sandbox_id.empty()) fields.push_back({"sandbox", event.sandbox_id});
    if (!event.container_id.empty()) fields.push_back({"container", event.container_id});
    log_->WriteLimited(bad ? LogLevel::kWarning : LogLevel::kInfo,
                       event.message.empty() ? type : event.message, fields);
  }

  // What broke here is ours; of what a client asked in vain the log tells too, but not of looks for
  // what isn't there, nor of clients that went.
  static LogLevel LevelOf(grpc::StatusCode code) {
    switch (code) {
      case grpc::StatusCode::OK:
      case grpc::StatusCode::NOT_FOUND:
      case grpc::StatusCode::CANCELLED:
      case grpc::StatusCode::UNIMPLEMENTED:
        return LogLevel::kDebug;
      case grpc::StatusCode::INTERNAL:
      case grpc::StatusCode::DATA_LOSS:
      case grpc::StatusCode::UNKNOWN:
        return LogLevel::kError;
      case grpc::StatusCode::RESOURCE_EXHAUSTED:
      case grpc::StatusCode::UNAVAILABLE:
      case grpc::StatusCode::DEADLINE_EXCEEDED:
        return LogLevel::kWarning;
      default:
        return LogLevel::kInfo;
    }
  }

  void OnCall(const cri::FinishedCall& call) {
    const cri::MethodName method = cri::SplitMethod(call.method);
    const std::string name(method.name);
    const std::string code_name(cri::CodeName(call.code));
    metrics_->ObserveRpc(method.service, method.name, code_name, call.latency);
    const bool ok = call.code == grpc::StatusCode::OK;
    std::vector<LogField> fields = {
        {"method", name},
        {"code", code_name},
        {"milliseconds", absl::StrCat(absl::ToDoubleMilliseconds(call.latency))}};
    if (!call.object.empty()) fields.push_back({"object", call.object});
    if (!ok) fields.push_back({"error", std::string(call.message)});
    log_->WriteLimited(LevelOf(call.code), ok ? "call" : "call failed", fields);
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
  ClassWarnings class_warnings_{log_};
  std::optional<qos::ContainerFreezer> freezer_;  // before those who use it
  std::unique_ptr<qos::Registry> classes_;
  std::unique_ptr<cdi::Registry> cdi_;
  std::unique_ptr<network::Network> network_;
  std::unique_ptr<runtime::Engine> engine_;
  HeldNews device_news_;                           // asks `classes_`
  std::unique_ptr<linux::UeventWatcher> devices_;  // tells `device_news_`
  std::optional<Metrics> metrics_;
  std::optional<NodeHealth> health_;   // asks all of the above but the metrics
  std::unique_ptr<HttpServer> pages_;  // asks both
  std::optional<int> listener_;
  std::unique_ptr<NodeResources> node_;           // asks `engine_`
  std::unique_ptr<streaming::Backend> streamed_;  // asks `engine_`
  std::unique_ptr<streaming::Server> streaming_;  // asks `streamed_`
  std::unique_ptr<cri::Server> server_;           // changed with the mutex held, by one thread
  mutable absl::Mutex server_mutex_;
  std::atomic<const runtime::Engine*> found_ = nullptr;  // `engine_`, for other threads
  RateLimit exhausted_log_{0.1, 2, &Clock::Real()};
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
