#include "pod_runner/runner.h"

#include <algorithm>
#include <string>
#include <thread>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/monotonic_time.h"
#include "base/status.h"
#include "pod_runner/cri_requests/fields.h"
#include "pod_runner/hooks.h"
#include "pod_runner/pod_files/mount_sub_paths.h"
#include "pod_runner/runtime_client/event_watch.h"

namespace plimsoll::pod {
namespace {

// OnSlowStop comes after this time.
constexpr absl::Duration kQuietStop = absl::Seconds(1);
constexpr absl::Duration kPollInterval = absl::Milliseconds(20);
// A container that ran this long starts over with the shortest delay (kubelet: twice the longest).
constexpr absl::Duration kForgetRestartsAfter = absl::Minutes(10);

}  // namespace

absl::Duration RestartDelay(int restarts) {
  return std::min(absl::Seconds(10) * (int64_t{1} << std::clamp(restarts, 0, 8)), absl::Minutes(5));
}

int Outcome::FailedCode() const {
  for (const ContainerOutcome& container : containers) {
    // A sidecar is stopped when the pod's work is done, so its exit code says nothing.
    if (container.role == resources::ContainerRequirements::Role::kSidecar &&
        container.status.reason() != kStartError) {
      continue;
    }
    if (container.status.exit_code() != 0) return container.status.exit_code();
  }
  return past_deadline ? 1 : 0;
}

Runner::Runner(Client& client, Observer& observer, FsRoot root, Manifest pod, RunnerOptions options)
    : client_(client),
      observer_(observer),
      root_(std::move(root)),
      pod_(std::move(pod)),
      options_(std::move(options)),
      maker_(client_, root_, pod_,
             {.state_directory = options_.state_directory,
              .pod_class_types = options_.pod_class_types,
              .objects = options_.objects,
              .image_ids = options_.image_ids,
              .seccomp = options_.seccomp,
              .interrupted = [this] { return Interrupted(); }}) {
  outcome_.uid = maker_.uid();
}

bool Runner::Interrupted() {
  outcome_.interrupted |= options_.interrupts && options_.interrupts() > 0;
  return outcome_.interrupted;
}

bool Runner::PastDeadline() {
  if (outcome_.past_deadline || absl::Now() < outcome_.deadline) return outcome_.past_deadline;
  outcome_.past_deadline = true;
  observer_.OnDeadline(*pod_.active_deadline_s);
  return true;
}

void Runner::EndLog(Member& member) {
  if (std::exchange(member.log_open, false)) observer_.OnLogEnd(outcome(member).name);
}

void Runner::ReleaseSubPaths(const Member& member) const {
  UnmountSubPaths(root_, maker_.dir().path, manifest(member).name).IgnoreError();
}

Outcome Runner::Run() {
  const absl::Time begin = absl::Now();
  if (pod_.active_deadline_s) outcome_.deadline = begin + absl::Seconds(*pod_.active_deadline_s);
  absl::Status status = Start();
  outcome_.start_time = absl::Now() - begin;
  outcome_.started =
      status.ok() && std::all_of(outcome_.containers.begin(), outcome_.containers.end(),
                                 [](const ContainerOutcome& item) { return item.created; });
  outcome_.started &= !start_refused_;
  TellWarnings();
  if (status.ok() && options_.detach && !outcome_.interrupted && !start_refused_) {
    for (Member& member : members_) EndLog(member);
    return std::move(outcome_);
  }
  if (status.ok() && !outcome_.interrupted) status = Supervise();
  const absl::Status torn_down = TearDown();
  const bool may_be_left = maker_.may_be_made() && (outcome_.sandbox_id.empty() || !torn_down.ok());
  outcome_.status = FirstError(std::move(status), torn_down);
  if (client_.abandoned()) {
    // The caller asked to leave at once.
    outcome_.interrupted = true;
    outcome_.status = absl::OkStatus();
  }
  if (may_be_left) observer_.OnMayBeLeft();
  return std::move(outcome_);
}

void Runner::AddMembers() {
  std::vector<std::string> names;
  for (size_t i = 0; i < pod_.containers.size(); ++i) {
    Member member;
    member.index = i;
    members_.push_back(member);
    ContainerOutcome container;
    container.name = pod_.containers[i].name;
    container.role = pod_.containers[i].role;
    container.config = configs_.containers[i];
    names.push_back(container.name);
    outcome_.containers.push_back(std::move(container));
  }
  observer_.OnPlan(names);
}

absl::Status Runner::Start() {
  PLIMSOLL_RETURN_IF_ERROR(maker_.Prepare());
  PLIMSOLL_ASSIGN_OR_RETURN(configs_, ToCri(pod_, maker_.context()));
  AddMembers();
  absl::StatusOr<std::string> id = maker_.Make(configs_);
  outcome_.namesake = maker_.namesake();
  PLIMSOLL_ASSIGN_OR_RETURN(outcome_.sandbox_id, std::move(id));
  if (outcome_.sandbox_id.empty()) return absl::OkStatus();
  const bool may_lack_network = !options_.network_fault.empty();
  if (may_lack_network && HasLoopbackAlone(client_, pod_, outcome_.sandbox_id)) {
    observer_.OnLoopbackAlone(options_.network_fault);
  }
  if (NeedsPodIps(pod_)) {
    PLIMSOLL_RETURN_IF_ERROR(maker_.AddAddresses(outcome_.sandbox_id));
    PLIMSOLL_ASSIGN_OR_RETURN(PodConfigs again, ToCri(pod_, maker_.context()));
    configs_.containers = std::move(again.containers);
    configs_.sub_paths = std::move(again.sub_paths);
    for (Member& member : members_) outcome(member).config = configs_.containers[member.index];
  }
  for (Member& member : members_) {
    if (Interrupted()) return absl::OkStatus();
    if (manifest(member).role == Role::kInit) {
      const absl::Time begin = absl::Now();
      PLIMSOLL_RETURN_IF_ERROR(RunInit(member));
      outcome_.init_time += absl::Now() - begin;
      if (outcome(member).status.exit_code() != 0) return absl::OkStatus();
    } else {
      PLIMSOLL_RETURN_IF_ERROR(StartContainer(member));
    }
    if (start_refused_ || PastDeadline()) return absl::OkStatus();
  }
  return absl::OkStatus();
}

absl::Status Runner::StartContainer(Member& member) {
  ContainerOutcome& container = outcome(member);
  const std::string what = absl::StrCat("pod ", pod_.name, ", container ", container.name);
  PLIMSOLL_RETURN_IF_ERROR(Annotate(
      MountSubPaths(root_, maker_.dir().path, manifest(member), configs_.sub_paths[member.index],
                    maker_.dir().volumes, container.config),
      what));
  const absl::StatusOr<std::string> made =
      client_.CreateContainer(outcome_.sandbox_id, container.config, configs_.sandbox);
  if (!made.ok()) {
    creation_refused_ = std::string(made.status().message());
    return NamingProfileRoot(made.status(), options_.seccomp);
  }
  member.id = *made;
  container.created = true;
  member.log_open = true;
  observer_.OnLogOpen(container.name,
                      absl::StrCat(maker_.dir().log_directory, "/", container.config.log_path()));
  const absl::Status started = client_.StartContainer(member.id);
  if (!started.ok()) return AfterFailedStart(member, Annotate(started, what));
  member.running = true;
  member.started = absl::Now();
  member.restart_at = absl::InfiniteFuture();
  PLIMSOLL_ASSIGN_OR_RETURN(const auto status, client_.ContainerStatus(member.id));
  container.status = status.status();
  container.held = status.status().resources();
  return RunPostStart(member);
}

absl::Status Runner::RunPostStart(Member& member) {
  const std::optional<Action>& hook = manifest(member).lifecycle.post_start;
  if (!hook) return absl::OkStatus();
  const absl::Status failed = RunHook(client_, {member.id, outcome_.sandbox_id}, *hook,
                                      /*timeout_s=*/0, [this] { return Interrupted(); });
  if (failed.ok()) return absl::OkStatus();
  observer_.OnWarning(
      absl::StrCat("container ", manifest(member).name, ": postStart: ", failed.message()));
  return client_.StopContainer(member.id, pod_.grace_period_s);
}

absl::Status Runner::AfterFailedStart(Member& member, const absl::Status& failure) {
  if (absl::IsUnavailable(failure) || absl::IsCancelled(failure)) return failure;
  const auto status = client_.ContainerStatus(member.id);
  if (!status.ok()) return failure;
  outcome(member).status = status->status();
  if (status->status().reason() != kStartError) return failure;
  start_refused_ = true;
  EndLog(member);
  member.restart_at = absl::InfiniteFuture();
  observer_.OnStartRefused(outcome(member).name, status->status().message());
  return absl::OkStatus();
}

absl::Status Runner::RunInit(Member& member) {
  PLIMSOLL_RETURN_IF_ERROR(StartContainer(member));
  for (;;) {
    PLIMSOLL_RETURN_IF_ERROR(Refresh());
    if (Interrupted() || start_refused_ || PastDeadline()) return absl::OkStatus();
    if (!member.running && member.restart_at == absl::InfiniteFuture()) return absl::OkStatus();
    PLIMSOLL_RETURN_IF_ERROR(RestartDue());
    absl::SleepFor(kPollInterval);
  }
}

bool Runner::LookIsDue() {
  if (options_.events == nullptr) return true;
  const uint64_t news = options_.events->news();
  const absl::Time now = MonotonicNow();
  if (news == look_.news && now < look_.next) return false;
  look_.news = news;
  look_.next = now + kLookAnyway;
  return true;
}

absl::Status Runner::Refresh() {
  if (!LookIsDue()) return absl::OkStatus();
  PLIMSOLL_ASSIGN_OR_RETURN(const auto containers, client_.ListContainers(outcome_.sandbox_id));
  for (Member& member : members_) {
    if (!member.running) continue;
    const auto it = std::find_if(containers.begin(), containers.end(),
                                 [&](const auto& item) { return item.id() == member.id; });
    if (it == containers.end()) {
      return absl::NotFoundError(absl::StrCat("pod ", pod_.name, ": container ",
                                              outcome(member).name,
                                              " was removed by another client"));
    }
    if (it->state() == cri::CONTAINER_EXITED) PLIMSOLL_RETURN_IF_ERROR(AfterExit(member));
  }
  return absl::OkStatus();
}

absl::Status Runner::AfterExit(Member& member) {
  PLIMSOLL_ASSIGN_OR_RETURN(const auto status, client_.ContainerStatus(member.id));
  member.running = false;
  outcome(member).status = status.status();
  EndLog(member);
  ReleaseSubPaths(member);
  // The kernel refused the program after the start was answered. The message is the one that the
  // call would have failed with.
  if (status.status().reason() == kStartError) {
    observer_.OnStartRefused(outcome(member).name, status.status().message());
  }
  if (ShouldRestart(member)) ScheduleRestart(member);
  return absl::OkStatus();
}

bool Runner::ShouldRestart(const Member& member) const {
  if (outcome_.interrupted) return false;
  const bool failed = outcome_.containers[member.index].status.exit_code() != 0;
  switch (manifest(member).role) {
    case Role::kSidecar:
      return true;
    case Role::kInit:
      return failed && pod_.restart_policy != "Never";
    case Role::kContainer:
      return pod_.restart_policy == "Always" || (failed && pod_.restart_policy == "OnFailure");
  }
  return false;
}

void Runner::ScheduleRestart(Member& member) {
  const absl::Time now = absl::Now();
  if (now - member.started > kForgetRestartsAfter) member.recent_restarts = 0;
  const absl::Duration delay = RestartDelay(member.recent_restarts++);
  member.restart_at = now + delay;
  observer_.OnRestart(outcome(member).name, outcome(member).status.exit_code(), delay);
}

absl::Status Runner::RestartDue() {
  for (Member& member : members_) {
    if (member.running || absl::Now() < member.restart_at) continue;
    ContainerOutcome& container = outcome(member);
    const std::string old = member.id;
    const uint32_t attempt = container.config.metadata().attempt() + 1;
    container.config.mutable_metadata()->set_attempt(attempt);
    container.config.set_log_path(LogPathOf(container.name, attempt));
    ++container.restarts;
    const absl::Status started = StartContainer(member);
    if (started.ok()) {
      PLIMSOLL_RETURN_IF_ERROR(client_.RemoveContainer(old));
      if (start_refused_) return absl::OkStatus();
      continue;
    }
    if (!absl::IsUnavailable(started) && !absl::IsCancelled(started)) return started;
    PLIMSOLL_ASSIGN_OR_RETURN(const bool again, ForgetLostStart(member));
    if (!again) return started;
    member.id = old;
    const absl::Duration delay = RestartDelay(member.recent_restarts++);
    member.restart_at = absl::Now() + delay;
    observer_.OnRestartLost(container.name, delay);
  }
  return absl::OkStatus();
}

absl::StatusOr<bool> Runner::ForgetLostStart(Member& member) {
  if (client_.abandoned() || !client_.AwaitDaemon()) return false;
  const ContainerOutcome& container = outcome(member);
  PLIMSOLL_ASSIGN_OR_RETURN(const auto there, client_.ListContainers(outcome_.sandbox_id));
  for (const cri::Container& each : there) {
    if (each.metadata().name() != container.name ||
        each.metadata().attempt() != container.config.metadata().attempt()) {
      continue;
    }
    PLIMSOLL_RETURN_IF_ERROR(client_.RemoveContainer(each.id()));
  }
  member.running = false;
  EndLog(member);
  return true;
}

absl::Status Runner::Supervise() {
  for (;;) {
    if (start_refused_) return absl::OkStatus();
    PLIMSOLL_RETURN_IF_ERROR(Refresh());
    if (Interrupted() || PastDeadline()) return absl::OkStatus();
    // The pod ends with its last ordinary container, or with an init container that failed for
    // good.
    const bool busy = std::any_of(members_.begin(), members_.end(), [&](const Member& member) {
      return manifest(member).role == Role::kContainer &&
             (member.running || member.restart_at != absl::InfiniteFuture());
    });
    if (!busy) return absl::OkStatus();
    PLIMSOLL_RETURN_IF_ERROR(RestartDue());
    absl::SleepFor(kPollInterval);
  }
}

void Runner::TellWarnings() {
  // OnStartRefused has told of a refused start.
  if (outcome_.sandbox_id.empty() || client_.abandoned() || start_refused_) return;
  const auto tell = [this](const node::Event& event) {
    if (event.sequence() <= look_.event) return true;
    look_.event = event.sequence();
    // The outcome's status has the reason of a refused creation.
    const bool is_outcome =
        !creation_refused_.empty() && absl::EndsWith(event.message(), creation_refused_);
    if (event.type() == "Warning" && event.sandbox_id() == outcome_.sandbox_id && !is_outcome) {
      observer_.OnWarning(event.message());
    }
    return true;
  };
  // An error is no reason to end the pod.
  client_.own().ListEvents(look_.event, /*follow=*/false, tell).IgnoreError();
}

std::vector<Runner::Stop> Runner::Stops() {
  std::vector<Stop> stops;
  size_t rank = 0;
  for (auto it = members_.rbegin(); it != members_.rend(); ++it) {
    if (!it->running) continue;
    Stop& stop = stops.emplace_back();
    stop.member = &*it;
    switch (manifest(*it).role) {
      case Role::kContainer:
        stop.rank = 0;
        break;
      case Role::kSidecar:
        stop.rank = ++rank;
        break;
      case Role::kInit:
        break;
    }
  }
  return stops;
}

void Runner::StopInTurn(Stop& stop, StopTurns& turns, SlowStops& slow) {
  const std::string& id = stop.member->id;
  const ContainerManifest& container = manifest(*stop.member);
  const std::optional<Action>& hook = container.lifecycle.pre_stop;
  if (hook && turns.left_s() > 0) {
    const auto killed = [&turns] { return turns.left_s() == 0; };
    const absl::Status failed =
        RunHook(client_, {id, outcome_.sandbox_id}, *hook, turns.left_s(), killed);
    if (!failed.ok() && !killed()) {
      stop.warning = absl::StrCat("container ", container.name, ": preStop: ", failed.message());
    }
  }
  if (stop.rank) turns.Await(*stop.rank);
  slow.Begin(container.name);
  stop.status = client_.StopContainer(id, turns.left_s());
  slow.End(container.name);
  if (stop.rank) turns.End(*stop.rank);
}

void Runner::AwaitStops(const std::vector<Stop>& stops, StopTurns& turns, SlowStops& slow) {
  // An interrupt during the stop kills. If an interrupt began the stop, the second one does.
  const int kills_at = outcome_.interrupted ? 2 : 1;
  bool killed = false;
  while (slow.left() > 0) {
    const std::vector<std::string> names = slow.Take(kQuietStop);
    // OnStop has reported them where an interrupt began the stop.
    if (!names.empty() && !outcome_.interrupted) observer_.OnSlowStop(names, pod_.grace_period_s);
    if (!killed && options_.interrupts && options_.interrupts() >= kills_at) {
      killed = true;
      observer_.OnKill();
      turns.Hasten(0);
      // The daemon lets a shorter stop overtake a longer one.
      for (const Stop& stop : stops) client_.StopContainer(stop.member->id, 0).IgnoreError();
    }
    absl::SleepFor(kPollInterval);
  }
}

// All preStop hooks run at once. Then ordinary and init containers get the stop signal, and
// sidecars once the ordinary ones have ended, the last one first (KEP-753, as kubelet).
absl::Status Runner::StopMembers() {
  std::vector<Stop> stops = Stops();
  std::vector<size_t> ranks;
  for (const Stop& stop : stops) {
    if (stop.rank) ranks.push_back(*stop.rank);
  }
  StopTurns turns(pod_.grace_period_s, ranks);
  SlowStops slow(stops.size());
  std::vector<std::thread> threads;
  for (Stop& stop : stops) threads.emplace_back([&] { StopInTurn(stop, turns, slow); });
  AwaitStops(stops, turns, slow);
  for (std::thread& thread : threads) thread.join();
  absl::Status status;
  for (Stop& stop : stops) {
    if (!stop.warning.empty()) observer_.OnWarning(stop.warning);
    status = FirstError(std::move(status), std::move(stop.status));
  }
  return status;
}

absl::Status Runner::TearDown() {
  absl::Status status;
  const auto also = [&status](absl::Status next) {
    status = FirstError(std::move(status), std::move(next));
  };
  if (outcome_.interrupted && !client_.abandoned()) {
    observer_.OnStop(pod_.grace_period_s);
  }
  // No restarts from here on.
  for (Member& member : members_) member.restart_at = absl::InfiniteFuture();
  also(StopMembers());
  for (Member& member : members_) {
    if (!member.running) continue;
    const auto last = client_.ContainerStatus(member.id);
    if (last.ok()) outcome(member).status = last->status();
    if (last.ok() && last->status().state() == cri::CONTAINER_EXITED) ReleaseSubPaths(member);
    member.running = false;
  }
  for (Member& member : members_) EndLog(member);
  TellWarnings();
  if (!outcome_.sandbox_id.empty()) {
    also(client_.StopPodSandbox(outcome_.sandbox_id));
    if (options_.keep && status.ok()) return status;
    also(client_.RemovePodSandbox(outcome_.sandbox_id));
  }
  // A pod that may still run needs its volumes and logs. RemovePodDir or RemoveOrphanedPodDirs
  // removes them later.
  if (maker_.may_be_made() && (outcome_.sandbox_id.empty() || !status.ok())) return status;
  also(RemovePodDir(root_, options_.state_directory, maker_.uid()));
  return status;
}

}  // namespace plimsoll::pod
