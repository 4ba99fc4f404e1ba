#include "soak/event_check.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace plimsoll::testing {
namespace {

using Types = std::vector<cri::ContainerEventType>;

std::string Names(const Types& types) {
  return types.empty() ? "nothing" : absl::StrJoin(types, ", ", [](std::string* out, auto type) {
    // CONTAINER_CREATED_EVENT
    const std::string name = cri::ContainerEventType_Name(type);
    absl::StrAppend(out, name.substr(10, name.size() - 16));
  });
}

Types TypesOf(const std::vector<Told>& told) {
  Types types;
  for (const Told& each : told) types.push_back(each.type);
  return types;
}

Types ExpectedTypes(bool started) {
  if (!started) {
    return {cri::CONTAINER_CREATED_EVENT, cri::CONTAINER_STOPPED_EVENT,
            cri::CONTAINER_DELETED_EVENT};
  }
  return {cri::CONTAINER_CREATED_EVENT, cri::CONTAINER_STARTED_EVENT, cri::CONTAINER_STOPPED_EVENT,
          cri::CONTAINER_DELETED_EVENT};
}

class Check {
 public:
  Check(const std::string& pod, const ToldOfPod& told) : pod_(pod), told_(told) {}

  std::vector<std::string> Run(const std::vector<ContainerStory>& containers) {
    const bool whole = IsAsExpected("the pod", pod_, /*started=*/true);
    std::set<std::string> known = {pod_};
    for (const ContainerStory& container : containers) {
      known.insert(container.id);
      const std::string who = absl::StrCat("container ", container.name);
      if (!IsAsExpected(who, container.id, container.started)) continue;
      if (whole) CheckWithin(who, told_.at(container.id));
      CheckExit(who, container);
    }
    for (const auto& [id, events] : told_) {
      if (!known.contains(id)) {
        faults_.push_back(
            absl::StrCat("events of ", id, ", which nobody made: ", Names(TypesOf(events))));
      }
      CheckTimes(id, events);
    }
    return std::move(faults_);
  }

 private:
  bool IsAsExpected(const std::string& who, const std::string& id, bool started) {
    const auto found = told_.find(id);
    const Types types = found == told_.end() ? Types() : TypesOf(found->second);
    if (types == ExpectedTypes(started)) return true;
    faults_.push_back(absl::StrCat("events of ", who, " are ", Names(types), " instead of ",
                                   Names(ExpectedTypes(started))));
    return false;
  }

  // A container's life lies within its pod's, from start to end.
  void CheckWithin(const std::string& who, const std::vector<Told>& events) {
    const std::vector<Told>& pod = told_.at(pod_);  // created, started, stopped, deleted
    const Told& stopped = events[events.size() - 2];
    if (events.front().number < pod[1].number || stopped.number > pod[2].number ||
        events.back().number > pod[3].number) {
      faults_.push_back(absl::StrCat("events of ", who, " are not between those of its pod"));
    }
  }

  void CheckExit(const std::string& who, const ContainerStory& container) {
    const std::vector<Told>& events = told_.at(container.id);
    const std::optional<int> code = events[events.size() - 2].exit_code;
    if (code.has_value() && container.exit_codes.contains(*code)) return;
    faults_.push_back(absl::StrCat(
        "the stop of ", who, " has ",
        code.has_value() ? absl::StrCat("exit code ", *code) : "no container that has exited",
        " instead of one of ", absl::StrJoin(container.exit_codes, ", ")));
  }

  void CheckTimes(const std::string& id, const std::vector<Told>& events) {
    for (size_t i = 1; i < events.size(); ++i) {
      if (events[i].unix_nanos >= events[i - 1].unix_nanos) continue;
      faults_.push_back(absl::StrCat("an event of ", id, " is older than the one before it"));
    }
  }

  const std::string& pod_;
  const ToldOfPod& told_;
  std::vector<std::string> faults_;
};

}  // namespace

std::vector<std::string> EventFaults(const std::string& pod,
                                     const std::vector<ContainerStory>& containers,
                                     const ToldOfPod& told) {
  return Check(pod, told).Run(containers);
}

}  // namespace plimsoll::testing
