#include "class_assigner.h"

#include <algorithm>
#include <map>
#include <utility>

#include "absl/strings/string_view.h"
#include "base/status.h"
#include "configuration.h"

namespace plimsoll::examples {
namespace {

ClassRule ReadRule(YamlReader& reader, const YAML::Node& node, const std::string& path) {
  ClassRule rule;
  YamlMapping mapping(reader, node, path);
  mapping.String("namespace", rule.pod_namespace);
  mapping.String("label", rule.label);
  mapping.String("rdt", rule.rdt);
  mapping.String("blockio", rule.blockio);
  mapping.Finish();
  if (rule.pod_namespace.empty() && rule.label.empty()) {
    reader.Fail(node, path, "needs namespace, label or both: the pods that it is for");
  }
  if (rule.rdt.empty() && rule.blockio.empty()) {
    reader.Fail(node, path, "needs rdt, blockio or both: the classes to put them into");
  }
  return rule;
}

}  // namespace

bool Matches(const ClassRule& rule, const api::PodSandbox& pod) {
  if (!rule.pod_namespace.empty() && rule.pod_namespace != pod.namespace_()) return false;
  if (rule.label.empty()) return true;
  const size_t equals = rule.label.find('=');
  const auto label = pod.labels().find(rule.label.substr(0, equals));
  if (label == pod.labels().end()) return false;
  return equals == std::string::npos || label->second == rule.label.substr(equals + 1);
}

absl::Status ClassAssigner::Configure(const api::ConfigureRequest& request) {
  std::vector<ClassRule> rules;
  PLIMSOLL_RETURN_IF_ERROR(
      ReadConfiguration(request.config(), [&](YamlReader& reader, YamlMapping& configuration) {
        configuration.Each("rules", [&](const YAML::Node& node, const std::string& path) {
          rules.push_back(ReadRule(reader, node, path));
        });
      }));
  rules_ = std::move(rules);
  return absl::OkStatus();
}

absl::StatusOr<std::vector<api::ContainerUpdate>> ClassAssigner::Synchronize(
    const std::vector<api::PodSandbox>& pods, const std::vector<api::Container>& containers) {
  std::map<absl::string_view, const api::PodSandbox*> by_id;
  for (const api::PodSandbox& pod : pods) by_id[pod.id()] = &pod;
  std::vector<api::ContainerUpdate> updates;
  for (const api::Container& container : containers) {
    const auto pod = by_id.find(container.pod_sandbox_id());
    if (pod == by_id.end() || container.state() == api::CONTAINER_STOPPED) continue;
    api::ContainerUpdate update;
    update.set_container_id(container.id());
    // One that ends meanwhile must not keep the others from their class.
    update.set_ignore_failure(true);
    const bool is_needed = Assign(*pod->second, container.linux().resources(),
                                  update.mutable_linux()->mutable_resources());
    if (is_needed) updates.push_back(std::move(update));
  }
  return updates;
}

absl::StatusOr<api::CreateContainerResponse> ClassAssigner::CreateContainer(
    const api::CreateContainerRequest& request) {
  api::CreateContainerResponse response;
  api::LinuxResources resources;
  if (Assign(request.pod(), request.container().linux().resources(), &resources)) {
    *response.mutable_adjust()->mutable_linux()->mutable_resources() = std::move(resources);
  }
  return response;
}

bool ClassAssigner::Assign(const api::PodSandbox& pod, const api::LinuxResources& present,
                           api::LinuxResources* resources) const {
  const auto rule = std::find_if(rules_.begin(), rules_.end(),
                                 [&](const ClassRule& one) { return Matches(one, pod); });
  if (rule == rules_.end()) return false;
  const bool sets_rdt = !rule->rdt.empty() && rule->rdt != present.rdt_class().value();
  const bool sets_blockio =
      !rule->blockio.empty() && rule->blockio != present.blockio_class().value();
  if (sets_rdt) resources->mutable_rdt_class()->set_value(rule->rdt);
  if (sets_blockio) resources->mutable_blockio_class()->set_value(rule->blockio);
  return sets_rdt || sets_blockio;
}

}  // namespace plimsoll::examples
