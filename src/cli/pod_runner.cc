#include "cli/pod_runner.h"

#include <algorithm>
#include <atomic>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/clock.h"
#include "base/monotonic_time.h"
#include "base/printable.h"
#include "base/random_id.h"
#include "base/status.h"
#include "cli/errors.h"
#include "cli/event_watch.h"
#include "cli/host.h"
#include "cli/pod_name_lock.h"
#include "cli/sub_path.h"
#include "cli/text.h"
#include "cli/user_ids.h"

namespace plimsoll::cli {
namespace {

// A stop that takes longer is said.
constexpr absl::Duration kQuietStop = absl::Seconds(1);
constexpr absl::Duration kPollInterval = absl::Milliseconds(20);
// A container that ran this long starts over with the shortest delay (kubelet: twice the longest).
constexpr absl::Duration kForgetRestartsAfter = absl::Minutes(10);
// ContainerStatus.reason of one whose program could not be executed.
constexpr char kStartError[] = "StartError";
// Longer than a call of the daemon may take.
constexpr absl::Duration kNamePatience = absl::Minutes(5);

// What one daemon has and no other; empty: it could not be asked.
std::string WhoAnswers(Client& client) {
  const auto status = client.DaemonStatus();
  return status.ok() ? absl::StrCat(status->pid(), " ", status->started_at()) : "";
}

}  // namespace

absl::Duration RestartDelay(int restarts) {
  return std::min(absl::Seconds(10) * (int64_t{1} << std::clamp(restarts, 0, 8)), absl::Minutes(5));
}

int PodOutcome::ExitCode() const {
  if (!status.ok()) return kExitOwnFailure;
  if (interrupted) return kExitInterrupted;
  for (const ContainerOutcome& container : containers) {
    // A sidecar is stopped by us when its work is done; how it takes that says nothing.
    if (container.role == resources::ContainerRequirements::Role::kSidecar &&
        container.status.reason() != kStartError) {
      continue;
    }
    if (container.status.exit_code() != 0) return container.status.exit_code();
  }
  return kExitOk;
}

absl::Status CheckNamesAreFree(Client& client, const std::vector<PodManifest>& pods) {
  PLIMSOLL_ASSIGN_OR_RETURN(const auto existing, client.ListPodSandboxes());
  for (const PodManifest& pod : pods) {
    for (const cri::PodSandbox& other : existing) {
      if (other.metadata().name() != pod.name ||
          other.metadata().namespace_() != pod.pod_namespace) {
        continue;
      }
      return WithHint(
          absl::AlreadyExistsError(absl::StrCat(
              "pod ", pod.pod_namespace, "/", pod.name, " is ",
              other.state() == cri::SANDBOX_READY ? "running already" : "there already, stopped")),
          absl::StrCat("Remove it first: plimsoll rm ",
                       other.state() == cri::SANDBOX_READY ? "--force " : "", ShortId(other.id())));
    }
  }
  return absl::OkStatus();
}

PodRunner::PodRunner(Client& client, LogMux& logs, FsRoot root, PodManifest pod,
                     RunnerOptions options)
    : client_(client),
      logs_(logs),
      root_(std::move(root)),
      pod_(std::move(pod)),
      options_(std::move(options)),
      uid_(RandomUid()) {
  outcome_.uid = uid_;
}

bool PodRunner::Interrupted() {
  outcome_.interrupted |= options_.interrupts && options_.interrupts() > 0;
  return outcome_.interrupted;
}

void PodRunner::Say(absl::string_view text) {
  logs_.Say(absl::StrCat("pod ", pod_.name, ": ", text));
}

PodOutcome PodRunner::Run() {
  const absl::Time begin = absl::Now();
  absl::Status status = Start();
  outcome_.start_time = absl::Now() - begin;
  outcome_.started =
      status.ok() && std::all_of(outcome_.containers.begin(), outcome_.containers.end(),
                                 [](const ContainerOutcome& item) { return item.created; });
  outcome_.started &= !start_refused_;
  SayWarnings();
  if (status.ok() && options_.detach && !outcome_.interrupted && !start_refused_) {
    for (const Member& member : members_) logs_.Finish(member.log);
    return std::move(outcome_);
  }
  if (status.ok() && !outcome_.interrupted) status = Supervise();
  const absl::Status torn_down = TearDown();
  const bool may_be_left = asked_for_sandbox_ && (outcome_.sandbox_id.empty() || !torn_down.ok());
  outcome_.status = FirstError(std::move(status), torn_down);
  if (client_.abandoned()) {
    // Asked to leave at once.
    outcome_.interrupted = true;
    outcome_.status = absl::OkStatus();
  }
  if (may_be_left) SayWhatIsLeft();
  return std::move(outcome_);
}

// It may have come into being even when no answer came.
void PodRunner::SayWhatIsLeft() {
  Say(absl::StrCat("may be left as it is. `plimsoll logs -f ", ShellQuote(pod_.name),
                   "` follows it, `plimsoll rm --force ", ShellQuote(pod_.name), "` removes it."));
}

absl::Status PodRunner::StartSandbox() {
  PLIMSOLL_ASSIGN_OR_RETURN(dir_, MakePodDir(root_, options_.state_directory, uid_, pod_));
  PodContext context;
  context.uid = uid_;
  context.log_directory = dir_.log_directory;
  context.volumes = dir_.volumes;
  context.pod_class_types = options_.pod_class_types;
  std::optional<PodNameLock> ids;  // held until the daemon has the pod, and so its ids
  bool given_up = false;
  if (!pod_.host_users) {
    absl::StatusOr<PodNameLock> lock = PodNameLock::TakeForUserIds(
        root_, options_.state_directory, kNamePatience, [this] { return Interrupted(); });
    given_up = absl::IsCancelled(lock.status());
    if (!given_up) {
      PLIMSOLL_RETURN_IF_ERROR(lock.status());
      ids.emplace(*std::move(lock));
      PLIMSOLL_ASSIGN_OR_RETURN(context.first_id, ChooseIds());
    }
  }
  PLIMSOLL_ASSIGN_OR_RETURN(context.memory_capacity_bytes, MemoryCapacityBytes(root_));
  // A machine without the file has no DNS to add to.
  context.host_dns = ParseResolvConf(root_.Read("etc/resolv.conf").value_or(""));
  PLIMSOLL_ASSIGN_OR_RETURN(configs_, ToCri(pod_, context));
  for (size_t i = 0; i < pod_.containers.size(); ++i) {
    Member member;
    member.index = i;
    members_.push_back(member);
    ContainerOutcome container;
    container.name = pod_.containers[i].name;
    container.role = pod_.containers[i].role;
    logs_.ReserveWidth(options_.prefix.size() + container.name.size());
    container.config = configs_.containers[i];
    outcome_.containers.push_back(std::move(container));
  }
  return given_up ? absl::OkStatus() : MakeSandbox();
}

// From a random one on, so that pods of another daemon, which this one can't know of, are not
// likely to have the same.
absl::StatusOr<uint32_t> PodRunner::ChooseIds() {
  PLIMSOLL_ASSIGN_OR_RETURN(const std::vector<IdRange> taken, TakenIds(client_));
  const unsigned long chance = std::stoul(RandomId().substr(0, 8), nullptr, 16);
  return FreeIds(taken, static_cast<uint32_t>(chance % kPodIdRanges));
}

// Its name may have been free a while ago, before images were pulled. From looking again until it
// is there nobody else makes one of it.
absl::Status PodRunner::MakeSandbox() {
  const absl::StatusOr<PodNameLock> name =
      PodNameLock::Take(root_, options_.state_directory, pod_.pod_namespace, pod_.name,
                        kNamePatience, [this] { return Interrupted(); });
  if (absl::IsCancelled(name.status())) return absl::OkStatus();
  PLIMSOLL_RETURN_IF_ERROR(name.status());
  PLIMSOLL_RETURN_IF_ERROR(CheckNamesAreFree(client_, {pod_}));
  const std::string daemon = WhoAnswers(client_);
  asked_for_sandbox_ = true;
  absl::StatusOr<std::string> made = client_.RunPodSandbox(configs_.sandbox);
  if (!made.ok()) asked_for_sandbox_ = MayHaveBeenMade(made.status(), daemon);
  PLIMSOLL_ASSIGN_OR_RETURN(outcome_.sandbox_id, std::move(made));
  return absl::OkStatus();
}

// A daemon that answers with an error has undone it all. One that takes the place of another puts
// away what that had half made before it answers: what it does not have is not there. The same one,
// after a connection that broke, may be making it still.
bool PodRunner::MayHaveBeenMade(const absl::Status& failure, const std::string& daemon) {
  if (absl::IsDeadlineExceeded(failure)) return true;  // it may be made still
  if (!absl::IsUnavailable(failure) && !absl::IsCancelled(failure)) return false;
  if (daemon.empty()) return true;
  // Before the list, which is then that daemon's or a later one's.
  const std::string now = WhoAnswers(client_);
  if (now.empty() || now == daemon) return true;
  const auto there = client_.ListPodSandboxes();
  return !there.ok() ||
         std::any_of(there->begin(), there->end(),
                     [this](const cri::PodSandbox& pod) { return pod.metadata().uid() == uid_; });
}

absl::Status PodRunner::Start() {
  PLIMSOLL_RETURN_IF_ERROR(StartSandbox());
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
    if (start_refused_) return absl::OkStatus();
  }
  return absl::OkStatus();
}

