// A client of plimsolld: the CRI's services and Plimsoll's own. Every call to the daemon goes
// through this.
#ifndef PLIMSOLL_POD_RUNNER_RUNTIME_CLIENT_CLIENT_H_
#define PLIMSOLL_POD_RUNNER_RUNTIME_CLIENT_CLIENT_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "cri/runtime/v1/api.pb.h"
#include "plimsoll/v1/node.pb.h"

namespace plimsoll::pod {

namespace cri = ::runtime::v1;
namespace node = ::plimsoll::v1;

// plimsolld's address unless its configuration has another.
inline constexpr char kDefaultAddress[] = "unix:///run/plimsoll/plimsoll.sock";

// Keeps the daemon that a client speaks to. A client of a daemon that runs by itself has none.
class DaemonKeeper {
 public:
  virtual ~DaemonKeeper() = default;
  // Starts the daemon if it doesn't run. Called every 200 ms while the daemon is gone and waited
  // for, from the threads that wait.
  virtual void Revive() = 0;
  // The client's connection is closed, and the daemon has no pod left. Not called while there are
  // pods. Called last, from the client's destructor.
  virtual void LeaveUnused() = 0;
};

struct ClientOptions {
  std::string address = kDefaultAddress;  // "unix:///path"
  // A call waits, and the daemon is connected but answers nothing. Called once until it answers
  // again, from a thread of the client's own; each may be null.
  std::function<void()> silent;
  std::function<void()> answers_again;
  std::unique_ptr<DaemonKeeper> keeper;  // may be null
  // Called after each call but streams, in the caller's thread, with the name of its request
  // ("RunPodSandboxRequest"); may be null.
  std::function<void(absl::string_view request, const absl::Status&, absl::Duration)> on_call;
};

// The time limit of a call that waits for nothing but the daemon.
inline constexpr int64_t kCallSeconds = 120;

// For calls that outlive their daemon: the daemon's successor answers them.
struct Patience {
  absl::Duration wait;         // for the daemon that takes the place of a lost one; zero: none
  std::function<void()> lost;  // the daemon ended, the wait begins; may be null
  std::function<void()> back;  // may be null
};

// The path of "unix:///path" or "/path". INVALID_ARGUMENT for another kind of address, or a path
// that isn't absolute.
absl::StatusOr<std::string> SocketPathOf(const std::string& address);

class RuntimeConnection;

// The calls of a client that plimsolld alone serves (plimsoll.v1.NodeService). Thread-safe.
class OwnCalls {
 public:
  // `connection` outlives this.
  explicit OwnCalls(RuntimeConnection& connection) : connection_(connection) {}

  absl::StatusOr<node::DaemonStatusResponse> DaemonStatus();
  absl::StatusOr<node::InspectResponse> Inspect();
  absl::StatusOr<node::ListClassesResponse> ListClasses();
  absl::StatusOr<node::ReloadClassesResponse> ReloadClasses();
  absl::StatusOr<node::ListUsageResponse> ListUsage();

  using OnProgress = std::function<void(const node::ImageProgress::Progress&)>;
  absl::StatusOr<node::ImageProgress::Done> PullImage(const node::PullImageRequest& request,
                                                      const OnProgress& progress);
  absl::StatusOr<node::ImageProgress::Done> ImportImage(const node::ImportImageRequest& request,
                                                        const OnProgress& progress);
  // Passes events after number `since` to `event`, until the stream ends or `event` returns false.
  absl::Status ListEvents(uint64_t since, bool follow,
                          const std::function<bool(const node::Event&)>& event);

 private:
  RuntimeConnection& connection_;
};

// The calls that change what lives. Thread-safe. Errors as Client's.
class UpdateCalls {
 public:
  // `connection` outlives this.
  explicit UpdateCalls(RuntimeConnection& connection) : connection_(connection) {}

  absl::Status Container(const cri::UpdateContainerResourcesRequest& request);
  absl::Status Pod(const cri::UpdatePodSandboxResourcesRequest& request);
  absl::Status PodClasses(const cri::UpdatePodSandboxConfigRequest& request);

 private:
  RuntimeConnection& connection_;
};

// Thread-safe. Every call has a deadline. Its error names the object and the daemon's reason.
class Client {
 public:
  // Connects at the first call, not here. INVALID_ARGUMENT as SocketPathOf.
  static absl::StatusOr<std::unique_ptr<Client>> Open(ClientOptions options);
  ~Client();

  const std::string& address() const { return address_; }
  // UNIMPLEMENTED where the runtime is another than plimsolld.
  OwnCalls& own() { return own_; }
  UpdateCalls& updates() { return updates_; }

