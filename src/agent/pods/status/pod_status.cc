#include "agent/pods/status/pod_status.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "agent/node/kube_time.h"
#include "agent/pods/allocation/device_answers.h"
#include "agent/pods/allocation/node_room.h"
#include "agent/pods/allocation/places.h"
#include "agent/pods/resizing/resize_plan.h"
#include "agent/pods/resizing/resize_status.h"
#include "pod_runner/cri_requests/pod_level.h"
#include "pod_runner/pod_files/termination_message.h"

namespace plimsoll::agent {
namespace {

using Json = nlohmann::json;
using Role = resources::ContainerRequirements::Role;

Json TimeOrNull(absl::Time time) {
  return time <= absl::UnixEpoch() ? Json() : Json(KubeTime(time));
}

// `message_bytes`: the most of its message.
Json TerminatedState(const ObservedContainer& container, const std::string& id,
                     size_t message_bytes) {
  Json state = {{"exitCode", container.exit_code},
                {"reason", !container.reason.empty()  ? container.reason
                           : container.exit_code == 0 ? "Completed"
                                                      : "Error"},
                {"startedAt", TimeOrNull(container.started)},
                {"finishedAt", TimeOrNull(container.finished)},
                {"containerID", id}};
  if (!container.message.empty()) {
    state["message"] = pod::ClipText(container.message, message_bytes);
  }
  return {{"terminated", std::move(state)}};
}

// Writes one pod's status.
class Writer {
 public:
  Writer(const PodSituation& pod, const PodNode& node, const Json& before, absl::Time now)
      : pod_(pod), node_(node), before_(before), now_(now) {}

  Json Write() {
    Json containers = Json::array(), inits = Json::array();
    for (const pod::ContainerManifest& each : pod_.manifest.containers) {
      (each.role == Role::kContainer ? containers : inits).push_back(ContainerStatus(each));
    }
    Json status = {{"observedGeneration", pod_.record.generation},
                   {"phase", Phase()},
                   {"startTime", KubeTime(pod_.record.created)},
                   {"qosClass", resources::QosClassName(pod::QosClassOf(pod_.manifest))}};
    if (pod_.record.verdict) {
      status["reason"] = pod_.record.verdict->reason;
      status["message"] = pod_.record.verdict->message;
    }
    WriteAddresses(status);
    const ObservedSandbox* const sandbox = pod_.observed.ReadySandbox();
    if (sandbox != nullptr && sandbox->classes && !sandbox->classes->empty()) {
      status["resources"]["classes"] = *sandbox->classes;
    }
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
          return last != nullptr && last->state != ObservedState::kCreated;
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
    return absl::StrCat(pod_.runtime, "://", container.id);
  }

  // kubelet's limit of a pod's messages, shared evenly.
  Json Terminated(const ObservedContainer& container) const {
    return TerminatedState(container, IdOf(container),
                           pod::kPodTerminationBytes / pod_.manifest.containers.size());
  }

  // The run before `container`, which is the name's newest. Null without one.
  const ObservedContainer* Before(const ObservedContainer& container) const {
    bool found = false;
    for (const ObservedContainer& each : pod_.observed.containers) {
      if (each.name != container.name) continue;
      if (found) return each.state == ObservedState::kExited ? &each : nullptr;
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
        {"started", last != nullptr && HasStarted(*last)},
        {"restartCount", last != nullptr ? last->attempt : 0},
        {"lastState", Json::object()}};
    if (pod_.shows_resources && last != nullptr) {
      AddResources(container, *last,
                   {.has_exclusive_cpus = HasExclusiveCpus(pod_.record.grant, container.name),
                    .pod_has_its_own = pod_.manifest.resources.has_value()},
                   status);
    }
    WriteDevices(container, status);
    if (last == nullptr || last->state == ObservedState::kCreated) {
      status["state"] = WaitingState(container);
      return status;
    }
    status["containerID"] = IdOf(*last);
    if (last->classes && !last->classes->empty()) status["resources"]["classes"] = *last->classes;
    const ObservedContainer* earlier = Before(*last);
    if (earlier != nullptr) status["lastState"] = Terminated(*earlier);
    if (last->state == ObservedState::kRunning) {
      status["state"] = {{"running", {{"startedAt", TimeOrNull(last->started)}}}};
    } else if (pod_.waiting.contains(container.name) && !HasEnded()) {
      status["state"] = WaitingState(container);
      status["lastState"] = Terminated(*last);
    } else {
      status["state"] = Terminated(*last);
    }
    return status;
  }

  void WriteDevices(const pod::ContainerManifest& container, Json& status) const {
    const auto devices = pod_.record.grant.devices.find(container.name);
    if (devices == pod_.record.grant.devices.end()) return;
    for (const auto& [resource, ids] : devices->second) {
      Json list = Json::array();
      for (const std::string& id : ids) {
        list.push_back(
            {{"resourceID", id}, {"health", DeviceHealthOf(pod_.devices, resource, id)}});
      }
      status["allocatedResourcesStatus"].push_back({{"name", resource}, {"resources", list}});
    }
  }

