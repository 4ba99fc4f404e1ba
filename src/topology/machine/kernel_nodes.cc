#include "topology/machine/kernel_nodes.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "base/status.h"
#include "topology/machine/kernel_files.h"
#include "topology/machine/machine_file.h"

namespace plimsoll::topology {
namespace {

using resources::CpuSet;

constexpr char kGpus[] = "proc/driver/nvidia/gpus";

std::string NodeDirectory(uint32_t node) {
  return absl::StrCat(kNodeFiles, "/node", node);
}

absl::StatusOr<std::vector<uint32_t>> OnlineNodes(const FsRoot& root) {
  PLIMSOLL_ASSIGN_OR_RETURN(std::vector<uint32_t> nodes, ListNumbered(root, kNodeFiles, "node"));
  PLIMSOLL_ASSIGN_OR_RETURN(const std::optional<CpuSet> online,
                            ReadList(root, absl::StrCat(kNodeFiles, "/online")));
  if (online) {
    nodes.erase(std::remove_if(nodes.begin(), nodes.end(),
                               [&](uint32_t node) { return !online->Contains(node); }),
                nodes.end());
  }
  return nodes;
}

absl::Status ReadHugepages(const FsRoot& root, NumaNode& node) {
  const std::string pools = NodeDirectory(node.id) + "/hugepages";
  PLIMSOLL_ASSIGN_OR_RETURN(const std::vector<std::string> names, ListMachineFiles(root, pools));
  for (const std::string& name : names) {
    absl::string_view size = name;
    uint64_t kib = 0;
    if (!absl::ConsumePrefix(&size, "hugepages-") || !absl::ConsumeSuffix(&size, "kB") ||
        !absl::SimpleAtoi(size, &kib)) {
      continue;
    }
    PLIMSOLL_ASSIGN_OR_RETURN(const std::optional<uint64_t> count,
                              ReadNumber(root, absl::StrCat(pools, "/", name, "/nr_hugepages")));
    node.hugepages[kib * 1024] = count.value_or(0);
  }
  return absl::OkStatus();
}

// A row has the online nodes in the order of their numbers
// (Documentation/ABI/stable/sysfs-devices-node).
absl::Status ReadDistances(const FsRoot& root, const std::vector<uint32_t>& online,
                           NumaNode& node) {
  PLIMSOLL_ASSIGN_OR_RETURN(const MachineFile row,
                            ReadMachineFile(root, NodeDirectory(node.id) + "/distance"));
  std::map<uint32_t, uint32_t> distances;
  size_t column = 0;
  const absl::string_view text = absl::string_view(row.text).substr(0, row.text.find('\0'));
  for (const absl::string_view each :
       absl::StrSplit(text, absl::ByAnyChar(" \t\n"), absl::SkipEmpty())) {
    uint32_t distance = 0;
    if (column == online.size() || !absl::SimpleAtoi(each, &distance)) {
      return absl::OkStatus();
    }
    distances[online[column++]] = distance;
  }
  if (column == online.size()) node.distances = std::move(distances);
  return absl::OkStatus();
}

absl::StatusOr<NumaNode> ReadNode(const FsRoot& root, uint32_t id,
                                  const std::vector<uint32_t>& online, const Machine& machine) {
  NumaNode node;
  for (const NumaNode& known : machine.nodes) {
    if (known.id != id) continue;
    node = known;
    node.hugepages.clear();
  }
  node.id = id;
  const std::string directory = NodeDirectory(id);
  PLIMSOLL_ASSIGN_OR_RETURN(std::optional<CpuSet> cpus, ReadMask(root, directory + "/cpumap"));
  if (!cpus) {
    PLIMSOLL_ASSIGN_OR_RETURN(cpus, ReadList(root, directory + "/cpulist"));
  }
  if (cpus) node.cpus = cpus->Intersection(machine.cpus);
  PLIMSOLL_ASSIGN_OR_RETURN(const std::optional<uint64_t> memory,
                            ReadMemInfo(root, directory + "/meminfo", "MemTotal:"));
  if (memory) node.memory_bytes = *memory;
  PLIMSOLL_RETURN_IF_ERROR(ReadHugepages(root, node));
  PLIMSOLL_RETURN_IF_ERROR(ReadDistances(root, online, node));
  return node;
}

// Reads driver files of GPUs whose memory is a node of the system: "Node: 255".
absl::Status MarkGpuMemory(const FsRoot& root, std::vector<NumaNode>& nodes) {
  PLIMSOLL_ASSIGN_OR_RETURN(const std::vector<std::string> gpus, ListMachineFiles(root, kGpus));
  for (const std::string& gpu : gpus) {
    PLIMSOLL_ASSIGN_OR_RETURN(const MachineFile status,
                              ReadMachineFile(root, absl::StrCat(kGpus, "/", gpu, "/numa_status")));
    for (absl::string_view line : absl::StrSplit(status.text, '\n')) {
      uint32_t id = 0;
      if (!absl::ConsumePrefix(&line, "Node:") || !absl::SimpleAtoi(line, &id)) continue;
      for (NumaNode& node : nodes) {
        // A GPU without memory of its own in the system names the node that it is attached to.
        if (node.id == id && node.cpus.Empty()) node.attributes["memory-type"] = "GPUMemory";
      }
    }
  }
  return absl::OkStatus();
}

// CPUs that are in more than one node.
CpuSet Claimed(const std::vector<NumaNode>& nodes) {
  CpuSet seen, twice;
  for (const NumaNode& node : nodes) {
    twice = twice.Union(node.cpus.Intersection(seen));
    seen = seen.Union(node.cpus);
  }
  return twice;
}

// The node that gets a CPU, of those that claim it.
absl::StatusOr<uint32_t> HomeOf(const FsRoot& root, uint32_t cpu,
                                const std::vector<NumaNode>& nodes) {
  PLIMSOLL_ASSIGN_OR_RETURN(const std::vector<uint32_t> links,
                            ListNumbered(root, absl::StrCat(kCpuFiles, "/cpu", cpu), "node"));
  const NumaNode* home = nullptr;
  for (const NumaNode& node : nodes) {
    if (!node.cpus.Contains(cpu)) continue;
    if (links.size() == 1 && links[0] == node.id) return node.id;
    if (home == nullptr || node.cpus.Size() < home->cpus.Size()) home = &node;
  }
  return home->id;
}

absl::Status GiveEachCpuOneNode(const FsRoot& root, Machine& machine) {
  const CpuSet claimed = Claimed(machine.nodes);
  if (claimed.Empty()) return absl::OkStatus();
  CpuSet claimants;
  std::map<uint32_t, CpuSet> given;
  for (const uint32_t cpu : claimed.ToVector()) {
    PLIMSOLL_ASSIGN_OR_RETURN(const uint32_t home, HomeOf(root, cpu, machine.nodes));
    given[home].Add(cpu);
  }
  for (NumaNode& node : machine.nodes) {
    if (node.cpus.Intersection(claimed).Empty()) continue;
    claimants.Add(node.id);
    node.cpus = node.cpus.Difference(claimed).Union(given[node.id]);
  }
  machine.missing.push_back(absl::StrCat(
      "NUMA nodes ", claimants.ToString(), " overlap, as with numa=fake: each of the CPUs ",
      claimed.ToString(), " is shown with one of them; a node left without CPUs is memory alone"));
  return absl::OkStatus();
}

}  // namespace

absl::Status ReadKernelNodes(const FsRoot& root, Machine& machine) {
  PLIMSOLL_ASSIGN_OR_RETURN(const std::vector<uint32_t> online, OnlineNodes(root));
  if (online.empty()) return absl::OkStatus();  // a kernel without NUMA
  std::vector<NumaNode> nodes;
  for (const uint32_t id : online) {
    PLIMSOLL_ASSIGN_OR_RETURN(NumaNode node, ReadNode(root, id, online, machine));
    nodes.push_back(std::move(node));
  }
  PLIMSOLL_RETURN_IF_ERROR(MarkGpuMemory(root, nodes));
  machine.nodes = std::move(nodes);
  return GiveEachCpuOneNode(root, machine);
}

}  // namespace plimsoll::topology
