#include "agent/cpu_manager/packed_taker.h"

#include <algorithm>
#include <cstddef>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "agent/cpu_manager/free_cpus.h"

namespace plimsoll::agent {

using resources::CpuSet;

namespace {

class PackedTaker {
 public:
  PackedTaker(const CpuLayout& layout, const CpuSet& free, size_t count)
      : layout_(layout), free_(layout, free), needed_(count) {}

  // There must be enough free CPUs.
  CpuSet Take(PackedStyle style) {
    if (layout_.nodes_above_packages()) {
      TakeWhole(CpuLevel::kNode, free_.SortedNodes());
      TakeWhole(CpuLevel::kPackage, free_.SortedPackages());
    } else {
      TakeWhole(CpuLevel::kPackage, free_.SortedPackages());
      TakeWhole(CpuLevel::kNode, free_.SortedNodes());
    }
    if (style.align_to_caches) TakeCaches();
    if (!style.spread_over_cores) TakeWhole(CpuLevel::kCore, free_.SortedCores());
    // By core, or by package, so that threads of one core needn't be next to each other.
    if (style.spread_over_cores) {
      TakeSingle(CpuLevel::kPackage, free_.SortedPackages());
    } else {
      TakeSingle(CpuLevel::kCore, free_.SortedCores());
    }
    return taken_;
  }

 private:
  void TakeAll(const std::vector<uint32_t>& cpus) {
    for (const uint32_t cpu : cpus) {
      free_.Remove(cpu);
      taken_.Add(layout_.NumberOf(cpu));
    }
    needed_ -= cpus.size();
  }

  bool IsFree(CpuLevel level, uint32_t group) const {
    if (!free_.IsWhole(level, group)) return false;
    if (level == CpuLevel::kNode || level == CpuLevel::kCache) return true;
    return free_.CountIn(level, group) == layout_.CpusPer(level);
  }

  void TakeWhole(CpuLevel level, const std::vector<uint32_t>& groups) {
    for (const uint32_t group : groups) {
      const std::vector<uint32_t>& cpus = layout_.Members(level, group);
      if (needed_ >= cpus.size() && IsFree(level, group)) TakeAll(cpus);
    }
  }

  void TakeSingle(CpuLevel level, const std::vector<uint32_t>& groups) {
    for (const uint32_t group : groups) {
      for (const uint32_t cpu : free_.CpusIn(level, group)) {
        if (needed_ == 0) return;
        TakeAll({cpu});
      }
    }
  }

  void TakeCaches() {
    for (const uint32_t cache : free_.SortedCaches()) {
      if (needed_ >= layout_.CpusPer(CpuLevel::kCache)) {
        TakeWhole(CpuLevel::kCache, free_.SortedCaches());
      }
      if (needed_ == 0) return;
      TakePartOfCache(cache);
      if (needed_ == 0) return;
    }
  }

  // All that is needed of one cache's lowest cores, or nothing.
  void TakePartOfCache(uint32_t cache) {
    const size_t per_core = layout_.CpusPer(CpuLevel::kCore);
    std::vector<uint32_t> cores;
    for (const uint32_t cpu : free_.CpusIn(CpuLevel::kCache, cache)) {
      cores.push_back(layout_.GroupOf(CpuLevel::kCore, cpu));
    }
    std::sort(cores.begin(), cores.end());
    cores.erase(std::unique(cores.begin(), cores.end()), cores.end());
    cores.resize(std::min(cores.size(), (needed_ + per_core - 1) / per_core));
    std::vector<uint32_t> cpus;
    for (const uint32_t core : cores) {
      const std::vector<uint32_t> in_core = free_.CpusIn(CpuLevel::kCore, core);
      cpus.insert(cpus.end(), in_core.begin(), in_core.end());
    }
    if (needed_ % 2 != 0 && per_core > 1 && cpus.size() > needed_) {
      // One thread too many; kubelet leaves out the highest.
      cpus.erase(std::max_element(cpus.begin(), cpus.end()));
    }
    if (cpus.size() == needed_) TakeAll(cpus);
  }

  const CpuLayout& layout_;
  FreeCpus free_;
  size_t needed_;
  CpuSet taken_;
};

}  // namespace

absl::StatusOr<CpuSet> TakePacked(const CpuLayout& layout, const CpuSet& free, int64_t count,
                                  PackedStyle style) {
  if (count <= 0) return CpuSet();
  const CpuSet usable = free.Intersection(layout.cpus());
  const auto available = static_cast<int64_t>(usable.Size());
  if (count > available) return NotEnoughCpus(count, available);
  return PackedTaker(layout, usable, static_cast<size_t>(count)).Take(style);
}

absl::Status NotEnoughCpus(int64_t requested, int64_t available) {
  return absl::FailedPreconditionError(
      absl::StrCat("not enough cpus available to satisfy request: requested=", requested,
                   ", available=", available));
}

}  // namespace plimsoll::agent
