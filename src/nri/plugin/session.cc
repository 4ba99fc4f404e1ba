#include <optional>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "base/status.h"
#include "nri/plugin/environment.h"
#include "nri/plugin/plugin.h"
#include "nri/plugin/plugin_service.h"
#include "nri/ttrpc/connection.h"

namespace plimsoll::nri {
namespace {

constexpr char kPluginService[] = "nri.pkg.api.v1alpha1.Plugin";
constexpr char kRuntimeService[] = "nri.pkg.api.v1alpha1.Runtime";
constexpr char kProtocolVersion[] = "0.12.0";
// The time for which runtimes wait for a plugin.
constexpr absl::Duration kRegistrationTimeout = absl::Seconds(5);

class PluginSession : public Session {
 public:
  PluginSession(Plugin& plugin, absl::Duration call_timeout)
      : service_(plugin), call_timeout_(call_timeout) {}

  absl::Status Connect(UniqueFd socket);
  absl::Status Register(const PluginOptions& options);

  absl::Status Wait() override;
  void Close() override { connection_->Close(); }
  absl::StatusOr<std::vector<api::ContainerUpdate>> UpdateContainers(
      const std::vector<api::ContainerUpdate>& updates,
      const std::vector<api::ContainerEviction>& evictions) override;
  absl::Status UpdateNodeResources(const api::UpdateNodeResourcesRequest& request) override;

 private:
  // The plugin's own error to a call without which it can't join: the runtime disconnects it then.
  void SetRefusal(const absl::Status& why);
  void SetEnd(const absl::Status& why);

  PluginService service_;
  const absl::Duration call_timeout_;
  absl::Mutex mutex_;
  absl::Status refusal_ ABSL_GUARDED_BY(mutex_);
  std::optional<absl::Status> end_ ABSL_GUARDED_BY(mutex_);
  std::unique_ptr<TtrpcConnection> connection_;  // its threads use all of the above
};

absl::Status PluginSession::Connect(UniqueFd socket) {
  ConnectionOptions options;
  options.calls = kRuntimeConnection;
  options.serves = kPluginConnection;
  options.service = kPluginService;
  options.serve = [this](absl::string_view method, absl::string_view payload) {
    absl::StatusOr<std::string> answer = service_.Serve(method, payload);
    if (!answer.ok() && (method == "Configure" || method == "Synchronize")) {
      SetRefusal(Annotate(answer.status(), method));
    }
    return answer;
  };
  options.closed = [this](const absl::Status& why) { SetEnd(why); };
  PLIMSOLL_ASSIGN_OR_RETURN(connection_,
                            TtrpcConnection::Start(std::move(socket), std::move(options)));
  return absl::OkStatus();
}

absl::Status PluginSession::Register(const PluginOptions& options) {
  api::RegisterPluginRequest request;
  request.set_plugin_name(options.name);
  request.set_plugin_idx(options.index);
  request.set_nri_version(kProtocolVersion);
  return Annotate(connection_
                      ->Call(kRuntimeService, "RegisterPlugin", request.SerializeAsString(),
                             kRegistrationTimeout)
                      .status(),
                  absl::StrCat("register plugin ", options.index, "-", options.name));
}

void PluginSession::SetRefusal(const absl::Status& why) {
  absl::MutexLock lock(&mutex_);
  refusal_ = why;
}

void PluginSession::SetEnd(const absl::Status& why) {
  absl::MutexLock lock(&mutex_);
  end_ = !refusal_.ok() ? refusal_ : service_.HasShutDown() ? absl::OkStatus() : why;
}

absl::Status PluginSession::Wait() {
  absl::MutexLock lock(&mutex_);
  const auto has_ended = [this]()
                             ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return end_.has_value(); };
  mutex_.Await(absl::Condition(&has_ended));
  return *end_;
}

absl::StatusOr<std::vector<api::ContainerUpdate>> PluginSession::UpdateContainers(
    const std::vector<api::ContainerUpdate>& updates,
    const std::vector<api::ContainerEviction>& evictions) {
  api::UpdateContainersRequest request;
  request.mutable_update()->Add(updates.begin(), updates.end());
  request.mutable_evict()->Add(evictions.begin(), evictions.end());
  PLIMSOLL_ASSIGN_OR_RETURN(const std::string answer,
                            connection_->Call(kRuntimeService, "UpdateContainers",
                                              request.SerializeAsString(), call_timeout_));
  api::UpdateContainersResponse response;
  if (!response.ParseFromString(answer)) {
    return absl::InternalError("the runtime's answer is no UpdateContainersResponse");
  }
  return std::vector<api::ContainerUpdate>(response.failed().begin(), response.failed().end());
}

absl::Status PluginSession::UpdateNodeResources(const api::UpdateNodeResourcesRequest& request) {
  return connection_
      ->Call(kRuntimeService, "UpdateNodeResources", request.SerializeAsString(), call_timeout_)
      .status();
}

}  // namespace

absl::StatusOr<std::unique_ptr<Session>> Session::Start(Plugin& plugin, PluginOptions options) {
  PLIMSOLL_RETURN_IF_ERROR(Identify(&options));
  PLIMSOLL_ASSIGN_OR_RETURN(UniqueFd socket, TakeSocket(options));
  auto session = std::make_unique<PluginSession>(plugin, options.call_timeout);
  PLIMSOLL_RETURN_IF_ERROR(session->Connect(std::move(socket)));
  PLIMSOLL_RETURN_IF_ERROR(session->Register(options));
  return session;
}

}  // namespace plimsoll::nri
