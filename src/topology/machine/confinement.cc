#include "topology/machine/confinement.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
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

// The list in the first of the files that has one.
absl::StatusOr<std::optional<CpuSet>> FirstList(const FsRoot& root, const std::string& directory,
                                                const std::vector<const char*>& files) {
  for (const char* file : files) {
    PLIMSOLL_ASSIGN_OR_RETURN(std::optional<CpuSet> list,
                              ReadList(root, absl::StrCat(directory, "/", file)));
    if (list) return list;
  }
  return std::nullopt;
}

// kubelet's group for all pods: of its driver cgroupfs, and of its driver systemd.
constexpr const char* kPodsGroups[] = {"kubepods", "kubepods.slice"};

// An invalid partition reads "root invalid (<why>)" and acts as a member.
absl::StatusOr<bool> IsPartition(const FsRoot& root, const std::string& group) {
  PLIMSOLL_ASSIGN_OR_RETURN(const MachineFile state,
                            ReadMachineFile(root, absl::StrCat(group, "/cpuset.cpus.partition")));
  const absl::string_view text = absl::StripAsciiWhitespace(state.text);
  return text == "root" || text == "isolated";
}

// The lists of groups around a partition leave out its CPUs.
absl::Status FollowPartitions(const FsRoot& root, const std::string& mount, Limits& limits) {
  CpuSet own;
  CpuSet set_aside;
  for (const char* name : kPodsGroups) {
    const std::string group = absl::StrCat(mount, "/", name);
    PLIMSOLL_ASSIGN_OR_RETURN(
        const std::optional<CpuSet> exclusive,
        ReadList(root, absl::StrCat(group, "/cpuset.cpus.exclusive.effective")));
    if (exclusive) set_aside = set_aside.Union(*exclusive);
    PLIMSOLL_ASSIGN_OR_RETURN(const bool is_partition, IsPartition(root, group));
    if (!is_partition) continue;
    PLIMSOLL_ASSIGN_OR_RETURN(const std::optional<CpuSet> cpus,
                              ReadList(root, absl::StrCat(group, "/cpuset.cpus.effective")));
    if (!cpus) continue;
    own = own.Union(*cpus);
    limits.partition = name;
  }
  if (limits.partition.empty()) own = *limits.cpus;
  limits.cpus = own.Union(set_aside);
  return absl::OkStatus();
}

// Tries the file names of v2, v1 and v1 mounted with noprefix.
absl::StatusOr<Limits> LimitsAt(const FsRoot& root, const std::string& mount) {
  Limits limits;
  PLIMSOLL_ASSIGN_OR_RETURN(
      limits.cpus, FirstList(root, mount,
                             {"cpuset.cpus.effective", "cpuset.effective_cpus", "cpuset.cpus",
                              "effective_cpus", "cpus"}));
  PLIMSOLL_ASSIGN_OR_RETURN(limits.memory_nodes,
                            FirstList(root, mount,
                                      {"cpuset.mems.effective", "cpuset.effective_mems",
                                       "cpuset.mems", "effective_mems", "mems"}));
  if (limits.cpus) PLIMSOLL_RETURN_IF_ERROR(FollowPartitions(root, mount, limits));
  return limits;
}

// The mount points of cpusets, without the leading slash; v1 first: then a hybrid machine's v2
// hierarchy has no cpusets.
absl::StatusOr<std::vector<std::string>> CpusetMounts(const FsRoot& root) {
  PLIMSOLL_ASSIGN_OR_RETURN(const MachineFile mounts, ReadMachineFile(root, "proc/mounts"));
  std::vector<std::string> v1, v2;
  for (const absl::string_view line : absl::StrSplit(mounts.text, '\n')) {
    const std::vector<absl::string_view> fields = absl::StrSplit(line, ' ');
    if (fields.size() < 4) continue;
    const std::string directory(absl::StripPrefix(fields[1], "/"));
    const std::vector<absl::string_view> options = absl::StrSplit(fields[3], ',');
    const bool is_v1 = fields[2] == "cpuset" ||
                       (fields[2] == "cgroup" && absl::c_linear_search(options, "cpuset"));
    if (is_v1) v1.push_back(directory);
    if (fields[2] == "cgroup2") v2.push_back(directory);
  }
  v1.insert(v1.end(), v2.begin(), v2.end());
  return v1;
}

