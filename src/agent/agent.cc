#include "agent/agent.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "agent/api/pod_api.h"
#include "agent/api/server.h"
#include "agent/kubelet_check.h"
#include "agent/manifest_directory.h"
#include "agent/metrics.h"
#include "agent/node/node_view.h"
#include "agent/pod_admission.h"
#include "agent/pod_cgroups.h"
#include "agent/pods/agent_pods.h"
#include "agent/pods/event_log.h"
#include "agent/pods/pod_board.h"
#include "agent/pods/pod_counters.h"
#include "agent/pods/pod_store.h"
#include "agent/pods/runtime_news.h"
#include "agent/runtime.h"
#include "agent/runtime_operations.h"
#include "base/clock.h"
#include "base/fs_root.h"
#include "base/status.h"
#include "pod/client.h"
#include "pod/dir.h"
#include "service/directory_lock.h"

namespace plimsoll::agent {
namespace {

absl::StatusOr<std::unique_ptr<pod::Client>> OpenClient(const std::string& address,
                                                        Counters& counters) {
  return pod::Client::Open(CountedCalls(address, counters));
}

NodeOptions NodeOptionsOf(const Config& config, const std::string& version) {
  NodeOptions options;
  options.name = config.node_name;
  options.labels = config.node_labels;
  options.system_reserved = config.system_reserved;
  options.kube_reserved = config.kube_reserved;
  options.max_pods = config.max_pods;
  options.extended = DeviceCounts(config.devices);
  options.state_directory = config.state_directory;
  options.agent_version = version;
  options.discovery = config.resource_discovery == "cri"     ? DiscoveryMode::kCri
                      : config.resource_discovery == "local" ? DiscoveryMode::kLocal
                                                             : DiscoveryMode::kAuto;
  options.discovery_from_cri = config.feature_gates.enabled("KubeletResourceDiscoveryFromCRI");
  options.first_topology_limit = absl::Seconds(config.resource_discovery_timeout_seconds);
  options.cpu_ids_required = config.cpu_manager_policy == "static";
  return options;
}

// The node's InternalIP; empty: it has none.
std::string AddressOf(const nlohmann::json& node) {
  for (const nlohmann::json& each : node["status"]["addresses"]) {
    if (each.value("type", "") == "InternalIP") return each.value("address", "");
  }
  return "";
}

// The agent's place on the machine.
struct Ground {
  FsRoot root;   // "/"
  FsRoot state;  // Config::state_directory
  DirectoryLock lock;
  std::unique_ptr<PodStore> store;
};

struct Reports {
  EventLog events;
  PodBoard board;
  std::shared_ptr<Counters> counters;
};

struct Front {
  std::unique_ptr<PodApi> api;
  std::unique_ptr<ApiServer> server;
};

// Parts in the order of their start; the destructor ends them in reverse.
class AgentImpl : public Agent {
 public:
  AgentImpl(const Config& config, Log* log, Ground ground)
      : config_(config),
        log_(log),
        ground_(std::move(ground)),
        reports_{.events = EventLog(Clock::Real(), config.node_name),
                 .board = {},
                 .counters = std::make_shared<Counters>()} {
    ShowPodCounters(*reports_.counters);
  }

  // The node's changes may call pods until they have gone.
  ~AgentImpl() override {
    front_.server.reset();  // its threads use the API
    front_.api.reset();
    // Ends calls that the parts below wait for.
    if (runtime_ != nullptr) runtime_->client().Abandon();
    directory_.reset();
    news_.reset();
    std::unique_ptr<AgentPods> pods;
    const absl::MutexLock lock(&mutex_);
    pods = std::move(pods_);
  }

  absl::Status Start(const std::string& version) {
    PLIMSOLL_ASSIGN_OR_RETURN(ground_.store, PodStore::Open(ground_.state));
    PLIMSOLL_ASSIGN_OR_RETURN(
        runtime_,
        Runtime::Open(config_.runtime_endpoint, GateIsOn("ClassResources"), *reports_.counters));
    PLIMSOLL_RETURN_IF_ERROR(StartNode(version));
    PLIMSOLL_RETURN_IF_ERROR(CheckRuntime());
    PLIMSOLL_RETURN_IF_ERROR(StartPods());
    PLIMSOLL_RETURN_IF_ERROR(StartNews());
    PLIMSOLL_RETURN_IF_ERROR(StartDirectory());
    return StartApi();
  }

 private:
  void Warn(absl::string_view message) { log_->WriteLimited(LogLevel::kWarning, message); }

  EventSubject NodeSubject() const {
    return {
        .kind = "Node", .key = {"", config_.node_name}, .uid = config_.node_name, .container = ""};
  }

