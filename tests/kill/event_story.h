// Holds what GetContainerEvents told in the life of a daemon against what the next one shows.
//
// An event that was told is of something that has happened, and stays so over a kill. That nothing
// is told of something that has happened is in order only where the stream ends there: whoever
// lists then finds it.
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

  // `told` by one daemon from its first moment, by pod; `observed`: what the next one shows, before
  // anybody asks it for anything else.
  void EndLife(const std::map<std::string, ToldOfPod>& told, const Observed& observed);
  // Of the last daemon, when all there was has been removed.
  void EndAll(const std::map<std::string, ToldOfPod>& told);
  // Ids of the pods there were when this life began.
  const std::set<std::string>& pods() const { return pods_; }

 private:
  void Add(const std::string& id, const Told& event);
  void CheckPod(const cri::PodSandbox& pod);
  void CheckContainer(const cri::Container& container);
  // Whether that was the last that was told of it, in any life.
  bool WasTold(const std::string& id, cri::ContainerEventType type) const;

  Problems* const problems_;
  std::map<std::string, cri::ContainerEventType> last_;  // by id
  std::set<std::string> listed_;                         // ids, when this life began
  std::set<std::string> pods_;                           // those of them that are pods
};

}  // namespace plimsoll::testing

#endif  // PLIMSOLL_TESTS_KILL_EVENT_STORY_H_
