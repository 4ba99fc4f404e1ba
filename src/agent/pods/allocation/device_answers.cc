#include "agent/pods/allocation/device_answers.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "absl/strings/str_cat.h"
#include "agent/device_manager/plugin_answers.h"
#include "base/status.h"
#include "resources/requirements.h"

namespace plimsoll::agent {
namespace {

size_t CountIn(const DeviceClaims& claims, const std::string& container,
               const std::string& resource) {
  const auto of_container = claims.find(container);
  if (of_container == claims.end()) return 0;
  const auto ids = of_container->second.find(resource);
  return ids == of_container->second.end() ? 0 : ids->second.size();
}

}  // namespace

absl::Status CheckDevices(const DeviceStock& stock, const pod::Manifest& pod,
                          const PodGrant& grant) {
  for (const pod::ContainerManifest& container : pod.containers) {
    const auto requests = resources::WithDefaults(container.resources).requests;
    for (const auto& [resource, amount] : requests) {
      if (!stock.contains(resource)) continue;
      if (static_cast<int64_t>(CountIn(grant.devices, container.name, resource)) >=
          amount.Value()) {
        continue;
      }
      return absl::FailedPreconditionError(
          absl::StrCat("container ", container.name, " requests ", amount.text(), " of ", resource,
                       ", and the pod has no devices on record for it; delete the pod and apply "
                       "it again"));
    }
  }
  return absl::OkStatus();
}

namespace {

// Gone for good: its resource is served, and lacks it.
bool IsGone(const DeviceStock& stock, const std::string& resource, const std::string& id) {
  const auto list = stock.find(resource);
  if (list == stock.end() || !list->second.is_served) return false;
  const auto& all = list->second.devices;
  return std::none_of(all.begin(), all.end(), [&](const Device& each) { return each.id == id; });
}

}  // namespace

absl::Status CheckPresence(const DeviceStock& stock, const PodGrant& grant) {
  for (const auto& [container, of_container] : grant.devices) {
    for (const auto& [resource, ids] : of_container) {
      for (const std::string& id : ids) {
        if (!IsGone(stock, resource, id)) continue;
        return absl::FailedPreconditionError(absl::StrCat(
            "container ", container, " has device ", id, " of ", resource,
            ", which is no longer among the devices of the configuration or of its plugin"));
      }
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<std::map<std::string, pod::GivenDevices>> AskForDevices(const DeviceManager* devices,
                                                                       const PodGrant& grant) {
  std::map<std::string, pod::GivenDevices> answers = grant.device_answers;
  for (const auto& [container, of_container] : grant.devices) {
    if (answers.contains(container)) continue;
    pod::GivenDevices all;
    for (const auto& [resource, ids] : of_container) {
      const std::string name = absl::StrCat("container ", container, ": ", resource);
      if (devices == nullptr) {
        return absl::FailedPreconditionError(
            absl::StrCat(name, ": devices are no longer served on this node"));
      }
      absl::StatusOr<pod::GivenDevices> answer = devices->Allocate(resource, ids);
      if (absl::IsUnavailable(answer.status())) return Annotate(answer.status(), name);
      PLIMSOLL_RETURN_IF_ERROR(answer.status());  // in the words that kubelet shows
      AddGiven(*std::move(answer), all);
    }
    answers[container] = std::move(all);
  }
  return answers;
}

absl::Status TellDevicesOfStart(const DeviceManager* devices, const PodGrant& grant,
                                const std::string& container) {
  const auto of_container = grant.devices.find(container);
  if (devices == nullptr || of_container == grant.devices.end()) return absl::OkStatus();
  for (const auto& [resource, ids] : of_container->second) {
    const absl::Status told = devices->PreStart(resource, ids);
    if (!told.ok()) return Annotate(told, resource);
  }
  return absl::OkStatus();
}

std::string DeviceHealthOf(const DeviceStock& stock, const std::string& resource,
                           const std::string& id) {
  const auto list = stock.find(resource);
  if (list == stock.end()) return "Unknown";
  const auto& all = list->second.devices;
  const auto it =
      std::find_if(all.begin(), all.end(), [&](const Device& each) { return each.id == id; });
  if (it == all.end()) return "Unknown";
  return it->healthy ? "Healthy" : "Unhealthy";
}

}  // namespace plimsoll::agent
