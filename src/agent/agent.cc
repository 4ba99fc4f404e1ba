#include "agent/agent.h"

#include <set>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "agent/agent_resources.h"
#include "agent/api/pod_api.h"
#include "agent/api/server.h"
#include "agent/chores.h"
#include "agent/class_access.h"
#include "agent/config_object.h"
#include "agent/directory_watch.h"
#include "agent/enforced_amounts.h"
#include "agent/groups/reserved_groups.h"
#include "agent/kubelet_check.h"
#include "agent/manifest_directory.h"
#include "agent/metrics.h"
#include "agent/node/node_view.h"
#include "agent/node_wiring.h"
#include "agent/pod_resources/pod_resources_server.h"
#include "agent/pod_wiring.h"
#include "agent/pods/agent_pods.h"
#include "agent/pods/life/pod_counters.h"
#include "agent/pods/life/runtime_news.h"
#include "agent/pods/records/pod_store.h"
#include "agent/pods/status/event_log.h"
#include "agent/pods/status/pod_board.h"
#include "agent/pods_place.h"
#include "agent/runtime.h"
#include "agent/runtime_operations.h"
#include "agent/swap_check.h"
#include "base/clock.h"
#include "base/fs_root.h"
#include "base/status.h"
#include "pod_runner/runtime_client/client.h"
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
  FsRoot state;  // AgentConfig::state_directory
  DirectoryLock lock;
  std::unique_ptr<PodStore> store;
  std::unique_ptr<ObjectDirectory> objects;  // null: there is no directory of objects
};

struct Reports {
  KubeEventLog events;
  PodBoard board;
  std::shared_ptr<Counters> counters;
};

// Parts that watch the machine for the pods.
struct Watches {
  std::unique_ptr<ManifestDirectory> manifests;
  std::unique_ptr<DirectoryWatch> objects;
  std::unique_ptr<Chores> chores;
};

struct Front {
  std::unique_ptr<PodApi> api;
  std::unique_ptr<ApiServer> server;
  std::unique_ptr<PodResourcesServer> resources;  // null: it is not served
};

// Parts in the order of their start; the destructor ends them in reverse.
class AgentImpl : public Agent {
 public:
  AgentImpl(const AgentConfig& config, Log* log, Ground ground)
      : config_(config),
        log_(log),
        ground_(std::move(ground)),
        reports_{.events = KubeEventLog(Clock::Real(), config.node_name),
                 .board = {},
                 .counters = std::make_shared<Counters>()} {
    ShowPodCounters(*reports_.counters);
  }

  // The node's changes may call pods until they have gone.
  ~AgentImpl() override {
    // Ends calls that the parts below wait for.
    if (runtime_ != nullptr) runtime_->client().Abandon();
    place_.With([](AgentPods& pods) { pods.BeginEnd(); });
    front_.server.reset();  // its threads use the API
    front_.api.reset();
    front_.resources.reset();
    watches_ = {};
    news_.reset();
    place_.End();
    pods_.reset();  // its probes may ask for the pods
    node_.reset();  // likewise
  }

  absl::Status Start(const std::string& version, const std::function<bool()>& is_to_stop) {
    PLIMSOLL_ASSIGN_OR_RETURN(ground_.store, PodStore::Open(ground_.state));
    PLIMSOLL_ASSIGN_OR_RETURN(
        runtime_,
        Runtime::Open(config_.runtime_endpoint, GateIsOn("ClassResources"), *reports_.counters));
    PLIMSOLL_RETURN_IF_ERROR(CheckNoKubelet(ground_.root, config_.pod_resources_path));
    PLIMSOLL_RETURN_IF_ERROR(CheckSwap(config_, ground_.root));
    PLIMSOLL_RETURN_IF_ERROR(CheckOomKill(config_, ground_.root));
    for (const ReservedGroup& group : ReservedGroupsOf(config_)) {
      PLIMSOLL_RETURN_IF_ERROR(CheckReservedGroup(ground_.root, group));
    }
    PLIMSOLL_ASSIGN_OR_RETURN(const std::set<std::string> on_record, ground_.store->Uids());
    if (on_record.empty()) {
      runtime_->ExpectNoPodsOf(config_.node_name, config_.state_directory,
                               [this](const std::string& found) { Warn(found); });
    }
    // A runtime that doesn't answer yet is checked before the first pod starts.
    const absl::Status usable = runtime_->CheckUse();
    if (absl::IsFailedPrecondition(usable)) return usable;
    PLIMSOLL_RETURN_IF_ERROR(StartNode(version));
    // Runtimes may ask it for a pod that starts.
    PLIMSOLL_RETURN_IF_ERROR(StartResources());
    PLIMSOLL_RETURN_IF_ERROR(StartPods());
    PLIMSOLL_RETURN_IF_ERROR(StartNews());
    PLIMSOLL_RETURN_IF_ERROR(StartObjects());
    PLIMSOLL_RETURN_IF_ERROR(StartChores());
    PLIMSOLL_RETURN_IF_ERROR(StartApi());
    // The API reports meanwhile what the node waits for. Pods of files would only be refused.
    PLIMSOLL_RETURN_IF_ERROR(node_->AwaitFirst(is_to_stop));
    return StartDirectory();
  }

