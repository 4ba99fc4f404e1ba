#include "resctrlfs/layout.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "base/status.h"

namespace plimsoll::resctrlfs {
namespace {

using Json = nlohmann::json;

// Reads members of an object and remembers their names, so that a misspelt one is found.
class Members {
 public:
  Members(const Json& object, std::string name) : object_(object), name_(std::move(name)) {}

  template <typename T>
  void Take(const char* key, T* into) {
    known_.insert(key);
    if (object_.contains(key)) *into = object_.at(key).get<T>();
  }
  const Json* Child(const char* key) {
    known_.insert(key);
    return object_.contains(key) ? &object_.at(key) : nullptr;
  }
  absl::Status Check() const {
    for (const auto& [key, value] : object_.items()) {
      if (!known_.contains(key)) {
        return absl::InvalidArgumentError(absl::StrCat("layout: ", name_, " has no key \"", key,
                                                       "\"; known: ", absl::StrJoin(known_, ", ")));
      }
    }
    return absl::OkStatus();
  }

 private:
  const Json& object_;
  std::string name_;
  std::set<std::string> known_;
};

absl::StatusOr<CacheLayout> ReadCache(const Json& json) {
  CacheLayout cache;
  Members members(json, "a cache");
  members.Take("level", &cache.level);
  members.Take("ids", &cache.ids);
  members.Take("mask_bits", &cache.mask_bits);
  members.Take("min_mask_bits", &cache.min_mask_bits);
  std::string shareable = "0";
  members.Take("shareable_bits", &shareable);
  if (!absl::SimpleHexAtoi(shareable, &cache.shareable_bits)) {
    return absl::InvalidArgumentError(absl::StrCat("layout: shareable_bits \"", shareable,
                                                   "\" is no hexadecimal number as text"));
  }
  members.Take("sparse_masks", &cache.sparse_masks);
  members.Take("closids", &cache.closids);
  members.Take("cdp_capable", &cache.cdp_capable);
  members.Take("size_bytes", &cache.size_bytes);
  PLIMSOLL_RETURN_IF_ERROR(members.Check());
  return cache;
}

absl::StatusOr<BandwidthLayout> ReadBandwidth(const Json& json) {
  BandwidthLayout bandwidth;
  Members members(json, "bandwidth");
  members.Take("ids", &bandwidth.ids);
  members.Take("min_bandwidth", &bandwidth.min_bandwidth);
  members.Take("max_bandwidth", &bandwidth.max_bandwidth);
  members.Take("granularity", &bandwidth.granularity);
  members.Take("delay_linear", &bandwidth.delay_linear);
  members.Take("needs_linear", &bandwidth.needs_linear);
  members.Take("closids", &bandwidth.closids);
  members.Take("throttle_mode", &bandwidth.throttle_mode);
  PLIMSOLL_RETURN_IF_ERROR(members.Check());
  return bandwidth;
}

absl::StatusOr<MonitoringLayout> ReadMonitoring(const Json& json) {
  MonitoringLayout monitoring;
  Members members(json, "monitoring");
  members.Take("ids", &monitoring.ids);
  members.Take("events", &monitoring.events);
  members.Take("rmids", &monitoring.rmids);
  members.Take("max_threshold_occupancy", &monitoring.max_threshold_occupancy);
  PLIMSOLL_RETURN_IF_ERROR(members.Check());
  return monitoring;
}

absl::Status ReadOptions(const std::vector<std::string>& names, MountOptions* options) {
  for (const std::string& name : names) {
    if (name == "cdp") {
      options->cdp = true;
    } else if (name == "cdpl2") {
      options->cdpl2 = true;
    } else if (name == "mba_MBps") {
      options->mba_mbps = true;
    } else if (name == "debug") {
      options->debug = true;
    } else {
      return absl::InvalidArgumentError(absl::StrCat("layout: no mount option \"", name,
                                                     "\"; known: cdp, cdpl2, mba_MBps, debug"));
    }
  }
  return absl::OkStatus();
}

absl::Status ReadTraits(const Json& json, KernelTraits* traits) {
  Members members(json, "traits");
  members.Take("several_ids", &traits->several_ids);
  members.Take("moves_mon_groups", &traits->moves_mon_groups);
  members.Take("padded_values", &traits->padded_values);
  members.Take("has_sparse_masks", &traits->has_sparse_masks);
  return members.Check();
}

absl::StatusOr<Layout> ReadLayout(const Json& json) {
  Layout layout;
  Members members(json, "the layout");
  members.Take("cpus", &layout.cpus);
  if (const Json* caches = members.Child("caches")) {
    layout.caches.clear();
    for (const Json& cache : *caches) {
      PLIMSOLL_ASSIGN_OR_RETURN(CacheLayout read, ReadCache(cache));
      layout.caches.push_back(std::move(read));
    }
  }
  if (const Json* bandwidth = members.Child("bandwidth")) {
    PLIMSOLL_ASSIGN_OR_RETURN(layout.bandwidth, ReadBandwidth(*bandwidth));
  }
  if (const Json* monitoring = members.Child("monitoring")) {
    PLIMSOLL_ASSIGN_OR_RETURN(layout.monitoring, ReadMonitoring(*monitoring));
  }
  std::vector<std::string> options;
  members.Take("options", &options);
  PLIMSOLL_RETURN_IF_ERROR(ReadOptions(options, &layout.options));
  if (const Json* traits = members.Child("traits")) {
    PLIMSOLL_RETURN_IF_ERROR(ReadTraits(*traits, &layout.traits));
  }
  PLIMSOLL_RETURN_IF_ERROR(members.Check());
  return layout;
}

absl::Status CheckIds(absl::string_view what, const std::vector<int>& ids) {
  if (ids.empty() || ids.front() < 0 || !absl::c_is_sorted(ids) ||
      std::adjacent_find(ids.begin(), ids.end()) != ids.end()) {
    return absl::InvalidArgumentError(
        absl::StrCat("layout: the ids of ", what, " must be ascending numbers from 0 on"));
  }
  return absl::OkStatus();
}

absl::Status CheckCache(const CacheLayout& cache) {
  const std::string what = absl::StrCat("L", cache.level);
  if (cache.level != 2 && cache.level != 3) {
    return absl::InvalidArgumentError(absl::StrCat("layout: no cache of level ", cache.level));
  }
  if (cache.mask_bits < 1 || cache.mask_bits > 32 || cache.min_mask_bits < 0 ||
      cache.min_mask_bits > cache.mask_bits || cache.closids < 1 ||
      (cache.shareable_bits & ~cache.FullMask()) != 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        "layout: ", what, " needs 1 to 32 mask_bits, min_mask_bits and shareable_bits that fit ",
        "into them, and at least one CLOSID"));
  }
  return CheckIds(what, cache.ids);
}