  // From now on a call that reads, stops or removes is repeated when the daemon is lost. Call this
  // before other threads use the client.
  void SetPatience(Patience patience);
  // For a stream that was cut off: waits for a daemon as calls do. False: none came in time.
  bool AwaitDaemon();
  // Ends every call with CANCELLED, and each later call at once.
  void Abandon();
  bool abandoned() const;
  // The daemon is gone or gives no answer, and a call waits for it.
  bool stuck() const;

  // `limit_s`: DEADLINE_EXCEEDED after so many seconds.
  absl::StatusOr<cri::VersionResponse> Version(int64_t limit_s = kCallSeconds);
  absl::StatusOr<cri::StatusResponse> RuntimeStatus(bool verbose, int64_t limit_s = kCallSeconds);
  absl::StatusOr<cri::RuntimeConfigResponse> RuntimeConfig();

  // An empty handler: the daemon's default.
  absl::StatusOr<std::string> RunPodSandbox(const cri::PodSandboxConfig& config,
                                            const std::string& runtime_handler = "");
  absl::Status StopPodSandbox(const std::string& id);
  absl::Status RemovePodSandbox(const std::string& id);
  absl::StatusOr<cri::PodSandboxStatusResponse> PodSandboxStatus(const std::string& id,
                                                                 bool verbose = false);
  // Sandboxes whose label kPodUidLabel is `uid`; an empty uid: all.
  absl::StatusOr<std::vector<cri::PodSandbox>> ListPodSandboxes(const std::string& uid = "",
                                                                int64_t limit_s = kCallSeconds);
  // Sandboxes that have all of these labels.
  absl::StatusOr<std::vector<cri::PodSandbox>> ListPodSandboxesWith(
      const std::map<std::string, std::string>& labels, int64_t limit_s = kCallSeconds);

  absl::StatusOr<std::string> CreateContainer(const std::string& sandbox_id,
                                              const cri::ContainerConfig& config,
                                              const cri::PodSandboxConfig& sandbox);
  absl::Status StartContainer(const std::string& id);
  // `grace_s`: seconds between the stop signal and SIGKILL.
  absl::Status StopContainer(const std::string& id, int64_t grace_s);
  absl::Status RemoveContainer(const std::string& id);
  // After the log's file was renamed: the runtime begins a new one at the old path.
  absl::Status ReopenContainerLog(const std::string& id);
  absl::StatusOr<cri::ContainerStatusResponse> ContainerStatus(const std::string& id,
                                                               bool verbose = false);
  // Containers of one sandbox; an empty id: of all.
  absl::StatusOr<std::vector<cri::Container>> ListContainers(const std::string& sandbox_id = "");
  // Containers whose label kPodUidLabel is `uid`, of all their pod's sandboxes.
  absl::StatusOr<std::vector<cri::Container>> ListContainersOf(const std::string& uid);
  // Passes the containers' events to `event` until the stream ends or `event` returns false.
  // UNIMPLEMENTED: the runtime has no such stream.
  absl::Status WatchContainers(
      const std::function<bool(const cri::ContainerEventResponse&)>& event);
  // `timeout_s` 0: no limit.
  absl::StatusOr<cri::ExecSyncResponse> ExecSync(const std::string& id,
                                                 const std::vector<std::string>& command,
                                                 int64_t timeout_s);

  // URLs of the daemon's streaming server. Each serves one connection. A terminal merges standard
  // error into standard output.
  absl::StatusOr<std::string> ExecUrl(const std::string& id,
                                      const std::vector<std::string>& command, bool input,
                                      bool terminal);
  absl::StatusOr<std::string> AttachUrl(const std::string& id, bool input, bool terminal);
  absl::StatusOr<std::string> PortForwardUrl(const std::string& sandbox_id, uint16_t port);

  absl::StatusOr<std::vector<cri::Image>> ListImages();
  // nullopt: the daemon doesn't have the image.
  absl::StatusOr<std::optional<cri::Image>> ImageStatus(const std::string& reference);
  absl::StatusOr<cri::ImageStatusResponse> InspectImage(const std::string& reference);
  absl::Status RemoveImage(const std::string& reference);
  // Pulls by the CRI's own call, which every runtime has.
  absl::Status PullImage(const cri::PullImageRequest& request);
  // The node's topology now and at each change, until the stream ends or `topology` returns false.
  // `metadata` is a key that is sent with the call, empty for none. By it the daemon distinguishes
  // an observer from a client that places pods.
  absl::Status WatchTopology(
      const std::string& metadata,
      const std::function<bool(const cri::DynamicRuntimeConfigResponse&)>& topology);

 private:
  Client(ClientOptions options, std::unique_ptr<RuntimeConnection> connection);

  const std::string address_;
  const std::unique_ptr<DaemonKeeper> keeper_;
  std::unique_ptr<RuntimeConnection> connection_;
  OwnCalls own_;
  UpdateCalls updates_;
};

}  // namespace plimsoll::pod

#endif  // PLIMSOLL_POD_RUNNER_RUNTIME_CLIENT_CLIENT_H_