  ContainerHealth HealthOf(const ObservedContainer& container) const {
    const auto it = pod_.health.find(container.id);
    return it == pod_.health.end() ? ContainerHealth() : it->second;
  }

  bool HasStarted(const ObservedContainer& container) const {
    return container.state == ObservedState::kRunning && HealthOf(container).started;
  }

  bool IsReady(const pod::ContainerManifest& container, const ObservedContainer* last) const {
    if (last == nullptr) return false;
    if (container.role == Role::kInit) {
      return last->state == ObservedState::kExited && last->exit_code == 0;
    }
    return !HasEnded() && last->state == ObservedState::kRunning && HealthOf(*last).ready;
  }

  // Names of containers and sidecars. An init container's end is a matter of Initialized.
  std::vector<std::string> Unready() const {
    std::vector<std::string> names;
    for (const pod::ContainerManifest& each : pod_.manifest.containers) {
      const bool is_ready = IsReady(each, pod_.observed.Newest(each.name, ""));
      if (each.role != Role::kInit && !is_ready) names.push_back(each.name);
    }
    return names;
  }

  // Names of init containers that have not ended well, and of sidecars that have not started.
  std::vector<std::string> Uninitialised() const {
    std::vector<std::string> names;
    for (const pod::ContainerManifest& each : pod_.manifest.containers) {
      const ObservedContainer* last = pod_.observed.Newest(each.name, "");
      const bool is_done =
          each.role == Role::kInit ? IsReady(each, last) : last != nullptr && HasStarted(*last);
      if (each.role != Role::kContainer && !is_done) names.push_back(each.name);
    }
    return names;
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
    const std::vector<std::string> uninitialised = Uninitialised();
    const bool initialised = has_begun || uninitialised.empty();
    const std::vector<std::string> unready = Unready();
    const bool ready = !HasEnded() && initialised && unready.empty();
    const std::string why = HasEnded() ? ended : "ContainersNotReady";
    const std::string words = HasEnded() ? ""
                                         : absl::StrCat("containers with unready status: [",
                                                        absl::StrJoin(unready, " "), "]");
    Json conditions = Json::array(
        {Condition("PodReadyToStartContainers", pod_.observed.ReadySandbox() != nullptr,
                   pod_.failure.empty() ? "" : "FailedCreatePodSandBox", pod_.failure),
         Condition("Initialized", initialised, "ContainersNotInitialized",
                   absl::StrCat("containers with incomplete status: [",
                                absl::StrJoin(uninitialised, " "), "]")),
         Condition("Ready", ready, why, words), Condition("ContainersReady", ready, why, words),
         Condition("PodScheduled", true, "")});
    if (!pod_.shows_resources || HasEnded()) return conditions;
    for (Json& each : ResizeConditions(
             pod_.record, pod_.resize_failure,
             Unverified(pod_.manifest, pod_.observed, pod_.record.allocated_generation))) {
      each["lastTransitionTime"] = TransitionTime(each["type"], "True");
      conditions.push_back(std::move(each));
    }
    return conditions;
  }

  const PodSituation& pod_;
  const PodNode& node_;
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
  metadata["generation"] = record.generation;
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

// A request that isn't given is the limit.
Json RequestsOf(const Json& container) {
  Json requests = container.value("/resources/limits"_json_pointer, Json::object());
  requests.update(container.value("/resources/requests"_json_pointer, Json::object()));
  return requests;
}

// Shows a waiting resize's old amounts, so that no reader takes the wish for what the pod has.
void AddAllocated(const PodRecord& record, Json& containers) {
  if (!record.allocated.is_object()) return;
  const Json given = record.allocated.value("/spec/containers"_json_pointer, Json::array());
  for (size_t i = 0; i < std::min(given.size(), containers.size()); ++i) {
    const Json requests = RequestsOf(given[i]);
    if (!requests.empty()) containers[i]["allocatedResources"] = requests;
  }
}

}  // namespace

Json PodObject(const PodSituation& pod, const PodNode& node, const Json& before, absl::Time now) {
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
  AddAllocated(record, containers);
  Json conditions = Json::array();
  for (const char* type : {"Initialized", "Ready", "ContainersReady"}) {
    conditions.push_back({{"type", type}, {"status", "Unknown"}, {"reason", "NotSeenYet"}});
  }
  for (Json& each : ResizeConditions(record, "", {})) conditions.push_back(std::move(each));
  for (Json& each : conditions) each["lastTransitionTime"] = KubeTime(record.created);
  object["status"] = {
      {"phase", "Unknown"},
      {"conditions", std::move(conditions)},
      {"containerStatuses", std::move(containers)},
      {"startTime", KubeTime(record.created)},
      {"reason", "NotSeenYet"},
      {"message", "the agent has restarted and has not seen the pod in the runtime yet"}};
  return object;
}

}  // namespace plimsoll::agent
