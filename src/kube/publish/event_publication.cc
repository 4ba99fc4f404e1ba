#include "kube/publish/event_publication.h"

#include <optional>
#include <utility>

namespace plimsoll::kube {

void EventPublication::Notice(const DesiredNode& desired, const OwnNode& node, const Moment& at) {
  if (!enabled_) return;
  if (!news_.has_begun()) {
    if (!node.is_known()) return;
    news_.Begin(OwnConditionsOf(node.object()));
  }
  for (NodeEvent& event : news_.Compare(desired.report(), desired.Conditions(at.now))) {
    board_.Add(std::move(event), at.now, at.time);
  }
}

absl::StatusOr<bool> EventPublication::Publish(const DesiredNode&, OwnNode& node,
                                               const Moment& at) {
  while (const std::optional<WaitingEvent> event = board_.Next(at.now)) {
    const absl::Status status = client_
                                    .Call({.method = "POST",
                                           .path = kEventsPath,
                                           .body = EventObject(*event, node.identity())})
                                    .status();
    // ALREADY_EXISTS: written by an attempt whose answer was lost.
    if (!status.ok() && !absl::IsAlreadyExists(status)) return status;
    board_.Written(event->event.reason, at.now);
  }
  return false;
}

}  // namespace plimsoll::kube
