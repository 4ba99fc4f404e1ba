// One plugin's connection, from its first byte to its end.
#ifndef PLIMSOLL_NRI_PLUGIN_CONNECTION_H_
#define PLIMSOLL_NRI_PLUGIN_CONNECTION_H_

#include <sys/types.h>

#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/synchronization/notification.h"
#include "absl/time/time.h"
#include "base/steady_news.h"
#include "base/steady_time.h"
#include "base/unique_fd.h"
#include "nri/known_objects.h"
#include "nri/nri.h"
#include "nri/plugin_counts.h"
#include "nri/plugin_events.h"
#include "nri/plugin_name.h"
#include "nri/ttrpc/connection.h"

namespace plimsoll::nri {

// `text` is for people.
using TellFn =
    std::function<void(bool is_warning, const std::string& plugin, const std::string& text)>;

class PluginConnection;

// The runtime's service. Called in a thread of the plugin's connection, one call at a time.
class RuntimeCalls {
 public:
  virtual ~RuntimeCalls() = default;
  virtual absl::Status Register(PluginConnection& plugin,
                                const api::RegisterPluginRequest& request) = 0;
  virtual absl::StatusOr<api::UpdateContainersResponse> UpdateContainers(
      PluginConnection& plugin, const api::UpdateContainersRequest& request) = 0;
  virtual absl::Status UpdateNodeResources(PluginConnection& plugin,
                                           const api::UpdateNodeResourcesRequest& request) = 0;
};

// Steps of a connection, in order.
enum class Step {
  kNew,         // not registered
  kRegistered,  // has a name
  kJoining,     // is being configured
  kTold,        // gets or has got Synchronize: it may ask for updates
  kReady,       // gets events
};

struct PluginSetup {
  UniqueFd socket;
  std::optional<PluginName> pre_installed;  // the name of its file; nullopt: it came by itself
  pid_t pid = 0;                            // of a plugin that was started; 0: the socket shows
  std::string configuration;
  absl::Duration registration_timeout;
  absl::Duration request_timeout;
  RuntimeCalls* calls = nullptr;
  SteadyNews* news = nullptr;  // told of each change of step, and of the end
};

// One event for one plugin. Null members: the event has none.
struct PluginRequest {
  api::Event event = api::UNKNOWN;
  const google::protobuf::MessageLite* message = nullptr;
  const api::PodSandbox* pod = nullptr;
  const api::Container* container = nullptr;
};

// The result of a request.
struct Outcome {
  absl::Status status;
  bool answered = true;  // false: a timeout, a lost connection, an answer that is no message
};

// Thread-safe, but for known(). Its last reference must not go in a thread of the connection's;
// RuntimeCalls get a plain reference for that reason. Where it goes it waits for a call of the
// plugin's that is being served: see AwaitServed.
class PluginConnection {
 public:
  static absl::StatusOr<std::shared_ptr<PluginConnection>> Start(PluginSetup setup);
  ~PluginConnection();
  PluginConnection(const PluginConnection&) = delete;
  PluginConnection& operator=(const PluginConnection&) = delete;

  // Gives the plugin its name. FAILED_PRECONDITION: it has one.
  absl::Status SetName(const PluginName& name, const PluginPolicy& policy,
                       std::shared_ptr<PluginCounts> counts, const std::string& nri_version);
  // "10-logger"; before it has a name: "plugin of process 123".
  std::string name() const;
  std::optional<PluginName> plugin_name() const;
  PluginPolicy policy() const;
  Step step() const;
  // False if the connection has ended.
  bool MoveTo(Step step);
  const std::optional<PluginName>& pre_installed() const { return setup_.pre_installed; }
  bool is_pre_installed() const { return setup_.pre_installed.has_value(); }
  SteadyTime register_until() const { return register_until_; }
  pid_t pid() const { return pid_; }
  // Never null; counts nothing that is shown before it has a name.
  std::shared_ptr<PluginCounts> counts() const;

  // Sends it configuration and version, and reads its subscription.
  absl::Status Configure(const std::string& version);
  bool Wants(api::Event event) const;
  // It judges what others change: it has subscribed to that by name, or has done it before.
  bool IsValidator() const;
  // Calls the plugin. `response` may be null. An event that it knows by StateChange alone goes that
  // way. Closes the connection after too many strikes.
  Outcome Ask(const PluginRequest& request, google::protobuf::Message* response);
  // One part of the node's state. A plugin's first look at the whole node takes longer than an
  // event: all parts together get `until`, see SynchronizeUntil.
  absl::StatusOr<api::SynchronizeResponse> Synchronize(const api::SynchronizeRequest& request,
                                                       SteadyTime until);
  // For a Synchronize that begins now: after the time of a registration, or of a request if longer.
  SteadyTime SynchronizeUntil() const;
  // Says that the runtime ends, for plugins that tidy up.
  void SayShutdown(absl::Duration patience);

  // Ends the connection; the first reason stays. Quick.
  void Close(const absl::Status& why);
  bool is_closed() const;
  absl::Status why_closed() const;
  // Waits until no call of the plugin's is served, nor will be: the connection has ended.
  void AwaitServed() const { served_.WaitForNotification(); }

  // The objects that the plugin knows. Guarded by the turn.
  KnownObjects& known() { return known_; }

  void Fill(PluginReport* report) const;

 private:
  struct State {
    std::optional<PluginName> name;
    PluginPolicy policy;
    std::shared_ptr<PluginCounts> counts = std::make_shared<PluginCounts>();
    std::string nri_version;
    Step step = Step::kNew;
    Subscription subscription;
    std::set<api::Event> by_state_change;
    bool has_validated = false;
    int64_t connected_unix_nanos = 0;
    std::optional<absl::Status> closed;
  };

  PluginConnection(PluginSetup setup, pid_t pid);
  absl::StatusOr<std::string> Serve(absl::string_view method, absl::string_view payload);
  // One call, counted. Errors name the plugin and the method.
  Outcome Call(absl::string_view method, absl::string_view counted_as, absl::Duration timeout,
               const google::protobuf::MessageLite& request, google::protobuf::Message* response);
  Outcome AskByStateChange(const PluginRequest& request);
  // The plugin doesn't know this event.
  Outcome NotImplemented(api::Event event, Outcome outcome);
  void End(const absl::Status& why);
  void TakeStrike(absl::string_view method, absl::Duration took, const absl::Status& status);

  const PluginSetup setup_;
  const pid_t pid_;
  const SteadyTime register_until_;
  mutable absl::Mutex mutex_;
  State state_ ABSL_GUARDED_BY(mutex_);
  KnownObjects known_;
  absl::Notification served_;
  std::unique_ptr<TtrpcConnection> connection_;
};

}  // namespace plimsoll::nri

#endif  // PLIMSOLL_NRI_PLUGIN_CONNECTION_H_
