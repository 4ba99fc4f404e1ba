// Caches: partitions divide the ways, classes take part of their partition's.
#include <algorithm>
#include <bit>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "qos/rdt/compile_parts.h"
#include "qos/rdt/mask.h"

namespace plimsoll::qos {
namespace {

enum class Path { kUnified, kCode, kData };

// A partition or class without an allocation for an id has all of it, as in goresctrl.
const RdtCacheShare& WholeCache() {
  static const auto* const whole = new RdtCacheShare{.high_percent = 100, .text = "100%"};
  return *whole;
}

const RdtCacheShare& ShareOf(const std::optional<RdtCacheAllocations>& allocations, uint64_t id,
                             Path path) {
  const RdtCacheAllocation* const one = RdtAllocationFor(allocations, id);
  if (one == nullptr) return WholeCache();
  if (path == Path::kCode && one->code) return *one->code;
  if (path == Path::kData && one->data) return *one->data;
  return one->unified;
}

// One line of the schemata: "L3", "L3CODE", "L2DATA".
class LineCompiler {
 public:
  LineCompiler(const RdtConfig& config, std::string resource, Path path,
               std::optional<RdtCacheAllocations> RdtAllocations::*member,
               const linux::ResctrlCacheInfo& cache, RdtCompiled& compiled, RdtFaults& faults)
      : config_(config),
        resource_(std::move(resource)),
        path_(path),
        member_(member),
        cache_(cache),
        compiled_(compiled),
        faults_(faults) {}

  void Run() {
    bool divided = true;
    for (const uint64_t id : cache_.ids) {
      if (Divide(id)) {
        Overlay(id);
      } else {
        divided = false;
      }
    }
    if (!divided) return;
    for (const RdtCompiledPartition& partition : compiled_.partitions) WarnOfShareable(partition);
  }

 private:
  using Shares = std::vector<std::pair<std::string, const RdtCacheShare*>>;

  // Adds a fault of a partition's share: "rdt.yaml:5:9: partitions.a.l3Allocation: L3 of cache 0:
  // ".
  void Fail(absl::StatusCode code, const std::pair<std::string, const RdtCacheShare*>& share,
            uint64_t id, absl::string_view why) {
    const auto& allocations = config_.partitions.at(share.first).allocations.*member_;
    const std::string& own = share.second->where;
    faults_.AddOfCache(code, own.empty() ? allocations->where : own, resource_, id,
                       absl::StrCat(": ", why));
  }
  void Fail(const std::pair<std::string, const RdtCacheShare*>& share, uint64_t id,
            absl::string_view why) {
    Fail(absl::StatusCode::kInvalidArgument, share, id, why);
  }

  // False after a fault.
  bool Divide(uint64_t id) {
    Shares shares;
    for (const auto& [name, partition] : config_.partitions) {
      shares.emplace_back(name, &ShareOf(partition.allocations.*member_, id, path_));
    }
    const auto is_mask = [](const auto& share) {
      return share.second->kind == RdtCacheShare::Kind::kMask;
    };
    const auto masks = std::count_if(shares.begin(), shares.end(), is_mask);
    if (masks == 0) return DividePercents(shares, id);
    if (masks == static_cast<ptrdiff_t>(shares.size())) return TakeMasks(shares, id);
    const auto percent = std::find_if_not(shares.begin(), shares.end(), is_mask);
    const auto mask = std::find_if(shares.begin(), shares.end(), is_mask);
    Fail(*percent, id,
         absl::StrCat("partition \"", percent->first, "\" has a percentage (",
                      percent->second->text, ") and partition \"", mask->first, "\" a mask (",
                      mask->second->text, "); all need percentages, or all need masks"));
    return false;
  }

  bool DividePercents(const Shares& shares, uint64_t id) {
    std::vector<uint64_t> percents;
    uint64_t total = 0;
    for (const auto& share : shares) {
      if (share.second->kind != RdtCacheShare::Kind::kPercentRange) continue;
      Fail(share, id,
           absl::StrCat("\"", share.second->text, "\": a partition can't have a range of ",
                        "percentages, only its classes can; write \"60%\" or a mask"));
      return false;
    }
    for (const auto& [name, share] : shares) {
      percents.push_back(share->high_percent);
      total += share->high_percent;
    }
    const auto list = [&] {
      return absl::StrJoin(shares, ", ", [](std::string* out, const auto& share) {
        absl::StrAppend(out, share.first, " ", share.second->text);
      });
    };
    if (total > 100) {
      Fail(shares.back(), id,
           absl::StrCat("partitions have ", total, "% together, more than 100%: ", list(),
                        " (a partition without a share of a cache has all of it)"));
      return false;
    }
    if (total == 0) {
      Fail(shares.front(), id, absl::StrCat("nothing is given out: ", list(), "; 1% is the least"));
      return false;
    }
    auto masks = DivideCache(percents, cache_.cbm_mask, cache_.min_cbm_bits);
    if (!masks.ok()) {
      Fail(masks.status().code(), shares.front(), id,
           absl::StrCat("can't be divided into ", list(), ": ", masks.status().message()));
      return false;
    }
    for (size_t i = 0; i < shares.size(); ++i) {
      compiled_.partitions[i].schemata[resource_][id] = (*masks)[i];
      NoteRounding(absl::StrCat("partition ", shares[i].first), id,
                   static_cast<double>(percents[i]), (*masks)[i], cache_.cbm_mask);
    }
    return true;
  }

