#include "agent/agent.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "agent/api/pod_api.h"
#include "agent/api/server.h"
#include "agent/chores.h"
#include "agent/class_access.h"
#include "agent/config_object.h"
#include "agent/directory_watch.h"
#include "agent/kubelet_check.h"
#include "agent/manifest_directory.h"
#include "agent/metrics.h"
#include "agent/node/node_view.h"
#include "agent/node_options_of.h"
#include "agent/pod_admission.h"
#include "agent/pod_cgroups.h"
#include "agent/pods/agent_pods.h"
#include "agent/pods/class_lists.h"
#include "agent/pods/event_log.h"
#include "agent/pods/pod_board.h"
#include "agent/pods/pod_counters.h"
#include "agent/pods/pod_store.h"
#include "agent/pods/runtime_news.h"
#include "agent/probes/prober.h"
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

// The agent's place on the machine.
struct Ground {
  FsRoot root;   // "/"
  FsRoot state;  // Config::state_directory
  DirectoryLock lock;
  std::unique_ptr<PodStore> store;
  std::unique_ptr<ObjectDirectory> objects;  // null: there is no directory of objects
};

struct Reports {
  EventLog events;
  PodBoard board;
  std::shared_ptr<Counters> counters;
};

// Parts that watch the machine for the pods.
struct Watches {
  std::unique_ptr<ManifestDirectory> manifests;
  std::unique_ptr<DirectoryWatch> objects;
  std::unique_ptr<Chores> chores;
};

