// The engine's view of OCI runtime and monitor: one interface for all that happens to a container's
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
#include "linux/process.h"
#include "linux/selinux.h"
#include "runtime/oci/exec/descriptor_limit.h"
#include "runtime/oci/exec/request.h"
#include "runtime/oci/exec/running_command.h"
#include "runtime/oci/exec/strays.h"
#include "runtime/spec/container_spec.h"

namespace plimsoll::runtime {

struct Machine;  // runtime/oci/machine.h

// Where the pinned namespaces and the generated /etc files of a sandbox are.
struct SandboxPlace {
  std::string network_namespace;  // path of the pin; empty: the host's
  std::string ipc_namespace;
  std::string uts_namespace;
  std::string pid_namespace;   // that containers of pid mode kPod share
  std::string user_namespace;  // that owns the others
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
  // Layers of the image (top first) that the mount of this index in `spec` shows.
  std::map<size_t, std::vector<std::string>> image_layers;
  cdi::ContainerEdits edits;                   // of its CDI devices
  std::vector<std::string> lower_directories;  // top first
  SandboxPlace sandbox;
  std::string cgroup_path;
  std::string log_path;       // absolute; empty: no log
  std::string log_directory;  // what log_path begins with and must not leave; empty: its directory
  pid_t target_pid = 0;       // init of the target container, for pid mode kTarget
};

struct Created {
  linux::ProcessId monitor;
  linux::ProcessId init;
  int stop_signal = 15;
  ProcessUser user;                   // of init
  std::vector<std::string> warnings;  // what the machine could not do and what was done instead
  // What keeps its program from being executed, which is the workload's fault: nothing was left of
  // it, and `monitor` and `init` are none. Absent: it was made.
  std::optional<std::string> refusal;
};

struct ExitRecord {
  int code = 0;  // 128 + signal when killed
  int64_t finished_unix_nanos = 0;
  // Its init ended without having executed its program, and why. Absent: it ran, or was killed.
  std::optional<std::string> start_error = std::nullopt;
};

struct OciOptions {
  FsRoot host;       // "/"
  FsRoot state;      // writable layers and bundles: <state>/containers/<id>/
  FsRoot run;        // on a private mount point; crun's state, sockets: <run>/oci/
  std::string crun;  // empty: from PATH
  // The other OCI runtimes that a CreateRequest may name. They are asked what they can do.
  std::set<std::string> programs;
  // Directory of plimsoll-monitor and plimsoll-launch; empty: this program's own, else libexec.
  std::string helpers;
  // "auto", "true", "false": whether oom_score_adj is raised to this process's own where the
  // machine does not let us lower it.
  std::string restrict_oom_score_adj = "auto";
  linux::CgroupManager* cgroups = nullptr;
  // The group that monitors are put into; empty: they stay in this process's own.
  std::string monitor_cgroup;
  // What containers and what enters them get, at most this process's own; nullopt: that.
  std::optional<DescriptorLimit> descriptor_limit;
  // Whether programs in images that containers mount may run there.
  bool runs_image_volumes = true;
  // Whether commands enter containers by plimsoll-exec where that can do it, else all by crun.
  bool enters_directly = true;
};

// Thread-safe for different containers; the engine serialises calls about one container (Exec,
// ReopenLog and ReadExit may run beside others).
class ContainerRuntime {
 public:
  virtual ~ContainerRuntime() = default;

  // NOT_FOUND names a program that is missing and the package that has it. Probes what the machine
  // cannot do (see Limitations).
  static absl::StatusOr<std::unique_ptr<ContainerRuntime>> Create(OciOptions options);

  // What the machine lacks and what that costs, one sentence each, for Status.
  virtual std::vector<std::string> Limitations() const = 0;
  virtual std::string runtime_version() const = 0;  // "crun 1.8.1"
  // OK while all programs that Create needs are there. Cheap.
  virtual absl::Status Ready() const { return absl::OkStatus(); }

