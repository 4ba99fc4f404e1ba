#include "cli/agent_commands/allocations_report.h"

#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/text/printable.h"
#include "cli/terminal/table.h"
#include "cli/terminal/text.h"
#include "pictures/cpus.h"
#include "resources/cpu_set.h"

namespace plimsoll::cli {
namespace {

constexpr char kNone[] = "-";

resources::CpuSet CpusAt(const KubeObject& object, std::initializer_list<const char*> path) {
  return resources::CpuSet::Parse(TextOf(object, path)).value_or(resources::CpuSet());
}

uint32_t PlaceAt(const KubeObject& place, const char* key) {
  return static_cast<uint32_t>(NumberOf(place, {key}));
}

std::string PodName(const KubeObject& pod) {
  return absl::StrCat(TextOf(pod, {"namespace"}), "/", TextOf(pod, {"name"}));
}

std::string OrNone(std::string text) {
  return text.empty() ? kNone : std::move(text);
}

// Shows memory in bytes; huge pages too.
std::string AmountIn(const KubeObject& amount, const char* key) {
  if (!FieldOf(amount, {key}).is_number()) return kNone;
  const int64_t bytes = NumberOf(amount, {key});
  return bytes < 0 ? absl::StrCat("-", HumanBytes(static_cast<uint64_t>(-bytes)))
                   : HumanBytes(static_cast<uint64_t>(bytes));
}

// The pod before its containers, whose CPUs may be part of its own.
void AddHolders(const KubeObject& pod, std::vector<pictures::CpuPicture::Holder>& holders) {
  resources::CpuSet of_containers;
  std::vector<pictures::CpuPicture::Holder> containers;
  for (const KubeObject& container : ItemsOf(pod, {"containers"})) {
    if (!FlagOf(container, {"exclusive"})) continue;
    const resources::CpuSet cpus = CpusAt(container, {"cpus"});
    of_containers = of_containers.Union(cpus);
    containers.push_back({absl::StrCat(PodName(pod), " ", TextOf(container, {"name"})), cpus});
  }
  const resources::CpuSet own = CpusAt(pod, {"cpus"}).Difference(of_containers);
  if (!own.Empty()) holders.push_back({PodName(pod), own});
  holders.insert(holders.end(), containers.begin(), containers.end());
}

std::string Drawing(const KubeObject& allocations, bool colour) {
  pictures::CpuPicture picture;
  for (const KubeObject& place : ItemsOf(allocations, {"cpuPlaces"})) {
    picture.cpus.push_back({.cpu = PlaceAt(place, "cpu"),
                            .core = PlaceAt(place, "core"),
                            .numa_node = PlaceAt(place, "numaNode"),
                            .package = PlaceAt(place, "package")});
  }
  if (picture.cpus.empty()) return "The node has no topology yet.\n";
  picture.reserved = CpusAt(allocations, {"cpus", "reserved"});
  picture.shared = CpusAt(allocations, {"cpus", "shared"});
  for (const KubeObject& pod : ItemsOf(allocations, {"pods"})) AddHolders(pod, picture.holders);
  return pictures::CpusText(picture, colour);
}

std::string Policies(const KubeObject& allocations) {
  return Printable(absl::StrCat("CPU manager ", TextOf(allocations, {"cpuManagerPolicy"}),
                                ", memory manager ", TextOf(allocations, {"memoryManagerPolicy"}),
                                ", topology manager ",
                                TextOf(allocations, {"topologyManagerPolicy"}), " (",
                                TextOf(allocations, {"topologyManagerScope"}), ")")) +
         "\n";
}

// Amounts that are nowhere more than 0 are left out: sizes of huge pages without a pool.
Table MemoryTable(const KubeObject& allocations) {
  Table table({"NUMA NODE", "RESOURCE", "CAPACITY", "ALLOCATABLE", "USED"});
  for (const KubeObject& node : ItemsOf(allocations, {"memory"})) {
    for (const auto& [resource, amount] : FieldOf(node, {"resources"}).items()) {
      if (NumberOf(amount, {"capacity"}) == 0 && NumberOf(amount, {"used"}) == 0) continue;
      table.AddRow({TextOf(node, {"numaNode"}), resource, AmountIn(amount, "capacity"),
                    AmountIn(amount, "allocatable"), AmountIn(amount, "used")});
    }
  }
  return table;
}

std::string HolderText(const KubeObject& device) {
  const KubeObject& holder = FieldOf(device, {"holder"});
  if (!holder.is_object()) return kNone;
  std::vector<std::string> containers;
  for (const KubeObject& name : ItemsOf(holder, {"containers"})) {
    if (name.is_string()) containers.push_back(name.get<std::string>());
  }
  return absl::StrCat(PodName(holder), " ", absl::StrJoin(containers, ","));
}

std::string HealthText(const KubeObject& device) {
  if (device.is_object() && device.contains("present") && !FlagOf(device, {"present"})) {
    return "gone";
  }
  return FlagOf(device, {"healthy"}) ? "healthy" : "unhealthy";
}

Table DeviceTable(const KubeObject& allocations) {
  Table table({"RESOURCE", "DEVICE", "HEALTH", "NUMA NODES", "HOLDER"});
  for (const auto& [resource, devices] : FieldOf(allocations, {"devices"}).items()) {
    if (!devices.is_array()) continue;
    for (const KubeObject& device : devices) {
      table.AddRow({resource, TextOf(device, {"id"}), HealthText(device),
                    OrNone(TextOf(device, {"numaNodes"})), HolderText(device)});
    }
  }
  return table;
}

std::string DevicesText(const KubeObject& container) {
  std::vector<std::string> devices;
  for (const auto& [resource, ids] : FieldOf(container, {"devices"}).items()) {
    for (const KubeObject& id : ids) {
      if (id.is_string()) devices.push_back(absl::StrCat(resource, "=", id.get<std::string>()));
    }
  }
  return OrNone(absl::StrJoin(devices, ","));
}

// "2-3", "2 of 2 asked for" where the machine lost some, "shared".
std::string CpusText(const KubeObject& holder, bool exclusive) {
  if (!exclusive) return "shared";
  const std::string cpus = TextOf(holder, {"cpus"});
  const auto has = static_cast<int64_t>(CpusAt(holder, {"cpus"}).Size());
  const int64_t asked = NumberOf(holder, {"cpuCount"});
  return asked > has ? absl::StrCat(cpus, " (", has, " of ", asked, ")") : cpus;
}

// A container's CPUs: a pod with CPUs of its own shares these alone.
std::string CpusText(const KubeObject& pod, const KubeObject& container) {
  const bool exclusive = FlagOf(container, {"exclusive"});
  if (exclusive || NumberOf(pod, {"cpuCount"}) <= 0) return CpusText(container, exclusive);
  return absl::StrCat(TextOf(container, {"cpus"}), " (pod's)");
}

Table ContainerTable(const KubeObject& allocations) {
  Table table({"NAMESPACE", "POD", "CONTAINER", "CPUS", "MEMORY NODES", "DEVICES"});
  for (const KubeObject& pod : ItemsOf(allocations, {"pods"})) {
    const std::string pod_namespace = TextOf(pod, {"namespace"});
    const std::string name = TextOf(pod, {"name"});
    if (NumberOf(pod, {"cpuCount"}) > 0 || !TextOf(pod, {"memoryNodes"}).empty()) {
      table.AddRow({pod_namespace, name, "(pod)", CpusText(pod, NumberOf(pod, {"cpuCount"}) > 0),
                    OrNone(TextOf(pod, {"memoryNodes"})), kNone});
    }
    for (const KubeObject& container : ItemsOf(pod, {"containers"})) {
      table.AddRow({pod_namespace, name, TextOf(container, {"name"}), CpusText(pod, container),
                    OrNone(TextOf(container, {"memoryNodes"})), DevicesText(container)});
    }
  }
  return table;
}

}  // namespace

std::string AllocationsText(const KubeObject& allocations, const AllocationsShape& shape) {
  std::string text = Policies(allocations);
  if (shape.drawing) absl::StrAppend(&text, "\n", Drawing(allocations, shape.colour));
  for (const Table& table :
       {MemoryTable(allocations), DeviceTable(allocations), ContainerTable(allocations)}) {
    if (!table.empty()) absl::StrAppend(&text, "\n", table.ToString());
  }
  return text;
}

}  // namespace plimsoll::cli
