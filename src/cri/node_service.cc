// plimsoll.v1.NodeService.
#include <unistd.h>

#include <utility>
#include <vector>

#include "base/status.h"
#include "cri/calls/unary_method.h"
#include "cri/calls/write_stream.h"
#include "cri/messages/findings.h"
#include "cri/messages/translate_classes.h"
#include "cri/messages/validate.h"
#include "cri/services.h"
#include "plimsoll/v1/node.grpc.pb.h"

#define PLIMSOLL_CRI_SERVICE "/plimsoll.v1.NodeService/"
#define PLIMSOLL_CRI_PACKAGE ::plimsoll::v1

namespace plimsoll::cri {
namespace {

namespace node = ::plimsoll::v1;

using EventStream = WriteStream<node::Event>;
using ProgressStream = WriteStream<node::ImageProgress>;

// Larger than the log's capacity, so a whole backlog fits beside new events.
constexpr size_t kMaxPendingEvents = 16384;
// A slow reader misses progress beyond this.
constexpr size_t kMaxPendingProgress = 64;

node::Event ToMessage(const runtime::Event& event) {
  node::Event message;
  message.set_sequence(event.sequence);
  message.set_timestamp(event.unix_nanos);
  message.set_type(runtime::EventTypeName(event.type));
  message.set_sandbox_id(event.sandbox_id);
  message.set_container_id(event.container_id);
  message.set_message(event.message);
  return message;
}

// Puts the log's backlog before its listener's events, each event once and in order.
class EventFeed {
 public:
  explicit EventFeed(std::shared_ptr<EventStream> stream) : stream_(std::move(stream)) {}

  void Hear(const runtime::Event& event) {
    absl::MutexLock lock(&mutex_);
    if (open_) {
      Write(event);
    } else {
      early_.push_back(event);
    }
  }

  void Open(const std::vector<runtime::Event>& backlog) {
    absl::MutexLock lock(&mutex_);
    for (const runtime::Event& event : backlog) Write(event);
    for (const runtime::Event& event : early_) {
      if (event.sequence > last_) Write(event);
    }
    early_.clear();
    open_ = true;
  }

 private:
  void Write(const runtime::Event& event) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    last_ = event.sequence;
    if (!stream_->Write(ToMessage(event))) {
      stream_->End(absl::ResourceExhaustedError(
          "events come faster than this client reads them: list again from the last event read"));
    }
  }

  const std::shared_ptr<EventStream> stream_;
  absl::Mutex mutex_;
  bool open_ ABSL_GUARDED_BY(mutex_) = false;
  uint64_t last_ ABSL_GUARDED_BY(mutex_) = 0;
  std::vector<runtime::Event> early_ ABSL_GUARDED_BY(mutex_);
};

class NodeRpcs {
 public:
  explicit NodeRpcs(NodeServiceOptions options) : options_(std::move(options)) {}

  absl::Status DaemonStatus(const node::DaemonStatusRequest&,
                            node::DaemonStatusResponse* response) const {
    const NodeInfo& info = options_.info;
    response->set_version(info.version);
    response->set_pid(getpid());
    response->set_started_at(info.started_unix_nanos);
    response->set_state_directory(info.state_directory);
    response->set_run_directory(info.run_directory);
    response->set_config_path(info.config_path);
    response->set_socket_path(info.socket_path);
    response->set_cgroup_layout(info.cgroup_layout);
    for (const auto& [name, version] : info.programs) {
      (*response->mutable_programs())[name] = version;
    }
    if (info.limitations) {
      for (std::string& limitation : info.limitations()) {
        response->add_limitations(std::move(limitation));
      }
    }
    for (std::string& trouble : options_.engine->RecoveryTroubles()) {
      response->add_troubles(std::move(trouble));
    }
    if (info.not_ready) {
      for (std::string& missing : info.not_ready()) response->add_not_ready(std::move(missing));
    }
    response->set_metrics_url(info.metrics_url);
    if (info.cluster) FillCluster(info.cluster(), response);
    Count(response);
    return absl::OkStatus();
  }

  absl::Status Inspect(const node::InspectRequest&, node::InspectResponse* response) const {
    response->set_daemon_running(true);
    response->set_state_directory(options_.info.state_directory);
    response->set_run_directory(options_.info.run_directory);
    AddFindings(options_.engine->Inspect(), response);
    for (std::string& trouble : options_.engine->RecoveryTroubles()) {
      response->add_troubles(std::move(trouble));
    }
    return absl::OkStatus();
  }

