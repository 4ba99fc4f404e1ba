#include "agent/pods/life/plan.h"

#include <algorithm>

namespace plimsoll::agent {
namespace {

using Role = resources::ContainerRequirements::Role;

// The plan of one pod at one moment.
class Planner {
 public:
  Planner(const pod::Manifest& pod, const ObservedPod& observed, const NotBefore& not_before,
          const HasStarted& has_started, absl::Time now)
      : pod_(pod),
        observed_(observed),
        not_before_(not_before),
        has_started_(has_started),
        now_(now) {}

  PodPlan Make() {
    const ObservedSandbox* ready = observed_.ReadySandbox();
    if (ready == nullptr) {
      PlanWithoutSandbox();
    } else {
      PlanIn(*ready);
    }
    if (plan_.end) {
      plan_.start.clear();
      plan_.make_sandbox.reset();
      plan_.look_again = absl::InfiniteFuture();
    }
    PlanRemovals();
    return std::move(plan_);
  }

 private:
  static bool IsEnded(const ObservedContainer* container) {
    return container != nullptr && container->state == ObservedState::kExited;
  }

  // The container ended and stays ended, whichever sandbox it was in.
  bool IsDone(const pod::ContainerManifest& container) const {
    const ObservedContainer* last = observed_.Newest(container.name, "");
    // One that the runtime lost counts as failed.
    if (last != nullptr && last->state == ObservedState::kUnknown) {
      return !RestartsAfterExit(pod_, container, 1);
    }
    return IsEnded(last) && !RestartsAfterExit(pod_, container, last->counted_exit_code());
  }

  bool AllDone() const {
    return std::all_of(pod_.containers.begin(), pod_.containers.end(), [this](const auto& each) {
      return each.role != Role::kContainer || IsDone(each);
    });
  }

  PodEnd EndOfContainers() const {
    for (const pod::ContainerManifest& each : pod_.containers) {
      const ObservedContainer* last = observed_.Newest(each.name, "");
      if (each.role == Role::kContainer && (!IsEnded(last) || last->exit_code != 0)) {
        return PodEnd::kFailed;
      }
    }
    return PodEnd::kSucceeded;
  }

  // The pod's network and namespaces are removed: everything that isn't done starts again, init
  // containers first.
  void PlanWithoutSandbox() {
    for (const ObservedSandbox& old : observed_.sandboxes) {
      if (!old.stopped || HasLiving(old)) plan_.stop_sandboxes.push_back(old.id);
    }
    const bool was_there = !observed_.containers.empty();
    if (was_there && AllDone()) {
      plan_.end = EndOfContainers();
      return;
    }
    if (was_there && pod_.restart_policy == "Never") {
      plan_.end = PodEnd::kFailed;
      return;
    }
    plan_.make_sandbox = observed_.sandboxes.empty() ? 0 : observed_.sandboxes.front().attempt + 1;
    PlanStarts("");
  }

  bool HasLiving(const ObservedSandbox& sandbox) const {
    return std::any_of(observed_.containers.begin(), observed_.containers.end(),
                       [&](const ObservedContainer& each) {
                         return each.sandbox_id == sandbox.id &&
                                each.state != ObservedState::kExited;
                       });
  }

  void PlanIn(const ObservedSandbox& ready) {
    for (const ObservedSandbox& old : observed_.sandboxes) {
      if (old.id != ready.id && (!old.stopped || HasLiving(old))) {
        plan_.stop_sandboxes.push_back(old.id);
      }
    }
    PlanStarts(ready.id);
    if (plan_.end) plan_.stop_sandboxes.push_back(ready.id);
  }

