#include "runtime/cgroups/parent_cpusets.h"

#include <optional>
#include <utility>

#include "base/status.h"
#include "linux/cgroup/settings.h"
#include "linux/cgroup/tree.h"

namespace plimsoll::runtime {
namespace {

// Both lists of a group's cpuset; empty ones where they can't be read.
struct Lists {
  resources::CpuSet cpus;
  resources::CpuSet memory_nodes;
};

resources::CpuSet ParsedList(const std::optional<std::string>& list) {
  return resources::CpuSet::Parse(list.value_or("")).value_or(resources::CpuSet());
}

absl::StatusOr<Lists> ReadLists(const linux::CgroupManager& cgroups, const std::string& group) {
  PLIMSOLL_ASSIGN_OR_RETURN(const linux::CgroupSettings has, cgroups.Read(group));
  return Lists{ParsedList(has.cpuset_cpus), ParsedList(has.cpuset_mems)};
}

}  // namespace

void ParentCpusets::Remember(const std::string& group) {
  absl::MutexLock lock(&mutex_);
  if (known_.contains(group)) return;
  const absl::StatusOr<Lists> has = ReadLists(cgroups_, group);
  const absl::StatusOr<Lists> parent = ReadLists(cgroups_, linux::ParentGroup(group));
  if (!has.ok() || !parent.ok() || has->cpus.Empty()) return;
  known_[group] = {
      .cpus = {has->cpus, parent->cpus.IsSubsetOf(has->cpus)},
      .memory_nodes = {has->memory_nodes, parent->memory_nodes.IsSubsetOf(has->memory_nodes)}};
}

absl::Status ParentCpusets::GiveBack(const std::string& group) {
  absl::MutexLock lock(&mutex_);
  const auto known = known_.find(group);
  if (known == known_.end()) return absl::OkStatus();
  const absl::StatusOr<Lists> has = ReadLists(cgroups_, group);
  if (absl::IsNotFound(has.status())) return absl::OkStatus();
  PLIMSOLL_RETURN_IF_ERROR(has.status());
  PLIMSOLL_ASSIGN_OR_RETURN(const Lists parent, ReadLists(cgroups_, linux::ParentGroup(group)));
  const auto whole = [](List& list, const resources::CpuSet& now,
                        const resources::CpuSet& of_parent) -> std::optional<std::string> {
    const resources::CpuSet wanted =
        now.Union(list.is_parents ? of_parent : list.had.Intersection(of_parent));
    list.had = list.had.Union(wanted);
    if (wanted == now) return std::nullopt;
    return wanted.ToString();
  };
  linux::CgroupSettings settings;
  settings.cpuset_cpus = whole(known->second.cpus, has->cpus, parent.cpus);
  settings.cpuset_mems = whole(known->second.memory_nodes, has->memory_nodes, parent.memory_nodes);
  if (!settings.cpuset_cpus && !settings.cpuset_mems) return absl::OkStatus();
  const absl::Status done = cgroups_.Apply(group, settings);
  return absl::IsNotFound(done) ? absl::OkStatus() : done;
}

void ParentCpusets::ForgetAllBut(const std::set<std::string>& groups) {
  absl::MutexLock lock(&mutex_);
  std::erase_if(known_, [&](const auto& entry) { return !groups.contains(entry.first); });
}

}  // namespace plimsoll::runtime
