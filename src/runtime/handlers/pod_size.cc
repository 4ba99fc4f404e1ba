#include "runtime/handlers/pod_size.h"

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace plimsoll::runtime {
namespace {

using Json = nlohmann::ordered_json;
using resources::Quantity;
using resources::Requirements;

constexpr char kHugepages[] = "hugepages-";
constexpr int64_t kMebibyte = 1024 * 1024;

int64_t RoundUp(int64_t value, int64_t unit) {
  return value / unit + (value % unit == 0 ? 0 : 1);
}

Json GroupsJson(const std::vector<VfioGroup>& groups) {
  Json list = Json::array();
  for (const VfioGroup& group : groups) {
    Json devices = Json::array();
    for (const VfioDevice& device : group.devices) {
      devices.push_back({{"address", device.address},
                         {"class", device.pci_class},
                         {"port", PortKindName(device.port)}});
    }
    list.push_back({{"iommu_group", group.group}, {"devices", std::move(devices)}});
  }
  return list;
}

const char* PlugName(Plug plug) {
  return plug == Plug::kHot ? "hot" : plug == Plug::kCold ? "cold" : "none";
}

// Kata has one kind of port for all devices. If both are needed, the more frequent one; the size
// has each device's own.
PortKind MainPort(const PodSize& size) {
  const int roots = size.Ports(PortKind::kRoot);
  const int switches = size.Ports(PortKind::kSwitch);
  if (roots == 0 && switches == 0) return PortKind::kNone;
  return roots >= switches ? PortKind::kRoot : PortKind::kSwitch;
}

void RaiseTo(const std::optional<int64_t>& least, std::optional<int64_t>* amount) {
  if (least.has_value()) *amount = std::max(amount->value_or(*least), *least);
}

// In canonical form, as a size has it.
Quantity AmountOf(const std::string& text) {
  return Quantity::Parse(text).value_or(Quantity());
}

bool HasGroup(const std::vector<VfioGroup>& groups, const std::string& group) {
  return absl::c_any_of(groups, [&](const VfioGroup& each) { return each.group == group; });
}

// The groups of `other`, and those that only `one` has.
std::vector<VfioGroup> BothGroups(const std::vector<VfioGroup>& one,
                                  const std::vector<VfioGroup>& other) {
  // In the order of the one that has all of them: else the two would differ by their order alone.
  const bool one_has_all =
      absl::c_all_of(other, [&](const VfioGroup& group) { return HasGroup(one, group.group); });
  if (one_has_all) return one;
  std::vector<VfioGroup> both = other;
  for (const VfioGroup& group : one) {
    if (!HasGroup(both, group.group)) both.push_back(group);
  }
  return both;
}

bool IsLimited(const resources::ResourceList& limits, const std::string& name) {
  const auto limit = limits.find(name);
  if (limit == limits.end()) return false;
  return !limit->second.IsZero() || (name != "cpu" && name != "memory");
}

}  // namespace

int PodSize::Ports(PortKind kind) const {
  int count = 0;
  for (const VfioGroup& group : groups) {
    count += static_cast<int>(absl::c_count_if(
        group.devices, [kind](const VfioDevice& device) { return device.port == kind; }));
  }
  return count;
}

PodSize SizeFor(const Handler& handler, const Requirements& total, std::vector<VfioGroup> groups) {
  PodSize size;
  resources::ResourceList largest = total.requests;
  for (const auto& [name, amount] : total.limits) {
    const auto [entry, is_new] = largest.emplace(name, amount);
    if (!is_new && entry->second < amount) entry->second = amount;
  }
  for (const auto& [name, amount] : largest) {
    if (name == "cpu") {
      size.vcpus = std::max<int64_t>(RoundUp(amount.MilliValue(), 1000), 1);
    } else if (name == "memory") {
      size.memory_bytes = amount.Value();
    } else if (absl::StartsWith(name, kHugepages)) {
      if (!amount.IsZero()) size.hugepages[name.substr(sizeof(kHugepages) - 1)] = amount.Value();
    } else if (!amount.IsZero()) {
      size.resources[name] = amount.Canonical();
    }
  }
  if (const auto cpu = total.requests.find("cpu"); cpu != total.requests.end()) {
    size.cpu_request_milli = cpu->second.MilliValue();
  }
  if (const auto cpu = total.limits.find("cpu"); cpu != total.limits.end()) {
    size.cpu_limit_milli = cpu->second.MilliValue();
  }
  size.plug = handler.plug;
  if (handler.plug != Plug::kNone) size.groups = std::move(groups);
  return size;
}

PodSize LargerOf(const PodSize& one, const PodSize& other) {
  PodSize larger = one;
  RaiseTo(other.cpu_request_milli, &larger.cpu_request_milli);
  RaiseTo(other.cpu_limit_milli, &larger.cpu_limit_milli);
  RaiseTo(other.vcpus, &larger.vcpus);
  RaiseTo(other.memory_bytes, &larger.memory_bytes);
  for (const auto& [size, bytes] : other.hugepages) {
    larger.hugepages[size] = std::max(larger.hugepages[size], bytes);
  }
  for (const auto& [name, amount] : other.resources) {
    const auto [had, is_new] = larger.resources.emplace(name, amount);
    if (!is_new && AmountOf(had->second) < AmountOf(amount)) had->second = amount;
  }
  larger.plug = other.plug;
  larger.groups = BothGroups(one.groups, other.groups);
  return larger;
}

std::string ToJson(const PodSize& size) {
  Json json = Json::object();
  if (size.vcpus) json["vcpus"] = *size.vcpus;
  if (size.memory_bytes) json["memory_bytes"] = *size.memory_bytes;
  if (!size.hugepages.empty()) json["hugepages_bytes"] = size.hugepages;
  if (!size.resources.empty()) json["resources"] = size.resources;
  if (!size.groups.empty()) {
    json["plug"] = PlugName(size.plug);
    json["root_ports"] = size.Ports(PortKind::kRoot);
    json["switch_ports"] = size.Ports(PortKind::kSwitch);
    json["vfio"] = GroupsJson(size.groups);
  }
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::map<std::string, std::string> AnnotationsFor(const Handler& handler, const PodSize& size) {
  std::map<std::string, std::string> annotations;
  const auto tell = [&](const char* what, const std::string& value) {
    const std::string name = handler.AnnotationFor(what);
    if (!name.empty()) annotations[name] = value;
  };
  if (const auto quota = resources::MilliCpuToQuota(size.cpu_limit_milli.value_or(0))) {
    tell("cpu_period", absl::StrCat(resources::kDefaultPeriodUs));
    tell("cpu_quota", absl::StrCat(*quota));
  }
  if (size.cpu_request_milli) {
    tell("cpu_shares", absl::StrCat(resources::MilliCpuToShares(*size.cpu_request_milli)));
  }
  if (size.memory_bytes) {
    tell("memory", absl::StrCat(*size.memory_bytes));
    // Huge pages come on top of memory_bytes.
    int64_t all = *size.memory_bytes;
    for (const auto& [page, bytes] : size.hugepages) {
      all += std::min(bytes, std::numeric_limits<int64_t>::max() - all);
    }
    tell("default_memory", absl::StrCat(RoundUp(all, kMebibyte)));
  }
  if (size.vcpus) tell("default_vcpus", absl::StrCat(*size.vcpus));
  if (!size.hugepages.empty()) tell("enable_hugepages", "true");
  if (!size.groups.empty()) {
    const char* const port = PortKindName(MainPort(size));
    if (size.plug == Plug::kHot) {
      tell("hot_plug_vfio", port);
      tell("pcie_root_port", absl::StrCat(size.Ports(PortKind::kRoot)));
      tell("pcie_switch_port", absl::StrCat(size.Ports(PortKind::kSwitch)));
    } else {
      tell("cold_plug_vfio", port);
    }
  }
  for (const auto& [resource, amount] : size.resources) {
    const auto mapped = handler.resource_annotations.find(resource);
    if (mapped == handler.resource_annotations.end() || mapped->second.empty()) continue;
    annotations[mapped->second] = amount;
  }
  tell("size", ToJson(size));
  return annotations;
}

std::vector<std::string> GrowthOver(const Requirements& announced, const Requirements& wanted) {
  std::vector<std::string> growth;
  for (const auto& [name, amount] : wanted.requests) {
    const auto before = announced.requests.find(name);
    const Quantity had = before == announced.requests.end() ? Quantity() : before->second;
    if (amount > had) {
      growth.push_back(absl::StrCat("requests of ", name, " would be ", amount.Canonical(),
                                    " in all, announced were ", had.Canonical()));
    }
  }
  for (const auto& [name, amount] : wanted.limits) {
    const auto before = announced.limits.find(name);
    if (before == announced.limits.end() || amount <= before->second) continue;
    growth.push_back(absl::StrCat("limits of ", name, " would be ", amount.Canonical(),
                                  " in all, announced were ", before->second.Canonical()));
  }
  return growth;
}

std::vector<std::string> LiftedLimits(const Requirements& announced, const Requirements& had,
                                      const Requirements& wanted) {
  std::vector<std::string> lifted;
  for (const auto& [name, amount] : had.limits) {
    if (!IsLimited(announced.limits, name) || !IsLimited(had.limits, name)) continue;
    if (IsLimited(wanted.limits, name)) continue;
    lifted.push_back(absl::StrCat("the limit of ", name, ", ", amount.Canonical(),
                                  ", would be gone, announced were ",
                                  announced.limits.at(name).Canonical(), " in all"));
  }
  return lifted;
}

}  // namespace plimsoll::runtime