  absl::Status ListClasses(const node::ListClassesRequest&,
                           node::ListClassesResponse* response) const {
    if (options_.info.classes.registry == nullptr) return absl::OkStatus();
    AddClassTypes(options_.info.classes.registry->Describe(/*look=*/true), NamesById(), response);
    return absl::OkStatus();
  }

  absl::Status ReloadClasses(const node::ReloadClassesRequest&,
                             node::ReloadClassesResponse* response) const {
    if (options_.info.classes.registry == nullptr) {
      return absl::FailedPreconditionError(
          "QoS classes are switched off on this node (feature gate ClassResources)");
    }
    PLIMSOLL_ASSIGN_OR_RETURN(std::vector<std::string> changes,
                              options_.info.classes.registry->Reload());
    for (std::string& change : changes) response->add_changes(std::move(change));
    return absl::OkStatus();
  }

  absl::Status ListUsage(const node::ListUsageRequest& request,
                         node::ListUsageResponse* response) const {
    return options_.usage->ListUsage(request, response);
  }

  const NodeServiceOptions& options() const { return options_; }

 private:
  // Pods as "namespace/pod", containers as "pod/container": the form that commands take.
  std::map<std::string, std::string> NamesById() const {
    std::map<std::string, std::string> names;
    std::map<std::string, std::string> pods;
    for (const auto& sandbox : options_.engine->ListSandboxes()) {
      pods[sandbox.id] = sandbox.spec.name;
      names[sandbox.id] = absl::StrCat(sandbox.spec.pod_namespace, "/", sandbox.spec.name);
    }
    for (const auto& container : options_.engine->ListContainers()) {
      names[container.id] = absl::StrCat(pods[container.sandbox_id], "/", container.spec.name);
    }
    return names;
  }

  static void FillCluster(const ClusterState& cluster, node::DaemonStatusResponse* response) {
    response->set_cluster_socket(cluster.socket_path);
    response->set_cluster_watchers(static_cast<uint32_t>(cluster.watchers));
    response->set_told_claims(static_cast<uint32_t>(cluster.told_claims));
    response->set_classes_from_scheduler(cluster.classes_from_scheduler);
  }

  void Count(node::DaemonStatusResponse* response) const {
    uint32_t ready = 0;
    uint32_t running = 0;
    const auto sandboxes = options_.engine->ListSandboxes();
    for (const auto& sandbox : sandboxes) ready += sandbox.state == runtime::SandboxState::kReady;
    uint32_t containers = 0;
    options_.engine->VisitContainers([&](const runtime::ContainerRecord& container) {
      ++containers;
      running += container.state == runtime::ContainerState::kRunning;
    });
    response->set_sandboxes(static_cast<uint32_t>(sandboxes.size()));
    response->set_ready_sandboxes(ready);
    response->set_containers(containers);
    response->set_running_containers(running);
    response->set_images(static_cast<uint32_t>(options_.images->List().size()));
  }

  const NodeServiceOptions options_;
};

class NodeService final : public node::NodeService::CallbackService {
 public:
  NodeService(Calls* calls, NodeServiceOptions options)
      : calls_(calls), node_rpcs_(std::move(options)), rpcs_(&node_rpcs_) {}

  // gRPC reports a stream's end from a thread of its own, possibly late: tear nothing down before.
  ~NodeService() override {
    absl::MutexLock lock(&mutex_);
    const auto all_ended = [this]()
                               ABSL_SHARED_LOCKS_REQUIRED(mutex_) { return event_streams_ == 0; };
    mutex_.Await(absl::Condition(&all_ended));
  }

  PLIMSOLL_CRI_UNARY(rpcs_, DaemonStatus, Lane::kLook)
  PLIMSOLL_CRI_UNARY(rpcs_, Inspect, Lane::kNetwork)
  PLIMSOLL_CRI_UNARY(rpcs_, ListClasses, Lane::kLook)
  PLIMSOLL_CRI_UNARY(rpcs_, ListUsage, Lane::kLook)
  PLIMSOLL_CRI_UNARY(rpcs_, ReloadClasses, Lane::kWork)

  grpc::ServerWriteReactor<node::ImageProgress>* ImportImage(
      grpc::CallbackServerContext*, const node::ImportImageRequest* request) override {
    constexpr const char* kMethod = PLIMSOLL_CRI_SERVICE "ImportImage";
    calls_->Trace(kMethod, *request);
    return RunImageTask(
        kMethod,
        [this, request = *request](
            const std::shared_ptr<ProgressStream>& stream) -> absl::StatusOr<image::Image> {
          PLIMSOLL_RETURN_IF_ERROR(CheckAbsolutePath("path", request.path()));
          return images().Import(request.path(), request.reference(), Reporter(stream),
                                 [stream] { return stream->cancelled(); });
        },
        ObjectOf(*request));
  }

