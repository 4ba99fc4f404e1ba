// Shares that the machine does not use: code and data without CDP, the unified ones with it.
#include <algorithm>
#include <bit>
#include <map>
#include <set>
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

// The reason why containerd and CRI-O would refuse the mask; empty: they take it.
std::string WhyNoMask(const RdtCacheShare& share, const linux::ResctrlCacheInfo& cache) {
  if (share.kind != ShareKind::kMask) return "";
  const uint64_t mask = share.mask;
  if ((mask & ~cache.cbm_mask) != 0) {
    return absl::StrCat(share.text, " has bits beyond the cache's, 0x", absl::Hex(cache.cbm_mask));
  }
  if (static_cast<uint64_t>(std::popcount(mask)) < cache.min_cbm_bits) {
    return absl::StrCat(share.text, " has fewer than ", cache.min_cbm_bits, " bits");
  }
  const uint64_t from_first = mask >> std::countr_zero(mask);
  const bool has_gaps = (from_first & (from_first + 1)) != 0;
  return has_gaps && !cache.sparse_masks ? absl::StrCat(share.text, " has gaps") : "";
}

// The same of the shares of all partitions.
std::string WhyNot(const Shares& shares) {
  uint64_t total = 0;
  uint64_t taken = 0;
  size_t masks = 0;
  bool overlap = false;
  for (const auto& [name, share] : shares) {
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

// The shares of a kind that partitions and their classes have, by the owner's name.
Shares SharesOfAll(const RdtConfig& config,
                   std::optional<RdtCacheAllocations> RdtAllocations::*member, const IdleKind& kind,
                   uint64_t id) {
  Shares shares;
  const auto add = [&](const std::string& owner, const RdtAllocations& allocations) {
    const RdtCacheAllocation* const one = RdtAllocationFor(allocations.*member, id);
    const RdtCacheShare* const share = one == nullptr ? nullptr : kind.of(*one);
    if (share != nullptr) shares.emplace_back(owner, share);
  };
  for (const auto& [name, partition] : config.partitions) {
    add(absl::StrCat("partition ", name), partition.allocations);
    for (const auto& [class_name, one] : partition.classes) {
      add(absl::StrCat("class ", class_name), one.allocations);
    }
  }
  return shares;
}

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
      for (const auto& [owner, share] : SharesOfAll(config, member, kind, id)) {
        const std::string why = WhyNoMask(*share, cache);
        if (why.empty()) continue;
        found[absl::StrCat("\"", kind.name, "\" of ", owner, " is no mask of this cache (", why,
                           "), without effect on the machine")]
            .push_back(id);
      }
      const std::string why = WhyNot(shares);
      if (why.empty()) continue;
      found[absl::StrCat("the shares of \"", kind.name, "\" don't add up (", why,
                         "), without effect on the machine: ", ListShares(shares))]
          .push_back(id);
    }
  }
  for (const auto& [what, ids] : found) {
    compiled.warnings.push_back(absl::StrCat(level, " of ", ids.size() == 1 ? "cache " : "caches ",
                                             CacheIdList(ids), ": ", what,
                                             "; containerd and CRI-O refuse the file for it"));
  }
}

}  // namespace plimsoll::qos
