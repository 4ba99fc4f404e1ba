#include "agent/pods/life/pod_worker.h"

#include <algorithm>
#include <exception>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "agent/counters/timed_work.h"
#include "agent/pods/allocation/device_answers.h"
#include "agent/pods/allocation/node_room.h"
#include "agent/pods/life/container_manifest.h"
#include "agent/pods/life/passing.h"
#include "agent/pods/life/pod_counters.h"
#include "agent/pods/resizing/resize_restarts.h"
#include "agent/pods/status/pod_subject.h"
#include "base/status.h"
#include "pod_runner/pod_files/dir.h"
#include "pod_runner/pod_files/log_rotation.h"
#include "pod_runner/pod_files/termination_message.h"

namespace plimsoll::agent {
namespace {

// Names of retries.
constexpr char kSandbox[] = "sandbox";
constexpr char kDevices[] = "devices";

void Shorten(absl::Duration& pause, absl::Duration other) {
  pause = std::min(pause, std::max(other, absl::ZeroDuration()));
}

bool AllBegan(const pod::Manifest& pod, const ObservedPod& observed) {
  return std::all_of(pod.containers.begin(), pod.containers.end(), [&](const auto& each) {
    const ObservedContainer* last = observed.Newest(each.name, "");
    return last != nullptr && last->state != ObservedState::kCreated;
  });
}

// The container's last words, from its directory or its log.
std::string LastWordsOf(const PodHost& host, const std::string& uid, const pod::Manifest& pod,
                        const ObservedContainer& ended) {
  const pod::ContainerManifest* const container = ContainerManifestOf(pod, ended.name);
  if (container == nullptr) return "";
  return pod::TerminationMessage(host.root, pod::PodDirPath(host.state_directory, uid),
                                 {*container, ended.attempt, ended.exit_code, ended.log_path});
}

// For the pod's status.
DeviceStock StockFor(const PodHost& host, const PodRecord& record) {
  if (host.device_manager == nullptr || record.grant.devices.empty()) return {};
  return host.device_manager->Stock();
}

}  // namespace

PodWorker::PodWorker(const PodHost& host, PodRecord record, pod::Manifest manifest,
                     PodOrigin origin)
    : host_(host),
      key_(record.key),
      uid_(record.uid),
      manifest_(std::move(manifest)),
      reader_(host.client, record.uid,
              absl::StrCat(pod::PodDirPath(host.state_directory, record.uid), "/logs"),
              [this](const ObservedContainer& ended) {
                return LastWordsOf(host_, uid_, manifest_, ended);
              }),
      starter_(host, manifest_),
      stopper_(host, manifest_),
      volumes_(host, manifest_),
      probes_(host, manifest_),
      memory_{.begun = std::make_shared<const pod::Manifest>(manifest_),
              .restarts = Restarts(host.clock, host.events),
              .group = GroupKeeper(record.grant)},
      state_(host.store, std::move(record), memory_.begun, origin) {}

absl::Status PodWorker::PutGrants(PodStore& store, const std::vector<Regrant>& regrants) {
  std::vector<PodState::Regrant> all;
  for (const Regrant& each : regrants) all.push_back({&each.pod->state_, each.grant});
  return PodState::PutGrants(store, std::move(all));
}

absl::Status PodWorker::Delete(int64_t grace_s) {
  PLIMSOLL_ASSIGN_OR_RETURN(const bool changes, state_.Delete(host_.clock.Now(), grace_s));
  if (changes) stopper_.Hasten(grace_s);
  return absl::OkStatus();
}

PodRecord PodWorker::Begin() {
  PodState::Begun begun = state_.BeginStep();
  if (begun.has_device_news) memory_.retries.Hasten(kDevices);
  if (memory_.begun != begun.manifest) {
    memory_.begun = std::move(begun.manifest);
    manifest_ = *memory_.begun;
    starter_.Renew();
    memory_.resizes.Forget();
  }
  return std::move(begun.record);
}

PodWorker::Next PodWorker::RetryAfter(const absl::Status& status) {
  if (IsPassing(status)) return {.gone = false, .pause = kSoon};
  const PodRecord record = this->record();
  host_.events.Add(SubjectOf(record), "Warning", "FailedSync",
                   absl::StrCat("error syncing pod: ", status.message()));
  return {.gone = false, .pause = BackOff::kFirst};
}

PodWorker::Next PodWorker::Step() {
  try {
    return TryStep();
  } catch (const std::exception& error) {
    return RetryAfter(FailureOf(error));
  }
}

PodWorker::Next PodWorker::TryStep() {
  PodRecord record = Begin();
  const TimedWork timed(*host_.counters, kPodWorker,
                        {record.deleted  ? "kill"
                         : !has_looked() ? "create"
                                         : "sync"});
  Pause look = absl::InfiniteDuration();
  const absl::StatusOr<ObservedPod> observed = Look(look);
  if (!observed.ok()) return RetryAfter(observed.status());
  starter_.ReleaseSubPaths(record, *observed);
  if (record.deleted) return End(record, *observed);
  const absl::StatusOr<Pause> left = CheckDeadline(record);
  if (!left.ok()) return RetryAfter(left.status());
  Pause pause = record.verdict ? StopAll(record, *observed)
                               : std::min({GoOn(record, *observed), *left, look});
  if (is_active()) {
    memory_.group.OnLife();
  } else {
    const absl::Status removed = memory_.group.RemoveOnce(host_, record, this->observed());
    if (!removed.ok()) Shorten(pause, RetryAfter(removed).pause);
  }
  return {.gone = false, .pause = pause};
}

absl::StatusOr<ObservedPod> PodWorker::Look(Pause& pause) {
  if (!memory_.end && memory_.places.IsDue(host_, pause)) reader_.ForgetLiving();
  return reader_.Read();
}

absl::StatusOr<absl::Duration> PodWorker::CheckDeadline(PodRecord& record) {
  if (!manifest_.active_deadline_s || !is_active()) return absl::InfiniteDuration();
  const Pause left =
      record.created + absl::Seconds(*manifest_.active_deadline_s) - host_.clock.Now();
  if (left > absl::ZeroDuration()) return left;
  PLIMSOLL_RETURN_IF_ERROR(state_.Change([](PodRecord& kept) {
    kept.verdict = PodVerdict{"DeadlineExceeded",
                              "Pod was active on the node longer than the specified deadline"};
  }));
  record = this->record();
  host_.events.Add(SubjectOf(record), "Normal", record.verdict->reason, record.verdict->message);
  return absl::InfiniteDuration();
}

PodWorker::Next PodWorker::End(const PodRecord& record, const ObservedPod& observed) {
  Report(observed, memory_.end);
  for (const ObservedSandbox& each : observed.sandboxes) {
    const absl::Status stopped = stopper_.Stop(record, observed, each.id, record.grace_s);
    if (!stopped.ok()) return RetryAfter(stopped);
  }
  absl::Status status = stopper_.Remove(observed);
  if (!status.ok()) return RetryAfter(status);
  if (host_.remove_group) status = host_.remove_group(record);
  if (status.ok()) status = pod::RemovePodDir(host_.root, host_.state_directory, record.uid);
  if (status.ok()) status = state_.Forget();
  if (!status.ok()) return RetryAfter(status);
  return {.gone = true, .pause = absl::InfiniteDuration()};
}

absl::Duration PodWorker::StopAll(const PodRecord& record, const ObservedPod& observed) {
  // First: what still runs is to be known while it is being stopped.
  Report(observed, PodEnd::kFailed);
  Pause pause = absl::InfiniteDuration();
  for (const ObservedSandbox& each : observed.sandboxes) {
    if (!each.ready && !observed.AnyRunning()) continue;
    const absl::Status status = stopper_.Stop(record, observed, each.id, manifest_.grace_period_s);
    if (!status.ok()) Shorten(pause, RetryAfter(status).pause);
  }
  return pause;
}

bool PodWorker::StopSandboxes(const PodRecord& record, const ObservedPod& observed,
                              const PodPlan& plan, Pause& pause) {
  bool all = true;
  for (const std::string& id : plan.stop_sandboxes) {
    const absl::Status status = stopper_.Stop(record, observed, id, manifest_.grace_period_s);
    if (status.ok()) {
      memory_.stopped.insert(id);
      continue;
    }
    all = false;
    Shorten(pause, RetryAfter(status).pause);
  }
  return all;
}

absl::Status PodWorker::StopUnhealthy(const PodRecord& record, ObservedPod& observed) {
  probes_.Look(record, observed, memory_.end.has_value());
  PLIMSOLL_ASSIGN_OR_RETURN(const bool any, probes_.StopFailed(record, observed, stopper_));
  if (any) {
    PLIMSOLL_ASSIGN_OR_RETURN(observed, reader_.Read());
  }
  return absl::OkStatus();
}

absl::Duration PodWorker::GoOn(const PodRecord& begun, ObservedPod seen) {
  const absl::Status unhealthy = StopUnhealthy(begun, seen);
  if (!unhealthy.ok()) return RetryAfter(unhealthy).pause;
  Pause pause = absl::InfiniteDuration();
  const auto change = [this](absl::FunctionRef<void(PodRecord&)> each) {
    return state_.Change(each);
  };
  Shorten(pause, memory_.resizes.Keep({host_, reader_, stopper_, change}, begun, manifest_, seen));
  KeepClasses(begun, seen, pause);
  KeepPlaces(begun, seen, pause);
  Shorten(pause, memory_.group.KeepQuota(host_, begun, manifest_, seen));
  probes_.Mark(seen);
  // A change that comes meanwhile is the next step's.
  PodRecord record = begun;
  const PodRecord kept = this->record();
  record.restarting = kept.restarting;
  record.actuated = kept.actuated;
  for (ObservedSandbox& each : seen.sandboxes) each.stopped = memory_.stopped.contains(each.id);
  const ObservedPod observed = WithRestarts(record, seen);
  memory_.restarts.Recall(manifest_, observed);
  const absl::Time now = host_.clock.Now();
  const PodPlan plan = PlanFor(
      manifest_, observed,
      [&](const ObservedContainer& ended) { return memory_.restarts.NotBefore(record, ended); },
      [this](const ObservedContainer& running) { return probes_.HasStarted(running); }, now);
  memory_.end = plan.end;
  if (!plan.end && observed.ReadySandbox() != nullptr) volumes_.Refresh(record, starter_);
  Shorten(pause, plan.look_again - now);
  memory_.restarts.Note(record, manifest_, observed, plan);
  const bool acted = !plan.start.empty() || !plan.stop_sandboxes.empty();
  // An image or a device plugin may take minutes; other pods are judged meanwhile.
  if (acted && !has_looked()) Report(seen, plan.end);
  if (StopSandboxes(record, observed, plan, pause) && !plan.start.empty() &&
      BringDevices(record, pause)) {
    const std::string sandbox = EnsureSandbox(record, observed, plan, pause);
    if (!sandbox.empty()) StartContainers(record, observed, plan, sandbox, pause);
  }
  Tidy(observed, plan);
  const absl::StatusOr<ObservedPod> after = acted ? reader_.Read() : seen;
  if (after.ok()) {
    ForgetRestarts(record, *after);
    Report(*after, plan.end);
  } else {
    Shorten(pause, kSoon);
  }
  return pause;
}

void PodWorker::KeepClasses(const PodRecord& record, ObservedPod& observed, Pause& pause) {
  const ClassKeeper::Outcome outcome = memory_.classes.Keep(
      {host_.client, host_.clock, host_.events, host_.node_classes, host_.passes_resources_down},
      record, manifest_, observed);
  Shorten(pause, outcome.pause);
  ReadAgain(outcome.changed, observed, pause);
}

void PodWorker::KeepPlaces(const PodRecord& record, ObservedPod& observed, Pause& pause) {
  PlaceKeeper::Outcome outcome = memory_.places.Keep(host_, record, manifest_, observed);
  Shorten(pause, outcome.pause);
  if (outcome.changed.empty()) return;
  ReadAgain(outcome.changed, observed, pause);
  // Reports at once an update without effect.
  outcome = memory_.places.Keep(host_, record, manifest_, observed);
  Shorten(pause, outcome.changed.empty() ? outcome.pause : kSoon);
}

void PodWorker::ReadAgain(const std::set<std::string>& changed, ObservedPod& observed,
                          Pause& pause) {
  if (changed.empty()) return;
  for (const std::string& id : changed) reader_.Forget(id);
  absl::StatusOr<ObservedPod> again = reader_.Read();
  if (again.ok()) {
    observed = *std::move(again);
  } else {
    Shorten(pause, kSoon);
  }
}

void PodWorker::ForgetRestarts(const PodRecord& record, const ObservedPod& observed) {
  const std::set<std::string> done = RestartsDone(record, observed);
  if (done.empty()) return;
  const absl::Status status = state_.Change([&](PodRecord& kept) {
    for (const std::string& each : done) kept.restarting.erase(each);
  });
  // The next step tries again.
  status.IgnoreError();
}

std::string PodWorker::EnsureSandbox(const PodRecord& record, const ObservedPod& observed,
                                     const PodPlan& plan, Pause& pause) {
  const absl::Time now = host_.clock.Now();
  const Pause left = memory_.retries.Left(kSandbox, now);
  if (left > absl::ZeroDuration()) {
    Shorten(pause, left);
    return "";
  }
  absl::Status status = starter_.Prepare(record, [this](uint32_t first_id) {
    return state_.Change([&](PodRecord& kept) { kept.first_id = first_id; });
  });
  std::string id;
  if (status.ok() && plan.make_sandbox) {
    if (*plan.make_sandbox > 0) {
      host_.events.Add(SubjectOf(record), "Normal", "SandboxChanged",
                       "Pod sandbox changed, it will be killed and re-created.");
    }
    absl::StatusOr<std::string> made = starter_.MakeSandbox(*plan.make_sandbox);
    status = made.status();
    if (made.ok()) id = *std::move(made);
  } else if (status.ok()) {
    id = observed.ReadySandbox()->id;
  }
  if (status.ok()) status = starter_.Complete(id);
  if (status.ok()) {
    memory_.failure.clear();
    memory_.retries.Forget(kSandbox);
    return id;
  }
  // The name is taken by the sandbox whose answer was lost: the runtime is making it still.
  if (IsPassing(status) || absl::IsAlreadyExists(status)) {
    Shorten(pause, kSoon);
    return "";
  }
  memory_.failure = std::string(status.message());
  host_.events.Add(SubjectOf(record), "Warning", "FailedCreatePodSandBox",
                   absl::StrCat("Failed to create pod sandbox: ", status.message()));
  Shorten(pause, memory_.retries.OnFailure(kSandbox, now));
  return "";
}

bool PodWorker::BringDevices(PodRecord& record, Pause& pause) {
  const bool all_known = std::all_of(
      record.grant.devices.begin(), record.grant.devices.end(),
      [&](const auto& each) { return record.grant.device_answers.contains(each.first); });
  if (all_known) return true;
  const absl::Time now = host_.clock.Now();
  const Pause left = memory_.retries.Left(kDevices, now);
  if (left > absl::ZeroDuration()) {
    Shorten(pause, left);
    return false;
  }
  const absl::Status status = TryDevices(record);
  if (status.ok()) {
    memory_.retries.Forget(kDevices);
    return true;
  }
  if (absl::IsAborted(status)) {  // it has a verdict now
    Shorten(pause, absl::ZeroDuration());
    return false;
  }
  memory_.failure = std::string(status.message());
  host_.events.Add(SubjectOf(record), "Warning", "FailedAllocateDevices",
                   absl::StrCat("Pod waits for its devices: ", memory_.failure));
  Shorten(pause, memory_.retries.OnFailure(kDevices, now));
  return false;
}

absl::Status PodWorker::TryDevices(PodRecord& record) {
  auto answers = AskForDevices(host_.device_manager, record.grant);
  if (absl::IsUnavailable(answers.status())) return answers.status();
  if (answers.ok()) {
    PLIMSOLL_RETURN_IF_ERROR(
        state_.Change([&](PodRecord& kept) { kept.grant.device_answers = *answers; }));
    record.grant.device_answers = *std::move(answers);
    return absl::OkStatus();
  }
  const std::string why =
      absl::StrCat("Allocate failed due to ", answers.status().message(), ", which is unexpected");
  const PodVerdict verdict = {"UnexpectedAdmissionError", absl::StrCat(kRejected, why)};
  PLIMSOLL_RETURN_IF_ERROR(Evict(verdict));
  host_.events.Add(SubjectOf(record), "Warning", verdict.reason, why);
  return absl::AbortedError(why);
}

void PodWorker::StartContainers(const PodRecord& record, const ObservedPod& observed,
                                const PodPlan& plan, const std::string& sandbox, Pause& pause) {
  for (const size_t index : plan.start) {
    const pod::ContainerManifest& container = manifest_.containers[index];
    const absl::Time now = host_.clock.Now();
    const ObservedContainer* last = observed.Newest(container.name, "");
    const Pause left = memory_.restarts.BeforeStart(record, container, last);
    if (left > absl::ZeroDuration()) {
      Shorten(pause, left);
      continue;
    }
    const auto failure = starter_.Start(record, index, sandbox, last);
    Shorten(pause, memory_.restarts.AfterStart(container.name, now, failure));
    if (!failure) memory_.is_new |= observed.containers.empty();
  }
}

// The next step retries a removal that fails. The logs are the agent's to remove, the rotated ones
// in any case: runtimes differ in what they remove with a container.
void PodWorker::Tidy(const ObservedPod& observed, const PodPlan& plan) {
  const std::string own = pod::PodDirPath(host_.state_directory, uid_) + "/";
  for (const std::string& id : plan.remove_containers) {
    if (!host_.client.RemoveContainer(id).ok()) continue;
    for (const ObservedContainer& each : observed.containers) {
      if (each.id != id || !absl::StartsWith(each.log_path, own)) continue;
      pod::RemoveLogs(host_.root, each.log_path).IgnoreError();
    }
  }
  for (const std::string& id : plan.remove_sandboxes) {
    host_.client.RemovePodSandbox(id).IgnoreError();
  }
}

void PodWorker::Report(const ObservedPod& observed, const std::optional<PodEnd>& end) {
  const PodRecord record = this->record();
  probes_.Look(record, observed, end.has_value());
  if (memory_.is_new && AllBegan(manifest_, observed)) {
    memory_.is_new = false;
    host_.counters->AddTime(kPodStart, {}, host_.clock.Now() - record.created);
  }
  const bool frees_room = state_.EndStep(observed, end.has_value());
  Show(observed, end);
  if (frees_room && host_.on_room) host_.on_room();
}

// Who changes a record shows the change at once. An object that was made of the record before must
// not hide it, so it is made again.
void PodWorker::Show(const ObservedPod& observed, const std::optional<PodEnd>& end) {
  const nlohmann::json none;
  for (bool is_shown = false; !is_shown;) {
    const PodState::Shown shown = state_.ToShow();
    std::string resize_failure;
    if (shown.manifest == memory_.begun) resize_failure = memory_.resizes.failure();
    const PodBoard::Object before = host_.board.Get(key_);
    const bool names_runtime = !observed.containers.empty() && host_.runtime_name;
    const std::string runtime = names_runtime ? host_.runtime_name() : "";
    nlohmann::json object =
        PodObject({shown.record, manifest_, observed, end, memory_.restarts.waiting(),
                   memory_.failure, resize_failure, host_.resizes_pods, probes_.health(),
                   StockFor(host_, shown.record), runtime},
                  host_.node, before != nullptr ? *before : none, host_.clock.Now());
    is_shown = host_.board.PutIf(key_, std::move(object), [&] { return state_.IsLatest(shown); });
  }
}

}  // namespace plimsoll::agent
