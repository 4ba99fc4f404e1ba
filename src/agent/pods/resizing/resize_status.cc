#include "agent/pods/resizing/resize_status.h"

#include <optional>
#include <utility>

#include "absl/functional/function_ref.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "agent/pods/resizing/resize_plan.h"
#include "resources/requirements.h"
#include "resources/shares.h"

namespace plimsoll::agent {
namespace {

using Json = nlohmann::json;
using resources::Quantity;
using resources::Requirements;
using resources::ResourceList;

// The limit of kMinQuotaUs in the usual period: no smaller quota is written.
Quantity LeastCpuLimit() {
  return Quantity::FromMilli(
      resources::QuotaToMilliCpu(resources::kMinQuotaUs, resources::kDefaultPeriodUs));
}

Json AmountsJson(const ResourceList& list) {
  Json amounts = Json::object();
  for (const auto& [name, amount] : list) amounts[name] = amount.text();
  return amounts;
}

// The amount as it was written if `is_same` holds for it: the current one is the nearest that the
// kernel can hold. Else the current one.
void Set(ResourceList& list, const std::string& name, const Quantity& in_force,
         const ResourceList& written, absl::FunctionRef<bool(const Quantity&)> is_same) {
  const auto it = written.find(name);
  const bool is_written = it != written.end() && (it->second == in_force || is_same(it->second));
  list[name] = is_written ? it->second : in_force;
}

// kubelet's least limit of CPU stands for all smaller ones.
void SetCpuLimit(const ReportedResources& reported, const ResourceList& written,
                 ResourceList& list) {
  const auto period = static_cast<uint64_t>(
      reported.cpu_period_us > 0 ? reported.cpu_period_us : int64_t{resources::kDefaultPeriodUs});
  const Quantity in_force =
      Quantity::FromMilli(resources::QuotaToMilliCpu(reported.cpu_quota_us, period));
  Set(list, "cpu", in_force, written, [&](const Quantity& limit) {
    if (limit.Sign() <= 0) return false;
    return resources::MilliCpuToQuota(limit.MilliValue(), period) == reported.cpu_quota_us ||
           (in_force <= LeastCpuLimit() && limit <= LeastCpuLimit());
  });
}

void SetMemoryLimit(int64_t bytes, int64_t page_bytes, const ResourceList& written,
                    ResourceList& list) {
  Set(list, "memory", Quantity::FromInt(bytes, Quantity::Format::kBinarySi), written,
      [&](const Quantity& limit) {
        return resources::WholePages(limit.Value(), page_bytes) == bytes;
      });
}

// One cpu.weight stands for several requests: the written one if the runtime may report these
// shares of it, or reports none.
void SetCpuRequest(int64_t shares, const ResourceList& written, ResourceList& list) {
  const auto reported = static_cast<uint64_t>(shares);
  const auto it = written.find("cpu");
  if (it != written.end() &&
      (shares <= 0 ||
       resources::MayBeReported(reported, resources::MilliCpuToShares(it->second.MilliValue())))) {
    list["cpu"] = it->second;
    return;
  }
  // The least shares are those of a container without a request, too.
  if (shares <= static_cast<int64_t>(resources::kMinShares)) return;
  list["cpu"] = Quantity::FromMilli(resources::SharesToMilliCpu(reported));
}

// The current resources. `given`, which the node has given, has the spelling of amounts.
Requirements InForce(const ReportedResources& reported, const Requirements& given,
                     const ResourceTraits& traits) {
  // The runtime reports what no control file holds, such as a request of memory. A runtime that
  // reports none, such as containerd, has the amounts that were given, as kubelet takes it.
  Requirements in_force = reported.written.value_or(given);
  for (const char* name : {"cpu", "memory"}) in_force.limits.erase(name);
  in_force.requests.erase("cpu");
  SetCpuRequest(reported.cpu_shares, given.requests, in_force.requests);
  if (reported.cpu_quota_us > 0) SetCpuLimit(reported, given.limits, in_force.limits);
  // No quota limits these CPUs: they are themselves the limit.
  if (const auto cpus = given.limits.find("cpu");
      traits.has_exclusive_cpus && cpus != given.limits.end()) {
    in_force.limits["cpu"] = cpus->second;
  }
  if (reported.memory_limit_bytes > 0) {
    SetMemoryLimit(reported.memory_limit_bytes, traits.page_bytes, given.limits, in_force.limits);
  }
  return in_force;
}

// A container without amounts of its own is held to its pod's (LinuxRequirementsOf), which are not
// told as the container's.
void LeaveOutThePods(const Requirements& own, Requirements& in_force) {
  for (const char* name : {"cpu", "memory"}) {
    if (own.limits.empty()) in_force.limits.erase(name);
    if (own.requests.empty()) in_force.requests.erase(name);
  }
}

Json ResizeCondition(const char* type, int64_t generation, absl::string_view reason,
                     absl::string_view message) {
  Json condition = {{"type", type}, {"status", "True"}, {"observedGeneration", generation}};
  if (!reason.empty()) condition["reason"] = std::string(reason);
  if (!message.empty()) condition["message"] = std::string(message);
  return condition;
}

}  // namespace

void AddResources(const pod::ContainerManifest& allocated, const ObservedContainer& run,
                  const ResourceTraits& traits, Json& status) {
  const Requirements given = resources::WithDefaults(allocated.resources);
  if (!given.requests.empty()) status["allocatedResources"] = AmountsJson(given.requests);
  if (!run.resources) return;
  Requirements in_force = InForce(*run.resources, given, traits);
  if (traits.pod_has_its_own) LeaveOutThePods(given, in_force);
  status["resources"] = Json::object();
  if (!in_force.requests.empty()) status["resources"]["requests"] = AmountsJson(in_force.requests);
  if (!in_force.limits.empty()) status["resources"]["limits"] = AmountsJson(in_force.limits);
}

std::vector<Json> ResizeConditions(const PodRecord& record, const std::string& failure,
                                   const std::vector<std::string>& unverified) {
  std::vector<Json> conditions;
  if (record.pending) {
    conditions.push_back(ResizeCondition("PodResizePending", record.generation,
                                         record.pending->reason, record.pending->message));
  }
  if (!record.actuated.is_null()) {
    conditions.push_back(ResizeCondition("PodResizeInProgress", record.allocated_generation,
                                         failure.empty() ? "" : "Error", failure));
  } else if (!unverified.empty()) {
    conditions.push_back(ResizeCondition(
        "PodResizeInProgress", record.allocated_generation, "",
        absl::StrCat("unverified: the runtime took the resources and reports none of container ",
                     absl::StrJoin(unverified, ", "))));
  }
  return conditions;
}

Json WithChange(Json shown, const PodRecord& record, const std::string& now) {
  const Json node = shown.value("/spec/nodeName"_json_pointer, Json());
  shown["spec"] = record.object.value("spec", Json::object());
  if (!node.is_null()) shown["spec"]["nodeName"] = node;
  shown["metadata"]["generation"] = record.generation;
  Json kept = Json::array();
  for (const Json& each : shown.value("/status/conditions"_json_pointer, Json::array())) {
    const std::string type = each.value("type", "");
    if (type != "PodResizePending" && type != "PodResizeInProgress") kept.push_back(each);
  }
  for (Json& each : ResizeConditions(record, "", {})) {
    each["lastTransitionTime"] = now;
    kept.push_back(std::move(each));
  }
  shown["status"]["conditions"] = std::move(kept);
  return shown;
}

}  // namespace plimsoll::agent
