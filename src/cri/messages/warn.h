// Warnings of the services in the event log.
#ifndef PLIMSOLL_CRI_MESSAGES_WARN_H_
#define PLIMSOLL_CRI_MESSAGES_WARN_H_

#include <string>
#include <vector>

#include "runtime/objects/event_log.h"

namespace plimsoll::cri {

// An event for each warning about the sandbox or, where `container_id` isn't empty, a container of
// it. `events`: null: no event.
inline void Warn(runtime::EventLog* events, const std::string& sandbox_id,
                 const std::string& container_id, const std::vector<std::string>& warnings) {
  if (events == nullptr) return;
  for (const std::string& warning : warnings) {
    events->Add(runtime::EventType::kWarning, sandbox_id, container_id, warning);
  }
}

}  // namespace plimsoll::cri

#endif  // PLIMSOLL_CRI_MESSAGES_WARN_H_