  grpc::ServerWriteReactor<node::ImageProgress>* PullImage(
      grpc::CallbackServerContext* context, const node::PullImageRequest* request) override {
    constexpr const char* kMethod = PLIMSOLL_CRI_SERVICE "PullImage";
    calls_->Trace(kMethod, *request);
    return RunImageTask(
        kMethod,
        [this, request = *request, deadline = DeadlineOf(*context)](
            const std::shared_ptr<ProgressStream>& stream) -> absl::StatusOr<image::Image> {
          PLIMSOLL_RETURN_IF_ERROR(CheckWord("reference", request.reference()));
          CallContext call;
          call.deadline = deadline;
          PLIMSOLL_ASSIGN_OR_RETURN(image::PullOptions options,
                                    PullOptionsFrom(call, request.auth(), request.reference()));
          options.cancelled = [stream] { return stream->cancelled(); };
          return images().Pull(request.reference(), options, Reporter(stream));
        },
        ObjectOf(*request));
  }

  grpc::ServerWriteReactor<node::Event>* ListEvents(
      grpc::CallbackServerContext*, const node::ListEventsRequest* request) override {
    constexpr const char* kMethod = PLIMSOLL_CRI_SERVICE "ListEvents";
    calls_->Trace(kMethod, *request);
    const absl::Time start = absl::Now();
    std::shared_ptr<EventStream> stream = EventStream::Create(kMaxPendingEvents);
    const uint64_t since = request->since();
    runtime::EventLog* events = rpcs_->options().events;
    auto feed = std::make_shared<EventFeed>(stream);
    const bool follow = request->follow();
    const auto hear = [feed](const runtime::Event& event, const runtime::EventSubject&) {
      feed->Hear(event);
    };
    const int handle = follow ? events->Listen(hear) : 0;
    {
      absl::MutexLock lock(&mutex_);
      ++event_streams_;
    }
    stream->set_on_end([=, this] {
      if (follow) events->Unlisten(handle);
      calls_->Observe(kMethod, start, absl::OkStatus());
      absl::MutexLock lock(&mutex_);
      --event_streams_;
    });
    feed->Open(events->Since(since));
    if (!follow) stream->End(absl::OkStatus());
    return stream.get();
  }

 private:
  image::ImageService& images() const { return *rpcs_->options().images; }

  static image::ProgressFn Reporter(std::shared_ptr<ProgressStream> stream) {
    return [stream](const image::Progress& progress) {
      node::ImageProgress message;
      message.mutable_progress()->set_step(progress.step);
      message.mutable_progress()->set_done_bytes(progress.done_bytes);
      message.mutable_progress()->set_total_bytes(progress.total_bytes);
      static_cast<void>(stream->Write(std::move(message)));  // best effort
    };
  }

  // Runs `task` on a worker and ends the stream with its image or error.
  template <typename Task>
  grpc::ServerWriteReactor<node::ImageProgress>* RunImageTask(const char* method, Task task,
                                                              const std::string& object) {
    const absl::Time start = absl::Now();
    std::shared_ptr<ProgressStream> stream = ProgressStream::Create(kMaxPendingProgress);
    const auto end = [this, method, start, stream, object](const absl::Status& status) {
      calls_->Observe(method, start, status, object);
      stream->End(status);
    };
    const absl::Status queued = calls_->Schedule(Lane::kFetch, [task, stream, end] {
      if (stream->cancelled()) return end(absl::CancelledError("the client has left"));
      const absl::StatusOr<image::Image> image = task(stream);
      if (image.ok()) stream->WriteLast(DoneMessage(*image));
      end(image.status());
    });
    if (!queued.ok()) end(queued);
    return stream.get();
  }

  static node::ImageProgress DoneMessage(const image::Image& image) {
    node::ImageProgress message;
    node::ImageProgress::Done* done = message.mutable_done();
    done->set_image_id(image.record.id);
    for (const std::string& tag : image.record.repo_tags) done->add_repo_tags(tag);
    for (const std::string& digest : image.record.repo_digests) done->add_repo_digests(digest);
    done->set_size_bytes(image.record.size_bytes);
    return message;
  }

  Calls* const calls_;
  const NodeRpcs node_rpcs_;
  const NodeRpcs* const rpcs_;
  absl::Mutex mutex_;
  int event_streams_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace

std::unique_ptr<grpc::Service> NewNodeService(Calls* calls, NodeServiceOptions options) {
  return std::make_unique<NodeService>(calls, std::move(options));
}

}  // namespace plimsoll::cri

#undef PLIMSOLL_CRI_PACKAGE
#undef PLIMSOLL_CRI_SERVICE