template <typename Part>
void Keep(const CpuSet& cpus, std::vector<Part>& parts) {
  for (Part& part : parts) part.cpus = part.cpus.Intersection(cpus);
  parts.erase(std::remove_if(parts.begin(), parts.end(),
                             [](const Part& part) { return part.cpus.Empty(); }),
              parts.end());
}

void TakeCpus(const CpuSet& lost, Machine& machine) {
  machine.cpus = machine.cpus.Difference(lost);
  Keep(machine.cpus, machine.packages);
  Keep(machine.cpus, machine.caches);
  Keep(machine.cpus, machine.cores);
  Keep(machine.cpus, machine.core_kinds);
  for (NumaNode& node : machine.nodes) node.cpus = node.cpus.Difference(lost);
}

void TakeMemory(const CpuSet& lost, Machine& machine) {
  for (NumaNode& node : machine.nodes) {
    if (!lost.Contains(node.id)) continue;
    node.memory_bytes = 0;
    for (auto& [size, count] : node.hugepages) count = 0;
  }
  // Removes nodes with nothing left.
  machine.nodes.erase(std::remove_if(machine.nodes.begin(), machine.nodes.end(),
                                     [&](const NumaNode& node) {
                                       return lost.Contains(node.id) && node.cpus.Empty();
                                     }),
                      machine.nodes.end());
  CpuSet left;
  for (const NumaNode& node : machine.nodes) left.Add(node.id);
  for (NumaNode& node : machine.nodes) {
    std::erase_if(node.distances, [&](const auto& each) { return !left.Contains(each.first); });
  }
}

}  // namespace

absl::StatusOr<Limits> ReadLimits(const FsRoot& root) {
  // The usual places first: the list of mounts is long where many pods run, and limits are read
  // every few seconds.
  for (const char* usual : {"sys/fs/cgroup/cpuset", "sys/fs/cgroup"}) {
    PLIMSOLL_ASSIGN_OR_RETURN(Limits limits, LimitsAt(root, usual));
    if (limits.cpus) return limits;
  }
  PLIMSOLL_ASSIGN_OR_RETURN(const std::vector<std::string> mounts, CpusetMounts(root));
  for (const std::string& mount : mounts) {
    PLIMSOLL_ASSIGN_OR_RETURN(Limits limits, LimitsAt(root, mount));
    if (limits.cpus) return limits;
  }
  return Limits();
}

absl::Status Confine(const FsRoot& root, Machine& machine) {
  PLIMSOLL_ASSIGN_OR_RETURN(const Limits limits, ReadLimits(root));
  CpuSet lost_cpus, lost_nodes, with_memory;
  for (const NumaNode& node : machine.nodes) {
    if (node.memory_bytes != 0) with_memory.Add(node.id);
  }
  // A limit that leaves nothing belongs to another machine.
  if (limits.cpus && !limits.cpus->Intersection(machine.cpus).Empty()) {
    lost_cpus = machine.cpus.Difference(*limits.cpus);
  }
  if (limits.memory_nodes && !limits.memory_nodes->Intersection(with_memory).Empty()) {
    lost_nodes = with_memory.Difference(*limits.memory_nodes);
  }
  if (!lost_cpus.Empty()) {
    TakeCpus(lost_cpus, machine);
    machine.missing.push_back(
        absl::StrCat("CPUs ", lost_cpus.ToString(),
                     limits.partition.empty()
                         ? " are online but outside of the outermost cpuset group visible here"
                         : absl::StrCat(" are online but outside of the cpuset partition of group ",
                                        limits.partition),
                     ": they are left out"));
  }
  if (!lost_nodes.Empty()) {
    TakeMemory(lost_nodes, machine);
    machine.missing.push_back(
        absl::StrCat("memory of NUMA nodes ", lost_nodes.ToString(),
                     " is outside of the outermost cpuset group visible here: it is left out"));
  }
  return absl::OkStatus();
}

}  // namespace plimsoll::topology
