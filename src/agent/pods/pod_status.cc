#include "agent/pods/pod_status.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "agent/node/kube_time.h"
#include "agent/pods/admission.h"
#include "pod/pod_level.h"

namespace plimsoll::agent {
namespace {

using Json = nlohmann::json;
using Role = resources::ContainerRequirements::Role;

Json TimeOrNull(absl::Time time) {
  return time <= absl::UnixEpoch() ? Json() : Json(KubeTime(time));
}

Json Terminated(const ObservedContainer& container, const std::string& id) {
  Json state = {{"exitCode", container.exit_code},
                {"reason", !container.reason.empty()  ? container.reason
                           : container.exit_code == 0 ? "Completed"
                                                      : "Error"},
                {"startedAt", TimeOrNull(container.started)},
                {"finishedAt", TimeOrNull(container.finished)},
                {"containerID", id}};
  if (!container.message.empty()) state["message"] = container.message;
  return {{"terminated", std::move(state)}};
}

// Writes one pod's status.
class Writer {
 public:
  Writer(const PodSituation& pod, const NodeFacts& node, const Json& before, absl::Time now)
      : pod_(pod), node_(node), before_(before), now_(now) {}

  Json Write() {
    Json containers = Json::array(), inits = Json::array();
    for (const pod::ContainerManifest& each : pod_.manifest.containers) {
      (each.role == Role::kContainer ? containers : inits).push_back(ContainerStatus(each));
    }
    Json status = {{"phase", Phase()},
                   {"startTime", KubeTime(pod_.record.created)},
                   {"qosClass", resources::QosClassName(pod::QosClassOf(pod_.manifest))}};
    if (pod_.record.verdict) {
      status["reason"] = pod_.record.verdict->reason;
      status["message"] = pod_.record.verdict->message;
    }
    WriteAddresses(status);
    // A pod that was rejected never had containers.
    if (!pod_.record.verdict || !pod_.observed.containers.empty()) {
      status["containerStatuses"] = std::move(containers);
      if (!inits.empty()) status["initContainerStatuses"] = std::move(inits);
    }
    status["conditions"] = Conditions();
    return status;
  }

 private:
  bool HasEnded() const { return pod_.end.has_value() || pod_.record.verdict.has_value(); }

  std::string Phase() const {
    if (pod_.record.verdict) return "Failed";
    if (pod_.end) return *pod_.end == PodEnd::kSucceeded ? "Succeeded" : "Failed";
    const bool all_began = std::all_of(
        pod_.manifest.containers.begin(), pod_.manifest.containers.end(), [this](const auto& each) {
          if (each.role != Role::kContainer) return true;
          const ObservedContainer* last = pod_.observed.Newest(each.name, "");
          return last != nullptr && last->state != ContainerState::kCreated;
        });
    return all_began ? "Running" : "Pending";
  }

  void WriteAddresses(Json& status) const {
    if (!node_.host_ip.empty()) {
      status["hostIP"] = node_.host_ip;
      status["hostIPs"] = Json::array({{{"ip", node_.host_ip}}});
    }
    std::vector<std::string> ips;
    if (const ObservedSandbox* sandbox = pod_.observed.ReadySandbox()) ips = sandbox->ips;
    if (pod_.manifest.host_network && !node_.host_ip.empty()) ips = {node_.host_ip};
    if (ips.empty()) return;
    status["podIP"] = ips.front();
    for (const std::string& ip : ips) status["podIPs"].push_back({{"ip", ip}});
  }

  std::string IdOf(const ObservedContainer& container) const {
    return absl::StrCat(node_.runtime(), "://", container.id);
  }

  // The run before `container`, which is the name's newest. Null without one.
  const ObservedContainer* Before(const ObservedContainer& container) const {
    bool found = false;
    for (const ObservedContainer& each : pod_.observed.containers) {
      if (each.name != container.name) continue;
      if (found) return each.state == ContainerState::kExited ? &each : nullptr;
      found = each.id == container.id;
    }
    return nullptr;
  }

  Json WaitingState(const pod::ContainerManifest& container) const {
    const auto it = pod_.waiting.find(container.name);
    if (it != pod_.waiting.end()) {
      return {{"waiting", {{"reason", it->second.reason}, {"message", it->second.message}}}};
    }
    const bool waits_for_init =
        container.role == Role::kContainer &&
        std::any_of(pod_.manifest.containers.begin(), pod_.manifest.containers.end(),
                    [](const auto& each) { return each.role == Role::kInit; });
    return {{"waiting", {{"reason", waits_for_init ? "PodInitializing" : "ContainerCreating"}}}};
  }

  Json ContainerStatus(const pod::ContainerManifest& container) const {
    const ObservedContainer* last = pod_.observed.Newest(container.name, "");
    Json status = {
        {"name", container.name},
        {"image", last != nullptr && !last->image.empty() ? last->image : container.image},
        {"imageID", last != nullptr ? last->image_ref : ""},
        {"ready", IsReady(container, last)},
        {"started", last != nullptr && last->state == ContainerState::kRunning},
        {"restartCount", last != nullptr ? last->attempt : 0},
        {"lastState", Json::object()}};
    if (last == nullptr || last->state == ContainerState::kCreated) {
      status["state"] = WaitingState(container);
      return status;
    }
    status["containerID"] = IdOf(*last);
    const ObservedContainer* earlier = Before(*last);
    if (earlier != nullptr) status["lastState"] = Terminated(*earlier, IdOf(*earlier));
    if (last->state == ContainerState::kRunning) {
      status["state"] = {{"running", {{"startedAt", TimeOrNull(last->started)}}}};
    } else if (pod_.waiting.contains(container.name) && !HasEnded()) {
      status["state"] = WaitingState(container);
      status["lastState"] = Terminated(*last, IdOf(*last));
    } else {
      status["state"] = Terminated(*last, IdOf(*last));
    }
    return status;
  }