  // `sandbox` empty: the sandbox is to be made, and no container is in it.
  void PlanStarts(const std::string& sandbox) {
    if (!sandbox.empty() && AllDone()) {
      plan_.end = EndOfContainers();
      return;
    }
    const bool initialised = !sandbox.empty() && IsInitialised(sandbox);
    for (size_t i = 0; i < pod_.containers.size(); ++i) {
      const pod::ContainerManifest& container = pod_.containers[i];
      if (container.role == Role::kInit && initialised) continue;
      const ObservedContainer* present =
          sandbox.empty() ? nullptr : observed_.Newest(container.name, sandbox);
      if (container.role == Role::kContainer && present == nullptr && IsDone(container)) continue;
      const bool goes_on = PlanContainer(i, present);
      if (plan_.end) return;
      if (!goes_on && container.role != Role::kContainer && !initialised) return;
    }
  }

  // Init containers have done their work once an ordinary container is there.
  bool IsInitialised(const std::string& sandbox) const {
    return std::any_of(pod_.containers.begin(), pod_.containers.end(), [&](const auto& each) {
      return each.role == Role::kContainer && observed_.Newest(each.name, sandbox) != nullptr;
    });
  }

  // True: the next container need not wait for this one.
  bool PlanContainer(size_t index, const ObservedContainer* present) {
    const pod::ContainerManifest& container = pod_.containers[index];
    if (present == nullptr || present->state == ObservedState::kCreated) {
      StartAfterPause(index, present == nullptr ? observed_.Newest(container.name, "") : nullptr);
      return false;
    }
    if (present->state == ObservedState::kRunning) {
      return container.role == Role::kSidecar && has_started_(*present);
    }
    // The runtime lost the container: it counts as failed.
    if (present->state == ObservedState::kUnknown) {
      if (RestartsAfterExit(pod_, container, 1)) StartAfterPause(index, nullptr);
      return false;
    }
    if (RestartsAfterExit(pod_, container, present->counted_exit_code())) {
      StartAfterPause(index, present);
      return false;
    }
    if (container.role == Role::kInit && present->exit_code != 0) plan_.end = PodEnd::kFailed;
    return true;
  }

  // `last`: the container's run before; may be null. Its pause counts in a new sandbox too.
  void StartAfterPause(size_t index, const ObservedContainer* last) {
    const absl::Time due = IsEnded(last) ? not_before_(*last) : absl::InfinitePast();
    if (due > now_) {
      plan_.look_again = std::min(plan_.look_again, due);
      return;
    }
    plan_.start.push_back(index);
  }

  // The status has a container's present run and the one before it.
  void PlanRemovals() {
    std::vector<std::string> kept_sandboxes;
    for (const pod::ContainerManifest& container : pod_.containers) {
      int seen = 0;
      for (const ObservedContainer& each : observed_.containers) {
        if (each.name != container.name) continue;
        const bool keep = ++seen <= 2 || each.state != ObservedState::kExited;
        if (keep) {
          kept_sandboxes.push_back(each.sandbox_id);
        } else {
          plan_.remove_containers.push_back(each.id);
        }
      }
    }
    for (size_t i = 1; i < observed_.sandboxes.size(); ++i) {
      const ObservedSandbox& old = observed_.sandboxes[i];
      if (!old.ready &&
          std::find(kept_sandboxes.begin(), kept_sandboxes.end(), old.id) == kept_sandboxes.end()) {
        plan_.remove_sandboxes.push_back(old.id);
      }
    }
  }

  const pod::Manifest& pod_;
  const ObservedPod& observed_;
  const NotBefore& not_before_;
  const HasStarted& has_started_;
  const absl::Time now_;
  PodPlan plan_;
};

}  // namespace

bool RestartsAfterExit(const pod::Manifest& pod, const pod::ContainerManifest& container,
                       int exit_code) {
  switch (container.role) {
    case Role::kSidecar:
      return true;
    case Role::kInit:
      return exit_code != 0 && pod.restart_policy != "Never";
    case Role::kContainer:
      return pod.restart_policy == "Always" ||
             (exit_code != 0 && pod.restart_policy == "OnFailure");
  }
  return false;
}

PodPlan PlanFor(const pod::Manifest& pod, const ObservedPod& observed, const NotBefore& not_before,
                const HasStarted& has_started, absl::Time now) {
  return Planner(pod, observed, not_before, has_started, now).Make();
}

}  // namespace plimsoll::agent