 private:
  void Warn(absl::string_view message) { log_->WriteLimited(LogLevel::kWarning, message); }
  bool GateIsOn(const std::string& gate) const { return config_.feature_gates.enabled(gate); }

  absl::Status StartNode(const std::string& version) {
    PLIMSOLL_ASSIGN_OR_RETURN(node_, NodeWiring::Start(version, {.config = config_,
                                                                 .log = log_,
                                                                 .events = reports_.events,
                                                                 .root = ground_.root,
                                                                 .state = ground_.state,
                                                                 .store = *ground_.store,
                                                                 .client = runtime_->client(),
                                                                 .pods = place_,
                                                                 .counters = *reports_.counters}));
    return absl::OkStatus();
  }

  absl::Status StartResources() {
    if (config_.pod_resources_path.empty()) return absl::OkStatus();
    PodResourcesServer::Options options{.root = ground_.root,
                                        .directory = config_.pod_resources_path,
                                        .source = std::make_unique<AgentResources>(place_, *node_)};
    options.counters = reports_.counters.get();
    options.tell_socket = [this](const absl::Status& made) {
      Warn(absl::StrCat(
          config_.pod_resources_path, "/kubelet.sock was removed, and ",
          made.ok() ? "has been made again" : "can't be made again: ", made.message()));
    };
    PLIMSOLL_ASSIGN_OR_RETURN(front_.resources, PodResourcesServer::Start(std::move(options)));
    return absl::OkStatus();
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
    PLIMSOLL_ASSIGN_OR_RETURN(pods_, PodWiring::Start({.config = config_,
                                                       .log = log_,
                                                       .root = ground_.root,
                                                       .store = *ground_.store,
                                                       .objects = ground_.objects.get(),
                                                       .events = reports_.events,
                                                       .board = reports_.board,
                                                       .counters = reports_.counters,
                                                       .runtime = *runtime_,
                                                       .node = *node_,
                                                       .pods = place_}));
    return absl::OkStatus();
  }

  absl::Status StartNews() {
    PLIMSOLL_ASSIGN_OR_RETURN(auto events,
                              OpenClient(config_.runtime_endpoint, *reports_.counters));
    PLIMSOLL_ASSIGN_OR_RETURN(auto lists, OpenClient(config_.runtime_endpoint, *reports_.counters));
    AgentPods* const pods = place_.get();
    news_ = std::make_unique<RuntimeNews>(
        std::move(events), std::move(lists), RuntimeNews::Pace(),
        RuntimeNews::Hooks{
            .changed = [pods](const std::string& uid) { pods->Wake(uid); },
            .answers =
                [this, pods](const absl::Status& status) {
                  node_->node().SetRuntimeTrouble(std::string(status.message()));
                  if (status.ok()) {
                    log_->Write(LogLevel::kInfo, "runtime answers");
                    pods->WakeAll();
                  } else {
                    Warn(absl::StrCat("runtime does not answer: ", status.message()));
                  }
                },
            .unreadable =
                [this] {
                  Warn(
                      "runtime sent an event that can't be decoded (GetContainerEvents): lists "
                      "find what has changed, and the events are asked for again");
                }});
    return absl::OkStatus();
  }