  // Whether mounts can be made read-only with those below them by this OCI runtime, one of
  // OciOptions::programs; empty: our crun.
  virtual bool HasRecursiveReadOnly(const std::string& /*program*/) const { return true; }
  // Whether a pod may have a user namespace of its own. FAILED_PRECONDITION says why not.
  virtual absl::Status UserNamespaces() const { return absl::OkStatus(); }
  // Labels that containers have by default; null: containers are not labelled here.
  virtual const linux::SelinuxLabels* Selinux() const { return nullptr; }
  // The machine as Create goes by it: whoever changes later what Create has written asks the same
  // (fit.h). It stays as long as this. Null: no machine is known, and all is taken to be possible.
  virtual const Machine* machine() const { return nullptr; }

  // Bundle, spec, monitor, `create`. OK with a `refusal` for a program or working directory that
  // can't be had in the container. On failure nothing is left of it: no process, cgroup, file; or
  // the error says what is, and Delete tries again.
  virtual absl::StatusOr<Created> Create(const CreateRequest& request) = 0;
  virtual absl::Status Start(absl::string_view id) = 0;
  // The exit the monitor has recorded; nullopt while there is none.
  virtual absl::StatusOr<std::optional<ExitRecord>> ReadExit(absl::string_view id) = 0;
  // Ends whatever is left of the container and removes all traces: processes, cgroup, crun's state,
  // bundle, writable layer, monitor. OK when there is nothing.
  virtual absl::Status Delete(absl::string_view id, absl::string_view cgroup_path) = 0;
  // DEADLINE_EXCEEDED after the timeout, CANCELLED when cancelled, with the whole tree that the
  // command started killed. (Without a timeout, only what is still below it: a session of its own
  // that it left behind is the container's.)
  virtual absl::StatusOr<ExecResult> Exec(absl::string_view id, absl::string_view cgroup_path,
                                          const ExecRequest& request) = 0;
  // Starts a command and leaves its streams to the caller. Returns when it is in the container, or
  // has failed to get there in a way that RunningCommand::Finish tells. ABORTED as Exec; timeout
  // and limit of output don't count.
  virtual absl::StatusOr<std::unique_ptr<RunningCommand>> StartExec(
      absl::string_view /*id*/, absl::string_view /*cgroup_path*/, const ExecRequest& /*request*/) {
    return absl::UnimplementedError("commands can't be streamed");
  }
  // See Engine::Attach: the connection.
  virtual absl::StatusOr<UniqueFd> Attach(absl::string_view /*id*/, bool /*input*/) {
    return absl::UnimplementedError("containers can't be attached to");
  }
  // Processes of Execs under way for the container: what they fork goes into it.
  virtual std::vector<pid_t> EnteringProcesses(absl::string_view /*id*/) const { return {}; }
  // Ends every Exec under way and each later one at once: UNAVAILABLE, the command killed. For a
  // daemon that stops and can't wait for them.
  virtual void CancelExecs() = 0;
  // The monitor closes its log file and opens the path anew.
  virtual absl::Status ReopenLog(absl::string_view id) = 0;
  // Ids that have anything on disk or in crun's state: for finding leftovers.
  virtual absl::StatusOr<std::vector<std::string>> ListTraces() const = 0;

  // --- for recovery. The first two change nothing.

  // When the container was started (Unix nanoseconds), as far as can be told; nullopt: it was not.
  // `init` is its init as Create gave it. An error: it could not be looked at.
  virtual absl::StatusOr<std::optional<int64_t>> StartedAt(absl::string_view,
                                                           const linux::ProcessId&) const {
    return std::nullopt;
  }
  // `containers`: all that are live.
  virtual absl::StatusOr<std::vector<StrayExec>> FindStrayExecs(
      const std::vector<ContainerGroup>&) const {
    return std::vector<StrayExec>();
  }
  // Ends it with all that it started. OK when it has ended.
  virtual absl::Status EndStrayExec(const StrayExec&) { return absl::OkStatus(); }
  // Makes up for the last step of a Start that was cut off. OK when there is nothing to do.
  virtual absl::Status FinishStart(absl::string_view) { return absl::OkStatus(); }
};

}  // namespace plimsoll::runtime

#endif  // PLIMSOLL_RUNTIME_OCI_CONTAINER_RUNTIME_H_