absl::Status PodRunner::StartContainer(Member& member) {
  ContainerOutcome& container = outcome(member);
  const std::string what = absl::StrCat("pod ", pod_.name, ", container ", container.name);
  PLIMSOLL_RETURN_IF_ERROR(Annotate(ResolveSubPaths(member), what));
  PLIMSOLL_ASSIGN_OR_RETURN(
      member.id, client_.CreateContainer(outcome_.sandbox_id, container.config, configs_.sandbox));
  container.created = true;
  if (options_.show_logs) {
    member.log = logs_.Add(absl::StrCat(options_.prefix, container.name),
                           absl::StrCat(dir_.log_directory, "/", container.config.log_path()));
  }
  const absl::Status started = client_.StartContainer(member.id);
  if (!started.ok()) return AfterFailedStart(member, Annotate(started, what));
  member.running = true;
  member.started = absl::Now();
  member.restart_at = absl::InfiniteFuture();
  PLIMSOLL_ASSIGN_OR_RETURN(const auto status, client_.ContainerStatus(member.id));
  container.status = status.status();
  container.held = status.status().resources();
  return absl::OkStatus();
}

absl::Status PodRunner::AfterFailedStart(Member& member, const absl::Status& failure) {
  if (absl::IsUnavailable(failure) || absl::IsCancelled(failure)) return failure;
  const auto status = client_.ContainerStatus(member.id);
  if (!status.ok()) return failure;
  outcome(member).status = status->status();
  if (status->status().reason() != kStartError) return failure;
  start_refused_ = true;
  if (options_.show_logs) logs_.Finish(std::exchange(member.log, 0));
  member.restart_at = absl::InfiniteFuture();
  Say(Printable(status->status().message()));
  return absl::OkStatus();
}

