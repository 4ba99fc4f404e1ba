#include "runtime/pod/pod_pid_namespaces.h"

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/monotonic_time.h"
#include "base/programs/kill_timeout.h"
#include "base/status.h"
#include "linux/namespaces/namespaces.h"
#include "linux/process.h"
#include "runtime/cgroups/group_paths.h"
#include "runtime/objects/sandbox_place.h"

namespace plimsoll::runtime {
namespace {

std::vector<std::string> OwnNamespaces(const SandboxPlace& place) {
  // The user namespace first: only its root may enter the others.
  std::vector<std::string> paths = {place.user_namespace, place.network_namespace,
                                    place.ipc_namespace, place.uts_namespace};
  std::erase(paths, "");
  return paths;
}

}  // namespace

absl::StatusOr<HeldPause> PodPidNamespaces::Make(SandboxRecord* record) {
  // The pod's row has been written: a daemon that finds it removes this group too.
  const std::string group = PauseCgroupOf(*record);
  PLIMSOLL_RETURN_IF_ERROR(options_.cgroups->Create(group).status());
  NodeConfinement::ShareNow now = confinement_->Current();
  now.share = confinement_->ShareIn(*record, now.share);
  PLIMSOLL_ASSIGN_OR_RETURN(
      const Confined confined,
      confinement_->ConfineAsked(linux::CgroupSettings(), now, /*is_new=*/true));
  PLIMSOLL_RETURN_IF_ERROR(options_.cgroups->Apply(group, confined.settings));
  const SandboxPlace place = PlaceOf(options_.run, record->id, record->spec);
  PLIMSOLL_ASSIGN_OR_RETURN(const FsRoot directory,
                            options_.run.Sub(absl::StrCat("sandboxes/", record->id)));
  PLIMSOLL_ASSIGN_OR_RETURN(
      HeldPause pause,
      StartPause(options_.host, directory, options_.pause_program, OwnNamespaces(place)));
  groups_->Write([&] { record->pause = pause.id(); });  // the caller's to end from here on
  PLIMSOLL_RETURN_IF_ERROR(linux::PinPidNamespace(directory, pause.id().pid));
  PLIMSOLL_RETURN_IF_ERROR(options_.cgroups->AddProcess(group, pause.id().pid));
  return pause;
}

absl::Status PodPidNamespaces::End(const SandboxRecord& record) const {
  if (record.spec.namespaces.pid != NamespaceMode::kPod || record.cgroup_path.empty()) {
    return absl::OkStatus();
  }
  const absl::Time deadline = MonotonicNow() + kKillTimeout;
  if (record.pause.pid != 0 && record.boot_id == boot_id_) {
    PLIMSOLL_RETURN_IF_ERROR(EndPause(options_.host, record.pause, deadline));
  }
  // An init that was never recorded ends by itself; its group may still be there.
  const std::string group = PauseCgroupOf(record);
  PLIMSOLL_RETURN_IF_ERROR(options_.cgroups->KillAll(group, deadline));
  return options_.cgroups->Remove(group);
}

absl::Status PodPidNamespaces::Watch(const std::shared_ptr<Sandbox>& sandbox) const {
  const SandboxRecord record = sandbox->Snapshot();
  if (record.pause.pid == 0 || record.state != SandboxState::kReady) return absl::OkStatus();
  absl::StatusOr<UniqueFd> pause = linux::OpenProcess(options_.host, record.pause);
  if (absl::IsNotFound(pause.status()) || (pause.ok() && linux::HasExited(*pause))) {
    RecordEnd(*sandbox);
    return absl::OkStatus();
  }
  PLIMSOLL_RETURN_IF_ERROR(pause.status());
  return watcher_->Watch(*std::move(pause), [this, sandbox] { RecordEnd(*sandbox); });
}

// The kernel has killed every process of the namespace by now: the containers' ends are recorded by
// their monitors, and no new one can be made.
void PodPidNamespaces::RecordEnd(Sandbox& sandbox) const {
  absl::MutexLock lock(&sandbox.mutex);
  if (sandbox.stopping || sandbox.record.state != SandboxState::kReady) return;
  sandbox.record.state = SandboxState::kNotReady;
  const absl::Status saved = options_.store->PutSandbox(sandbox.record);
  sandbox.unsaved = !saved.ok();
  options_.events->Warn(sandbox.id, "", saved);
  options_.events->Add(EventType::kWarning, sandbox.id, "",
                       "the init of the pod's PID namespace has ended, and with it all processes "
                       "that were in it; the pod can only be removed");
  // Told under the lock: once it is released, the sandbox may be removed.
  options_.events->Add(EventType::kSandboxStopped, sandbox.record, FullName(sandbox.record.spec));
}

}  // namespace plimsoll::runtime
