// Parts of the file that containerd and CRI-O refuse, though the machine does not use them.
#include <algorithm>
#include <bit>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "qos/rdt/compile_parts.h"

namespace plimsoll::qos {
namespace {

using ShareKind = RdtCacheShare::Kind;
using Shares = std::vector<std::pair<std::string, const RdtCacheShare*>>;

// A kind of share, as the file has it.
struct IdleKind {
  const char* name;
  // Null: the allocation has no such share.
  const RdtCacheShare* (*of)(const RdtCacheAllocation& allocation);
};

constexpr IdleKind kUnified = {
    "unified", [](const RdtCacheAllocation& one) -> const RdtCacheShare* { return &one.unified; }};
constexpr IdleKind kCode = {"code", [](const RdtCacheAllocation& one) -> const RdtCacheShare* {
                              return one.code ? &*one.code : nullptr;
                            }};
constexpr IdleKind kData = {"data", [](const RdtCacheAllocation& one) -> const RdtCacheShare* {
                              return one.data ? &*one.data : nullptr;
                            }};

std::string ListShares(const Shares& shares) {
  return absl::StrJoin(shares, ", ", [](std::string* out, const auto& share) {
    absl::StrAppend(out, share.first, " ", share.second->text);
  });
}

// The reason why containerd and CRI-O would refuse the mask wherever it stands; empty: they take
// it. `min_bits` is 0 on machines without the level.
std::string WhyNoMask(const RdtCacheShare& share, uint64_t min_bits) {
  if (share.kind != ShareKind::kMask) return "";
  if (static_cast<uint64_t>(std::popcount(share.mask)) < min_bits) {
    return absl::StrCat("has fewer than ", min_bits, " bits");
  }
  const uint64_t from_first = share.mask >> std::countr_zero(share.mask);
  return (from_first & (from_first + 1)) != 0 ? "has gaps" : "";
}

// The reason why they would refuse the partitions' shares of one cache.
std::string WhyNot(const Shares& shares) {
  uint64_t total = 0;
  uint64_t taken = 0;
  size_t masks = 0;
  bool overlap = false;
  for (const auto& [name, share] : shares) {
    if (share->kind == ShareKind::kPercentRange) return "a partition has a range of percentages";
    if (share->kind == ShareKind::kMask) {
      ++masks;
      overlap = overlap || (taken & share->mask) != 0;
      taken |= share->mask;
    } else {
      total += share->high_percent;
    }
  }
  if (masks != 0 && masks != shares.size()) return "some are masks and some percentages";
  if (total > 100) return absl::StrCat("together they are ", total, "%");
  return overlap ? "they overlap" : "";
}

// Every allocation of a kind in the file, with those that no cache of the machine has.
template <typename Allocation>
std::vector<const Allocation*> AllocationsOf(
    const RdtConfig& config, std::optional<RdtByCacheId<Allocation>> RdtAllocations::*member) {
  std::vector<const Allocation*> found;
  const auto add = [&](const RdtAllocations& allocations) {
    const auto& by_cache = allocations.*member;
    if (!by_cache) return;
    if (by_cache->all) found.push_back(&*by_cache->all);
    for (const auto& [id, one] : by_cache->by_id) found.push_back(&one);
  };
  for (const auto& [name, partition] : config.partitions) {
    add(partition.allocations);
    for (const auto& [class_name, one] : partition.classes) add(one.allocations);
  }
  return found;
}

// Adds a warning once: cache ids of one key have equal allocations.
void WarnOnce(std::string warning, RdtCompiled& compiled) {
  auto& all = compiled.warnings;
  if (std::find(all.begin(), all.end(), warning) == all.end()) all.push_back(std::move(warning));
}

constexpr char kRefusedElsewhere[] = "; containerd and CRI-O refuse the file for it";

}  // namespace

void WarnOfIdleRdtShares(const RdtConfig& config, const std::string& level,
                         std::optional<RdtCacheAllocations> RdtAllocations::*member,
                         const linux::ResctrlCacheInfo& cache, RdtCompiled& compiled) {
  std::map<std::string, std::vector<uint64_t>> found;  // oddity -> caches
  for (const IdleKind& kind : {kUnified, kCode, kData}) {
    const bool is_unified = kind.name == kUnified.name;
    for (const uint64_t id : cache.ids) {
      Shares shares;
      std::vector<std::string> without;
      for (const auto& [name, partition] : config.partitions) {
        const RdtCacheAllocation* const one = RdtAllocationFor(partition.allocations.*member, id);
        const RdtCacheShare* const share = one == nullptr ? nullptr : kind.of(*one);
        if (share == nullptr) {
          without.push_back(name);
        } else {
          shares.emplace_back(name, share);
        }
      }
      if (!is_unified && !shares.empty() && !without.empty()) {
        found[absl::StrCat("\"", kind.name, "\" is missing in ", absl::StrJoin(without, ", "),
                           ", others have it: ", ListShares(shares))]
            .push_back(id);
      }
      // An odd share that counts on the machine is an error elsewhere.
      if (is_unified != cache.cdp) continue;
      const std::string why = WhyNot(shares);
      if (why.empty()) continue;
      found[absl::StrCat("the shares of \"", kind.name, "\" don't add up (", why,
                         "), without effect on the machine: ", ListShares(shares))]
          .push_back(id);
    }
  }
  for (const auto& [what, ids] : found) {
    compiled.warnings.push_back(absl::StrCat(level, " of ", ids.size() == 1 ? "cache " : "caches ",
                                             CacheIdList(ids), ": ", what, kRefusedElsewhere));
  }
}

void WarnOfRefusedRdtMasks(const RdtConfig& config,
                           std::optional<RdtCacheAllocations> RdtAllocations::*member,
                           uint64_t min_bits, RdtCompiled& compiled) {
  for (const RdtCacheAllocation* const one : AllocationsOf(config, member)) {
    for (const IdleKind& kind : {kUnified, kCode, kData}) {
      const RdtCacheShare* const share = kind.of(*one);
      const std::string why = share == nullptr ? "" : WhyNoMask(*share, min_bits);
      if (why.empty()) continue;
      WarnOnce(absl::StrCat(share->where, "\"", share->text, "\" ", why, kRefusedElsewhere),
               compiled);
    }
  }
}

void WarnOfRefusedRdtBandwidth(const RdtConfig& config, bool mbps, RdtCompiled& compiled) {
  for (const RdtBandwidthAllocation* const one : AllocationsOf(config, &RdtAllocations::mb)) {
    if (mbps ? one->mbps : one->percent) continue;
    const std::string& error = mbps ? one->mbps_error : one->percent_error;
    const std::string why =
        error.empty() ? absl::StrCat("there is no value in ", mbps ? "MBps" : "%") : error;
    WarnOnce(absl::StrCat(one->where, why, kRefusedElsewhere), compiled);
  }
}

}  // namespace plimsoll::qos
