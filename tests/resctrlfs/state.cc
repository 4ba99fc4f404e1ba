#include "resctrlfs/state.h"

namespace plimsoll::resctrlfs {
namespace {

// The kernel's default of mba_MBps_event.
std::string DefaultBandwidthEvent(const Layout& layout) {
  if (!layout.monitoring) return "";
  for (const char* wanted : {"mbm_local_bytes", "mbm_total_bytes"}) {
    for (const std::string& event : layout.monitoring->events) {
      if (event == wanted) return event;
    }
  }
  return "";
}

}  // namespace

State::State(Layout the_layout, Membership* membership)
    : layout(std::move(the_layout)),
      members(*membership),
      controls(layout),
      rmids(layout.monitoring ? layout.monitoring->rmids : 0) {
  root.cpus = AllCpus();
  root.mbps_event = DefaultBandwidthEvent(layout);
  if (layout.monitoring) max_threshold_occupancy = layout.monitoring->max_threshold_occupancy;
}

std::vector<Group*> State::ControlGroups() {
  std::vector<Group*> all = {&root};
  for (const auto& group : groups) all.push_back(group.get());
  return all;
}

std::vector<const Group*> State::ControlGroups() const {
  std::vector<const Group*> all = {&root};
  for (const auto& group : groups) all.push_back(group.get());
  return all;
}

ClosidModes State::Modes() const {
  ClosidModes modes(static_cast<size_t>(controls.closids()));
  for (const Group* group : ControlGroups()) {
    if (static_cast<size_t>(group->closid) < modes.size()) {
      modes[static_cast<size_t>(group->closid)] = group->mode;
    }
  }
  return modes;
}

resources::CpuSet State::AllCpus() const {
  resources::CpuSet cpus;
  for (int cpu = 0; cpu < layout.cpus; ++cpu) cpus.Add(static_cast<uint32_t>(cpu));
  return cpus;
}

}  // namespace plimsoll::resctrlfs
