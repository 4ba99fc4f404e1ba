#include "nri/plugin_connection.h"

#include <sys/socket.h>

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/status.h"
#include "base/text/printable.h"
#include "protobuf/field_count.h"

namespace plimsoll::nri {
namespace {

constexpr char kPluginService[] = "nri.pkg.api.v1alpha1.Plugin";
constexpr char kRuntimeService[] = "nri.pkg.api.v1alpha1.Runtime";
// The version in the form of a Go module's: plugins compare it so.
constexpr char kProtocol[] = "v0.12.0";
constexpr size_t kLongestVersion = 64;
// The fields of one message of a plugin: 20 for each of 4,096 updates, and some more. Two bytes on
// the wire can be a message of 200 bytes in memory.
constexpr int kMostFields = 100'000;

pid_t PeerOf(const UniqueFd& socket) {
  ucred credentials = {};
  socklen_t size = sizeof(credentials);
  if (getsockopt(socket.get(), SOL_SOCKET, SO_PEERCRED, &credentials, &size) != 0) return 0;
  return credentials.pid;
}

// A message of a peer, or why it is none.
template <typename Message>
absl::StatusOr<Message> Parse(absl::string_view method, absl::string_view payload) {
  Message message;
  PLIMSOLL_RETURN_IF_ERROR(Annotate(
      ParseBounded(payload, kMostFields, &message),
      absl::StrCat(method, ": ", payload.size(), " bytes are not the message of this call")));
  return message;
}

}  // namespace

PluginConnection::PluginConnection(PluginSetup setup, pid_t pid)
    : setup_(std::move(setup)),
      pid_(pid),
      register_until_(SteadyAfter(setup_.registration_timeout)) {}

absl::StatusOr<std::shared_ptr<PluginConnection>> PluginConnection::Start(PluginSetup setup) {
  UniqueFd socket(std::move(setup.socket));
  const pid_t pid = setup.pid != 0 ? setup.pid : PeerOf(socket);
  std::shared_ptr<PluginConnection> plugin(new PluginConnection(std::move(setup), pid));
  ConnectionOptions options;
  options.calls = kPluginConnection;
  options.serves = kRuntimeConnection;
  options.service = kRuntimeService;
  PluginConnection* const self = plugin.get();
  options.serve = [self](absl::string_view method, absl::string_view payload) {
    return self->Serve(method, payload);
  };
  options.closed = [self](const absl::Status& why) {
    self->End(why.ok() ? absl::UnavailableError("the connection was closed") : why);
    self->served_.Notify();
  };
  PLIMSOLL_ASSIGN_OR_RETURN(plugin->connection_,
                            TtrpcConnection::Start(std::move(socket), std::move(options)));
  return plugin;
}

// The connection's threads end before the members that they use.
PluginConnection::~PluginConnection() {
  connection_.reset();
}

absl::Status PluginConnection::SetName(const PluginName& name, const PluginPolicy& policy,
                                       std::shared_ptr<PluginCounts> counts,
                                       const std::string& nri_version) {
  {
    absl::MutexLock lock(&mutex_);
    if (state_.name.has_value()) {
      return absl::FailedPreconditionError(
          absl::StrCat("plugin ", state_.name->Full(), " is registered already"));
    }
    state_.name = name;
    state_.policy = policy;
    state_.counts = std::move(counts);
    state_.nri_version = Printable(nri_version.substr(0, kLongestVersion));
    state_.step = Step::kRegistered;
    state_.connected_unix_nanos = absl::GetCurrentTimeNanos();
    state_.counts->Connected();
  }
  setup_.news->Tell();
  return absl::OkStatus();
}

std::string PluginConnection::name() const {
  absl::MutexLock lock(&mutex_);
  if (state_.name.has_value()) return state_.name->Full();
  if (setup_.pre_installed.has_value()) return setup_.pre_installed->Full();
  return absl::StrCat("plugin of process ", pid_);
}

std::optional<PluginName> PluginConnection::plugin_name() const {
  absl::MutexLock lock(&mutex_);
  return state_.name;
}

PluginPolicy PluginConnection::policy() const {
  absl::MutexLock lock(&mutex_);
  return state_.policy;
}

Step PluginConnection::step() const {
  absl::MutexLock lock(&mutex_);
  return state_.step;
}

bool PluginConnection::MoveTo(Step step) {
  {
    absl::MutexLock lock(&mutex_);
    if (state_.closed.has_value()) return false;
    state_.step = step;
  }
  setup_.news->Tell();
  return true;
}

std::shared_ptr<PluginCounts> PluginConnection::counts() const {
  absl::MutexLock lock(&mutex_);
  return state_.counts;
}

absl::Status PluginConnection::Configure(const std::string& version) {
  api::ConfigureRequest request;
  request.set_config(setup_.configuration);
  request.set_runtime_name("plimsoll");
  request.set_runtime_version(version);
  request.set_registration_timeout(absl::ToInt64Milliseconds(setup_.registration_timeout));
  request.set_request_timeout(absl::ToInt64Milliseconds(setup_.request_timeout));
  request.set_nri_version(kProtocol);
  api::ConfigureResponse response;
  PLIMSOLL_RETURN_IF_ERROR(
      Call("Configure", "Configure", setup_.request_timeout, request, &response).status);
  PLIMSOLL_ASSIGN_OR_RETURN(const Subscription subscription, Subscription::Read(response.events()));
  absl::MutexLock lock(&mutex_);
  state_.subscription = subscription;
  return absl::OkStatus();
}

bool PluginConnection::Wants(api::Event event) const {
  absl::MutexLock lock(&mutex_);
  return !state_.closed.has_value() && state_.subscription.Has(event);
}

bool PluginConnection::IsValidator() const {
  absl::MutexLock lock(&mutex_);
  return state_.subscription.Has(api::VALIDATE_CONTAINER_ADJUSTMENT) &&
         (state_.subscription.is_explicit() || state_.has_validated);
}

Outcome PluginConnection::Ask(const PluginRequest& request, google::protobuf::Message* response) {
  const bool old = [&] {
    absl::MutexLock lock(&mutex_);
    return state_.by_state_change.contains(request.event);
  }();
  if (old) return AskByStateChange(request);
  const char* const method = EventName(request.event);
  Outcome outcome = Call(method, method, setup_.request_timeout, *request.message, response);
  if (outcome.status.ok() && request.event == api::VALIDATE_CONTAINER_ADJUSTMENT) {
    absl::MutexLock lock(&mutex_);
    state_.has_validated = true;
  }
  if (!outcome.answered || !absl::IsUnimplemented(outcome.status)) return outcome;
  if (!HasStateChange(request.event)) return NotImplemented(request.event, std::move(outcome));
  {
    absl::MutexLock lock(&mutex_);
    state_.by_state_change.insert(request.event);
  }
  return AskByStateChange(request);
}

Outcome PluginConnection::AskByStateChange(const PluginRequest& request) {
  api::StateChangeEvent event;
  event.set_event(request.event);
  if (request.pod != nullptr) *event.mutable_pod() = *request.pod;
  if (request.container != nullptr) *event.mutable_container() = *request.container;
  Outcome outcome =
      Call("StateChange", EventName(request.event), setup_.request_timeout, event, nullptr);
  if (!outcome.answered || !absl::IsUnimplemented(outcome.status)) return outcome;
  return NotImplemented(request.event, std::move(outcome));
}

Outcome PluginConnection::NotImplemented(api::Event event, Outcome outcome) {
  absl::MutexLock lock(&mutex_);
  // A plugin that asked for all events means those that it has calls for. One that named this
  // event has a fault.
  if (state_.subscription.is_explicit()) return outcome;
  state_.subscription.Drop(event);
  return {};
}

Outcome PluginConnection::Call(absl::string_view method, absl::string_view counted_as,
                               absl::Duration timeout, const google::protobuf::MessageLite& request,
                               google::protobuf::Message* response) {
  const SteadyTime begin = SteadyNow();
  bool answered = false;
  absl::StatusOr<std::string> payload =
      connection_->Call(kPluginService, method, request.SerializeAsString(), timeout, &answered);
  const absl::Duration took = absl::FromChrono(SteadyNow() - begin);
  const auto named = [&](const absl::Status& status) {
    return Annotate(status, absl::StrCat("plugin \"", name(), "\": ", method));
  };
  if (!payload.ok() && answered) {
    const absl::Status status(payload.status().code(), Printable(payload.status().message()));
    if (!absl::IsUnimplemented(status)) counts()->Answered(counted_as, took, status);
    return {named(status), true};
  }
  if (!payload.ok() && absl::IsResourceExhausted(payload.status())) {
    // Not the plugin's fault: the request is longer than the protocol allows.
    counts()->Failed(payload.status().message());
    return {named(payload.status()), false};
  }
  absl::Status status = payload.status();
  if (status.ok() && response != nullptr) {
    const absl::Status parsed = ParseBounded(*payload, kMostFields, response);
    if (!parsed.ok()) {
      status = absl::DataLossError(
          absl::StrCat("its answer of ", payload->size(),
                       " bytes is not the message of this call: ", parsed.message()));
      Close(named(status));
    }
  }
  if (status.ok()) {
    counts()->Answered(counted_as, took, status);
    return {};
  }
  TakeStrike(counted_as, took, status);
  // Said now, not when the connection's own thread gets there: the next call leaves it out.
  if (connection_->IsClosed()) End(status);
  return {named(status), false};
}

void PluginConnection::TakeStrike(absl::string_view method, absl::Duration took,
                                  const absl::Status& status) {
  const int strikes = counts()->Strike(method, took, status);
  if (strikes < std::max(1, policy().strikes)) return;
  Close(Annotate(status, absl::StrCat(strikes, strikes == 1 ? " request" : " requests in a row",
                                      " got no answer, the last a ", method)));
}

absl::StatusOr<api::SynchronizeResponse> PluginConnection::Synchronize(
    const api::SynchronizeRequest& request, SteadyTime until) {
  api::SynchronizeResponse response;
  PLIMSOLL_RETURN_IF_ERROR(
      Call("Synchronize", "Synchronize", TimeUntil(until), request, &response).status);
  return response;
}

SteadyTime PluginConnection::SynchronizeUntil() const {
  return SteadyAfter(std::max(setup_.request_timeout, setup_.registration_timeout));
}

void PluginConnection::SayShutdown(absl::Duration patience) {
  if (is_closed()) return;
  connection_->Call(kPluginService, "Shutdown", "", patience).status().IgnoreError();
}

void PluginConnection::Close(const absl::Status& why) {
  End(why);
  connection_->Close();
}

// May be called before Start has the connection.
void PluginConnection::End(const absl::Status& why) {
  {
    absl::MutexLock lock(&mutex_);
    if (state_.closed.has_value()) return;
    state_.closed = why;
  }
  setup_.news->Tell();
}

bool PluginConnection::is_closed() const {
  absl::MutexLock lock(&mutex_);
  return state_.closed.has_value();
}

absl::Status PluginConnection::why_closed() const {
  absl::MutexLock lock(&mutex_);
  return state_.closed.value_or(absl::OkStatus());
}

void PluginConnection::Fill(PluginReport* report) const {
  absl::MutexLock lock(&mutex_);
  report->state = state_.step == Step::kReady ? PluginState::kReady : PluginState::kConnecting;
  report->pre_installed = setup_.pre_installed.has_value();
  report->pid = pid_;
  report->nri_version = state_.nri_version;
  report->events = state_.subscription.Names();
  report->connected_unix_nanos = state_.connected_unix_nanos;
}

absl::StatusOr<std::string> PluginConnection::Serve(absl::string_view method,
                                                    absl::string_view payload) {
  if (method == "RegisterPlugin") {
    PLIMSOLL_ASSIGN_OR_RETURN(const auto request,
                              Parse<api::RegisterPluginRequest>(method, payload));
    PLIMSOLL_RETURN_IF_ERROR(setup_.calls->Register(*this, request));
    return std::string();
  }
  if (method == "UpdateContainers") {
    PLIMSOLL_ASSIGN_OR_RETURN(const auto request,
                              Parse<api::UpdateContainersRequest>(method, payload));
    PLIMSOLL_ASSIGN_OR_RETURN(const auto response, setup_.calls->UpdateContainers(*this, request));
    return response.SerializeAsString();
  }
  if (method == "UpdateNodeResources") {
    PLIMSOLL_ASSIGN_OR_RETURN(const auto request,
                              Parse<api::UpdateNodeResourcesRequest>(method, payload));
    PLIMSOLL_RETURN_IF_ERROR(setup_.calls->UpdateNodeResources(*this, request));
    return std::string();
  }
  return absl::UnimplementedError(
      absl::StrCat("Runtime has no call ", Printable(method.substr(0, kLongestVersion))));
}

}  // namespace plimsoll::nri
