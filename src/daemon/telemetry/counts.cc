#include "daemon/telemetry/counts.h"

#include "runtime/objects/state_machine.h"

namespace plimsoll::daemon {

StateCounts CountStates(const runtime::Engine& engine) {
  StateCounts counts;
  for (int i = 0; i <= static_cast<int>(runtime::SandboxState::kRemoving); ++i) {
    counts.sandboxes[runtime::StateName(static_cast<runtime::SandboxState>(i))] = 0;
  }
  for (int i = 0; i <= static_cast<int>(runtime::ContainerState::kRemoving); ++i) {
    counts.containers[runtime::StateName(static_cast<runtime::ContainerState>(i))] = 0;
  }
  for (const auto& sandbox : engine.ListSandboxes()) {
    ++counts.sandboxes[runtime::StateName(sandbox.state)];
  }
  engine.VisitContainers([&counts](const runtime::ContainerRecord& container) {
    ++counts.containers[runtime::StateName(container.state)];
  });
  return counts;
}

RecoveryCounts CountRecovered(const runtime::Engine& engine, absl::Duration duration) {
  RecoveryCounts counts;
  counts.duration = duration;
  counts.sandboxes = engine.ListSandboxes().size();
  engine.VisitContainers([&counts](const runtime::ContainerRecord&) { ++counts.containers; });
  counts.troubles = engine.RecoveryTroubles().size();
  return counts;
}

std::map<std::string, LaneCounts> CountLanes(const std::vector<cri::LaneState>& lanes) {
  std::map<std::string, LaneCounts> counts;
  for (const cri::LaneState& lane : lanes) {
    counts[cri::LaneName(lane.lane)] = {lane.workers, lane.running, lane.waiting, lane.exhausted};
  }
  return counts;
}

}  // namespace plimsoll::daemon
