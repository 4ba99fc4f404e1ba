// Compares the events that GetContainerEvents sent during one daemon's life with the state that the
// next daemon shows.
//
// An event means that something has happened, and that holds after a kill. A missing event is in
// order only at the end of the stream: a client then finds the change by listing.
#ifndef PLIMSOLL_TESTS_KILL_EVENT_STORY_H_
#define PLIMSOLL_TESTS_KILL_EVENT_STORY_H_

#include <map>
#include <set>
#include <string>

#include "kill/actor.h"
#include "kill/problems.h"
#include "soak/event_check.h"

namespace plimsoll::testing {

class EventStory {
 public:
  explicit EventStory(Problems* problems) : problems_(problems) {}

  // `told`: one daemon's events from its first moment, by pod; `observed`: the next daemon's state,
  // before it gets any other call.
  void EndLife(const std::map<std::string, ToldOfPod>& told, const Observed& observed);
  // For the last daemon, once everything has been removed.
  void EndAll(const std::map<std::string, ToldOfPod>& told);
  // Ids of the pods that existed when this life began.
  const std::set<std::string>& pods() const { return pods_; }

 private:
  void Add(const std::string& id, const Told& event);
  void CheckPod(const cri::PodSandbox& pod);
  void CheckContainer(const cri::Container& container);
  // True if that was the last event of the object, in any life.
  bool WasTold(const std::string& id, cri::ContainerEventType type) const;

  Problems* const problems_;
  std::map<std::string, cri::ContainerEventType> last_;  // by id
  std::set<std::string> listed_;                         // ids, at the start of this life
  std::set<std::string> pods_;                           // those that are pods
};

}  // namespace plimsoll::testing

#endif  // PLIMSOLL_TESTS_KILL_EVENT_STORY_H_
