#include "agent/cpu_manager/free_cpus.h"

#include <algorithm>

namespace plimsoll::agent {

using resources::CpuSet;

namespace {
constexpr std::array kAllLevels = {CpuLevel::kCore, CpuLevel::kCache, CpuLevel::kNode,
                                   CpuLevel::kPackage};
}

FreeCpus::FreeCpus(const CpuLayout& layout, const CpuSet& cpus)
    : layout_(layout), free_(layout.cpu_count()) {
  for (const CpuLevel level : kAllLevels) {
    counts_[static_cast<size_t>(level)].resize(layout.GroupCount(level));
  }
  for (const uint32_t number : cpus.ToVector()) {
    const auto cpu = layout.IndexOf(number);
    if (!cpu) continue;
    free_[*cpu] = true;
    ++size_;
    for (const CpuLevel level : kAllLevels) {
      ++counts_[static_cast<size_t>(level)][layout.GroupOf(level, *cpu)];
    }
  }
}

std::vector<uint32_t> FreeCpus::CpusIn(CpuLevel level, uint32_t group) const {
  std::vector<uint32_t> cpus;
  for (const uint32_t cpu : layout_.Members(level, group)) {
    if (free_[cpu]) cpus.push_back(cpu);
  }
  return cpus;
}

CpuSet FreeCpus::CpuSetIn(CpuLevel level, uint32_t group) const {
  CpuSet cpus;
  for (const uint32_t cpu : CpusIn(level, group)) cpus.Add(layout_.NumberOf(cpu));
  return cpus;
}

void FreeCpus::Remove(uint32_t cpu) {
  if (!free_[cpu]) return;
  free_[cpu] = false;
  --size_;
  for (const CpuLevel level : kAllLevels) {
    --counts_[static_cast<size_t>(level)][layout_.GroupOf(level, cpu)];
  }
}

std::vector<uint32_t> FreeCpus::SortedNodes() const {
  if (layout_.nodes_above_packages()) return Sorted(CpuLevel::kNode);
  return SortedWithin(CpuLevel::kPackage, SortedPackages(), CpuLevel::kNode);
}

std::vector<uint32_t> FreeCpus::SortedPackages() const {
  if (!layout_.nodes_above_packages()) return Sorted(CpuLevel::kPackage);
  return SortedWithin(CpuLevel::kNode, SortedNodes(), CpuLevel::kPackage);
}

std::vector<uint32_t> FreeCpus::SortedCores() const {
  if (layout_.nodes_above_packages()) {
    return SortedWithin(CpuLevel::kPackage, SortedPackages(), CpuLevel::kCore);
  }
  return SortedWithin(CpuLevel::kNode, SortedNodes(), CpuLevel::kCore);
}

std::vector<uint32_t> FreeCpus::SortedCaches() const {
  return SortedWithin(CpuLevel::kNode, SortedNodes(), CpuLevel::kCache);
}

std::vector<uint32_t> FreeCpus::Sorted(CpuLevel level) const {
  std::vector<uint32_t> groups;
  for (uint32_t group = 0; group < layout_.GroupCount(level); ++group) {
    if (CountIn(level, group) > 0) groups.push_back(group);
  }
  Sort(level, groups);
  return groups;
}

std::vector<uint32_t> FreeCpus::SortedWithin(CpuLevel outer,
                                             const std::vector<uint32_t>& outer_groups,
                                             CpuLevel level) const {
  std::vector<uint32_t> all;
  for (const uint32_t outer_group : outer_groups) {
    std::vector<uint32_t> groups;
    for (const uint32_t cpu : CpusIn(outer, outer_group)) {
      groups.push_back(layout_.GroupOf(level, cpu));
    }
    std::sort(groups.begin(), groups.end());
    groups.erase(std::unique(groups.begin(), groups.end()), groups.end());
    Sort(level, groups);
    all.insert(all.end(), groups.begin(), groups.end());
  }
  return all;
}

void FreeCpus::Sort(CpuLevel level, std::vector<uint32_t>& groups) const {
  std::sort(groups.begin(), groups.end(), [&](uint32_t a, uint32_t b) {
    const size_t of_a = CountIn(level, a);
    const size_t of_b = CountIn(level, b);
    return of_a != of_b ? of_a < of_b : a < b;
  });
}

}  // namespace plimsoll::agent
