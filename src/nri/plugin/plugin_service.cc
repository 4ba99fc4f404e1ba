#include "nri/plugin/plugin_service.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status.h"

namespace plimsoll::nri {
namespace {

absl::Status Parse(absl::string_view payload, google::protobuf::Message* message) {
  if (message->ParseFromArray(payload.data(), static_cast<int>(payload.size()))) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat("the payload is no ", message->GetTypeName()));
}

template <typename Request, typename Response>
absl::StatusOr<std::string> Pass(Plugin& plugin, absl::string_view payload,
                                 absl::StatusOr<Response> (Plugin::*call)(const Request&)) {
  Request request;
  PLIMSOLL_RETURN_IF_ERROR(Parse(payload, &request));
  PLIMSOLL_ASSIGN_OR_RETURN(const Response response, (plugin.*call)(request));
  return response.SerializeAsString();
}

struct EventCall {
  absl::string_view method;
  absl::StatusOr<std::string> (*pass)(Plugin& plugin, absl::string_view payload);
};
template <auto kCall>
absl::StatusOr<std::string> PassTo(Plugin& plugin, absl::string_view payload) {
  return Pass(plugin, payload, kCall);
}

constexpr EventCall kEventCalls[] = {
    {"RunPodSandbox", PassTo<&Plugin::RunPodSandbox>},
    {"UpdatePodSandbox", PassTo<&Plugin::UpdatePodSandbox>},
    {"PostUpdatePodSandbox", PassTo<&Plugin::PostUpdatePodSandbox>},
    {"StopPodSandbox", PassTo<&Plugin::StopPodSandbox>},
    {"RemovePodSandbox", PassTo<&Plugin::RemovePodSandbox>},
    {"CreateContainer", PassTo<&Plugin::CreateContainer>},
    {"PostCreateContainer", PassTo<&Plugin::PostCreateContainer>},
    {"StartContainer", PassTo<&Plugin::StartContainer>},
    {"PostStartContainer", PassTo<&Plugin::PostStartContainer>},
    {"UpdateContainer", PassTo<&Plugin::UpdateContainer>},
    {"PostUpdateContainer", PassTo<&Plugin::PostUpdateContainer>},
    {"StopContainer", PassTo<&Plugin::StopContainer>},
    {"RemoveContainer", PassTo<&Plugin::RemoveContainer>},
    {"ValidateContainerAdjustment", PassTo<&Plugin::ValidateContainerAdjustment>},
};

}  // namespace

int32_t EventMask(const std::vector<api::Event>& events) {
  int32_t mask = 0;
  for (const api::Event event : events) mask |= 1 << (event - 1);
  return mask;
}

absl::StatusOr<std::string> PluginService::Serve(absl::string_view method,
                                                 absl::string_view payload) {
  for (const EventCall& call : kEventCalls) {
    if (call.method == method) return call.pass(plugin_, payload);
  }
  if (method == "Configure") return Configure(payload);
  if (method == "Synchronize") return Synchronize(payload);
  if (method == "StateChange") return StateChange(payload);
  if (method == "Shutdown") {
    plugin_.Shutdown();
    has_shut_down_ = true;
    return api::Empty().SerializeAsString();
  }
  return absl::UnimplementedError(absl::StrCat("method ", method));
}

absl::StatusOr<std::string> PluginService::Configure(absl::string_view payload) {
  api::ConfigureRequest request;
  PLIMSOLL_RETURN_IF_ERROR(Parse(payload, &request));
  PLIMSOLL_RETURN_IF_ERROR(plugin_.Configure(request));
  api::ConfigureResponse response;
  response.set_events(EventMask(plugin_.Events()));
  return response.SerializeAsString();
}

absl::StatusOr<std::string> PluginService::Synchronize(absl::string_view payload) {
  if (payload.size() > kMaxSynchronizeBytes - parts_bytes_) {
    parts_.Clear();
    parts_bytes_ = 0;
    return absl::ResourceExhaustedError(
        absl::StrCat("the pods and containers take more than ", kMaxSynchronizeBytes, " bytes"));
  }
  api::SynchronizeRequest request;
  PLIMSOLL_RETURN_IF_ERROR(Parse(payload, &request));
  parts_bytes_ += payload.size();
  parts_.mutable_pods()->MergeFrom(request.pods());
  parts_.mutable_containers()->MergeFrom(request.containers());
  api::SynchronizeResponse response;
  response.set_more(request.more());
  if (request.more()) return response.SerializeAsString();
  const api::SynchronizeRequest whole = std::exchange(parts_, {});
  parts_bytes_ = 0;
  PLIMSOLL_ASSIGN_OR_RETURN(
      const std::vector<api::ContainerUpdate> updates,
      plugin_.Synchronize({whole.pods().begin(), whole.pods().end()},
                          {whole.containers().begin(), whole.containers().end()}));
  response.mutable_update()->Add(updates.begin(), updates.end());
  return response.SerializeAsString();
}

absl::StatusOr<std::string> PluginService::StateChange(absl::string_view payload) {
  api::StateChangeEvent event;
  PLIMSOLL_RETURN_IF_ERROR(Parse(payload, &event));
  PLIMSOLL_RETURN_IF_ERROR(plugin_.StateChange(event));
  return api::Empty().SerializeAsString();
}

}  // namespace plimsoll::nri
