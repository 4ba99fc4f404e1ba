#include "bench/endpoint.h"

#include <mutex>
#include <set>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "absl/time/clock.h"
#include "base/status.h"
#include "bench/at_once.h"
#include "bench/process.h"

namespace plimsoll::bench {
namespace {

constexpr cri::SecurityProfile::ProfileType kSeccomp = cri::SecurityProfile::Unconfined;
constexpr absl::Duration kSettle = absl::Seconds(1);

// Names in /proc/<pid>/comm, cut at 15 bytes.
const std::set<std::string>& MonitorNames() {
  static const std::set<std::string> names = {"plimsoll-monito", "conmon", "containerd-shim"};
  return names;
}

}  // namespace

std::string Endpoint::NextName() {
  return absl::StrCat("bench-", ++number_);
}

absl::Status Endpoint::Idle() {
  PLIMSOLL_ASSIGN_OR_RETURN(figures_.memory.daemon_idle_kib, DaemonResidentKib());
  return absl::OkStatus();
}

absl::Status Endpoint::OnePod(
    const std::function<absl::Status(const std::string& container)>& running) {
  absl::Duration sandbox, create, start, exec, stop, remove, remove_sandbox;
  PLIMSOLL_ASSIGN_OR_RETURN(const Sandbox pod, client_->RunSandbox(NextName(), &sandbox));
  const auto life = [&]() -> absl::Status {
    PLIMSOLL_ASSIGN_OR_RETURN(
        const std::string container,
        client_->Create(pod, "main", {"/bin/sleep", "3600"}, kSeccomp, &create));
    PLIMSOLL_RETURN_IF_ERROR(client_->Start(container, &start));
    PLIMSOLL_RETURN_IF_ERROR(running(container));
    PLIMSOLL_RETURN_IF_ERROR(client_->Exec(container, {"/bin/true"}, &exec));
    PLIMSOLL_RETURN_IF_ERROR(client_->StopContainer(container, &stop));
    return client_->RemoveContainer(container, &remove);
  };
  const absl::Status lived = life();
  PLIMSOLL_RETURN_IF_ERROR(FirstError(lived, client_->RemoveSandbox(pod.id, &remove_sandbox)));
  figures_.sandbox.Add(sandbox);
  figures_.create.Add(create);
  figures_.start.Add(start);
  figures_.exec.Add(exec);
  figures_.stop.Add(stop);
  figures_.remove.Add(remove);
  figures_.remove_sandbox.Add(remove_sandbox);
  figures_.pod.Add(sandbox + create + start);
  return absl::OkStatus();
}

absl::StatusOr<Sandbox> Endpoint::StartPod(const std::string& name, absl::Duration* took) {
  PLIMSOLL_ASSIGN_OR_RETURN(const Sandbox pod, client_->RunSandbox(name, took));
  const auto fill = [&]() -> absl::Status {
    PLIMSOLL_ASSIGN_OR_RETURN(const std::string container,
                              client_->Create(pod, "main", {"/bin/sleep", "3600"}, kSeccomp, took));
    return client_->Start(container, took);
  };
  const absl::Status filled = fill();
  if (filled.ok()) return pod;
  absl::Duration ignored;
  return FirstError(filled, client_->RemoveSandbox(pod.id, &ignored));
}

absl::Status Endpoint::InParallel(const Workload& workload) {
  std::vector<std::string> names;
  for (int i = 0; i < workload.pods; ++i) names.push_back(NextName());
  std::mutex mutex;
  std::vector<Sandbox> started;
  const auto start = [&](size_t i) -> absl::Status {
    absl::Duration took;
    PLIMSOLL_ASSIGN_OR_RETURN(Sandbox pod, StartPod(names[i], &took));
    const std::lock_guard<std::mutex> lock(mutex);
    started.push_back(std::move(pod));
    return absl::OkStatus();
  };
  const auto rate = DoAtOnce(host_, workload.pods, workload.parallel, start);
  absl::Status failure = rate.status();
  for (const Sandbox& pod : started) {
    absl::Duration ignored;
    failure = FirstError(failure, client_->RemoveSandbox(pod.id, &ignored));
  }
  PLIMSOLL_RETURN_IF_ERROR(failure);
  figures_.pods_per_second = rate->per_second;
  figures_.cpu_milliseconds_per_pod = rate->cpu_milliseconds;
  return absl::OkStatus();
}

std::map<pid_t, int64_t> Endpoint::MonitorPss() const {
  std::map<pid_t, int64_t> found;
  for (const std::string& name : host_.List("proc").value_or(std::vector<std::string>())) {
    pid_t pid = 0;
    if (!absl::SimpleAtoi(name, &pid)) continue;
    const std::string comm = host_.Read(absl::StrCat("proc/", name, "/comm")).value_or("");
    if (!MonitorNames().contains(std::string(absl::StripSuffix(comm, "\n")))) continue;
    const auto pss = ReadNumber(host_, absl::StrCat("proc/", name, "/smaps_rollup"), "Pss:");
    if (pss.ok()) found[pid] = *pss;
  }
  return found;
}

absl::StatusOr<int64_t> Endpoint::DaemonResidentKib() const {
  return ReadNumber(host_, absl::StrCat("proc/", daemon_, "/status"), "VmRSS:");
}

absl::Status Endpoint::MeasureList(ListCall call, int calls, int expected, Series* series) {
  for (int i = 0; i < calls; ++i) {
    absl::Duration took;
    PLIMSOLL_ASSIGN_OR_RETURN(const int listed, (client_->*call)(&took));
    if (listed < expected) {
      return absl::InternalError(
          absl::StrCat(series->name, ": the list has ", listed, " entries instead of ", expected));
    }
    series->Add(took);
  }
  return absl::OkStatus();
}

absl::Status Endpoint::MeasureLists(const Workload& workload) {
  const int calls = workload.lists;
  const int pods = workload.resident;
  PLIMSOLL_RETURN_IF_ERROR(MeasureList(&CriClient::List, calls, pods, &figures_.list_short));
  PLIMSOLL_RETURN_IF_ERROR(
      MeasureList(&CriClient::ListSandboxes, calls, pods, &figures_.list_pods));
  // The first call is an exception: it has no rates yet, and reads what later ones already know.
  absl::Duration ignored;
  client_->ListContainerStats(&ignored).IgnoreError();
  PLIMSOLL_RETURN_IF_ERROR(
      MeasureList(&CriClient::ListContainerStats, calls, pods, &figures_.list_stats));
  return MeasureList(&CriClient::ListSandboxStats, calls, pods, &figures_.list_pod_stats);
}

// Adds containers that have run and stay as exited ones.
absl::Status Endpoint::FillList(const std::vector<Sandbox>& sandboxes, const Workload& workload) {
  const int more = workload.listed - static_cast<int>(sandboxes.size());
  for (int i = 0; i < more; ++i) {
    absl::Duration ignored;
    const Sandbox& pod = sandboxes[static_cast<size_t>(i) % sandboxes.size()];
    PLIMSOLL_ASSIGN_OR_RETURN(
        const std::string container,
        client_->Create(pod, absl::StrCat("done-", i), {"/bin/true"}, kSeccomp, &ignored));
    PLIMSOLL_RETURN_IF_ERROR(client_->Start(container, &ignored));
  }
  PLIMSOLL_RETURN_IF_ERROR(
      MeasureList(&CriClient::List, workload.lists, workload.listed, &figures_.list_long));
  const auto pods = static_cast<int>(sandboxes.size());
  return MeasureList(&CriClient::ListSandboxes, workload.lists, pods, &figures_.list_pods_long);
}

absl::Status Endpoint::Resident(const Workload& workload) {
  const std::map<pid_t, int64_t> others = MonitorPss();
  PLIMSOLL_ASSIGN_OR_RETURN(const int64_t available,
                            ReadNumber(host_, "proc/meminfo", "MemAvailable:"));
  std::vector<Sandbox> pods;
  const auto measure = [&]() -> absl::Status {
    for (int i = 0; i < workload.resident; ++i) {
      absl::Duration ignored;
      PLIMSOLL_ASSIGN_OR_RETURN(Sandbox pod, StartPod(NextName(), &ignored));
      pods.push_back(std::move(pod));
    }
    absl::SleepFor(kSettle);
    PLIMSOLL_ASSIGN_OR_RETURN(const int64_t now,
                              ReadNumber(host_, "proc/meminfo", "MemAvailable:"));
    figures_.memory.available_fall_kib = available - now;
    PLIMSOLL_ASSIGN_OR_RETURN(figures_.memory.daemon_resident_kib, DaemonResidentKib());
    for (const auto& [pid, pss] : MonitorPss()) {
      if (others.contains(pid)) continue;
      ++figures_.memory.monitors;
      figures_.memory.monitors_kib += pss;
    }
    PLIMSOLL_RETURN_IF_ERROR(MeasureLists(workload));
    return workload.listed > workload.resident ? FillList(pods, workload) : absl::OkStatus();
  };
  absl::Status status = measure();
  for (const Sandbox& pod : pods) {
    absl::Duration ignored;
    status = FirstError(status, client_->RemoveSandbox(pod.id, &ignored));
  }
  return status;
}

}  // namespace plimsoll::bench
