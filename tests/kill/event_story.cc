#include "kill/event_story.h"

#include "absl/strings/str_cat.h"

namespace plimsoll::testing {

void EventStory::Add(const std::string& id, const Told& event) {
  const std::string name = cri::ContainerEventType_Name(event.type);
  const auto [last, is_first] = last_.emplace(id, event.type);
  if (is_first) {
    // Lists and events together cover everything.
    if (event.type != cri::CONTAINER_CREATED_EVENT && !listed_.contains(id)) {
      problems_->Add(absl::StrCat(name, " of ", id, ", of which neither list nor event told"));
    }
    return;
  }
  if (event.type <= last->second) {
    problems_->Add(
        absl::StrCat(name, " of ", id, " after ", cri::ContainerEventType_Name(last->second)));
  }
  last->second = event.type;
}

bool EventStory::WasTold(const std::string& id, cri::ContainerEventType type) const {
  const auto last = last_.find(id);
  return last != last_.end() && last->second == type;
}

void EventStory::CheckPod(const cri::PodSandbox& pod) {
  if (WasTold(pod.id(), cri::CONTAINER_DELETED_EVENT)) {
    problems_->Add(absl::StrCat("pod ", pod.id(), " was told to be deleted, and is there"));
  }
  if (WasTold(pod.id(), cri::CONTAINER_STOPPED_EVENT) && pod.state() == cri::SANDBOX_READY) {
    problems_->Add(absl::StrCat("pod ", pod.id(), " was told to be stopped, and is Ready"));
  }
}

void EventStory::CheckContainer(const cri::Container& container) {
  const std::string& id = container.id();
  const std::string state = cri::ContainerState_Name(container.state());
  if (WasTold(id, cri::CONTAINER_DELETED_EVENT)) {
    problems_->Add(absl::StrCat("container ", id, " was told to be deleted, and is ", state));
  }
  if (WasTold(id, cri::CONTAINER_STOPPED_EVENT) && container.state() != cri::CONTAINER_EXITED) {
    problems_->Add(absl::StrCat("container ", id, " was told to have stopped, and is ", state));
  }
  if (WasTold(id, cri::CONTAINER_STARTED_EVENT) && container.state() == cri::CONTAINER_CREATED) {
    problems_->Add(absl::StrCat("container ", id, " was told to be started, and is ", state));
  }
}

void EventStory::EndLife(const std::map<std::string, ToldOfPod>& told, const Observed& observed) {
  for (const auto& [pod, of_pod] : told) {
    for (const auto& [id, events] : of_pod) {
      for (const Told& event : events) Add(id, event);
    }
  }
  listed_.clear();
  pods_.clear();
  for (const auto& [name, pod] : observed.pods) {
    CheckPod(pod);
    pods_.insert(pod.id());
    listed_.insert(pod.id());
  }
  for (const auto& [name, container] : observed.containers) {
    CheckContainer(container);
    listed_.insert(container.id());
  }
}

void EventStory::EndAll(const std::map<std::string, ToldOfPod>& told) {
  const std::set<std::string> listed = listed_;
  EndLife(told, {});
  for (const std::string& id : listed) {
    if (!WasTold(id, cri::CONTAINER_DELETED_EVENT)) {
      problems_->Add(absl::StrCat(id, " was removed, and no event said so"));
    }
  }
}

}  // namespace plimsoll::testing
