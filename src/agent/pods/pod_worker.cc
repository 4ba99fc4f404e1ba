#include "agent/pods/pod_worker.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "agent/pods/passing.h"
#include "base/status.h"
#include "pod/dir.h"

namespace plimsoll::agent {
namespace {

// A runtime that can't be reached, or whose answer was lost, is asked again soon.
constexpr absl::Duration kSoon = absl::Seconds(1);

void Shorten(absl::Duration& pause, absl::Duration other) {
  pause = std::min(pause, std::max(other, absl::ZeroDuration()));
}

EventSubject SubjectOf(const PodRecord& record, const std::string& container = "") {
  return {.kind = "Pod", .key = record.key, .uid = record.uid, .container = container};
}

}  // namespace

PodWorker::PodWorker(const PodHost& host, PodRecord record, pod::Manifest manifest)
    : host_(host),
      key_(record.key),
      uid_(record.uid),
      manifest_(std::move(manifest)),
      reader_(host.client, record.uid,
              absl::StrCat(pod::PodDirPath(host.state_directory, record.uid), "/logs")),
      starter_(host, manifest_),
      stopper_(host, manifest_),
      shared_{.record = std::move(record)} {}

PodRecord PodWorker::record() const {
  const absl::MutexLock lock(&mutex_);
  return shared_.record;
}

ObservedPod PodWorker::observed() const {
  const absl::MutexLock lock(&mutex_);
  return shared_.observed;
}

bool PodWorker::is_active() const {
  const absl::MutexLock lock(&mutex_);
  return !shared_.has_ended && !shared_.record.verdict;
}

bool PodWorker::has_looked() const {
  const absl::MutexLock lock(&mutex_);
  return shared_.has_looked;
}

absl::Status PodWorker::Change(absl::FunctionRef<void(PodRecord&)> change) {
  const absl::MutexLock lock(&mutex_);
  if (shared_.is_gone) {
    return absl::NotFoundError(
        absl::StrCat("pod ", key_.pod_namespace, "/", key_.name, " has gone"));
  }
  PodRecord next = shared_.record;
  change(next);
  PLIMSOLL_RETURN_IF_ERROR(host_.store.Put({next}));
  shared_.record = std::move(next);
  return absl::OkStatus();
}

absl::Status PodWorker::Forget() {
  const absl::MutexLock lock(&mutex_);
  PLIMSOLL_RETURN_IF_ERROR(host_.store.Remove(uid_));
  shared_.is_gone = true;
  return absl::OkStatus();
}

absl::Status PodWorker::Delete(int64_t grace_s) {
  bool changes = false;
  PLIMSOLL_RETURN_IF_ERROR(Change([&](PodRecord& record) {
    changes = !record.deleted || grace_s < record.grace_s;
    if (!changes) return;
    if (!record.deleted) record.deleted = host_.clock.Now();
    record.grace_s = grace_s;
  }));
  if (changes) stopper_.Hasten(grace_s);
  return absl::OkStatus();
}

PodWorker::Next PodWorker::RetryAfter(const absl::Status& status) {
  if (IsPassing(status)) return {.gone = false, .pause = kSoon};
  const PodRecord record = this->record();
  host_.events.Add(SubjectOf(record), "Warning", "FailedSync",
                   absl::StrCat("error syncing pod: ", status.message()));
  return {.gone = false, .pause = BackOff::kFirst};
}

PodWorker::Next PodWorker::Step() {
  PodRecord record = this->record();
  const absl::StatusOr<ObservedPod> observed = reader_.Read();
  if (!observed.ok()) return RetryAfter(observed.status());
  if (record.deleted) return End(record, *observed);
  const absl::StatusOr<Pause> left = CheckDeadline(record);
  if (!left.ok()) return RetryAfter(left.status());
  if (record.verdict) return {.gone = false, .pause = StopAll(record, *observed)};
  return {.gone = false, .pause = std::min(GoOn(record, *observed), *left)};
}

absl::StatusOr<absl::Duration> PodWorker::CheckDeadline(PodRecord& record) {
  if (!manifest_.active_deadline_s || !is_active()) return absl::InfiniteDuration();
  const Pause left =
      record.created + absl::Seconds(*manifest_.active_deadline_s) - host_.clock.Now();
  if (left > absl::ZeroDuration()) return left;
  PLIMSOLL_RETURN_IF_ERROR(Change([](PodRecord& kept) {
    kept.verdict = PodVerdict{"DeadlineExceeded",
                              "Pod was active on the node longer than the specified deadline"};
  }));
  record = this->record();
  host_.events.Add(SubjectOf(record), "Warning", record.verdict->reason, record.verdict->message);
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
  if (status.ok()) status = Forget();
  if (!status.ok()) return RetryAfter(status);
  return {.gone = true, .pause = absl::InfiniteDuration()};
}

absl::Duration PodWorker::StopAll(const PodRecord& record, const ObservedPod& observed) {
  Pause pause = absl::InfiniteDuration();
  for (const ObservedSandbox& each : observed.sandboxes) {
    if (!each.ready && !observed.AnyRunning()) continue;
    const absl::Status status = stopper_.Stop(record, observed, each.id, manifest_.grace_period_s);
    if (!status.ok()) Shorten(pause, RetryAfter(status).pause);
  }
  Report(observed, PodEnd::kFailed);
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

absl::Duration PodWorker::GoOn(const PodRecord& record, ObservedPod observed) {
  for (ObservedSandbox& each : observed.sandboxes) each.stopped = memory_.stopped.contains(each.id);
  RecallPauses(observed);
  const absl::Time now = host_.clock.Now();
  const PodPlan plan = PlanFor(
      manifest_, observed,
      [this](const ObservedContainer& ended) {
        return memory_.back_off.NotBefore(ended.name, ended.finished);
      },
      [](const ObservedContainer&) { return true; }, now);
  memory_.end = plan.end;
  Pause pause = plan.look_again - now;
  NotePauses(record, observed, plan);
  if (StopSandboxes(record, observed, plan, pause) && !plan.start.empty()) {
    const std::string sandbox = EnsureSandbox(record, observed, plan, pause);
    if (!sandbox.empty()) StartContainers(record, observed, plan, sandbox, pause);
  }
  Tidy(plan);
  const bool acted = !plan.start.empty() || !plan.stop_sandboxes.empty();
  const absl::StatusOr<ObservedPod> after = acted ? reader_.Read() : observed;
  if (after.ok()) {
    Report(*after, plan.end);
  } else {
    Shorten(pause, kSoon);
  }
  return pause;
}

std::string PodWorker::EnsureSandbox(const PodRecord& record, const ObservedPod& observed,
                                     const PodPlan& plan, Pause& pause) {
  const absl::Time now = host_.clock.Now();
  const auto retry = memory_.retry_at.find("");
  if (retry != memory_.retry_at.end() && retry->second > now) {
    Shorten(pause, retry->second - now);
    return "";
  }
  absl::Status status = starter_.Prepare(record, [this](uint32_t first_id) {
    return Change([&](PodRecord& kept) { kept.first_id = first_id; });
  });
  std::string id;
  if (status.ok() && plan.make_sandbox) {
    absl::StatusOr<std::string> made = starter_.MakeSandbox(*plan.make_sandbox);
    status = made.status();
    if (made.ok()) id = *std::move(made);
  } else if (status.ok()) {
    id = observed.ReadySandbox()->id;
  }
  if (status.ok()) status = starter_.Complete(id);
  if (status.ok()) {
    memory_.failure.clear();
    memory_.retry_at.erase("");
    memory_.back_off.Forget("");
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
  memory_.back_off.OnAttempt("", now);
  memory_.retry_at[""] = memory_.back_off.NotBefore("", now);
  Shorten(pause, memory_.retry_at[""] - now);
  return "";
}

void PodWorker::StartContainers(const PodRecord& record, const ObservedPod& observed,
                                const PodPlan& plan, const std::string& sandbox, Pause& pause) {
  for (const size_t index : plan.start) {
    const std::string& name = manifest_.containers[index].name;
    const absl::Time now = host_.clock.Now();
    const auto retry = memory_.retry_at.find(name);
    if (retry != memory_.retry_at.end() && retry->second > now) {
      if (memory_.waiting[name].reason == "ErrImagePull")
        memory_.waiting[name].reason = "ImagePullBackOff";
      Shorten(pause, retry->second - now);
      continue;
    }
    const ObservedContainer* last = observed.Newest(name, "");
    const bool is_restart = last != nullptr && last->state == ContainerState::kExited;
    if (is_restart) memory_.back_off.OnAttempt(name, last->finished);
    const auto failure = starter_.Start(record, index, sandbox, last);
    if (!failure) {
      memory_.waiting.erase(name);
      memory_.retry_at.erase(name);
      memory_.back_off.Forget(absl::StrCat(name, "/start"));
      continue;
    }
    // A registry that can't be reached is no passing failure of the runtime's.
    if (IsPassing(failure->status) && failure->waiting.reason != "ErrImagePull") {
      Shorten(pause, kSoon);
      continue;
    }
    memory_.waiting[name] = failure->waiting;
    const std::string start = absl::StrCat(name, "/start");
    memory_.back_off.OnAttempt(start, now);
    memory_.retry_at[name] = memory_.back_off.NotBefore(start, now);
    Shorten(pause, memory_.retry_at[name] - now);
  }
}

void PodWorker::RecallPauses(const ObservedPod& observed) {
  if (std::exchange(memory_.has_recalled, true)) return;
  for (const pod::ContainerManifest& container : manifest_.containers) {
    const ObservedContainer* last = nullptr;
    const ObservedContainer* before = nullptr;
    for (const ObservedContainer& each : observed.containers) {
      if (each.name != container.name) continue;
      (last == nullptr ? last : before) = &each;
      if (before != nullptr) break;
    }
    if (last == nullptr || last->attempt == 0) continue;
    // The run before may be gone: then the last one tells at least how long it ran itself.
    const absl::Time since = before != nullptr ? before->finished : last->started;
    memory_.back_off.Resume(container.name, last->attempt, since);
  }
}

void PodWorker::NotePauses(const PodRecord& record, const ObservedPod& observed,
                           const PodPlan& plan) {
  for (size_t i = 0; i < manifest_.containers.size(); ++i) {
    const std::string& name = manifest_.containers[i].name;
    const ObservedContainer* last = observed.Newest(name, "");
    const bool starts = std::find(plan.start.begin(), plan.start.end(), i) != plan.start.end();
    const bool ended = last != nullptr && last->state == ContainerState::kExited;
    const bool waits = ended && !starts && !plan.end &&
                       memory_.back_off.NotBefore(name, last->finished) > host_.clock.Now() &&
                       RestartsAfterExit(manifest_, manifest_.containers[i], last->exit_code);
    if (!waits) {
      if (!memory_.retry_at.contains(name)) memory_.waiting.erase(name);
      continue;
    }
    const std::string pod =
        absl::StrCat(record.key.name, "_", record.key.pod_namespace, "(", record.uid, ")");
    const absl::Duration pause = memory_.back_off.Pause(name);
    if (memory_.waiting[name].of == last->id) continue;
    memory_.waiting[name] = {"CrashLoopBackOff",
                             absl::StrCat("back-off ", absl::FormatDuration(pause),
                                          " restarting failed container=", name, " pod=", pod),
                             last->id};
    host_.events.Add(SubjectOf(record, name), "Warning", "BackOff",
                     absl::StrCat("Back-off restarting failed container ", name, " in pod ", pod));
  }
}

// The next step retries a removal that fails.
void PodWorker::Tidy(const PodPlan& plan) {
  for (const std::string& id : plan.remove_containers) {
    host_.client.RemoveContainer(id).IgnoreError();
  }
  for (const std::string& id : plan.remove_sandboxes) {
    host_.client.RemovePodSandbox(id).IgnoreError();
  }
}

void PodWorker::Report(const ObservedPod& observed, const std::optional<PodEnd>& end) {
  const PodRecord record = this->record();
  const PodBoard::Object before = host_.board.Get(record.key);
  const nlohmann::json none;
  host_.board.Put(record.key,
                  PodObject({record, manifest_, observed, end, memory_.waiting, memory_.failure},
                            host_.node, before != nullptr ? *before : none, host_.clock.Now()));
  const absl::MutexLock lock(&mutex_);
  shared_.observed = observed;
  shared_.has_ended = end.has_value();
  shared_.has_looked = true;
}

}  // namespace plimsoll::agent