  bool IsReady(const pod::ContainerManifest& container, const ObservedContainer* last) const {
    if (last == nullptr) return false;
    if (container.role == Role::kInit) {
      return last->state == ContainerState::kExited && last->exit_code == 0;
    }
    return !HasEnded() && last->state == ContainerState::kRunning;
  }

  bool AllReady(bool ordinary) const {
    return std::all_of(pod_.manifest.containers.begin(), pod_.manifest.containers.end(),
                       [&](const auto& each) {
                         return (each.role == Role::kContainer) != ordinary ||
                                IsReady(each, pod_.observed.Newest(each.name, ""));
                       });
  }

  std::string TransitionTime(const std::string& type, const std::string& status) const {
    if (!before_.is_object()) return KubeTime(now_);
    const Json conditions = before_.value("/status/conditions"_json_pointer, Json::array());
    for (const Json& each : conditions) {
      if (each.value("type", "") == type && each.value("status", "") == status) {
        return each.value("lastTransitionTime", KubeTime(now_));
      }
    }
    return KubeTime(now_);
  }

  Json Condition(const std::string& type, bool is, const std::string& reason,
                 const std::string& message = "") const {
    Json condition = {{"type", type}, {"status", is ? "True" : "False"}};
    condition["lastTransitionTime"] = TransitionTime(type, condition["status"]);
    if (!is && !reason.empty()) condition["reason"] = reason;
    if (!is && !message.empty()) condition["message"] = message;
    return condition;
  }

  Json Conditions() const {
    const std::string ended = pod_.end == PodEnd::kSucceeded ? "PodCompleted" : "PodFailed";
    const bool has_begun = std::any_of(
        pod_.manifest.containers.begin(), pod_.manifest.containers.end(), [this](const auto& each) {
          return each.role == Role::kContainer && pod_.observed.Newest(each.name, "") != nullptr;
        });
    const bool initialised = has_begun || AllReady(/*ordinary=*/false);
    const bool ready = !HasEnded() && AllReady(/*ordinary=*/true) && AllReady(/*ordinary=*/false);
    const std::string why = HasEnded() ? ended : "ContainersNotReady";
    return Json::array(
        {Condition("PodReadyToStartContainers", pod_.observed.ReadySandbox() != nullptr,
                   pod_.failure.empty() ? "" : "FailedCreatePodSandBox", pod_.failure),
         Condition("Initialized", initialised, "ContainersNotInitialized"),
         Condition("Ready", ready, why), Condition("ContainersReady", ready, why),
         Condition("PodScheduled", true, "")});
  }

  const PodSituation& pod_;
  const NodeFacts& node_;
  const Json& before_;
  const absl::Time now_;
};

// All but the status.
Json ObjectOfRecord(const PodRecord& record, const std::string& node) {
  Json object = record.object;
  object["apiVersion"] = "v1";
  object["kind"] = "Pod";
  Json& metadata = object["metadata"];
  metadata["name"] = record.key.name;
  metadata["namespace"] = record.key.pod_namespace;
  metadata["uid"] = record.uid;
  metadata["creationTimestamp"] = KubeTime(record.created);
  if (!record.file.empty()) {
    metadata["annotations"]["kubernetes.io/config.source"] = "file";
    metadata["annotations"]["plimsoll.dev/manifest-file"] = record.file;
  }
  if (record.deleted) {
    metadata["deletionTimestamp"] = KubeTime(*record.deleted + absl::Seconds(record.grace_s));
    metadata["deletionGracePeriodSeconds"] = record.grace_s;
  }
  object["spec"]["nodeName"] = node;
  return object;
}

}  // namespace

Json PodObject(const PodSituation& pod, const NodeFacts& node, const Json& before, absl::Time now) {
  Json object = ObjectOfRecord(pod.record, node.name);
  object["status"] = Writer(pod, node, before, now).Write();
  return object;
}

Json UnseenPodObject(const PodRecord& record, const std::string& node) {
  Json object = ObjectOfRecord(record, node);
  Json containers = Json::array();
  for (const Json& each : object.value("/spec/containers"_json_pointer, Json::array())) {
    containers.push_back({{"name", each.value("name", "")},
                          {"image", each.value("image", "")},
                          {"imageID", ""},
                          {"ready", false},
                          {"started", false},
                          {"restartCount", 0},
                          {"lastState", Json::object()},
                          {"state", {{"waiting", {{"reason", "ContainerStatusUnknown"}}}}}});
  }
  object["status"] = {
      {"phase", "Unknown"},
      {"containerStatuses", std::move(containers)},
      {"startTime", KubeTime(record.created)},
      {"reason", "NotSeenYet"},
      {"message", "the agent has started anew and has not seen the pod in the runtime yet"}};
  return object;
}

}  // namespace plimsoll::agent