absl::Status PodRunner::ResolveSubPaths(const Member& member) {
  const std::vector<VolumeMount>& mounts = manifest(member).mounts;
  for (size_t i = 0; i < mounts.size(); ++i) {
    if (mounts[i].sub_path.empty()) continue;
    const absl::StatusOr<std::string> path =
        MakeSubPath(root_, dir_.volumes.at(mounts[i].volume), mounts[i].sub_path);
    if (!path.ok()) {
      return Annotate(path.status(), absl::StrCat("subPath ", mounts[i].sub_path, " of volume ",
                                                  mounts[i].volume));
    }
    outcome(member).config.mutable_mounts(static_cast<int>(i))->set_host_path(*path);
  }
  return absl::OkStatus();
}

absl::Status PodRunner::RunInit(Member& member) {
  PLIMSOLL_RETURN_IF_ERROR(StartContainer(member));
  for (;;) {
    PLIMSOLL_RETURN_IF_ERROR(Refresh());
    if (Interrupted() || start_refused_) return absl::OkStatus();
    if (!member.running && member.restart_at == absl::InfiniteFuture()) return absl::OkStatus();
    PLIMSOLL_RETURN_IF_ERROR(RestartDue());
    absl::SleepFor(kPollInterval);
  }
}

bool PodRunner::LookIsDue() {
  if (options_.events == nullptr) return true;
  const uint64_t news = options_.events->news();
  const absl::Time now = MonotonicNow();
  if (news == seen_news_ && now < look_at_) return false;
  seen_news_ = news;
  look_at_ = now + kLookAnyway;
  return true;
}

