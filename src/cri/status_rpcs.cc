#include <nlohmann/json.hpp>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/status.h"
#include "cri/messages/translate_classes.h"
#include "cri/messages/validate.h"
#include "cri/status_rpcs.h"

namespace plimsoll::cri {
namespace {

namespace v1 = ::runtime::v1;

constexpr char kRuntimeName[] = "plimsoll";
constexpr char kApiVersion[] = "v1";
// The version of kubelet's side of the interface, unchanged since the first.
constexpr char kKubeletVersion[] = "0.1.0";

std::string ConfigJson(const NodeInfo& info) {
  nlohmann::json json;
  json["version"] = info.version;
  json["stateDirectory"] = info.state_directory;
  json["runDirectory"] = info.run_directory;
  json["configPath"] = info.config_path;
  json["socketPath"] = info.socket_path;
  json["programs"] = info.programs;
  json["cgroupLayout"] = info.cgroup_layout;
  json["cgroupDriver"] = info.systemd_cgroup_driver ? "systemd" : "cgroupfs";
  json["selinux"] = info.selinux;
  return json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

void AddHandler(const std::string& name, const NodeInfo& info, v1::StatusResponse* response) {
  v1::RuntimeHandler* handler = response->add_runtime_handlers();
  handler->set_name(name);
  handler->mutable_features()->set_recursive_read_only_mounts(
      name.empty() ? info.recursive_read_only_mounts
                   : absl::c_linear_search(info.handlers_with_recursive_read_only_mounts, name));
  handler->mutable_features()->set_user_namespaces(
      info.user_namespaces && !absl::c_linear_search(info.handlers_without_user_namespaces, name));
}

// An error's message is "<Reason>: <why>".
void AddCondition(const char* type, const absl::Status& status, v1::StatusResponse* response) {
  v1::RuntimeCondition* condition = response->mutable_status()->add_conditions();
  condition->set_type(type);
  condition->set_status(status.ok());
  if (status.ok()) return;
  const std::pair<std::string, std::string> reason_and_why =
      absl::StrSplit(status.message(), absl::MaxSplits(": ", 1));
  condition->set_reason(reason_and_why.first);
  condition->set_message(reason_and_why.second);
}

}  // namespace

absl::Status StatusRpcs::Version(const v1::VersionRequest& request, v1::VersionResponse* response) {
  const std::string& asked = request.version();
  if (!asked.empty() && asked != kApiVersion && asked != kKubeletVersion) {
    return Invalid("version", asked, "must be \"v1\", \"0.1.0\" or empty");
  }
  response->set_version(kKubeletVersion);
  response->set_runtime_name(kRuntimeName);
  response->set_runtime_version(info_.version);
  response->set_runtime_api_version(kApiVersion);
  return absl::OkStatus();
}

absl::Status StatusRpcs::Status(const v1::StatusRequest& request, v1::StatusResponse* response) {
  AddCondition("RuntimeReady", info_.ready ? info_.ready() : absl::OkStatus(), response);
  AddCondition("NetworkReady",
               info_.network_ready ? info_.network_ready()
                                   : absl::FailedPreconditionError(
                                         "NetworkPluginNotReady: there is no CNI network"),
               response);
  if (info_.node_resources) {
    AddCondition("NodeResourcesReady", info_.node_resources(), response);
  }
  AddHandler("", info_, response);
  for (const std::string& name : info_.runtime_handlers) AddHandler(name, info_, response);
  response->mutable_features()->set_supplemental_groups_policy(true);
  response->mutable_features()->set_mount_options(true);
  if (info_.classes.registry != nullptr) {
    FillResourcesInfo(*info_.classes.registry, response->mutable_status()->mutable_resources());
  }
  if (!request.verbose()) return absl::OkStatus();
  auto& info = *response->mutable_info();
  info["config"] = ConfigJson(info_);
  if (info_.nri) info["nri"] = info_.nri();
  nlohmann::json limitations = nlohmann::json::array();
  if (info_.limitations) limitations = info_.limitations();
  info["limitations"] = limitations.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  return absl::OkStatus();
}

absl::Status StatusRpcs::RuntimeConfig(const v1::RuntimeConfigRequest&,
                                       v1::RuntimeConfigResponse* response) {
  response->mutable_linux()->set_cgroup_driver(info_.systemd_cgroup_driver ? v1::SYSTEMD
                                                                           : v1::CGROUPFS);
  return absl::OkStatus();
}

absl::Status StatusRpcs::UpdateRuntimeConfig(const v1::UpdateRuntimeConfigRequest& request,
                                             v1::UpdateRuntimeConfigResponse*) {
  const std::string& cidr = request.runtime_config().network_config().pod_cidr();
  // kubelet sends it at each start, even before it knows the CIDR.
  if (cidr.empty() || !info_.set_pod_cidr) return absl::OkStatus();
  return Annotate(info_.set_pod_cidr(cidr), "runtime_config.network_config.pod_cidr");
}

}  // namespace plimsoll::cri
