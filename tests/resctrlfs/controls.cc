#include "resctrlfs/controls.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "resctrlfs/control_values.h"

namespace plimsoll::resctrlfs {

Controls::Controls(const Layout& layout) : mbps_(layout.options.mba_mbps) {
  // The order of the kernel's files: bandwidth, L2, L3, and data before code.
  if (layout.bandwidth) {
    const BandwidthLayout& bandwidth = *layout.bandwidth;
    Add({.name = "MB", .bandwidth = &bandwidth, .ids = bandwidth.ids, .closids = bandwidth.closids},
        bandwidth.closids, InitialBandwidth(bandwidth));
  }
  for (int level : {2, 3}) {
    for (const CacheLayout& cache : layout.caches) {
      if (cache.level == level) {
        AddCache(cache, level == 2 ? layout.options.cdpl2 : layout.options.cdp);
      }
    }
  }
}

void Controls::AddCache(const CacheLayout& cache, bool cdp) {
  const std::string name = absl::StrCat("L", cache.level);
  if (!cdp) {
    Add({.name = name, .cache = &cache, .ids = cache.ids, .closids = cache.closids}, cache.closids,
        cache.FullMask());
    // Keeps the columns aligned with CDP's.
    if (cache.cdp_capable) name_width_ = std::max(name_width_, static_cast<int>(name.size()) + 4);
    return;
  }
  const size_t data = schemas_.size();
  for (const auto& [half, peer] : {std::pair("DATA", data + 1), std::pair("CODE", data)}) {
    Add({.name = name + half,
         .cache = &cache,
         .peer = peer,
         .ids = cache.ids,
         .closids = cache.closids / 2},
        cache.closids, cache.FullMask());
  }
}

void Controls::Add(Schema schema, int hardware_closids, uint32_t initial) {
  schema.values.assign(schema.ids.size(),
                       std::vector<uint32_t>(static_cast<size_t>(hardware_closids), initial));
  name_width_ = std::max(name_width_, static_cast<int>(schema.name.size()));
  closids_ = schemas_.empty() ? schema.closids : std::min(closids_, schema.closids);
  schemas_.push_back(std::move(schema));
}

uint32_t Controls::InitialBandwidth(const BandwidthLayout& bandwidth) const {
  return mbps_ ? UINT32_MAX : bandwidth.max_bandwidth;
}

bool Controls::OverlapsHalf(const ClosidModes& modes, size_t schema, size_t instance, uint32_t mask,
                            int closid, bool exclusive_only) const {
  const Schema& s = schemas_[schema];
  if (!exclusive_only && (mask & s.cache->shareable_bits) != 0) return true;
  for (size_t other = 0; other < modes.size(); ++other) {
    if (!modes[other] || static_cast<int>(other) == closid ||
        *modes[other] == Mode::kPseudoLocksetup) {
      continue;
    }
    if (exclusive_only && *modes[other] != Mode::kExclusive) continue;
    if ((mask & s.values[instance][other]) != 0) return true;
  }
  return false;
}

bool Controls::Overlaps(const ClosidModes& modes, size_t schema, size_t instance, uint32_t mask,
                        int closid, bool exclusive_only) const {
  if (OverlapsHalf(modes, schema, instance, mask, closid, exclusive_only)) return true;
  const std::optional<size_t> peer = schemas_[schema].peer;
  return peer && OverlapsHalf(modes, *peer, instance, mask, closid, exclusive_only);
}

uint32_t Controls::InitialMask(const ClosidModes& modes, const Schema& schema, size_t instance,
                               int closid) const {
  uint32_t shared = schema.cache->shareable_bits;
  uint32_t used = shared;
  for (size_t other = 0; other < modes.size(); ++other) {
    if (!modes[other] || static_cast<int>(other) == closid ||
        *modes[other] == Mode::kPseudoLocksetup) {
      continue;
    }
    uint32_t bits = schema.values[instance][other];
    if (schema.peer) bits |= schemas_[*schema.peer].values[instance][other];
    used |= bits;
    if (*modes[other] == Mode::kShareable) shared |= bits;
  }
  return LowestRun(shared | (schema.cache->FullMask() & ~used));
}

absl::Status Controls::Initialise(const ClosidModes& modes, int closid) {
  std::vector<std::vector<uint32_t>> initial(schemas_.size());
  for (size_t s = 0; s < schemas_.size(); ++s) {
    const Schema& schema = schemas_[s];
    for (size_t instance = 0; instance < schema.ids.size(); ++instance) {
      if (!schema.IsCache()) {
        initial[s].push_back(InitialBandwidth(*schema.bandwidth));
        continue;
      }
      const uint32_t mask = InitialMask(modes, schema, instance, closid);
      if (std::popcount(mask) < schema.cache->min_mask_bits) {
        return absl::ResourceExhaustedError(
            absl::StrCat("Nothing is left of ", schema.name, ":", schema.ids[instance]));
      }
      initial[s].push_back(mask);
    }
  }
  for (size_t s = 0; s < schemas_.size(); ++s) {
    for (size_t i = 0; i < initial[s].size(); ++i) Set(s, i, closid, initial[s][i]);
  }
  return absl::OkStatus();
}

}  // namespace plimsoll::resctrlfs
