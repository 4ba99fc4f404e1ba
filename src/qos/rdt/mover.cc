#include "qos/rdt/mover.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <set>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "base/status.h"
#include "linux/process.h"

namespace plimsoll::qos {
namespace {

constexpr int kRounds = 20;  // searches for missed threads
constexpr absl::Duration kBetweenRounds = absl::Milliseconds(1);

// The tasks of sorted `all` that are not in sorted `known`.
std::vector<pid_t> Without(const std::vector<pid_t>& all, const std::vector<pid_t>& known) {
  std::vector<pid_t> rest;
  std::set_difference(all.begin(), all.end(), known.begin(), known.end(), std::back_inserter(rest));
  return rest;
}

void Merge(const std::vector<pid_t>& more, std::vector<pid_t>& sorted) {
  sorted.insert(sorted.end(), more.begin(), more.end());
  std::sort(sorted.begin(), sorted.end());
  sorted.erase(std::unique(sorted.begin(), sorted.end()), sorted.end());
}

}  // namespace

absl::StatusOr<std::vector<pid_t>> RdtMover::ThreadsOf(const Target& target) const {
  auto threads = cgroups_.Threads(target.cgroup_path);
  if (absl::IsNotFound(threads.status())) return std::vector<pid_t>();
  return threads;
}

// A thread that has ended is in no list of tasks any more, but in /proc until its parent reaps it.
bool RdtMover::IsAlive(pid_t thread) const {
  const auto entry = linux::ReadProcess(host_, thread);
  return entry.ok() ? !entry->zombie : !absl::IsNotFound(entry.status());
}

// All threads of programs about to enter and of their forks. These processes are few, so no scan of
// all of /proc.
std::vector<pid_t> RdtMover::EnteringThreads(const Target& target) const {
  std::vector<pid_t> threads;
  if (!target.entering) return threads;
  std::vector<pid_t> processes = target.entering();
  std::set<pid_t> seen(processes.begin(), processes.end());
  while (!processes.empty()) {
    const std::string task = absl::StrCat("proc/", processes.back(), "/task");
    processes.pop_back();
    const auto names = host_.List(task);
    if (!names.ok()) continue;  // it ended
    for (const std::string& name : *names) {
      pid_t thread = 0;
      if (!absl::SimpleAtoi(name, &thread)) continue;
      threads.push_back(thread);
      const auto children = host_.Read(absl::StrCat(task, "/", name, "/children"));
      if (!children.ok()) continue;
      for (const absl::string_view child : absl::StrSplit(*children, ' ', absl::SkipEmpty())) {
        pid_t process = 0;
        if (absl::SimpleAtoi(child, &process) && seen.insert(process).second) {
          processes.push_back(process);
        }
      }
    }
  }
  std::sort(threads.begin(), threads.end());
  return threads;
}

absl::Status RdtMover::Add(const std::vector<pid_t>& threads, const RdtPlace& to,
                           RdtMove& move) const {
  std::vector<pid_t> moved;
  moved.reserve(threads.size());
  absl::Status status;
  for (const pid_t thread : threads) {
    status = to.control->Add(thread);
    if (absl::IsNotFound(status)) continue;  // it ended, or has not begun yet
    if (!status.ok()) break;
    moved.push_back(thread);
  }
  Merge(moved, move.threads);
  if (absl::IsNotFound(status)) status = absl::OkStatus();
  PLIMSOLL_RETURN_IF_ERROR(status);
  if (to.monitor == nullptr) return absl::OkStatus();
  for (const pid_t thread : moved) {
    const absl::Status monitored = to.monitor->Add(thread);
    if (!monitored.ok() && !absl::IsNotFound(monitored)) {
      move.monitor_trouble = std::string(monitored.message());
    }
  }
  return absl::OkStatus();
}

absl::Status RdtMover::MoveMissed(const Target& target, const RdtPlace& to, RdtMove& move) const {
  for (int round = 0; round < kRounds; ++round) {
    PLIMSOLL_ASSIGN_OR_RETURN(std::vector<pid_t> threads, ThreadsOf(target));
    Merge(EnteringThreads(target), threads);
    PLIMSOLL_ASSIGN_OR_RETURN(const std::vector<pid_t> inside, resctrl_.Threads(to.control_path));
    std::vector<pid_t> outside = Without(threads, inside);
    outside.erase(std::remove_if(outside.begin(), outside.end(),
                                 [this](pid_t thread) { return !IsAlive(thread); }),
                  outside.end());
    if (outside.empty()) return absl::OkStatus();
    const size_t before = move.threads.size();
    PLIMSOLL_RETURN_IF_ERROR(Add(outside, to, move));
    // Resctrl doesn't know them yet: they are in the middle of fork.
    if (move.threads.size() == before) absl::SleepFor(kBetweenRounds);
  }
  return absl::OkStatus();  // later looks move the rest
}

absl::StatusOr<RdtMove> RdtMover::Move(const Target& target, const RdtPlace& to,
                                       const RdtPlace& back, bool first) {
  std::optional<ContainerFreezer::Stop> stop;
  if (!first) stop.emplace(&freezer_, target.cgroup_path);
  const bool frozen = stop && stop->is_still();
  RdtMove move;
  absl::StatusOr<std::vector<pid_t>> threads = ThreadsOf(target);
  absl::Status status = threads.status();
  if (status.ok()) {
    const std::vector<pid_t> entering = EnteringThreads(target);
    Merge(entering, *threads);
    status = Add(*threads, to, move);
    move.certain = frozen && entering.empty();
  }
  if (status.ok() && !move.certain && !(first && threads->size() <= 1)) {
    status = MoveMissed(target, to, move);
  }
  if (status.ok()) return move;
  RdtMove undone;
  absl::Status returned = Add(move.threads, back, undone);
  if (!frozen && returned.ok()) returned = Again(target, back);
  return returned.ok() ? status
                       : AlsoSay(status, absl::StrCat("and not all threads could be put back: ",
                                                      returned.message()));
}

absl::Status RdtMover::Again(const Target& target, const RdtPlace& to) const {
  PLIMSOLL_ASSIGN_OR_RETURN(std::vector<pid_t> threads, ThreadsOf(target));
  Merge(EnteringThreads(target), threads);
  if (to.monitor != nullptr) {
    // The monitoring group takes only threads that are in the class; those are done with that.
    // (Writing all to the class first would take each out of its monitoring group for a moment.)
    const auto in_place = [&](pid_t thread) { return to.monitor->Add(thread).ok(); };
    threads.erase(std::remove_if(threads.begin(), threads.end(), in_place), threads.end());
  }
  RdtMove move;
  return Add(threads, to, move);
}

absl::Status RdtMover::Monitor(const Target& target, const RdtPlace& to) const {
  if (to.monitor == nullptr) return absl::OkStatus();
  PLIMSOLL_ASSIGN_OR_RETURN(const std::vector<pid_t> threads, ThreadsOf(target));
  // A thread of another class is refused: drift, to be reported, not repaired here.
  for (const pid_t thread : threads) to.monitor->Add(thread).IgnoreError();
  return absl::OkStatus();
}

}  // namespace plimsoll::qos
