// An actor's checks of the daemon that has come back.
#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/clock.h"
#include "harness/kernel.h"
#include "kill/actor.h"
#include "kill/limits.h"
#include "runtime/spec/json.h"

namespace plimsoll::testing {
namespace {

template <typename Item>
void Index(const std::string& name, const Item& item, std::map<std::string, Item>* items,
           Problems& problems) {
  if (!items->emplace(name, item).second) problems.Add(absl::StrCat(name, " is there twice"));
}

}  // namespace

absl::StatusOr<Observed> Observe(Node& node, Problems& problems) {
  Observed observed;
  cri::ListPodSandboxResponse pods;
  cri::ListContainersResponse containers;
  cri::ListImagesResponse images;
  for (const grpc::Status& status :
       {node.runtime().ListPodSandbox(Context().get(), {}, &pods),
        node.runtime().ListContainers(Context().get(), {}, &containers),
        node.images().ListImages(Context().get(), {}, &images)}) {
    if (!status.ok()) return absl::InternalError("list: " + status.error_message());
  }
  for (const auto& pod : pods.items()) Index(pod.metadata().name(), pod, &observed.pods, problems);
  for (const auto& container : containers.containers()) {
    Index(container.metadata().name(), container, &observed.containers, problems);
  }
  for (const auto& image : images.images()) {
    for (const auto& tag : image.repo_tags()) observed.images.insert(tag);
  }
  return observed;
}

unsigned Actor::LifeOf(const ContainerModel& container) const {
  cri::ContainerStatusRequest request;
  request.set_container_id(container.id);
  cri::ContainerStatusResponse response;
  const grpc::Status status =
      options_.node->runtime().ContainerStatus(Context().get(), request, &response);
  if (status.error_code() == grpc::StatusCode::NOT_FOUND) return kAbsent;
  switch (response.status().state()) {
    case cri::CONTAINER_CREATED:
      return kCreated;
    case cri::CONTAINER_RUNNING:
      return kRunning;
    case cri::CONTAINER_EXITED:
      return kExited;
    default:
      return 0;
  }
}

void Actor::CheckExit(const cri::ContainerStatus& status, ContainerModel& container) {
  const std::string what =
      absl::StrCat(container.name, " (kind ", int(container.ending), ") exited with code ",
                   status.exit_code(), ", reason ", status.reason(), ": ");
  if (container.exit_seen) {
    if (status.exit_code() != container.exit_code ||
        status.finished_at() != container.finished_at) {
      Fault(absl::StrCat(what, "was code ", container.exit_code, " at ", container.finished_at,
                         ", now at ", status.finished_at()));
    }
    return;
  }
  container.exit_seen = true;
  container.exit_code = status.exit_code();
  container.finished_at = status.finished_at();
  if (!container.codes.contains(status.exit_code())) {
    Fault(absl::StrCat(what, "expected ", absl::StrJoin(container.codes, " or "), "; ",
                       status.message()));
  }
  if (status.exit_code() == kUnknown && status.reason() != "Unknown") Fault(what + "reason");
  // Killed by the kernel before anything else could have.
  const bool oom = container.codes == std::set<int>{kKilled} && container.ended_before != 0 &&
                   container.ending == Ending::kOutOfMemory;
  if (oom && status.reason() != "OOMKilled") Fault(what + "not seen to be out of memory");
  const int64_t now = absl::ToUnixNanos(absl::Now());
  constexpr int64_t kTick = 10'000'000;  // of the kernel's coarse clock
  if (status.finished_at() < status.created_at() - kTick ||
      status.finished_at() < status.started_at() || status.finished_at() > now + kTick) {
    Fault(absl::StrCat(what, "impossible times ", status.created_at(), " ", status.started_at(),
                       " ", status.finished_at()));
  }
  if (container.ended_before != 0 && status.exit_code() != kUnknown &&
      (status.finished_at() < container.ended_after - kTick ||
       status.finished_at() > container.ended_before + 20 * kTick)) {
    Fault(absl::StrCat(what, "ended between ", container.ended_after, " and ",
                       container.ended_before, ", recorded ", status.finished_at()));
  }
}

// An answered update holds, an interrupted one holds whole or not at all; and the kernel has the
// recorded values, from which the daemon goes on.
void Actor::VerifyLimits(ContainerModel& container) {
  const std::optional<Limits> now = LimitsOf(*options_.node, container.id);
  // A container that has just ended loses its groups one by one.
  if (!now.has_value() || (LifeOf(container) & (kCreated | kRunning)) == 0) return;
  if (!Holds(now->held, now->row)) {
    Fault(absl::StrCat(container.name, " holds ", runtime::ToJson(now->held),
                       ", on record is: ", runtime::ToJson(now->row)));
  }
  if (container.held.has_value() && now->held != *container.held &&
      !(container.cut.has_value() && Holds(now->held, *container.cut))) {
    Fault(absl::StrCat(container.name, " holds ", runtime::ToJson(now->held), ", it had ",
                       runtime::ToJson(*container.held), " and was cut off with ",
                       container.cut.has_value() ? runtime::ToJson(*container.cut) : "nothing"));
  }
  container.held = now->held;
  container.cut.reset();
}

void Actor::VerifyContainer(const Observed& observed, ContainerModel& container) {
  const auto found = observed.containers.find(container.name);
  if (found != observed.containers.end()) {
    if (container.id.empty()) container.id = found->second.id();
    if (container.id != found->second.id()) Fault(container.name + " has another id");
  }
  {
    absl::MutexLock lock(&victims_mutex_);
    if (bereaved_.contains(container.id)) {
      container.codes.insert(kUnknown);
      container.lives |= kExited;
    }
  }
  // A pod that may be gone takes its containers with it.
  const bool gone_with_pod = (pod_.lives & kAbsent) != 0;
  if (gone_with_pod) container.lives |= kAbsent;

  unsigned life = found == observed.containers.end() ? kAbsent : LifeOf(container);
  // A new exit reaches the daemon by way of the monitor.
  const auto consistent = [&] {
    if (life == kRunning) {
      if (!ProcessesWith(Token(container)).empty()) return true;
      life = LifeOf(container);
      return life != kRunning;
    }
    return life != kCreated || !HasMark(container);
  };
  if (!Eventually(consistent, absl::Seconds(5))) {
    Fault(absl::StrCat(container.name, " is shown as ", LifeNames(life), ", but ",
                       life == kRunning ? "has no process" : "was started"));
  }
  if ((container.lives & life) == 0) {
    Fault(absl::StrCat(container.name, " is ", LifeNames(life), "; it may be ",
                       LifeNames(container.lives)));
  }
  if (life == kExited) {
    if (!Eventually([&] { return ProcessesWith(Token(container)).empty(); })) {
      Fault(container.name + " has exited, its process has not");
    }
    cri::ContainerStatusRequest request;
    request.set_container_id(container.id);
    cri::ContainerStatusResponse response;
    if (options_.node->runtime().ContainerStatus(Context().get(), request, &response).ok()) {
      CheckExit(response.status(), container);
    }
  }
  if (life == kCreated || life == kRunning) VerifyLimits(container);
  if (life == kAbsent && !ProcessesWith(Token(container)).empty()) {
    Fault(container.name + " is gone, its process is not");
  }
  const auto mark = Host().Read(absl::StrCat(options_.marks, "/", container.name));
  if (mark.ok() && std::count(mark->begin(), mark->end(), '\n') > 1) {
    Fault(container.name + " was started twice");
  }
  container.lives = life;
  const bool ends_by_itself = container.ending == Ending::kAtOnce || container.gate_open;
  if (life == kRunning && ends_by_itself) container.lives |= kExited;
}

void Actor::VerifyPod(const Observed& observed) {
  const auto found = observed.pods.find(pod_.name);
  unsigned life = kAbsent;
  if (found != observed.pods.end()) {
    life = found->second.state() == cri::SANDBOX_READY ? kReady : kNotReady;
    if (pod_.id.empty()) pod_.id = found->second.id();
    if (pod_.id != found->second.id()) Fault(pod_.name + " has another id");
  }
  if ((pod_.lives & life) == 0) {
    Fault(absl::StrCat(pod_.name, " is ", LifeNames(life), "; it may be ", LifeNames(pod_.lives)));
  }
  for (ContainerModel& container : pod_.containers) VerifyContainer(observed, container);
  pod_.lives = life;
}

void Actor::Verify(const Observed& observed) {
  if (!pod_.name.empty()) VerifyPod(observed);
  std::erase_if(pod_.containers, [](const auto& each) { return each.lives == kAbsent; });
  const unsigned image = observed.images.contains(image_.tag) ? kPresent : kAbsent;
  if ((image_.lives & image) == 0) {
    Fault(absl::StrCat("image ", image_.tag, " is ", LifeNames(image), "; it may be ",
                       LifeNames(image_.lives)));
  }
  image_.lives = image;
  if (!Eventually(
          [&] { return ProcessesWith(absl::StrCat(": Texec", options_.number, "-")).empty(); },
          absl::Seconds(3))) {
    Fault(absl::StrCat(
        "a command of exec runs on: ",
        absl::StrJoin(ProcessesWith(absl::StrCat(": Texec", options_.number, "-")), "; ")));
  }
  absl::MutexLock lock(&victims_mutex_);
  const std::set<std::string> bereaved = std::exchange(bereaved_, {});
  victims_.clear();
  for (const ContainerModel& container : pod_.containers) {
    if ((container.lives & kRunning) == 0) continue;
    // The daemon may not have seen a monitor's end yet.
    (bereaved.contains(container.id) ? bereaved_ : victims_).insert(container.id);
  }
}

void Actor::AddKnown(Known* known) const {
  if (pod_.lives == kAbsent) return;
  known->pods.insert(pod_.id);
  if (pod_.lives == kReady) known->ready_pods.insert(pod_.id);
  if (!pod_.cgroup_parent.empty()) known->cgroup_parents.insert(pod_.cgroup_parent);
  for (const ContainerModel& container : pod_.containers) {
    if (container.lives == kAbsent) continue;
    known->containers.insert(container.id);
    if ((LifeOf(container) & (kCreated | kRunning)) != 0) {
      known->live_containers.insert(container.id);
    }
  }
}

}  // namespace plimsoll::testing