absl::Status PodRunner::Refresh() {
  if (!LookIsDue()) return absl::OkStatus();
  PLIMSOLL_ASSIGN_OR_RETURN(const auto containers, client_.ListContainers(outcome_.sandbox_id));
  for (Member& member : members_) {
    if (!member.running) continue;
    const auto it = std::find_if(containers.begin(), containers.end(),
                                 [&](const auto& item) { return item.id() == member.id; });
    if (it == containers.end()) {
      return absl::NotFoundError(absl::StrCat("pod ", pod_.name, ": container ",
                                              outcome(member).name, " was removed by someone"));
    }
    if (it->state() == cri::CONTAINER_EXITED) PLIMSOLL_RETURN_IF_ERROR(AfterExit(member));
  }
  return absl::OkStatus();
}

absl::Status PodRunner::AfterExit(Member& member) {
  PLIMSOLL_ASSIGN_OR_RETURN(const auto status, client_.ContainerStatus(member.id));
  member.running = false;
  outcome(member).status = status.status();
  logs_.Finish(std::exchange(member.log, 0));
  // Found out after its start was answered: what would have been that call's error.
  if (status.status().reason() == kStartError) Say(Printable(status.status().message()));
  if (ShouldRestart(member)) ScheduleRestart(member);
  return absl::OkStatus();
}

bool PodRunner::ShouldRestart(const Member& member) const {
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

void PodRunner::ScheduleRestart(Member& member) {
  const absl::Time now = absl::Now();
  if (now - member.started > kForgetRestartsAfter) member.recent_restarts = 0;
  const absl::Duration delay = RestartDelay(member.recent_restarts++);
  member.restart_at = now + delay;
  Say(absl::StrCat("container ", outcome(member).name, " ended with exit code ",
                   outcome(member).status.exit_code(), "; restarting it in ",
                   absl::FormatDuration(delay)));
}

absl::Status PodRunner::RestartDue() {
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
    Say(absl::StrCat("container ", container.name, " got no answer as it was restarted; again in ",
                     absl::FormatDuration(delay)));
  }
  return absl::OkStatus();
}

absl::StatusOr<bool> PodRunner::ForgetLostStart(Member& member) {
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
  logs_.Finish(std::exchange(member.log, 0));
  return true;
}

absl::Status PodRunner::Supervise() {
  for (;;) {
    if (start_refused_) return absl::OkStatus();
    PLIMSOLL_RETURN_IF_ERROR(Refresh());
    if (Interrupted()) return absl::OkStatus();
    // An init container that failed for good ends the pod; so does the last ordinary container.
    const bool busy = std::any_of(members_.begin(), members_.end(), [&](const Member& member) {
      return manifest(member).role == Role::kContainer &&
             (member.running || member.restart_at != absl::InfiniteFuture());
    });
    if (!busy) return absl::OkStatus();
    PLIMSOLL_RETURN_IF_ERROR(RestartDue());
    absl::SleepFor(kPollInterval);
  }
}