const CacheLayout* CacheOfLevel(const Layout& layout, int level) {
  const auto found =
      absl::c_find_if(layout.caches, [&](const CacheLayout& c) { return c.level == level; });
  return found == layout.caches.end() ? nullptr : &*found;
}

absl::Status CheckOptions(const Layout& layout) {
  for (const auto& [wanted, level] :
       {std::pair(layout.options.cdp, 3), std::pair(layout.options.cdpl2, 2)}) {
    const CacheLayout* cache = CacheOfLevel(layout, level);
    if (wanted && (cache == nullptr || !cache->cdp_capable || cache->closids < 2)) {
      return absl::InvalidArgumentError(
          absl::StrCat("layout: CDP without an L", level, " cache that has it"));
    }
  }
  if (!layout.options.mba_mbps) return absl::OkStatus();
  const bool mbm = layout.monitoring && absl::c_any_of(layout.monitoring->events, [](auto& event) {
                     return event != "llc_occupancy";
                   });
  if (!mbm || !layout.bandwidth || !layout.bandwidth->delay_linear) {
    return absl::InvalidArgumentError(
        "layout: mba_MBps needs bandwidth that is linear, and a mbm_ event");
  }
  return absl::OkStatus();
}

Json CacheToJson(const CacheLayout& cache) {
  return {{"level", cache.level},
          {"ids", cache.ids},
          {"mask_bits", cache.mask_bits},
          {"min_mask_bits", cache.min_mask_bits},
          {"shareable_bits", absl::StrFormat("%x", cache.shareable_bits)},
          {"sparse_masks", cache.sparse_masks},
          {"closids", cache.closids},
          {"cdp_capable", cache.cdp_capable},
          {"size_bytes", cache.size_bytes}};
}

