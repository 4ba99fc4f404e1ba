// The files of each directory, with their modes and contents.
#include <cerrno>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "resctrlfs/bit_usage.h"
#include "resctrlfs/cpus.h"
#include "resctrlfs/groups.h"
#include "resctrlfs/kernel_text.h"
#include "resctrlfs/mode.h"
#include "resctrlfs/schemata.h"
#include "resctrlfs/tasks.h"
#include "resctrlfs/tree.h"

namespace plimsoll::resctrlfs {
namespace {

Errno WriteBandwidthEvent(State* state, Group* group, absl::string_view text) {
  if (!absl::ConsumeSuffix(&text, "\n")) return EINVAL;
  state->status.Clear();
  if (text == "llc_occupancy" || !absl::c_linear_search(state->layout.monitoring->events, text)) {
    return state->status.Refuse(EINVAL, "\"", text, "\" is no bandwidth event of this machine");
  }
  group->mbps_event = std::string(text);
  return 0;
}

Errno WriteThreshold(State* state, absl::string_view text) {
  const std::optional<uint64_t> bytes = ParseUnsigned(text, 0, UINT32_MAX);
  if (!bytes) return EINVAL;
  state->max_threshold_occupancy = static_cast<uint32_t>(*bytes);
  return 0;
}

}  // namespace

void Tree::FillGroup(Node* directory) {
  State* const state = &state_;
  Group* const group = directory->group;
  const auto add_cpus = [&](const char* name, CpuFormat format) {
    AddFile(directory, name, 0644, [=] { return ShowCpus(*state, *group, format); })->write =
        [=](absl::string_view text, const Writer&) {
          return WriteCpus(state, group, text, format);
        };
  };
  add_cpus("cpus", CpuFormat::kMask);
  add_cpus("cpus_list", CpuFormat::kList);
  AddFile(directory, "tasks", 0644, [=] { return ShowTasks(state, *group); })->write =
      [=, this](absl::string_view text, const Writer& writer) {
        return WriteTasks(state, group, text, writer, may_move_);
      };
  if (!group->IsMonitor()) AddControlFiles(directory, group);
  if (state_.CanMonitor()) AddMonitoring(directory, group);
}

void Tree::AddControlFiles(Node* directory, Group* group) {
  State* const state = &state_;
  AddFile(directory, "schemata", 0644, [=] { return ShowSchemata(*state, *group); })->write =
      [=](absl::string_view text, const Writer&) { return WriteSchemata(state, group, text); };
  AddFile(directory, "mode", 0644, [=] { return ShowMode(*group); })->write =
      [=](absl::string_view text, const Writer&) { return WriteMode(state, group, text); };
  AddFile(directory, "size", 0444, [=] { return ShowSize(*state, *group); });
  if (state_.layout.options.mba_mbps) {
    AddFile(directory, "mba_MBps_event", 0644, [=] { return group->mbps_event + "\n"; })->write =
        [=](absl::string_view text, const Writer&) {
          return WriteBandwidthEvent(state, group, text);
        };
  }
  if (state_.layout.options.debug) {
    AddFile(directory, "ctrl_hw_id", 0444, [=] { return absl::StrCat(group->closid, "\n"); });
  }
}

void Tree::AddMonitoring(Node* directory, Group* group) {
  State* const state = &state_;
  if (state_.layout.options.debug) {
    AddFile(directory, "mon_hw_id", 0444, [=] { return absl::StrCat(group->rmid, "\n"); });
  }
  if (!group->IsMonitor()) Add(directory, "mon_groups", Place::kMonGroups, directory->mode);
  Node* const data = Add(directory, "mon_data", Place::kMonData, directory->mode).get();
  for (int cache : state_.layout.monitoring->ids) {
    Node* const domain =
        Add(data, absl::StrFormat("mon_L3_%02d", cache), Place::kMonData, directory->mode).get();
    for (const std::string& event : state_.layout.monitoring->events) {
      AddFile(domain, event, 0444,
              [=] { return state->counters.Show(WithMonitors(*group), cache, event); });
    }
  }
}

void Tree::FillInfo(Node* info) {
  info->group = nullptr;
  AddFile(info, "last_cmd_status", 0444, [this] { return state_.status.Show(); });
  for (size_t s = 0; s < state_.controls.schemas().size(); ++s) {
    if (state_.controls.schemas()[s].IsCache()) {
      AddCacheInfo(info, s);
    } else {
      AddBandwidthInfo(info, s);
    }
  }
  if (state_.CanMonitor()) AddMonitoringInfo(info);
}

void Tree::AddCacheInfo(Node* info, size_t schema) {
  const Schema& shown = state_.controls.schemas()[schema];
  const CacheLayout& cache = *shown.cache;
  Node* const directory = Add(info, shown.name, Place::kInfo, info->mode).get();
  const auto add = [&](const char* name, std::string text) {
    AddFile(directory, name, 0444, [text = std::move(text)] { return text; });
  };
  add("num_closids", absl::StrCat(shown.closids, "\n"));
  add("cbm_mask", absl::StrFormat("%x\n", cache.FullMask()));
  add("min_cbm_bits", absl::StrCat(cache.min_mask_bits, "\n"));
  add("shareable_bits", absl::StrFormat("%x\n", cache.shareable_bits));
  if (state_.layout.traits.has_sparse_masks) {
    add("sparse_masks", cache.sparse_masks ? "1\n" : "0\n");
  }
  AddFile(directory, "bit_usage", 0444, [this, schema] { return ShowBitUsage(state_, schema); });
}

void Tree::AddBandwidthInfo(Node* info, size_t schema) {
  const Schema& shown = state_.controls.schemas()[schema];
  const BandwidthLayout& bandwidth = *shown.bandwidth;
  Node* const directory = Add(info, shown.name, Place::kInfo, info->mode).get();
  const auto add = [&](const char* name, std::string text) {
    AddFile(directory, name, 0444, [text = std::move(text)] { return text; });
  };
  add("num_closids", absl::StrCat(shown.closids, "\n"));
  add("min_bandwidth", absl::StrCat(bandwidth.min_bandwidth, "\n"));
  add("bandwidth_gran", absl::StrCat(bandwidth.granularity, "\n"));
  add("delay_linear", bandwidth.delay_linear ? "1\n" : "0\n");
  if (!bandwidth.throttle_mode.empty()) {
    add("thread_throttle_mode", bandwidth.throttle_mode + "\n");
  }
}

void Tree::AddMonitoringInfo(Node* info) {
  const MonitoringLayout& monitoring = *state_.layout.monitoring;
  Node* const directory = Add(info, "L3_MON", Place::kInfo, info->mode).get();
  AddFile(directory, "num_rmids", 0444,
          [&monitoring] { return absl::StrCat(monitoring.rmids, "\n"); });
  AddFile(directory, "mon_features", 0444,
          [&monitoring] { return absl::StrJoin(monitoring.events, "\n") + "\n"; });
  AddFile(directory, "max_threshold_occupancy", 0644, [this] {
    return absl::StrCat(state_.max_threshold_occupancy, "\n");
  })->write = [this](absl::string_view text, const Writer&) {
    return WriteThreshold(&state_, text);
  };
}

void Tree::RestrictForMode(Node* directory) {
  const bool locking = directory->group->mode == Mode::kPseudoLocksetup;
  for (const auto& [name, node] : directory->children) {
    if (name == "tasks" || name == "cpus" || name == "cpus_list") node->mode = locking ? 0 : 0644;
    if (node->place == Place::kMonGroups) node->mode = locking ? 0 : directory->mode;
  }
}

}  // namespace plimsoll::resctrlfs
