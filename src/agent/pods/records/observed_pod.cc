#include "agent/pods/records/observed_pod.h"

#include <algorithm>

namespace plimsoll::agent {

const ObservedSandbox* ObservedPod::ReadySandbox() const {
  return !sandboxes.empty() && sandboxes.front().ready ? &sandboxes.front() : nullptr;
}

const ObservedContainer* ObservedPod::Newest(const std::string& name,
                                             const std::string& sandbox_id) const {
  const auto it = std::find_if(containers.begin(), containers.end(), [&](const auto& each) {
    return each.name == name && (sandbox_id.empty() || each.sandbox_id == sandbox_id);
  });
  return it == containers.end() ? nullptr : &*it;
}

bool ObservedPod::AnyRunning() const {
  return std::any_of(containers.begin(), containers.end(), [](const ObservedContainer& each) {
    return each.state == ObservedState::kRunning;
  });
}

}  // namespace plimsoll::agent