  bool TakeMasks(const Shares& shares, uint64_t id) {
    bool fits = true;
    for (size_t i = 0; i < shares.size(); ++i) {
      const RdtCacheShare& share = *shares[i].second;
      const std::string why =
          WhyNoCacheMask(share.mask, cache_.cbm_mask, cache_.min_cbm_bits, cache_.sparse_masks);
      if (!why.empty()) {
        Fail(shares[i], id, absl::StrCat("\"", share.text, "\" ", why));
        fits = false;
      }
      for (size_t other = 0; other < i; ++other) {
        if ((shares[other].second->mask & share.mask) == 0) continue;
        Fail(shares[i], id,
             absl::StrCat("partitions \"", shares[other].first, "\" (", shares[other].second->text,
                          ") and \"", shares[i].first, "\" (", share.text,
                          ") overlap; they share nothing of a cache"));
        fits = false;
      }
      compiled_.partitions[i].schemata[resource_][id] = share.mask;
    }
    return fits;
  }

  void Overlay(uint64_t id) {
    for (const RdtCompiledPartition& partition : compiled_.partitions) {
      const uint64_t base = partition.schemata.at(resource_).at(id);
      for (const auto& [name, one] : config_.partitions.at(partition.name).classes) {
        const auto& allocations = one.allocations.*member_;
        uint64_t& mask = compiled_.classes.at(name).schemata[resource_][id];
        mask = base;
        const RdtCacheShare& share = ShareOf(allocations, id, path_);
        if (&share == &WholeCache()) continue;
        const auto part = OverlayCache(share, base, cache_.min_cbm_bits, cache_.sparse_masks);
        if (!part.ok()) {
          faults_.AddOfCache(part.status().code(), share.where, resource_, id,
                             absl::StrCat(", class \"", name, "\": ", part.status().message()));
          continue;
        }
        mask = *part;
        if (share.kind == RdtCacheShare::Kind::kMask) continue;
        const uint64_t low = std::max<uint64_t>(share.low_percent, 1);
        NoteRounding(absl::StrCat("class ", name), id,
                     static_cast<double>(share.high_percent - low + 1), mask, base);
      }
    }
  }

  void NoteRounding(const std::string& who, uint64_t id, double asked, uint64_t mask,
                    uint64_t whole) {
    const int given = std::popcount(mask);
    const int all = std::popcount(whole);
    AddRdtRounding({.who = who,
                    .resource = resource_,
                    .ids = {id},
                    .asked_percent = asked,
                    .given_percent = 100.0 * given / all,
                    .given = absl::StrCat(given, " of ", all, " ways")},
                   compiled_);
  }

  void WarnOfShareable(const RdtCompiledPartition& partition) {
    std::vector<uint64_t> ids;
    uint64_t shared = 0;
    for (const auto& [id, mask] : partition.schemata.at(resource_)) {
      if ((mask & cache_.shareable_bits) == 0) continue;
      ids.push_back(id);
      shared |= mask & cache_.shareable_bits;
    }
    if (ids.empty()) return;
    compiled_.warnings.push_back(
        absl::StrCat("partition ", partition.name, ": ", resource_, " of ",
                     ids.size() == 1 ? "cache " : "caches ", CacheIdList(ids),
                     ": devices use the ways 0x", absl::Hex(shared), " too (shareable_bits 0x",
                     absl::Hex(cache_.shareable_bits), "), so they are not the partition's alone"));
  }

  const RdtConfig& config_;
  const std::string resource_;
  const Path path_;
  std::optional<RdtCacheAllocations> RdtAllocations::*const member_;
  const linux::ResctrlCacheInfo& cache_;
  RdtCompiled& compiled_;
  RdtFaults& faults_;
};

// Code and data have lines of their own, but share the ways.
void WarnOfCodeOnData(const std::string& level, RdtCompiled& compiled) {
  for (const RdtCompiledPartition& a : compiled.partitions) {
    for (const RdtCompiledPartition& b : compiled.partitions) {
      if (a.name == b.name) continue;
      std::vector<uint64_t> ids;
      for (const auto& [id, code] : a.schemata.at(level + "CODE")) {
        if ((code & b.schemata.at(level + "DATA").at(id)) != 0) ids.push_back(id);
      }
      if (ids.empty()) continue;
      compiled.warnings.push_back(absl::StrCat(
          level, " of caches ", CacheIdList(ids), ": code of partition ", a.name,
          " and data of partition ", b.name,
          " have ways in common; partitions that divide code and data alike have none"));
    }
  }
}

}  // namespace

void CompileRdtCache(const RdtConfig& config, const std::string& level,
                     std::optional<RdtCacheAllocations> RdtAllocations::*member,
                     const linux::ResctrlCacheInfo& cache, RdtCompiled& compiled,
                     RdtFaults& faults) {
  const auto line = [&](const std::string& resource, Path path) {
    LineCompiler(config, resource, path, member, cache, compiled, faults).Run();
  };
  if (!cache.cdp) {
    line(level, Path::kUnified);
  } else {
    line(level + "CODE", Path::kCode);
    line(level + "DATA", Path::kData);
    if (faults.status().ok()) WarnOfCodeOnData(level, compiled);
  }
  WarnOfIdleRdtShares(config, level, member, cache, compiled);
}

}  // namespace plimsoll::qos
