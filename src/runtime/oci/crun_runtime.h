// ContainerRuntime with crun, plimsoll-monitor, plimsoll-launch and plimsoll-exec.
#ifndef PLIMSOLL_RUNTIME_OCI_CRUN_RUNTIME_H_
#define PLIMSOLL_RUNTIME_OCI_CRUN_RUNTIME_H_

#include <memory>
#include <string>
#include <vector>

#include "base/monotonic_time.h"
#include "base/programs/kill_timeout.h"
#include "runtime/oci/apparmor.h"
#include "runtime/oci/container_runtime.h"
#include "runtime/oci/cpu_weights.h"
#include "runtime/oci/crun/crun.h"
#include "runtime/oci/crun/other_program.h"
#include "runtime/oci/crun/plan.h"
#include "runtime/oci/exec/command.h"
#include "runtime/oci/exec/direct.h"
#include "runtime/oci/exec/entry.h"
#include "runtime/oci/exec/strays.h"
#include "runtime/oci/image_files.h"
#include "runtime/oci/machine.h"
#include "runtime/oci/seccomp.h"
#include "runtime/oci/spec_builder.h"

namespace plimsoll::runtime {

// Directories:
//   <run>/oci/crun/<id>/         crun's own state
//   <run>/oci/containers/<id>/   bundle: config.json, entry, rootfs (mount point, empty on the
//                                host), the monitor's lock, socket and exit record
//   <state>/containers/<id>/     upper and work of the root filesystem's overlay
class CrunRuntime : public ContainerRuntime {
 public:
  // `options.helpers` must be set. `direct` may be null.
  CrunRuntime(OciOptions options, HostFeatures machine, std::unique_ptr<Crun> crun,
              std::unique_ptr<DirectExec> direct);

  const HostFeatures* machine() const override { return &machine_; }
  std::vector<std::string> Limitations() const override;
  bool HasRecursiveReadOnly(const std::string& program) const override {
    return machine_.HasRecursiveReadOnly(program);
  }
  linux::CpuWeightFormula WeightFormula(absl::string_view id) const override;
  absl::Status UserNamespaces() const override { return machine_.user_namespaces; }
  const linux::SelinuxLabels* Selinux() const override {
    return machine_.selinux.has_value() ? &*machine_.selinux : nullptr;
  }
  std::string runtime_version() const override { return crun_->version(); }
  absl::Status Ready() const override;
  absl::StatusOr<Created> Create(const CreateRequest& request) override;
  absl::Status Start(absl::string_view id) override;
  absl::StatusOr<std::optional<ExitRecord>> ReadExit(absl::string_view id) override;
  absl::Status Delete(absl::string_view id, absl::string_view cgroup_path) override;
  absl::StatusOr<ExecResult> Exec(absl::string_view id, absl::string_view cgroup_path,
                                  const ExecRequest& request) override;
  absl::StatusOr<std::unique_ptr<RunningCommand>> StartExec(absl::string_view id,
                                                            absl::string_view cgroup_path,
                                                            const ExecRequest& request) override;
  absl::StatusOr<UniqueFd> Attach(absl::string_view id, bool input) override;
  std::vector<pid_t> EnteringProcesses(absl::string_view id) const override {
    return entering_.Of(id);
  }
  void CancelExecs() override;
  absl::Status ReopenLog(absl::string_view id) override;
  absl::StatusOr<std::vector<std::string>> ListTraces() const override;
  absl::StatusOr<std::optional<int64_t>> StartedAt(absl::string_view id,
                                                   const linux::ProcessId& init) const override;
  absl::StatusOr<std::vector<StrayExec>> FindStrayExecs(
      const std::vector<ContainerGroup>& containers) const override {
    return FindExecStrays(options_.host, machine_.layout, crun_->state(), containers);
  }
  absl::Status EndStrayExec(const StrayExec& stray) override {
    return EndExecStray(options_.host, machine_.layout, stray, MonotonicNow() + kKillTimeout);
  }
  absl::Status FinishStart(absl::string_view id) override;

 private:
  absl::StatusOr<BuiltSpec> MakeSpec(const CreateRequest& request, const FsRoot& bundle);
  // Takes the spec's volumes.
  PlanWriter MakePlan(const CreateRequest& request, const FsRoot& bundle, BuiltSpec* spec) const;
  // If the launch fails, `created` has the facts known before.
  absl::Status Launch(const CreateRequest& request, Created* created);
  absl::Status SetRootDirectory(const CreateRequest& request, const std::string& upper) const;
  // Makes the writable layer and, for the root of a user namespace, a way to the bundle.
  absl::Status MakeDirectories(const CreateRequest& request, const FsRoot& bundle) const;
  absl::StatusOr<FsRoot> Bundle(absl::string_view id) const;
  // For one Exec; removes from the request settings that the machine forbids.
  absl::StatusOr<ExecTools> ToolsFor(absl::string_view id, ExecRequest* request);
  // Puts a monitor into OciOptions::monitor_cgroup.
  absl::Status PlaceMonitor(pid_t pid) const;
  // Kills every process in the container's group, and the init on crun's record. An empty `cgroup`
  // is filled in from that record.
  absl::Status KillProcesses(absl::string_view id, std::string* cgroup) const;
  // The runtime that made the container; nullopt: crun, or there is no bundle.
  absl::StatusOr<std::optional<OtherProgram>> OtherOf(absl::string_view id) const;
  absl::Status KillOther(const OtherProgram& other, absl::string_view id,
                         std::string* cgroup) const;
  absl::Status DeleteByOther(absl::string_view id) const;

  const OciOptions options_;
  const std::string launcher_;  // paths of the two programs
  const std::string monitor_;
  const HostFeatures machine_;
  const std::unique_ptr<Crun> crun_;
  const std::unique_ptr<DirectExec> direct_;
  const UniqueFd cancel_execs_;  // eventfd: readable for good once written to
  runtime::EnteringProcesses entering_{options_.host};
  SeccompCompiler seccomp_;
  mutable CpuWeights weights_;
  AppArmor apparmor_;
  ImageFiles image_files_;
};

}  // namespace plimsoll::runtime

#endif  // PLIMSOLL_RUNTIME_OCI_CRUN_RUNTIME_H_