// Used by the workers of pods.
struct PodParts {
  std::unique_ptr<PodCgroups> cgroups;
  std::unique_ptr<Prober> prober;
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
    // Ends calls that the parts below wait for.
    if (runtime_ != nullptr) runtime_->client().Abandon();
    front_.server.reset();  // its threads use the API
    front_.api.reset();
    watches_ = {};
    news_.reset();
    {
      std::unique_ptr<AgentPods> pods;
      const absl::MutexLock lock(&mutex_);
      pods = std::move(pods_);
    }
    parts_.prober.reset();  // its threads may ask for the pods
    node_.reset();          // likewise
  }

  absl::Status Start(const std::string& version) {
    PLIMSOLL_ASSIGN_OR_RETURN(ground_.store, PodStore::Open(ground_.state));
    PLIMSOLL_ASSIGN_OR_RETURN(
        runtime_,
        Runtime::Open(config_.runtime_endpoint, GateIsOn("ClassResources"), *reports_.counters));
    PLIMSOLL_RETURN_IF_ERROR(CheckNoKubelet());
    // A runtime that doesn't answer yet is checked before the first pod starts.
    const absl::Status usable = runtime_->CheckUse();
    if (absl::IsFailedPrecondition(usable)) return usable;
    PLIMSOLL_RETURN_IF_ERROR(StartNode(version));
    PLIMSOLL_RETURN_IF_ERROR(StartPods());
    PLIMSOLL_RETURN_IF_ERROR(StartNews());
    PLIMSOLL_RETURN_IF_ERROR(StartObjects());
    PLIMSOLL_RETURN_IF_ERROR(StartChores());
    PLIMSOLL_RETURN_IF_ERROR(StartApi());
    // The API tells meanwhile what the node waits for. Pods of files would only be refused.
    AwaitNode();
    return StartDirectory();
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
    return absl::OkStatus();
  }

  void AwaitNode() {
    if (node_->AwaitFirst()) return;
    const NodeState state = node_->State();
    Warn(absl::StrCat("node is not ready: ", state.reason, ": ", state.message));
  }

  PodHost Host() {
    PodHost host{.client = runtime_->client(),
                 .root = ground_.root,
                 .clock = Clock::Real(),
                 .events = reports_.events,
                 .board = reports_.board,
                 .store = *ground_.store,
                 .node = {.name = config_.node_name,
                          .host_ip = node_->address(),
                          .runtime = [this] { return runtime_->Name(); }},
                 .state_directory = config_.state_directory,
                 .objects = ground_.objects.get(),
                 .pod_class_types = [this] { return PodClassTypes(); },
                 .classes = [this](const pod::Manifest& pod) { return Classes(pod); },
                 .node_classes = [this] { return runtime_->Classes(); },
                 .check_classes =
                     [this](const pod::Manifest* before, const pod::Manifest& pod,
                            const std::vector<const pod::Manifest*>& others) {
                       return CheckClassAccess(
                           config_, ground_.root, [this] { return runtime_->KnownClasses(); },
                           before, pod, others);
                     },
                 .may_start = [this] { return runtime_->CheckUse(); },
                 .passes_resources_down = GateIsOn("KubeletContainerResourcesInPodSandbox"),
                 .resizes_pods = GateIsOn("InPlacePodVerticalScaling"),
                 .make_group = nullptr,
                 .remove_group = nullptr,
                 .resize_group = nullptr,
                 .on_room = nullptr,
                 .devices = config_.devices,
                 .counters = reports_.counters,
                 .prober = parts_.prober.get()};
    if (parts_.cgroups == nullptr) return host;
    host.make_group = [this](const PodRecord& record, const pod::Manifest& pod) {
      return parts_.cgroups->Make(record, pod);
    };
    host.remove_group = [this](const PodRecord& record) { return parts_.cgroups->Remove(record); };
    host.resize_group = [this](const PodRecord& record, const pod::Manifest& pod, GroupStep step,
                               const std::function<absl::Status()>& announce) {
      return parts_.cgroups->Resize(record, pod, step, announce);
    };
    return host;
  }

  bool GateIsOn(const std::string& gate) const { return config_.feature_gates.enabled(gate); }

  absl::StatusOr<ClassRequests> Classes(const pod::Manifest& pod) {
    if (!GateIsOn("ClassResources")) return NoClasses(pod);
    return RequestedClasses(pod);
  }

  // A runtime that can't be asked gives none: the pod's start asks again, and fails then.
  std::set<std::string> PodClassTypes() {
    const absl::StatusOr<NodeClasses> classes = runtime_->Classes();
    std::set<std::string> types;
    if (!classes.ok()) return types;
    for (const auto& [type, has] : classes->pod) types.insert(type);
    return types;
  }

  // A runtime that never told its classes has none to show.
  nlohmann::json NodeWithClasses() {
    nlohmann::json node = node_->Object();
    const absl::StatusOr<NodeClasses> classes = runtime_->Classes();
    if (classes.ok()) AddClassLists(*classes, node);
    return node;
  }

  absl::StatusOr<std::optional<PodVerdict>> Admit(const pod::Manifest& pod,
                                                  const std::vector<const pod::Manifest*>& others) {
    const NodeState node = node_->State();
    PLIMSOLL_RETURN_IF_ERROR(CheckNodeTakesPods(node, pod));
    ClassAdmission classes;
    classes.enabled = GateIsOn("ClassResources");
    classes.pass_unadvertised = config_.unadvertised_classes == "pass";
    PLIMSOLL_ASSIGN_OR_RETURN(classes.classes, runtime_->KnownClasses());
    return AdmitPod(node, classes, pod, others);
  }

  void MakeObjects() {
    if (config_.objects_path.empty()) return;
    ground_.objects = std::make_unique<ObjectDirectory>(
        ground_.root, config_.objects_path,
        [this](const std::string& path, const absl::Status& fault) {
          TellOfFile(path, fault, "FailedObject");
        });
  }

  absl::Status StartPods() {
    MakeObjects();
    PLIMSOLL_RETURN_IF_ERROR(
        ground_.root.MakeDirs(pod::PodsDirectory(config_.state_directory), 0700));
    if (config_.cgroups_per_qos) {
      parts_.cgroups = std::make_unique<PodCgroups>(
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
    StartProber();
    AgentPods::Options options{.host = Host()};
    options.note = [this](const std::string& note) { Warn(note); };
    options.before_admission = [this] { runtime_->Classes().status().IgnoreError(); };
    options.admit = [this](const pod::Manifest& pod,
                           const std::vector<const pod::Manifest*>& others) {
      return Admit(pod, others);
    };
    options.node = [this] { return NodeWithClasses(); };
    PLIMSOLL_ASSIGN_OR_RETURN(std::unique_ptr<AgentPods> pods,
                              AgentPods::Start(std::move(options)));
    const absl::MutexLock lock(&mutex_);
    pods_ = std::move(pods);
    return absl::OkStatus();
  }

  void StartProber() {
    Prober::Options options;
    options.command = [this](const std::string& container, const std::vector<std::string>& command,
                             int64_t timeout_s) -> absl::StatusOr<ProbeCommandEnd> {
      const auto end = runtime_->client().ExecSync(container, command, timeout_s);
      // The time passed without the runtime, which tells nothing of the command.
      if (absl::IsDeadlineExceeded(end.status()) && runtime_->client().stuck()) {
        return absl::UnavailableError(end.status().message());
      }
      PLIMSOLL_RETURN_IF_ERROR(end.status());
      return ProbeCommandEnd{end->exit_code(), absl::StrCat(end->stdout(), end->stderr())};
    };
    options.wake = [this](const std::string& uid) {
      const absl::MutexLock lock(&mutex_);
      if (pods_ != nullptr) pods_->Wake(uid);
    };
    options.tell = [this](const ProbeEvent& event) {
      reports_.events.Add({.kind = "Pod",
                           .key = {event.pod_namespace, event.pod},
                           .uid = event.uid,
                           .container = event.container},
                          "Warning", event.reason, event.message);
    };
    parts_.prober = std::make_unique<Prober>(std::move(options));
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
        watches_.manifests,
        ManifestDirectory::Start(
            {.path = config_.static_pod_path,
             .look_anyway = absl::Seconds(config_.file_check_frequency_seconds),
             .tell = [pods](ManifestDirectory::Files files) { pods->SetFiles(std::move(files)); },
             .fault =
                 [this](const std::string& path, const absl::Status& fault) {
                   TellOfFile(path, fault, "FailedManifest");
                 }}));
    return absl::OkStatus();
  }

  // `reason`: of the event.
  void TellOfFile(const std::string& path, const absl::Status& fault, const std::string& reason) {
    if (fault.ok()) {
      log_->Write(LogLevel::kInfo, absl::StrCat(path, " is readable again"));
      return;
    }
    Warn(fault.message());
    reports_.events.Add(NodeSubject(), "Warning", reason, fault.message());
  }

  // Pods adopt changed objects at their next step.
  absl::Status StartObjects() {
    if (ground_.objects == nullptr) return absl::OkStatus();
    AgentPods* const pods = Pods();
    ObjectDirectory* const objects = ground_.objects.get();
    // The start of a pod reads the objects too, so the version at the last wake counts.
    const auto look = [pods, objects, woken = uint64_t{0}]() mutable {
      const uint64_t now = objects->Read().version;
      if (std::exchange(woken, now) != now) pods->WakeAll();
    };
    PLIMSOLL_ASSIGN_OR_RETURN(watches_.objects,
                              DirectoryWatch::Start({.path = objects->path(), .look = look}));
    return absl::OkStatus();
  }

  absl::Status StartChores() {
    PLIMSOLL_ASSIGN_OR_RETURN(
        watches_.chores,
        Chores::Start(config_, {.pods = *Pods(),
                                .client = runtime_->client(),
                                .root = ground_.root,
                                .events = reports_.events,
                                .allocatable = [this] { return node_->State().allocatable; },
                                .note = [this](const std::string& note) { Warn(note); }}));
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
                                              .prober = *parts_.prober,
                                              .host = ground_.root});
                        },
                    .config = [this] { return ConfigObject(config_); },
                    .quotas =
                        [this, pods](const std::string& pod_namespace) {
                          return QuotaObjects(
                              config_, ground_.root, pod_namespace,
                              [pods](const std::string& of) { return pods->ClassesInUse(of); });
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
  absl::Mutex mutex_;  // before node_, whose thread takes it
  std::unique_ptr<NodeView> node_;
  PodParts parts_;
  std::unique_ptr<AgentPods> pods_ ABSL_GUARDED_BY(mutex_);
  std::unique_ptr<RuntimeNews> news_;
  Watches watches_;
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
                                                  .store = nullptr,
                                                  .objects = nullptr});
  PLIMSOLL_RETURN_IF_ERROR(agent->Start(version));
  return std::unique_ptr<Agent>(std::move(agent));
}

}  // namespace plimsoll::agent