  absl::Status StartNode(const std::string& version) {
    PLIMSOLL_ASSIGN_OR_RETURN(auto runtime, OpenRuntimeTopology(config_.runtime_endpoint));
    NodeHooks hooks;
    // The first topology may come before there are pods.
    hooks.on_change = [this] {
      const absl::MutexLock lock(&mutex_);
      if (pods_ != nullptr) pods_->Retry();
    };
    hooks.on_event = [this](const NodeEvent& event) {
      reports_.events.Add(NodeSubject(), event.is_warning ? "Warning" : "Normal", event.reason,
                          event.message);
    };
    hooks.on_log = [this](const std::string& line) { log_->Write(LogLevel::kInfo, line); };
    PLIMSOLL_ASSIGN_OR_RETURN(
        node_, NodeView::Start(NodeOptionsOf(config_, version), {.host = ground_.root,
                                                                 .runtime = std::move(runtime),
                                                                 .hooks = std::move(hooks),
                                                                 .back_off = {},
                                                                 .clock = &Clock::Real(),
                                                                 .read_local = nullptr}));
    if (!node_->AwaitFirst()) {
      const NodeState state = node_->State();
      Warn(absl::StrCat("node is not ready: ", state.reason, ": ", state.message));
    }
    return absl::OkStatus();
  }

  // A runtime that doesn't answer yet is asked by RuntimeNews, later.
  absl::Status CheckRuntime() {
    PLIMSOLL_RETURN_IF_ERROR(CheckNoKubelet());
    const auto sandboxes = runtime_->client().ListPodSandboxes();
    if (!sandboxes.ok()) return absl::OkStatus();
    runtime_->Classes().status().IgnoreError();  // to be known when the runtime has gone
    return CheckNoKubeletsPods(*sandboxes);
  }

  PodHost Host() {
    PodHost host{.client = runtime_->client(),
                 .root = ground_.root,
                 .clock = Clock::Real(),
                 .events = reports_.events,
                 .board = reports_.board,
                 .store = *ground_.store,
                 .node = {.name = config_.node_name,
                          .host_ip = AddressOf(node_->Object()),
                          .runtime = [this] { return runtime_->Name(); }},
                 .state_directory = config_.state_directory,
                 .objects_directory = config_.objects_path,
                 .pod_class_types = [this] { return PodClassTypes(); },
                 .classes = [this](const pod::Manifest& pod) { return Classes(pod); },
                 .passes_resources_down = GateIsOn("KubeletContainerResourcesInPodSandbox"),
                 .make_group = nullptr,
                 .remove_group = nullptr,
                 .devices = config_.devices,
                 .counters = reports_.counters};
    if (cgroups_ == nullptr) return host;
    host.make_group = [this](const PodRecord& record, const pod::Manifest& pod) {
      return cgroups_->Make(record, pod);
    };
    host.remove_group = [this](const PodRecord& record) { return cgroups_->Remove(record); };
    return host;
  }

  bool GateIsOn(const std::string& gate) const { return config_.feature_gates.enabled(gate); }

  absl::StatusOr<ClassRequests> Classes(const pod::Manifest& pod) {
    if (!GateIsOn("ClassResources")) return NoClasses(pod);
    PLIMSOLL_ASSIGN_OR_RETURN(const NodeClasses classes, runtime_->Classes());
    return RequestedClasses(pod, classes);
  }

  // A runtime that can't be asked gives none: the pod's start asks again, and fails then.
  std::set<std::string> PodClassTypes() {
    const absl::StatusOr<NodeClasses> classes = runtime_->Classes();
    std::set<std::string> types;
    if (!classes.ok()) return types;
    for (const auto& [type, has] : classes->pod) types.insert(type);
    return types;
  }

  absl::StatusOr<std::optional<PodVerdict>> Admit(const pod::Manifest& pod,
                                                  const std::vector<const pod::Manifest*>& others) {
    ClassAdmission classes;
    classes.enabled = GateIsOn("ClassResources");
    classes.pass_unadvertised = config_.unadvertised_classes == "pass";
    PLIMSOLL_ASSIGN_OR_RETURN(classes.classes, runtime_->Classes());
    return AdmitPod(node_->State(), classes, pod, others);
  }

  absl::Status StartPods() {
    PLIMSOLL_RETURN_IF_ERROR(
        ground_.root.MakeDirs(pod::PodsDirectory(config_.state_directory), 0700));
    if (config_.cgroups_per_qos) {
      cgroups_ = std::make_unique<PodCgroups>(
          runtime_->client(),
          PodCgroups::Options{.driver = config_.cgroup_driver,
                              .root = config_.cgroup_root,
                              .pod_pids_limit = config_.pod_pids_limit.value_or(-1),
                              .host = ground_.root,
                              .state = ground_.state,
                              .node = [this] { return node_->State(); },
                              .living = [this] { return ground_.store->Uids(); },
                              .note = [this](const std::string& note) { Warn(note); }});
    }
    AgentPods::Options options{.host = Host()};
    options.admit = [this](const pod::Manifest& pod,
                           const std::vector<const pod::Manifest*>& others) {
      return Admit(pod, others);
    };
    options.node = [this] { return node_->Object(); };
    PLIMSOLL_ASSIGN_OR_RETURN(std::unique_ptr<AgentPods> pods,
                              AgentPods::Start(std::move(options)));
    const absl::MutexLock lock(&mutex_);
    pods_ = std::move(pods);
    return absl::OkStatus();
  }

