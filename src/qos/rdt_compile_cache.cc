// Caches: partitions divide the ways, classes take part of their partition's.
#include <algorithm>
#include <bit>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status.h"
#include "qos/rdt_compile_parts.h"
#include "qos/rdt_mask.h"

namespace plimsoll::qos {
namespace {

enum class Path { kUnified, kCode, kData };

// Where a partition or class is silent about an id it has all of it (goresctrl has it so).
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
               const linux::ResctrlCacheInfo& cache, RdtCompiled& compiled)
      : config_(config),
        resource_(std::move(resource)),
        path_(path),
        member_(member),
        cache_(cache),
        compiled_(compiled) {}

  absl::Status Run() {
    for (const uint64_t id : cache_.ids) {
      PLIMSOLL_RETURN_IF_ERROR(Divide(id));
      PLIMSOLL_RETURN_IF_ERROR(Overlay(id));
    }
    for (const RdtCompiledPartition& partition : compiled_.partitions) WarnOfShareable(partition);
    return absl::OkStatus();
  }

 private:
  // "rdt.yaml:5:9: partitions.a.l3Allocation: L3 of cache 0: "
  std::string At(const std::string& partition, const RdtCacheShare& share, uint64_t id) const {
    const auto& allocations = config_.partitions.at(partition).allocations.*member_;
    return absl::StrCat(share.where.empty() ? allocations->where : share.where, resource_,
                        " of cache ", id, ": ");
  }

  absl::Status Divide(uint64_t id) {
    std::vector<std::pair<std::string, const RdtCacheShare*>> shares;
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
    return absl::InvalidArgumentError(
        absl::StrCat(At(percent->first, *percent->second, id), "partition \"", percent->first,
                     "\" has a "
                     "percentage (",
                     percent->second->text, ") and partition \"", mask->first, "\" a mask (",
                     mask->second->text, "); all have the one or all the other"));
  }

  absl::Status DividePercents(
      const std::vector<std::pair<std::string, const RdtCacheShare*>>& shares, uint64_t id) {
    std::vector<uint64_t> percents;
    uint64_t total = 0;
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
      return absl::InvalidArgumentError(
          absl::StrCat(At(shares.back().first, *shares.back().second, id), "partitions have ",
                       total, "% together, 100% is all there is: ", list(),
                       " (a partition that is silent about a cache has all of it)"));
    }
    auto masks = DivideCache(percents, cache_.cbm_mask, cache_.min_cbm_bits);
    if (!masks.ok()) {
      return Annotate(masks.status(), absl::StrCat(At(shares[0].first, *shares[0].second, id),
                                                   "can't be divided into ", list()));
    }
    for (size_t i = 0; i < shares.size(); ++i) {
      compiled_.partitions[i].schemata[resource_][id] = (*masks)[i];
      NoteRounding(absl::StrCat("partition ", shares[i].first), id,
                   static_cast<double>(percents[i]), (*masks)[i], cache_.cbm_mask);
    }
    return absl::OkStatus();
  }

  absl::Status TakeMasks(const std::vector<std::pair<std::string, const RdtCacheShare*>>& shares,
                         uint64_t id) {
    for (size_t i = 0; i < shares.size(); ++i) {
      const RdtCacheShare& share = *shares[i].second;
      const std::string at = At(shares[i].first, share, id);
      const std::string why =
          WhyNoCacheMask(share.mask, cache_.cbm_mask, cache_.min_cbm_bits, cache_.sparse_masks);
      if (!why.empty()) {
        return absl::InvalidArgumentError(absl::StrCat(at, "\"", share.text, "\" ", why));
      }
      for (size_t other = 0; other < i; ++other) {
        if ((shares[other].second->mask & share.mask) == 0) continue;
        return absl::InvalidArgumentError(
            absl::StrCat(at, "partitions \"", shares[other].first, "\" (",
                         shares[other].second->text, ") and \"", shares[i].first, "\" (",
                         share.text, ") overlap; they share nothing of a cache"));
      }
      compiled_.partitions[i].schemata[resource_][id] = share.mask;
    }
    return absl::OkStatus();
  }

  absl::Status Overlay(uint64_t id) {
    for (const RdtCompiledPartition& partition : compiled_.partitions) {
      const uint64_t base = partition.schemata.at(resource_).at(id);
      for (const auto& [name, one] : config_.partitions.at(partition.name).classes) {
        const auto& allocations = one.allocations.*member_;
        uint64_t& mask = compiled_.classes.at(name).schemata[resource_][id];
        mask = base;
        const RdtCacheShare& share = ShareOf(allocations, id, path_);
        if (&share == &WholeCache()) continue;
        const auto part = OverlayCache(share, base, cache_.min_cbm_bits, cache_.sparse_masks);
        if (!part.ok()) return Annotate(part.status(), ClassAt(share, name, id));
        mask = *part;
        if (share.kind == RdtCacheShare::Kind::kMask) continue;
        const uint64_t low = std::max<uint64_t>(share.low_percent, 1);
        NoteRounding(absl::StrCat("class ", name), id,
                     static_cast<double>(share.high_percent - low + 1), mask, base);
      }
    }
    return absl::OkStatus();
  }

  std::string ClassAt(const RdtCacheShare& share, const std::string& name, uint64_t id) const {
    // Annotate puts the ": " itself.
    return absl::StrCat(share.where, resource_, " of cache ", id, ", class \"", name, "\"");
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
};

// Code and data have lines of their own, but the ways are the same.
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

absl::Status CompileRdtCache(const RdtConfig& config, const std::string& level,
                             std::optional<RdtCacheAllocations> RdtAllocations::*member,
                             const linux::ResctrlCacheInfo& cache, RdtCompiled& compiled) {
  const auto line = [&](const std::string& resource, Path path) {
    return LineCompiler(config, resource, path, member, cache, compiled).Run();
  };
  if (!cache.cdp) return line(level, Path::kUnified);
  PLIMSOLL_RETURN_IF_ERROR(line(level + "CODE", Path::kCode));
  PLIMSOLL_RETURN_IF_ERROR(line(level + "DATA", Path::kData));
  WarnOfCodeOnData(level, compiled);
  return absl::OkStatus();
}

}  // namespace plimsoll::qos
