// The engine's view of OCI runtime and monitor: one interface for the whole life of a container's
// processes. Everything particular to crun and the monitor is behind it.
#ifndef PLIMSOLL_RUNTIME_OCI_CONTAINER_RUNTIME_H_
#define PLIMSOLL_RUNTIME_OCI_CONTAINER_RUNTIME_H_

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/fs_root.h"
#include "base/unique_fd.h"
#include "cdi/edits.h"
#include "image/image_service.h"
#include "linux/cgroup/cgroup.h"
#include "linux/cgroup/cpu_weight.h"
#include "linux/process.h"
#include "linux/selinux.h"
#include "runtime/oci/exec/descriptor_limit.h"
#include "runtime/oci/exec/request.h"
#include "runtime/oci/exec/running_command.h"
#include "runtime/oci/exec/strays.h"
#include "runtime/spec/container_spec.h"

namespace plimsoll::runtime {

struct HostFeatures;  // runtime/oci/machine.h

// A sandbox's pinned namespaces and generated /etc files.
struct SandboxPlace {
  std::string network_namespace;  // path of the pin; empty: the host's
  std::string ipc_namespace;
  std::string uts_namespace;
  std::string pid_namespace;   // shared by containers of pid mode kPod
  std::string user_namespace;  // the owner of the others
  std::string hostname;
  std::string etc_hosts;  // host paths of files to mount; empty: not mounted
  std::string etc_hostname;
  std::string etc_resolv_conf;
  std::string shm_directory;  // a tmpfs shared by the pod; empty: each container its own
  linux::SelinuxOptions selinux;
};

struct CreateRequest {
  std::string id;
  const ContainerSpec* spec = nullptr;
  const image::ImageConfig* image = nullptr;
  std::string program;  // the OCI runtime that makes it; empty: crun
  // Layers of an image (top first) for the mount of this index in `spec`.
  std::map<size_t, std::vector<std::string>> image_layers;
  cdi::ContainerEdits edits;                   // of its CDI devices
  std::vector<std::string> lower_directories;  // top first
  SandboxPlace sandbox;
  std::string cgroup_path;
  std::string log_path;       // absolute, without symbolic links; empty: no log
  std::string log_directory;  // prefix that log_path must not leave; empty: its directory
  pid_t target_pid = 0;       // init of the target container, for pid mode kTarget
};

struct Created {
  linux::ProcessId monitor;
  linux::ProcessId init;
  int stop_signal = 15;
  ProcessUser user;                   // of init
  std::vector<std::string> warnings;  // things that the machine could not do, and their substitutes
  // The reason why its program can't be executed, if the workload is at fault: nothing is left of
  // it, and `monitor` and `init` are empty. Absent: it was made.
  std::optional<std::string> refusal;
};

struct ExitRecord {
  int code = 0;  // 128 + signal when killed
  int64_t finished_unix_nanos = 0;
  // The reason why its init ended without having executed its program. Absent: the program ran, or
  // init was killed.
  std::optional<std::string> start_error = std::nullopt;
};

struct OciOptions {
  FsRoot host;       // "/"
  FsRoot state;      // writable layers and bundles: <state>/containers/<id>/
  FsRoot run;        // on a private mount point; crun's state, sockets: <run>/oci/
  std::string crun;  // empty: from PATH
  // The other OCI runtimes that a CreateRequest may name. Their features are probed.
  std::set<std::string> programs;
  // Directory of plimsoll-monitor and plimsoll-launch; empty: this program's own, else libexec.
  std::string helpers;
  // "auto", "true", "false": whether oom_score_adj is raised to this process's own where the
  // machine does not let us lower it.
  std::string restrict_oom_score_adj = "auto";
  linux::CgroupManager* cgroups = nullptr;
  // The group for monitors; empty: they stay in this process's own.
  std::string monitor_cgroup;
  // The limit of containers and of commands entering them, at most this process's own; nullopt:
  // that.
  std::optional<DescriptorLimit> descriptor_limit;
  // Whether programs in images that containers mount may run there.
  bool runs_image_volumes = true;
  // Whether containers have the volumes that their image declares (VOLUME).
  bool has_declared_volumes = true;
  // Whether commands enter containers by plimsoll-exec where possible, else all by crun.
  bool enters_directly = true;
};

// Thread-safe for different containers; the engine serialises calls about one container (Exec,
// ReopenLog and ReadExit may run beside others).
class ContainerRuntime {
 public:
  virtual ~ContainerRuntime() = default;

  // NOT_FOUND names a missing program and its package. Probes the machine's limitations.
  static absl::StatusOr<std::unique_ptr<ContainerRuntime>> Create(OciOptions options);

  // The machine's limitations and their cost, one sentence each, for Status.
  virtual std::vector<std::string> Limitations() const = 0;
  virtual std::string runtime_version() const = 0;  // "crun 1.8.1"
  // OK while all programs that Create needs exist. Cheap.
  virtual absl::Status Ready() const { return absl::OkStatus(); }

