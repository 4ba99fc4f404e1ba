#include "agent/pods/life/place_keeper.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "agent/pods/allocation/place_book.h"
#include "agent/pods/life/living_context.h"
#include "agent/pods/life/passing.h"
#include "agent/pods/life/written_amounts.h"
#include "agent/pods/status/pod_subject.h"
#include "pod_runner/cri_requests/to_cri.h"
#include "resources/cpu_set.h"

namespace plimsoll::agent {
namespace {

using CriResources = ::runtime::v1::LinuxContainerResources;

constexpr char kSwapMaxFile[] = "memory.swap.max";
constexpr char kOomType[] = "oom";  // of QoS classes, docs/classes.md

// Two spellings of one list are the same.
bool SameList(const std::string& one, const std::string& other) {
  const auto a = resources::CpuSet::Parse(one), b = resources::CpuSet::Parse(other);
  return a.ok() && b.ok() ? *a == *b : one == other;
}

int64_t SwapIn(const CriResources& resources) {
  const auto it = resources.unified().find(kSwapMaxFile);
  int64_t bytes = -1;
  if (it == resources.unified().end() || !absl::SimpleAtoi(it->second, &bytes)) return -1;
  return bytes;
}

// The swap that applies now; nullopt: neither the runtime nor an earlier update shows it.
std::optional<int64_t> KnownSwap(const ReportedResources& told, const CriResources& sent) {
  if (told.memory_limit_bytes > 0 && told.memory_swap_limit_bytes >= told.memory_limit_bytes) {
    return told.memory_swap_limit_bytes - told.memory_limit_bytes;
  }
  const int64_t bytes = SwapIn(sent);
  return bytes < 0 ? std::nullopt : std::optional(bytes);
}

// The members of `wish` that are not applied yet. A list or score that the runtime doesn't report
// is taken to be as last sent. `page_bytes`: the kernel holds limits in whole pages.
CriResources DifferenceOf(const ReportedResources& told, const CriResources& sent,
                          const CriResources& wish, int64_t page_bytes) {
  CriResources update;
  const std::string& cpus = told.cpus.empty() ? sent.cpuset_cpus() : told.cpus;
  if (!wish.cpuset_cpus().empty() && !SameList(cpus, wish.cpuset_cpus())) {
    update.set_cpuset_cpus(wish.cpuset_cpus());
  }
  const std::string& nodes = told.memory_nodes.empty() ? sent.cpuset_mems() : told.memory_nodes;
  if (!wish.cpuset_mems().empty() && !SameList(nodes, wish.cpuset_mems())) {
    update.set_cpuset_mems(wish.cpuset_mems());
  }
  // Exclusive CPUs came or went. The amount of a quota is a matter of resizes.
  const bool gains = wish.cpu_quota() < 0 && told.cpu_quota_us > 0;
  const bool loses = wish.cpu_quota() > 0 && told.cpu_quota_us < 0;
  if (gains || loses) {
    update.set_cpu_quota(wish.cpu_quota());
    update.set_cpu_period(wish.cpu_period());
  }
  if (told.oom_score_adj != 0 && wish.oom_score_adj() != told.oom_score_adj) {
    update.set_oom_score_adj(wish.oom_score_adj());
  }
  // Nobody changes a limit of 0: it is of no node's amounts.
  const int64_t swap = SwapIn(wish);
  const std::optional<int64_t> known = KnownSwap(told, sent);
  if (swap > 0 && (!known || *known / page_bytes != swap / page_bytes)) {
    (*update.mutable_unified())[kSwapMaxFile] = wish.unified().at(kSwapMaxFile);
  }
  return update;
}

// The runtime keeps a class's score, and an update of it for the time after the class.
bool HasOomClass(const ObservedContainer& run) {
  return run.classes.has_value() && run.classes->contains(kOomType);
}

bool IsNothing(const CriResources& update) {
  return update.ByteSizeLong() == 0;
}

std::string WordsOf(const CriResources& update) {
  std::vector<std::string> words;
  const auto add = [&](absl::string_view name, const std::string& value) {
    if (!value.empty()) words.push_back(absl::StrCat(name, " ", value));
  };
  add("CPUs", update.cpuset_cpus());
  add("memory nodes", update.cpuset_mems());
  add("CPU quota", update.cpu_quota() == 0 ? "" : absl::StrCat(update.cpu_quota()));
  add("oom_score_adj", update.oom_score_adj() == 0 ? "" : absl::StrCat(update.oom_score_adj()));
  for (const auto& [file, value] : update.unified()) add(file, value);
  return absl::StrJoin(words, ", ");
}

void TellOfOomScores(const PodHost& host) {
  if (host.noted_no_oom_updates->exchange(true)) return;
  host.events.Add(
      {.kind = "Node", .key = {"", host.node.name}, .uid = host.node.name, .container = ""},
      "Normal", "NoOOMScoreUpdates",
      "the runtime doesn't change oom_score_adj of running containers: they keep that of the "
      "memory that the node had when they started");
}

}  // namespace

bool PlaceKeeper::IsDue(const PodHost& host, absl::Duration& next) {
  if (host.places == nullptr || !host.places->Confines()) return false;
  const absl::Time now = host.clock.Now();
  const bool is_due = now >= due_;
  if (is_due) due_ = now + host.place_period;
  next = due_ - now;
  return is_due;
}

PlaceKeeper::Outcome PlaceKeeper::Keep(const PodHost& host, const PodRecord& record,
                                       const pod::Manifest& pod, const ObservedPod& observed) {
  Outcome outcome;
  std::erase_if(sent_, [&](const auto& each) {
    const bool is_gone =
        std::none_of(observed.containers.begin(), observed.containers.end(),
                     [&](const ObservedContainer& run) { return run.id == each.first; });
    if (is_gone) back_off_.Forget(each.first);
    return is_gone;
  });
  if (host.places == nullptr) return outcome;
  pod::PodContext context;
  absl::Status status = AddLiving(host, record, pod, context);
  for (const ObservedContainer& run : observed.containers) {
    if (!status.ok() || run.state != ObservedState::kRunning) continue;
    for (size_t i = 0; i < pod.containers.size(); ++i) {
      if (pod.containers[i].name != run.name) continue;
      const absl::StatusOr<Resources> wish = pod::LimitsToCri(pod, i, context);
      if (!wish.ok()) continue;  // the start of the container told of it
      outcome.pause =
          std::min(outcome.pause, KeepOne({host, record, pod}, run, *wish, outcome.changed));
    }
  }
  // Managers that aren't known yet wake the pod once they are.
  if (!status.ok() && !IsPassing(status)) outcome.pause = kSoon;
  return outcome;
}

absl::Duration PlaceKeeper::KeepOne(const LivingPod& pod, const ObservedContainer& run,
                                    const Resources& wish, std::set<std::string>& changed) {
  const auto& [host, record, manifest] = pod;
  Sent& sent = sent_[run.id];
  if (sent.has_no_call) return absl::InfiniteDuration();
  const ReportedResources told = run.resources.value_or(ReportedResources());
  Resources update = DifferenceOf(told, sent.all, wish, pod.host.page_bytes);
  if (HasOomClass(run)) update.clear_oom_score_adj();
  // A resize under way brings these itself.
  if (!record.actuated.is_null()) {
    update.set_cpu_quota(0);
    update.set_cpu_period(0);
    update.clear_oom_score_adj();
    update.clear_unified();
  }
  if (IsNothing(update)) {
    sent.last.clear();
    sent.failed.clear();
    back_off_.Forget(run.id);
    return absl::InfiniteDuration();
  }
  if (update.SerializeAsString() != sent.last) return Send(pod, run, update, changed);
  // One that is lowered may be clipped: the runtime lacks the right, and has said so.
  if (update.oom_score_adj() > told.oom_score_adj) TellOfOomScores(host);
  update.clear_oom_score_adj();
  if (IsNothing(update)) return absl::InfiniteDuration();
  return Fail(host, record, run, update, "the runtime took them and reports others");
}

absl::Duration PlaceKeeper::Send(const LivingPod& pod, const ObservedContainer& run,
                                 const Resources& update, std::set<std::string>& changed) {
  const auto& [host, record, manifest] = pod;
  Sent& sent = sent_[run.id];
  const absl::Time now = host.clock.Now();
  const std::string text = update.SerializeAsString();
  if (sent.failed == text && sent.retry_at > now) return sent.retry_at - now;
  ::runtime::v1::UpdateContainerResourcesRequest request;
  request.set_container_id(run.id);
  *request.mutable_linux() = update;
  if (host.passes_resources_down) AddWritten(record, manifest, run, request);
  const absl::Status status = host.client.updates().Container(request);
  if (IsPassing(status)) return kSoon;
  if (absl::IsUnimplemented(status)) {
    sent.has_no_call = true;
    TellOfNoCall(host, record, run, update);
    return absl::InfiniteDuration();
  }
  // It ended meanwhile.
  if (absl::IsNotFound(status)) return absl::InfiniteDuration();
  if (!status.ok()) return Fail(host, record, run, update, status.message());
  sent.all.MergeFrom(update);
  sent.last = text;
  changed.insert(run.id);
  return absl::InfiniteDuration();
}

void PlaceKeeper::TellOfNoCall(const PodHost& host, const PodRecord& record,
                               const ObservedContainer& run, const Resources& update) {
  if (std::exchange(has_told_of_no_call_, true)) return;
  const std::string fault = absl::StrCat(
      "the runtime has no UpdateContainerResources: running containers stay as they are, and ",
      "container ", run.name, " doesn't get ", WordsOf(update),
      "; its next start does, or a runtime with that call");
  host.events.Add(SubjectOf(record), "Warning", "NoResourceUpdates", fault);
  if (host.note) {
    host.note(absl::StrCat(PodName(record.key), ": ", fault));
  }
}

absl::Duration PlaceKeeper::Fail(const PodHost& host, const PodRecord& record,
                                 const ObservedContainer& run, const Resources& update,
                                 absl::string_view why) {
  host.events.Add(
      SubjectOf(record, run.name), "Warning", "FailedUpdateResources",
      absl::StrCat("Container ", run.name, " can't be moved to ", WordsOf(update), ": ", why));
  const absl::Time now = host.clock.Now();
  back_off_.OnAttempt(run.id, now);
  Sent& sent = sent_[run.id];
  sent.failed = update.SerializeAsString();
  sent.retry_at = back_off_.NotBefore(run.id, now);
  sent.last.clear();
  return sent.retry_at - now;
}

}  // namespace plimsoll::agent