std::vector<std::string> OptionNames(const MountOptions& options) {
  std::vector<std::string> names;
  if (options.cdp) names.push_back("cdp");
  if (options.cdpl2) names.push_back("cdpl2");
  if (options.mba_mbps) names.push_back("mba_MBps");
  if (options.debug) names.push_back("debug");
  return names;
}

}  // namespace

absl::StatusOr<Layout> ParseLayout(absl::string_view json) {
  try {
    PLIMSOLL_ASSIGN_OR_RETURN(Layout layout, ReadLayout(Json::parse(json.begin(), json.end())));
    PLIMSOLL_RETURN_IF_ERROR(CheckLayout(layout));
    return layout;
  } catch (const Json::exception& error) {
    return absl::InvalidArgumentError(absl::StrCat("layout: ", error.what()));
  }
}

std::string LayoutToJson(const Layout& layout) {
  Json json = {{"cpus", layout.cpus},
               {"caches", Json::array()},
               {"options", OptionNames(layout.options)},
               {"traits",
                {{"several_ids", layout.traits.several_ids},
                 {"moves_mon_groups", layout.traits.moves_mon_groups},
                 {"padded_values", layout.traits.padded_values},
                 {"has_sparse_masks", layout.traits.has_sparse_masks}}}};
  for (const CacheLayout& cache : layout.caches) json["caches"].push_back(CacheToJson(cache));
  if (layout.bandwidth) {
    json["bandwidth"] = {{"ids", layout.bandwidth->ids},
                         {"min_bandwidth", layout.bandwidth->min_bandwidth},
                         {"max_bandwidth", layout.bandwidth->max_bandwidth},
                         {"granularity", layout.bandwidth->granularity},
                         {"delay_linear", layout.bandwidth->delay_linear},
                         {"needs_linear", layout.bandwidth->needs_linear},
                         {"closids", layout.bandwidth->closids},
                         {"throttle_mode", layout.bandwidth->throttle_mode}};
  }
  if (layout.monitoring) {
    json["monitoring"] = {{"ids", layout.monitoring->ids},
                          {"events", layout.monitoring->events},
                          {"rmids", layout.monitoring->rmids},
                          {"max_threshold_occupancy", layout.monitoring->max_threshold_occupancy}};
  }
  return json.dump(2) + "\n";
}

absl::Status CheckLayout(const Layout& layout) {
  if (layout.cpus < 1 || layout.cpus > 4096) {
    return absl::InvalidArgumentError("layout: a machine has 1 to 4096 cpus");
  }
  for (const CacheLayout& cache : layout.caches) {
    PLIMSOLL_RETURN_IF_ERROR(CheckCache(cache));
    if (CacheOfLevel(layout, cache.level) != &cache) {
      return absl::InvalidArgumentError(absl::StrCat("layout: two caches of level ", cache.level));
    }
  }
  if (layout.bandwidth) {
    PLIMSOLL_RETURN_IF_ERROR(CheckIds("bandwidth", layout.bandwidth->ids));
    if (layout.bandwidth->granularity < 1 || layout.bandwidth->closids < 1) {
      return absl::InvalidArgumentError("layout: bandwidth needs a granularity and CLOSIDs");
    }
  }
  if (layout.monitoring) {
    PLIMSOLL_RETURN_IF_ERROR(CheckIds("monitoring", layout.monitoring->ids));
    if (layout.monitoring->rmids < 1 || layout.monitoring->events.empty()) {
      return absl::InvalidArgumentError("layout: monitoring needs RMIDs and events");
    }
  }
  if (layout.caches.empty() && !layout.bandwidth && !layout.monitoring) {
    return absl::InvalidArgumentError("layout: a machine with nothing to control or monitor");
  }
  return CheckOptions(layout);
}

std::string ShowMountOptions(const MountOptions& options) {
  std::string shown;
  for (const std::string& name : OptionNames(options)) absl::StrAppend(&shown, ",", name);
  return shown;
}

}  // namespace plimsoll::resctrlfs