  absl::Status StartNews() {
    PLIMSOLL_ASSIGN_OR_RETURN(auto events,
                              OpenClient(config_.runtime_endpoint, *reports_.counters));
    PLIMSOLL_ASSIGN_OR_RETURN(auto lists, OpenClient(config_.runtime_endpoint, *reports_.counters));
    AgentPods* const pods = Pods();
    news_ = std::make_unique<RuntimeNews>(
        std::move(events), std::move(lists), RuntimeNews::Pace(),
        [pods](const std::string& uid) { pods->Wake(uid); },
        [this, pods](const absl::Status& status) {
          node_->SetRuntimeTrouble(std::string(status.message()));
          if (status.ok()) {
            log_->Write(LogLevel::kInfo, "runtime answers");
            pods->WakeAll();
          } else {
            Warn(absl::StrCat("runtime does not answer: ", status.message()));
          }
        });
    return absl::OkStatus();
  }

  absl::Status StartDirectory() {
    AgentPods* const pods = Pods();
    PLIMSOLL_ASSIGN_OR_RETURN(
        directory_,
        ManifestDirectory::Start(
            {.path = config_.static_pod_path,
             .look_anyway = absl::Seconds(config_.file_check_frequency_seconds),
             .tell = [pods](ManifestDirectory::Files files) { pods->SetFiles(std::move(files)); },
             .fault =
                 [this](const std::string& path, const absl::Status& fault) {
                   if (fault.ok()) {
                     log_->Write(LogLevel::kInfo, absl::StrCat(path, " is readable again"));
                     return;
                   }
                   Warn(fault.message());
                   reports_.events.Add(NodeSubject(), "Warning", "FailedManifest", fault.message());
                 }}));
    return absl::OkStatus();
  }

  absl::Status StartApi() {
    AgentPods* const pods = Pods();
    front_.api = std::make_unique<PodApi>(
        pods, Pages{.health = [this] { return Health(); },
                    .metrics =
                        [this, pods] {
                          return MetricsText({.pods = *pods,
                                              .node = *node_,
                                              .config = config_,
                                              .counters = *reports_.counters,
                                              .host = ground_.root});
                        }});
    ServerOptions options;
    options.socket = {config_.socket, 0600, std::nullopt};
    options.tell_socket = [this](const absl::Status& status) {
      if (!status.ok()) Warn(status.message());
    };
    PLIMSOLL_ASSIGN_OR_RETURN(
        front_.server,
        ApiServer::Start(std::move(options), [this](const HttpRequest& request, Answer& answer) {
          front_.api->Serve(request, answer);
        }));
    return absl::OkStatus();
  }

  absl::Status Health() const {
    const NodeState node = node_->State();
    if (node.ready) return absl::OkStatus();
    return absl::UnavailableError(
        absl::StrCat("the node is not ready: ", node.reason, ": ", node.message));
  }

  AgentPods* Pods() {
    const absl::MutexLock lock(&mutex_);
    return pods_.get();
  }

  const Config config_;
  Log* const log_;
  Ground ground_;
  Reports reports_;
  std::unique_ptr<Runtime> runtime_;
  std::unique_ptr<PodCgroups> cgroups_;
  std::unique_ptr<NodeView> node_;
  absl::Mutex mutex_;
  std::unique_ptr<AgentPods> pods_ ABSL_GUARDED_BY(mutex_);
  std::unique_ptr<RuntimeNews> news_;
  std::unique_ptr<ManifestDirectory> directory_;
  Front front_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Agent>> Agent::Start(const Config& config,
                                                    const std::string& version, Log* log) {
  PLIMSOLL_ASSIGN_OR_RETURN(FsRoot root, FsRoot::Open("/"));
  PLIMSOLL_ASSIGN_OR_RETURN(FsRoot state, FsRoot::OpenOrCreate(config.state_directory, 0700));
  PLIMSOLL_ASSIGN_OR_RETURN(DirectoryLock lock, DirectoryLock::Take(state, "state directory"));
  auto agent = std::make_unique<AgentImpl>(config, log,
                                           Ground{.root = std::move(root),
                                                  .state = std::move(state),
                                                  .lock = std::move(lock),
                                                  .store = nullptr});
  PLIMSOLL_RETURN_IF_ERROR(agent->Start(version));
  return std::unique_ptr<Agent>(std::move(agent));
}

}  // namespace plimsoll::agent