  // Whether this OCI runtime, one of OciOptions::programs, can make mounts read-only with all
  // mounts below them; empty: our crun.
  virtual bool HasRecursiveReadOnly(const std::string& /*program*/) const { return true; }
  // The formula by which the OCI runtime of this container makes cpu.weight of CPU shares; an empty
  // id: the default one. May run the program: once for each version of it. The linear formula where
  // that fails (Limitations has the reason), and where limits are in cgroup v1.
  virtual linux::CpuWeightFormula WeightFormula(absl::string_view /*id*/) const {
    return linux::CpuWeightFormula::kLinear;
  }
  // Whether a pod may have a user namespace of its own. FAILED_PRECONDITION has the reason.
  virtual absl::Status UserNamespaces() const { return absl::OkStatus(); }
  // Default labels of containers; null: containers are not labelled here.
  virtual const linux::SelinuxLabels* Selinux() const { return nullptr; }
  // The machine by which Create decides: later changes of Create's settings must use the same
  // (fit.h). Valid as long as this. Null: unknown, and everything counts as possible.
  virtual const HostFeatures* machine() const { return nullptr; }

  // Makes bundle, spec and monitor, and runs `create`. OK with a `refusal` for a program or working
  // directory that the container can't have. On failure nothing is left of it: no process, cgroup,
  // file; or the error names the remains, and Delete tries again.
  virtual absl::StatusOr<Created> Create(const CreateRequest& request) = 0;
  virtual absl::Status Start(absl::string_view id) = 0;
  // The exit that the monitor has recorded; nullopt while there is none.
  virtual absl::StatusOr<std::optional<ExitRecord>> ReadExit(absl::string_view id) = 0;
  // Ends and removes all remains of the container: processes, cgroup, crun's state, bundle,
  // writable layer, monitor. OK when there are none.
  virtual absl::Status Delete(absl::string_view id, absl::string_view cgroup_path) = 0;
  // Runs a command. DEADLINE_EXCEEDED after the timeout, CANCELLED when cancelled, with the
  // command's whole process tree killed. (Without a timeout, only processes still below it: one
  // that left with a session of its own is the container's.)
  virtual absl::StatusOr<ExecResult> Exec(absl::string_view id, absl::string_view cgroup_path,
                                          const ExecRequest& request) = 0;
  // Starts a command and leaves its streams to the caller. Returns when it is in the container, or
  // has failed to get there in a way that RunningCommand::Finish reports. ABORTED as Exec; timeout
  // and limit of output don't count.
  virtual absl::StatusOr<std::unique_ptr<RunningCommand>> StartExec(
      absl::string_view /*id*/, absl::string_view /*cgroup_path*/, const ExecRequest& /*request*/) {
    return absl::UnimplementedError("commands can't be streamed");
  }
  // The connection: see Engine::Attach.
  virtual absl::StatusOr<UniqueFd> Attach(absl::string_view /*id*/, bool /*input*/) {
    return absl::UnimplementedError("containers can't be attached to");
  }
  // Processes of the container's Execs under way: their forks go into it.
  virtual std::vector<pid_t> EnteringProcesses(absl::string_view /*id*/) const { return {}; }
  // Ends every Exec under way, and each later one at once: UNAVAILABLE, with the command killed.
  // For a daemon that stops and can't wait for them.
  virtual void CancelExecs() = 0;
  // Makes the monitor close its log file and open the path again.
  virtual absl::Status ReopenLog(absl::string_view id) = 0;
  // Ids that have anything on disk or in crun's state: for finding remains.
  virtual absl::StatusOr<std::vector<std::string>> ListTraces() const = 0;

  // --- for recovery. The first two change nothing.

  // The time of the container's start (Unix nanoseconds), as far as known; nullopt: not started.
  // `init` is its init as Create returned it. An error: it is unknown whether it was started.
  virtual absl::StatusOr<std::optional<int64_t>> StartedAt(absl::string_view,
                                                           const linux::ProcessId&) const {
    return std::nullopt;
  }
  // Commands left by a daemon that is gone. `containers`: all live ones.
  virtual absl::StatusOr<std::vector<StrayExec>> FindStrayExecs(
      const std::vector<ContainerGroup>&) const {
    return std::vector<StrayExec>();
  }
  // Ends the command and all that it started. OK when it has ended.
  virtual absl::Status EndStrayExec(const StrayExec&) { return absl::OkStatus(); }
  // Completes a Start that was cut off before its last step. OK when there is nothing to do.
  virtual absl::Status FinishStart(absl::string_view) { return absl::OkStatus(); }
};

}  // namespace plimsoll::runtime

#endif  // PLIMSOLL_RUNTIME_OCI_CONTAINER_RUNTIME_H_
