#include "agent/probes/probe_table.h"

#include <algorithm>
#include <chrono>
#include <functional>
#include <utility>

namespace plimsoll::agent {
namespace {

using Role = resources::ContainerRequirements::Role;
using Result = ProbeOutcome::Result;

constexpr size_t IndexOf(ProbeKind kind) {
  return static_cast<size_t>(kind);
}

const std::optional<pod::Probe>& ProbeOf(const pod::ContainerManifest& container, ProbeKind kind) {
  switch (kind) {
    case ProbeKind::kStartup:
      return container.startup;
    case ProbeKind::kLiveness:
      return container.liveness;
    case ProbeKind::kReadiness:
      break;
  }
  return container.readiness;
}

// The probes of containers that an agent finds at its start would else all run at the same moments.
constexpr absl::Duration kLongSince = absl::Seconds(10);
constexpr size_t kSpreadMilliseconds = 1000;

std::chrono::milliseconds SpreadOf(const ProbedContainer& container) {
  if (container.age < kLongSince) return std::chrono::milliseconds(0);
  return std::chrono::milliseconds(std::hash<std::string>()(container.id) % kSpreadMilliseconds);
}

SteadyTime Later(SteadyTime time, int64_t seconds) {
  return time + std::chrono::seconds(seconds);
}

void CountOutcome(Result result, ProbeCount& count) {
  if (result == Result::kUnknown) {
    ++count.unknown;
  } else {
    ++(result == Result::kFailure ? count.failed : count.successful);
  }
}

}  // namespace

ProbeTable::Pod ProbeTable::NewPod(const ProbedPod& pod, const pod::Manifest& manifest) {
  Pod made{.pod_namespace = pod.pod_namespace,
           .name = pod.name,
           .address = "",
           .is_ending = false,
           .containers = {}};
  for (const pod::ContainerManifest& each : manifest.containers) {
    if (each.role == Role::kInit) continue;
    Container container;
    bool has_probe = false;
    for (const ProbeKind kind :
         {ProbeKind::kStartup, ProbeKind::kLiveness, ProbeKind::kReadiness}) {
      const std::optional<pod::Probe>& probe = ProbeOf(each, kind);
      if (!probe) continue;
      has_probe = true;
      Entry& entry = container.entries[IndexOf(kind)].emplace(Entry{});
      entry.probe = std::make_shared<const pod::Probe>(*probe);
      entry.count = {.uid = pod.uid,
                     .pod_namespace = pod.pod_namespace,
                     .pod = pod.name,
                     .container = each.name,
                     .kind = kind};
    }
    if (has_probe) made.containers.emplace(each.name, std::move(container));
  }
  return made;
}

void ProbeTable::Reset(Entry& entry) {
  if (entry.given_up != nullptr) *entry.given_up = true;
  entry.given_up = std::make_shared<std::atomic<bool>>(false);
  entry.due = kNever;
  entry.is_running = false;
  entry.result.reset();
  entry.run = 0;
}

void ProbeTable::Begin(Container& container, const ProbedContainer* running, SteadyTime now) {
  for (std::optional<Entry>& each : container.entries) {
    if (each) Reset(*each);
  }
  container.id = running == nullptr ? "" : running->id;
  if (running == nullptr) return;
  container.start = now - absl::ToChronoNanoseconds(std::max(running->age, absl::ZeroDuration()));
  container.earliest = now + SpreadOf(*running);
  std::optional<Entry>& startup = container.entries[IndexOf(ProbeKind::kStartup)];
  if (startup && running->started) startup->result = true;
}

bool ProbeTable::HasStarted(const Container& container) {
  const std::optional<Entry>& startup = container.entries[IndexOf(ProbeKind::kStartup)];
  return !startup || startup->result == true;
}

void ProbeTable::Arm(Container& container, bool is_ending, SteadyTime now) {
  const bool has_started = HasStarted(container);
  for (const ProbeKind kind : {ProbeKind::kStartup, ProbeKind::kLiveness, ProbeKind::kReadiness}) {
    std::optional<Entry>& entry = container.entries[IndexOf(kind)];
    if (!entry) continue;
    const bool is_readiness = kind == ProbeKind::kReadiness;
    // A container that has failed for good is probed again in its next run.
    const bool is_over = !is_readiness && (is_ending || entry->result == false);
    const bool is_its_turn = (kind == ProbeKind::kStartup) != has_started;
    if (is_over || !is_its_turn || container.id.empty()) {
      entry->due = kNever;
    } else if (entry->due == kNever && !entry->is_running) {
      entry->due = std::max(
          {now, container.earliest, Later(container.start, entry->probe->initial_delay_s)});
    }
  }
}

ContainerHealth ProbeTable::HealthOf(const Container& container) {
  ContainerHealth health;
  health.started = HasStarted(container);
  const std::optional<Entry>& readiness = container.entries[IndexOf(ProbeKind::kReadiness)];
  health.ready = health.started && (!readiness || readiness->result == true);
  for (const ProbeKind kind : {ProbeKind::kStartup, ProbeKind::kLiveness}) {
    const std::optional<Entry>& entry = container.entries[IndexOf(kind)];
    if (!entry || entry->result != false) continue;
    health.failed = FailedProbe{.kind = kind, .grace_period_s = entry->probe->grace_period_s};
  }
  return health;
}

std::map<std::string, ContainerHealth> ProbeTable::Sync(const ProbedPod& pod,
                                                        const pod::Manifest& manifest,
                                                        SteadyTime now) {
  const auto [it, is_new] = pods_.try_emplace(pod.uid);
  Pod& kept = it->second;
  if (is_new) kept = NewPod(pod, manifest);
  kept.address = pod.address;
  kept.is_ending = pod.is_ending;
  std::map<std::string, ContainerHealth> health;
  for (const ProbedContainer& each : pod.running) health[each.id];
  for (auto& [name, container] : kept.containers) {
    const auto running =
        std::find_if(pod.running.begin(), pod.running.end(),
                     [&name = name](const ProbedContainer& each) { return each.name == name; });
    const ProbedContainer* const present = running == pod.running.end() ? nullptr : &*running;
    if (container.id != (present == nullptr ? "" : present->id)) Begin(container, present, now);
    Arm(container, kept.is_ending, now);
    if (present != nullptr) health[present->id] = HealthOf(container);
  }
  return health;
}

void ProbeTable::Forget(const std::string& uid) {
  const auto it = pods_.find(uid);
  if (it == pods_.end()) return;
  for (auto& [name, container] : it->second.containers) {
    for (std::optional<Entry>& each : container.entries) {
      if (each) Reset(*each);
    }
  }
  pods_.erase(it);
}

std::vector<ProbeJob> ProbeTable::TakeDue(SteadyTime now) {
  std::vector<ProbeJob> jobs;
  for (auto& [uid, pod] : pods_) {
    for (auto& [name, container] : pod.containers) {
      for (std::optional<Entry>& entry : container.entries) {
        if (!entry || entry->is_running || entry->due > now) continue;
        entry->is_running = true;
        // Without drift; a period that a slow probe missed is made up by Finish, once.
        entry->due = Later(entry->due, entry->probe->period_s);
        jobs.push_back({.uid = uid,
                        .pod_namespace = pod.pod_namespace,
                        .pod = pod.name,
                        .container = name,
                        .container_id = container.id,
                        .address = pod.address,
                        .kind = entry->count.kind,
                        .probe = entry->probe,
                        .given_up = entry->given_up});
      }
    }
  }
  return jobs;
}

SteadyTime ProbeTable::NextDue() const {
  SteadyTime next = kNever;
  for (const auto& [uid, pod] : pods_) {
    for (const auto& [name, container] : pod.containers) {
      for (const std::optional<Entry>& entry : container.entries) {
        if (entry && !entry->is_running) next = std::min(next, entry->due);
      }
    }
  }
  return next;
}

ProbeTable::Entry* ProbeTable::Find(const ProbeJob& job) {
  const auto pod = pods_.find(job.uid);
  if (pod == pods_.end()) return nullptr;
  const auto container = pod->second.containers.find(job.container);
  if (container == pod->second.containers.end()) return nullptr;
  std::optional<Entry>& entry = container->second.entries[IndexOf(job.kind)];
  return entry && entry->given_up == job.given_up && entry->is_running ? &*entry : nullptr;
}

ProbeTable::News ProbeTable::Finish(const ProbeJob& job, const ProbeOutcome& outcome,
                                    SteadyTime now) {
  Entry* const entry = Find(job);
  if (entry == nullptr) return {};
  entry->is_running = false;
  if (entry->due != kNever) entry->due = std::max(entry->due, now);
  CountOutcome(outcome.result, entry->count);
  Pod& pod = pods_.at(job.uid);
  Container& container = pod.containers.at(job.container);
  News news{.counts = true, .changed = false};
  if (outcome.result != Result::kUnknown) {
    const bool success = outcome.result != Result::kFailure;
    entry->run = entry->run > 0 && entry->last == success ? entry->run + 1 : 1;
    entry->last = success;
    const pod::Probe& probe = *entry->probe;
    const bool is_enough =
        entry->run >= (success ? probe.success_threshold : probe.failure_threshold);
    if (is_enough && entry->result != success) {
      // A liveness probe's success is no news: the container was taken to live.
      const bool is_news = job.kind != ProbeKind::kLiveness || !success;
      // Nor is a readiness probe's first failure: the container wasn't ready.
      const bool was_ready = entry->result.has_value();
      news.changed = is_news && (success || was_ready || job.kind != ProbeKind::kReadiness);
      entry->result = success;
    }
  }
  Arm(container, pod.is_ending, now);
  return news;
}

void ProbeTable::Postpone(const ProbeJob& job, SteadyTime until) {
  Entry* const entry = Find(job);
  if (entry == nullptr) return;
  entry->is_running = false;
  if (entry->due != kNever) entry->due = until;
}

std::vector<ProbeCount> ProbeTable::Counts() const {
  std::vector<ProbeCount> counts;
  for (const auto& [uid, pod] : pods_) {
    for (const auto& [name, container] : pod.containers) {
      for (const std::optional<Entry>& entry : container.entries) {
        if (entry) counts.push_back(entry->count);
      }
    }
  }
  return counts;
}

}  // namespace plimsoll::agent
