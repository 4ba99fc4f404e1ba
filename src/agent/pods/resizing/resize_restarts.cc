#include "agent/pods/resizing/resize_restarts.h"

namespace plimsoll::agent {

bool EndsForResize(const PodRecord& record, const ObservedContainer& run) {
  const auto it = record.restarting.find(run.name);
  return it != record.restarting.end() && it->second == run.id;
}

ObservedPod WithRestarts(const PodRecord& record, ObservedPod observed) {
  for (ObservedContainer& each : observed.containers) {
    if (EndsForResize(record, each) && each.exit_code == 0) each.exit_code = 1;
  }
  return observed;
}

std::set<std::string> RestartsDone(const PodRecord& record, const ObservedPod& observed) {
  std::set<std::string> done;
  for (const auto& [container, id] : record.restarting) {
    const ObservedContainer* const newest = observed.Newest(container, "");
    if (newest == nullptr || newest->id != id) done.insert(container);
  }
  return done;
}

}  // namespace plimsoll::agent