  absl::Status StartDirectory() {
    AgentPods* const pods = place_.get();
    PLIMSOLL_ASSIGN_OR_RETURN(
        watches_.manifests,
        ManifestDirectory::Start(
            {.path = config_.static_pod_path,
             .look_anyway = absl::Seconds(config_.file_check_frequency_seconds),
             .tell =
                 [pods](ManifestDirectory::Files files, std::set<std::string> unread) {
                   pods->SetFiles(std::move(files), std::move(unread));
                 },
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
    reports_.events.Add(NodeSubject(config_), "Warning", reason, fault.message());
  }

  // Pods adopt changed objects at their next step.
  absl::Status StartObjects() {
    if (ground_.objects == nullptr) return absl::OkStatus();
    AgentPods* const pods = place_.get();
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
        Chores::Start(config_, {.pods = *place_.get(),
                                .client = runtime_->client(),
                                .root = ground_.root,
                                .events = reports_.events,
                                .allocatable = [this] { return node_->node().State().allocatable; },
                                .enforce = [this] { node_->Enforce(); },
                                .note = [this](const std::string& note) { Warn(note); }}));
    return absl::OkStatus();
  }

  absl::Status StartApi() {
    AgentPods* const pods = place_.get();
    front_.api = std::make_unique<PodApi>(
        pods, Pages{.health = [this] { return Health(); },
                    .metrics =
                        [this, pods] {
                          return MetricsText({.pods = *pods,
                                              .node = node_->node(),
                                              .config = config_,
                                              .counters = *reports_.counters,
                                              .prober = pods_->prober(),
                                              .host = ground_.root});
                        },
                    .config = [this] { return ConfigObject(config_); },
                    .quotas =
                        [this, pods](const std::string& pod_namespace) {
                          return QuotaObjects(
                              config_, ground_.root, pod_namespace,
                              [pods](const std::string& of) { return pods->ClassesInUse(of); });
                        },
                    .allocations = [pods] { return pods->Allocations(); }});
    ServerOptions options;
    options.socket = {config_.socket, 0600, std::nullopt};
    options.tell_socket = [this](const absl::Status& status) {
      if (status.ok()) return;
      Warn(absl::StrCat(config_.socket,
                        " was removed, and can't be made again: ", status.message()));
    };
    PLIMSOLL_ASSIGN_OR_RETURN(
        front_.server,
        ApiServer::Start(std::move(options), [this](const HttpRequest& request, Answer& answer) {
          front_.api->Serve(request, answer);
        }));
    return absl::OkStatus();
  }

  absl::Status Health() const {
    const NodeState node = node_->node().State();
    if (node.ready) return absl::OkStatus();
    return absl::UnavailableError(
        absl::StrCat("the node is not ready: ", node.reason, ": ", node.message));
  }

  const AgentConfig config_;
  Log* const log_;
  Ground ground_;
  Reports reports_;
  std::unique_ptr<Runtime> runtime_;
  PodsPlace place_;
  std::unique_ptr<NodeWiring> node_;
  std::unique_ptr<PodWiring> pods_;
  std::unique_ptr<RuntimeNews> news_;
  Watches watches_;
  Front front_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Agent>> Agent::Start(const AgentConfig& config,
                                                    const std::string& version, Log* log,
                                                    const std::function<bool()>& is_to_stop) {
  PLIMSOLL_ASSIGN_OR_RETURN(FsRoot root, FsRoot::Open("/"));
  PLIMSOLL_ASSIGN_OR_RETURN(FsRoot state, FsRoot::OpenOrCreate(config.state_directory, 0700));
  PLIMSOLL_ASSIGN_OR_RETURN(DirectoryLock lock, DirectoryLock::Take(state, "state directory"));
  auto agent = std::make_unique<AgentImpl>(config, log,
                                           Ground{.root = std::move(root),
                                                  .state = std::move(state),
                                                  .lock = std::move(lock),
                                                  .store = nullptr,
                                                  .objects = nullptr});
  PLIMSOLL_RETURN_IF_ERROR(agent->Start(version, is_to_stop));
  return std::unique_ptr<Agent>(std::move(agent));
}

}  // namespace plimsoll::agent