void PodRunner::SayWarnings() {
  // A refused start has been told already.
  if (outcome_.sandbox_id.empty() || client_.abandoned() || start_refused_) return;
  const auto say = [this](const node::Event& event) {
    if (event.sequence() <= last_event_) return true;
    last_event_ = event.sequence();
    if (event.type() == "Warning" && event.sandbox_id() == outcome_.sandbox_id) {
      Say(absl::StrCat("warning: ", Printable(event.message())));
    }
    return true;
  };
  // Without them the pod runs no worse.
  client_.ListEvents(last_event_, /*follow=*/false, say).IgnoreError();
}

void PodRunner::SayWhoIsAwaited(const std::vector<Member*>& members) {
  std::vector<std::string> names;
  for (const Member* member : members) {
    if (member->running) names.push_back(outcome(*member).name);
  }
  Say(absl::StrCat("waiting up to ", pod_.grace_period_s, "s for container",
                   names.size() == 1 ? " " : "s ", absl::StrJoin(names, ", "),
                   " to end after the stop signal; Ctrl-C kills at once"));
}

// All at once, each with the pod's grace period. A second interrupt takes the patience away: the
// daemon lets a shorter stop overtake a longer one.
absl::Status PodRunner::StopMembers(const std::vector<Member*>& members) {
  std::vector<absl::Status> results(members.size());
  std::vector<std::thread> threads;
  std::atomic<size_t> left = 0;
  for (size_t i = 0; i < members.size(); ++i) {
    if (!members[i]->running) continue;
    ++left;
    threads.emplace_back([&, i] {
      results[i] = client_.StopContainer(members[i]->id, pod_.grace_period_s);
      --left;
    });
  }
  // Whoever interrupts a pod that is stopping already wants no second round.
  const int kills_at = outcome_.interrupted ? 2 : 1;
  bool killed = false;
  bool said = outcome_.interrupted;  // then it was said already
  const absl::Time begin = absl::Now();
  while (left > 0) {
    if (!said && absl::Now() - begin > kQuietStop) {
      said = true;
      SayWhoIsAwaited(members);
    }
    if (!killed && options_.interrupts && options_.interrupts() >= kills_at) {
      killed = true;
      Say("killing");
      for (Member* member : members) {
        if (member->running) client_.StopContainer(member->id, 0).IgnoreError();
      }
    }
    absl::SleepFor(kPollInterval);
  }
  for (std::thread& thread : threads) thread.join();
  absl::Status status;
  for (absl::Status& result : results) status = FirstError(std::move(status), std::move(result));
  return status;
}

absl::Status PodRunner::TearDown() {
  absl::Status status;
  const auto also = [&status](absl::Status next) {
    status = FirstError(std::move(status), std::move(next));
  };
  if (outcome_.interrupted && !client_.abandoned()) {
    Say(absl::StrCat("stopping, at most ", pod_.grace_period_s, "s; Ctrl-C again kills"));
  }
  // Nothing is restarted from here on; sidecars go last, the last started first.
  for (Member& member : members_) member.restart_at = absl::InfiniteFuture();
  std::vector<Member*> ordinary;
  for (Member& member : members_) {
    if (manifest(member).role != Role::kSidecar) ordinary.push_back(&member);
  }
  also(StopMembers(ordinary));
  for (auto it = members_.rbegin(); it != members_.rend(); ++it) {
    if (manifest(*it).role == Role::kSidecar) also(StopMembers({&*it}));
  }
  for (Member& member : members_) {
    if (!member.running) continue;
    const auto last = client_.ContainerStatus(member.id);
    if (last.ok()) outcome(member).status = last->status();
    member.running = false;
  }
  for (Member& member : members_) logs_.Finish(std::exchange(member.log, 0));
  SayWarnings();
  if (!outcome_.sandbox_id.empty()) {
    also(client_.StopPodSandbox(outcome_.sandbox_id));
    if (options_.keep && status.ok()) return status;
    also(client_.RemovePodSandbox(outcome_.sandbox_id));
  }
  // What may still run needs its volumes and logs; `plimsoll rm` removes them, or the next run.
  if (asked_for_sandbox_ && (outcome_.sandbox_id.empty() || !status.ok())) return status;
  also(RemovePodDir(root_, options_.state_directory, uid_));
  return status;
}

}  // namespace plimsoll::cli
