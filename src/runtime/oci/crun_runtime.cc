#include "runtime/oci/crun_runtime.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <set>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/directory_attributes.h"
#include "base/monotonic_time.h"
#include "base/programs/own_program.h"
#include "base/programs/subprocess.h"
#include "base/status.h"
#include "image/manifest.h"
#include "linux/namespaces/id_mapping.h"
#include "linux/namespaces/mounts.h"
#include "linux/process.h"
#include "runtime/oci/byte_variables.h"
#include "runtime/oci/create_failure.h"
#include "runtime/oci/exec/run.h"
#include "runtime/oci/exec/stream.h"
#include "runtime/oci/late_hooks.h"
#include "runtime/oci/monitor.h"
#include "runtime/oci/mount_source.h"
#include "runtime/oci/process_settings.h"
#include "runtime/oci/program_features.h"
#include "runtime/oci/selinux_labels.h"
#include "runtime/oci/shared_settings.h"

namespace plimsoll::runtime {
namespace {

// A monitor whose container is dead ends in a millisecond or two.
constexpr absl::Duration kMonitorGrace = absl::Seconds(2);
constexpr char kMonitor[] = "plimsoll-monitor";
constexpr char kLauncher[] = "plimsoll-launch";
constexpr char kEntry[] = "plimsoll-exec";
constexpr char kCgroupMount[] = "sys/fs/cgroup";
constexpr char kStage[] = "stage";      // in the bundle
constexpr char kProgram[] = "program";  // in the bundle: CreateRequest::program, if there is one

// An id becomes a file name in three places.
absl::Status CheckId(absl::string_view id) {
  const bool good = !id.empty() && id.size() <= 128 && id[0] != '.' && id[0] != '-' &&
                    std::all_of(id.begin(), id.end(), [](char c) {
                      return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '-' ||
                             c == '_' || c == '.';
                    });
  if (good) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("\"", id, "\" is no container id"));
}

std::string BundlePath(absl::string_view id) {
  return absl::StrCat("oci/containers/", id);
}
std::string LayerPath(absl::string_view id) {
  return absl::StrCat("containers/", id);
}

// The host ids of the root of the container's user namespace.
std::pair<uid_t, gid_t> RootOf(const CreateRequest& request) {
  const NamespaceOptions& namespaces = request.spec->security.namespaces;
  return {linux::HostIdOf(namespaces.uid_mappings, 0), linux::HostIdOf(namespaces.gid_mappings, 0)};
}

// The host ids of an image's owner in the container's user namespace; its root's if unmapped.
std::pair<uid_t, gid_t> OnTheHost(const CreateRequest& request, uid_t uid, gid_t gid) {
  const NamespaceOptions& namespaces = request.spec->security.namespaces;
  const auto [root, root_group] = RootOf(request);
  const uint32_t user = linux::HostIdOf(namespaces.uid_mappings, uid);
  const uint32_t group = linux::HostIdOf(namespaces.gid_mappings, gid);
  return {user == UINT32_MAX ? root : user, group == UINT32_MAX ? root_group : group};
}

constexpr int64_t kOwnLogMaxBytes = int64_t{32} << 20;

std::optional<DescriptorLimit> OwnDescriptorLimit() {
  rlimit limit = {};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return std::nullopt;
  return DescriptorLimit{.soft = limit.rlim_cur, .hard = limit.rlim_max};
}

// For the message of a program that can't be executed.
absl::Status NoteArchitecture(const FsRoot& bundle, const image::ImageConfig& config,
                              std::vector<std::string>* warnings) {
  const std::string foreign = image::ForeignArchitecture(config);
  if (foreign.empty()) return absl::OkStatus();
  warnings->push_back(absl::StrCat("its image is for ", foreign, ", and this machine is ",
                                   image::HostPlatform().architecture,
                                   ": its programs won't start without an emulator"));
  return bundle.ReplaceFile(kForeignArchitectureFile, foreign);
}

int StopSignal(const CreateRequest& request) {
  for (const std::string* text : {&request.spec->stop_signal, &request.image->stop_signal}) {
    if (text->empty()) continue;
    if (const std::optional<int> signal = linux::ParseSignal(*text)) return *signal;
  }
  return SIGTERM;
}

}  // namespace

absl::StatusOr<std::unique_ptr<ContainerRuntime>> ContainerRuntime::Create(OciOptions options) {
  if (options.cgroups == nullptr) return absl::InvalidArgumentError("OciOptions without cgroups");
  PLIMSOLL_RETURN_IF_ERROR(options.run.MakeDirs("oci/crun"));
  PLIMSOLL_RETURN_IF_ERROR(options.run.MakeDirs("oci/containers"));
  PLIMSOLL_RETURN_IF_ERROR(options.state.MakeDirs("containers"));
  PLIMSOLL_ASSIGN_OR_RETURN(const FsRoot crun_state, options.run.Sub("oci/crun"));
  PLIMSOLL_ASSIGN_OR_RETURN(std::unique_ptr<Crun> crun, Crun::Load(options.crun, crun_state));
  std::vector<std::string> places;
  if (!options.helpers.empty()) places.push_back(options.helpers);
  PLIMSOLL_ASSIGN_OR_RETURN(options.helpers,
                            FindOwnPrograms({kMonitor, kLauncher, kEntry}, std::move(places)));
  PLIMSOLL_ASSIGN_OR_RETURN(HostFeatures machine, LookAtMachine(options.host, *options.cgroups,
                                                                options.restrict_oom_score_adj));
  LookAtPrograms(options.programs, &machine);
  machine.default_program = crun->other();
  const bool knows =
      crun->other().empty()
          ? crun->IsAtLeast(1, 4)
          : crun->knows_version() && KnowsRecursiveReadOnly(crun->other()).value_or(false);
  machine.recursive_read_only = machine.recursive_read_only && knows;
  if (!crun->knows_version()) machine.killed_programs.insert(options.crun);
  machine.user_namespaces = CheckUserNamespaces(options.state, options.run);
  std::unique_ptr<DirectExec> direct;
  if (options.enters_directly) {
    PLIMSOLL_ASSIGN_OR_RETURN(const FsRoot bundles, options.run.Sub("oci/containers"));
    PLIMSOLL_ASSIGN_OR_RETURN(
        direct, DirectExec::Load(absl::StrCat(options.helpers, "/", kEntry), bundles));
  }
  return std::unique_ptr<ContainerRuntime>(std::make_unique<CrunRuntime>(
      std::move(options), std::move(machine), std::move(crun), std::move(direct)));
}

CrunRuntime::CrunRuntime(OciOptions options, HostFeatures machine, std::unique_ptr<Crun> crun,
                         std::unique_ptr<DirectExec> direct)
    : options_(std::move(options)),
      launcher_(absl::StrCat(options_.helpers, "/", kLauncher)),
      monitor_(absl::StrCat(options_.helpers, "/", kMonitor)),
      machine_(std::move(machine)),
      crun_(std::move(crun)),
      direct_(std::move(direct)),
      cancel_execs_(eventfd(0, EFD_CLOEXEC)),
      seccomp_(options_.host),
      weights_(options_.cgroups, options_.run, absl::StrCat(options_.helpers, "/", kMonitor)),
      apparmor_(options_.host, machine_.apparmor) {}

std::vector<std::string> CrunRuntime::Limitations() const {
  std::vector<std::string> limitations = LimitationsOf(machine_);
  for (std::string& fault : weights_.Faults()) limitations.push_back(std::move(fault));
  return limitations;
}

linux::CpuWeightFormula CrunRuntime::WeightFormula(absl::string_view id) const {
  std::string program;
  if (!id.empty()) {
    const absl::StatusOr<FsRoot> bundle = Bundle(id);
    if (bundle.ok()) program = bundle->Read(kProgram).value_or("");
    if (bundle.ok() && program.empty()) {
      // A handler's container that an older build made has this note alone.
      const auto other = OtherProgram::Of(*bundle, crun_->state());
      if (other.ok() && other->has_value()) program = (*other)->path();
    }
  }
  return weights_.Of(program.empty() ? crun_->executable() : program);
}

absl::Status CrunRuntime::Ready() const {
  for (const std::string& program : {crun_->executable(), monitor_, launcher_}) {
    if (access(program.c_str(), X_OK) != 0) {
      return ErrnoStatus(errno, absl::StrCat("execute ", program));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<FsRoot> CrunRuntime::Bundle(absl::string_view id) const {
  PLIMSOLL_RETURN_IF_ERROR(CheckId(id));
  absl::StatusOr<FsRoot> bundle = options_.run.Sub(BundlePath(id));
  if (absl::IsNotFound(bundle.status())) {
    return absl::NotFoundError(absl::StrCat("no container ", id));
  }
  return bundle;
}

absl::StatusOr<BuiltSpec> CrunRuntime::MakeSpec(const CreateRequest& request,
                                                const FsRoot& bundle) {
  const SecurityContext& security = request.spec->security;
  SpecInput input;
  input.request = &request;
  input.machine = &machine_;
  input.host = &options_.host;
  input.root_path = bundle.PathOf("rootfs");
  input.stage_path = bundle.PathOf(kStage);
  PLIMSOLL_ASSIGN_OR_RETURN(const auto files, image_files_.Read(request.lower_directories));
  PLIMSOLL_ASSIGN_OR_RETURN(
      input.user, ResolveProcessUser(security, *request.image, files->passwd, files->group));
  PLIMSOLL_ASSIGN_OR_RETURN(input.capabilities,
                            ResolveCapabilities(security, machine_.capabilities));
  // A filter must not limit a privileged container, unless it is made for this one.
  if (const std::string& policy = request.spec->extras.seccomp_policy; !policy.empty()) {
    PLIMSOLL_ASSIGN_OR_RETURN(input.seccomp, seccomp_.CompileText(policy));
  } else if (!security.privileged) {
    PLIMSOLL_ASSIGN_OR_RETURN(input.seccomp,
                              seccomp_.Compile(security.seccomp, input.capabilities.granted));
  }
  // But a profile that is named applies to it too.
  if (!security.privileged || security.apparmor.type == SecurityProfile::Type::kLocalhost) {
    PLIMSOLL_ASSIGN_OR_RETURN(input.apparmor_profile, apparmor_.Profile(security.apparmor));
  }
  PLIMSOLL_ASSIGN_OR_RETURN(input.selinux,
                            LabelsOf(machine_.selinux, request.sandbox.selinux, security));
  input.descriptor_limit = options_.descriptor_limit;
  input.runs_image_volumes = options_.runs_image_volumes;
  input.has_declared_volumes = options_.has_declared_volumes;
  PLIMSOLL_ASSIGN_OR_RETURN(BuiltSpec built, BuildSpec(input));
  built.file_label = input.selinux.file;
  return built;
}

PlanWriter CrunRuntime::MakePlan(const CreateRequest& request, const FsRoot& bundle,
                                 BuiltSpec* spec) const {
  const std::string layer = LayerPath(request.id);
  PlanWriter plan;
  plan.Add("runtime", request.program.empty() ? crun_->executable() : request.program);
  plan.Add("root", crun_->state().path());
  plan.Add("target", bundle.PathOf("rootfs"));
  for (const std::string& lower : request.lower_directories) plan.Add("lower", lower);
  plan.Add("upper", options_.state.PathOf(absl::StrCat(layer, "/upper")));
  plan.Add("work", options_.state.PathOf(absl::StrCat(layer, "/work")));
  if (!spec->file_label.empty()) plan.Add("context", spec->file_label);
  AddStageToPlan(request, bundle.PathOf(kStage), std::move(spec->volumes), spec->declared.mounted,
                 &plan);
  AddDeclaredVolumesToPlan(spec->declared, &plan);
  AddMountPointsToPlan(spec->mount_points, &plan);
  if (spec->working_directory != "/") plan.Add("mkdir", spec->working_directory);
  if (!request.sandbox.user_namespace.empty()) {
    const auto [uid, gid] = RootOf(request);
    plan.Add("owner", absl::StrCat(uid, ":", gid));
  }
  if (!machine_.unified_controllers.empty()) {
    // crun 1.8 refuses to run where a hybrid machine's v2 hierarchy has controllers.
    plan.Add("private", options_.host.PathOf(kCgroupMount));
    plan.Add("bind", "/dev/null");
    plan.Add("over",
             options_.host.PathOf(absl::StrCat(kCgroupMount, "/unified/cgroup.controllers")));
  }
  // crun writes nothing for 0, so the process would inherit the value.
  if (spec->oom_score_adj == 0 && machine_.oom_score_adj != 0) plan.Add("oom", "0");
  if (!spec->memory_policy.empty()) plan.Add("mempolicy", spec->memory_policy);
  plan.Add("bundle", bundle.path());
  if (!request.log_path.empty()) plan.Add("log", request.log_path);
  if (!request.log_directory.empty()) plan.Add("log-directory", request.log_directory);
  // A client that keeps a pod's log in our state directory doesn't rotate it. kubelet keeps logs
  // elsewhere, and rotates them itself.
  std::error_code unreadable;
  const std::string state = std::filesystem::canonical(options_.state.path(), unreadable).string();
  if (absl::StartsWith(request.log_path, absl::StrCat(state, "/pods/"))) {
    plan.Add("log-max", absl::StrCat(kOwnLogMaxBytes));
  }
  // The init of another runtime has executed that runtime's own program.
  const std::string other = machine_.OtherThanCrun(request.program);
  if (request.program.empty() && other.empty()) plan.Add("executes", "yes");
  if (!request.program.empty() || !other.empty()) {
    plan.Add("name", other.empty() ? request.program : other);
  }
  if (request.spec->tty) plan.Add("terminal", "yes");
  if (request.spec->open_stdin) plan.Add("stdin", "yes");
  if (request.spec->open_stdin && request.spec->stdin_once) plan.Add("stdin-once", "yes");
  return plan;
}

absl::Status CrunRuntime::PlaceMonitor(pid_t pid) const {
  const std::string& group = options_.monitor_cgroup;
  if (group.empty()) return absl::OkStatus();
  const absl::Status added = options_.cgroups->AddProcess(group, pid);
  if (!absl::IsNotFound(added)) return added;
  PLIMSOLL_RETURN_IF_ERROR(options_.cgroups->Create(group).status());
  return options_.cgroups->AddProcess(group, pid);
}

// Overlayfs takes the merged root's owner, mode and time from the upper directory alone, so the
// topmost layer's are copied there.
absl::Status CrunRuntime::SetRootDirectory(const CreateRequest& request,
                                           const std::string& upper) const {
  PLIMSOLL_ASSIGN_OR_RETURN(const UniqueFd directory,
                            options_.state.OpenFile(upper, O_RDONLY | O_DIRECTORY));
  const std::string& top = request.lower_directories.front();
  const UniqueFd image(open(top.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!image.valid()) return ErrnoStatus(errno, absl::StrCat("open ", top));
  OwnerMap owner;
  if (!request.sandbox.user_namespace.empty()) {
    owner = [&request](uid_t uid, gid_t gid) { return OnTheHost(request, uid, gid); };
  }
  return Annotate(CopyDirectoryAttributes(image.get(), directory.get(), owner),
                  options_.state.PathOf(upper));
}

absl::Status CrunRuntime::MakeDirectories(const CreateRequest& request,
                                          const FsRoot& bundle) const {
  PLIMSOLL_RETURN_IF_ERROR(bundle.MakeDirs("rootfs"));
  const std::string layer = LayerPath(request.id);
  const std::string upper = absl::StrCat(layer, "/upper");
  PLIMSOLL_RETURN_IF_ERROR(options_.state.MakeDirs(absl::StrCat(layer, "/work")));
  PLIMSOLL_RETURN_IF_ERROR(options_.state.MakeDirs(upper, 0755));
  PLIMSOLL_RETURN_IF_ERROR(SetRootDirectory(request, upper));
  if (request.sandbox.user_namespace.empty()) return absl::OkStatus();
  // crun looks for its root filesystem as that root. 0711: nobody can list the directories of the
  // way.
  for (const std::string& way :
       {std::string("oci"), std::string("oci/containers"), BundlePath(request.id)}) {
    PLIMSOLL_ASSIGN_OR_RETURN(const UniqueFd step,
                              options_.run.OpenFile(way, O_RDONLY | O_DIRECTORY));
    if (fchmod(step.get(), 0711) != 0) {
      return ErrnoStatus(errno, absl::StrCat("open the way to ", options_.run.PathOf(way)));
    }
  }
  return absl::OkStatus();
}

absl::Status CrunRuntime::Launch(const CreateRequest& request, Created* created) {
  PLIMSOLL_RETURN_IF_ERROR(options_.run.MakeDirs(BundlePath(request.id)));
  PLIMSOLL_ASSIGN_OR_RETURN(const FsRoot bundle, Bundle(request.id));
  // The monitor starts up while the rest is made.
  PLIMSOLL_ASSIGN_OR_RETURN(StartingMonitor monitor, StartMonitor(monitor_, bundle, request.id));
  PLIMSOLL_RETURN_IF_ERROR(PlaceMonitor(monitor.pid()));
  PLIMSOLL_RETURN_IF_ERROR(MakeDirectories(request, bundle));
  PLIMSOLL_ASSIGN_OR_RETURN(BuiltSpec spec, MakeSpec(request, bundle));
  created->stop_signal = StopSignal(request);
  created->user = spec.user;
  created->warnings = spec.warnings;
  PLIMSOLL_RETURN_IF_ERROR(bundle.ReplaceFile("config.json", spec.json));
  if (!request.program.empty()) {
    PLIMSOLL_RETURN_IF_ERROR(bundle.ReplaceFile(kProgram, request.program));
  }
  const std::string other = machine_.OtherThanCrun(request.program);
  if (!other.empty()) PLIMSOLL_RETURN_IF_ERROR(OtherProgram::Note(bundle, other));
  if (request.program.empty() && other.empty() && !spec.entry.empty()) {
    PLIMSOLL_RETURN_IF_ERROR(bundle.ReplaceFile(DirectExec::kTemplate, spec.entry));
  }
  PLIMSOLL_RETURN_IF_ERROR(NoteArchitecture(bundle, *request.image, &created->warnings));
  // Another runtime runs them in its own `start` and `delete`.
  if (other.empty()) {
    PLIMSOLL_RETURN_IF_ERROR(NoteLateHooks(bundle, spec.late_hooks, request.program));
  }
  PlanWriter plan = MakePlan(request, bundle, &spec);
  PLIMSOLL_ASSIGN_OR_RETURN(
      const HeldByteVariables variables,
      AddByteVariablesToPlan(spec.byte_variables, absl::StrCat(options_.helpers, "/", kEntry),
                             &plan));
  PLIMSOLL_ASSIGN_OR_RETURN(const Monitored monitored,
                            monitor.Create(options_.host, std::move(plan)));
  PLIMSOLL_ASSIGN_OR_RETURN(created->init, linux::IdentifyProcess(options_.host, monitored.init));
  created->monitor = monitored.monitor;
  PLIMSOLL_RETURN_IF_ERROR(
      ApplyProcessSettings(options_.host, request.spec->extras, created->init));
  PLIMSOLL_RETURN_IF_ERROR(MakeSharedSettings(bundle, request, created->init));
  // A handler's program may have put a virtual machine around the container.
  if (!request.program.empty()) return absl::OkStatus();
  PLIMSOLL_ASSIGN_OR_RETURN(const std::string text, options_.host.Read(absl::StrCat(
                                                        "proc/", created->init.pid, "/mountinfo")));
  PLIMSOLL_ASSIGN_OR_RETURN(const auto mounts, linux::ParseMountInfo(text));
  return Annotate(CheckArrived(mounts, spec.targets),
                  absl::StrCat("container ", request.spec->name));
}

absl::StatusOr<Created> CrunRuntime::Create(const CreateRequest& request) {
  PLIMSOLL_RETURN_IF_ERROR(CheckId(request.id));
  if (request.lower_directories.empty()) {
    return absl::InvalidArgumentError("a container needs an image with at least one layer");
  }
  PLIMSOLL_ASSIGN_OR_RETURN(const std::vector<std::string> arguments,
                            ProcessArguments(*request.spec, *request.image));
  if (options_.run.Exists(BundlePath(request.id))) {
    return absl::AlreadyExistsError(absl::StrCat("container ", request.id, " is there already"));
  }
  Created created;
  const absl::Status launched = Launch(request, &created);
  if (launched.ok()) return created;
  created.refusal = RefusalOf(launched, *request.spec, arguments[0],
                              WorkingDirectoryOf(*request.spec, *request.image));
  const absl::Status swept = Delete(request.id, request.cgroup_path);
  if (swept.ok() && created.refusal.has_value()) return created;
  const absl::Status failure = TranslateCreateFailure(
      launched, *request.spec,
      AskedOfLabel(machine_.selinux, request.sandbox.selinux, request.spec->security));
  if (swept.ok()) return failure;
  return AlsoSay(failure, absl::StrCat("and leftovers remain: ", swept.message()));
}

absl::Status CrunRuntime::Start(absl::string_view id) {
  const absl::StatusOr<FsRoot> bundle = Bundle(id);
  if (absl::IsNotFound(bundle.status())) return crun_->Start(id);  // which says why it can't
  PLIMSOLL_RETURN_IF_ERROR(bundle.status());
  PLIMSOLL_ASSIGN_OR_RETURN(const auto other, OtherProgram::Of(*bundle, crun_->state()));
  if (other.has_value()) {
    PLIMSOLL_RETURN_IF_ERROR(other->Start(id));
  } else {
    PLIMSOLL_ASSIGN_OR_RETURN(const bool started, StartWithHooks(*crun_, *bundle, id));
    if (!started) PLIMSOLL_RETURN_IF_ERROR(crun_->Start(id));
  }
  // It runs: a failure here must not look as if it didn't. Its removal sets its settings back then.
  KeepSharedSettings(*bundle).IgnoreError();
  return absl::OkStatus();
}

absl::StatusOr<std::optional<OtherProgram>> CrunRuntime::OtherOf(absl::string_view id) const {
  const absl::StatusOr<FsRoot> bundle = Bundle(id);
  if (absl::IsNotFound(bundle.status())) return std::nullopt;
  PLIMSOLL_RETURN_IF_ERROR(bundle.status());
  return OtherProgram::Of(*bundle, crun_->state());
}

absl::StatusOr<std::optional<int64_t>> CrunRuntime::StartedAt(absl::string_view id,
                                                              const linux::ProcessId& init) const {
  PLIMSOLL_ASSIGN_OR_RETURN(const auto other, OtherOf(id));
  return other.has_value() ? other->StartedAt(id) : crun_->StartedAt(options_.host, id, init);
}

absl::Status CrunRuntime::FinishStart(absl::string_view id) {
  PLIMSOLL_ASSIGN_OR_RETURN(const auto other, OtherOf(id));
  if (!other.has_value()) PLIMSOLL_RETURN_IF_ERROR(crun_->FinishStart(id));
  const absl::StatusOr<FsRoot> bundle = Bundle(id);
  if (absl::IsNotFound(bundle.status())) return absl::OkStatus();
  PLIMSOLL_RETURN_IF_ERROR(bundle.status());
  return KeepSharedSettings(*bundle);
}

absl::StatusOr<std::optional<ExitRecord>> CrunRuntime::ReadExit(absl::string_view id) {
  PLIMSOLL_ASSIGN_OR_RETURN(const FsRoot bundle, Bundle(id));
  return runtime::ReadExit(bundle);
}

absl::Status CrunRuntime::KillProcesses(absl::string_view id, std::string* cgroup) const {
  const absl::StatusOr<std::optional<OtherProgram>> other = OtherOf(id);
  if (other.ok() && other->has_value()) return KillOther(**other, id, cgroup);
  const absl::StatusOr<std::optional<CrunStatus>> found = crun_->Status(id);
  const std::optional<CrunStatus> status = found.ok() ? *found : std::nullopt;
  if (cgroup->empty() && status) *cgroup = status->cgroup_path;
  absl::Status result = found.status();
  if (!cgroup->empty() && *cgroup != "/") {
    result = FirstError(result, options_.cgroups->KillAll(*cgroup, MonotonicNow() + kKillTimeout));
  }
  if (status && status->pid > 0) {
    result = FirstError(result,
                        linux::KillAndAwait(options_.host, {status->pid, status->start_time_ticks},
                                            MonotonicNow() + kKillTimeout));
  }
  return result;
}

absl::Status CrunRuntime::KillOther(const OtherProgram& other, absl::string_view id,
                                    std::string* cgroup) const {
  if (cgroup->empty()) *cgroup = other.CgroupPath();
  absl::Status result;
  if (!cgroup->empty() && *cgroup != "/") {
    result = options_.cgroups->KillAll(*cgroup, MonotonicNow() + kKillTimeout);
  }
  // Without the program there is nobody to ask; its container's processes are in the group.
  const absl::StatusOr<std::optional<ProgramState>> state = other.State(id);
  if (!state.ok() || !state->has_value() || (*state)->pid <= 0) return result;
  const absl::StatusOr<linux::ProcessId> init =
      linux::IdentifyProcess(options_.host, (*state)->pid);
  if (!init.ok()) return result;
  return FirstError(result,
                    linux::KillAndAwait(options_.host, *init, MonotonicNow() + kKillTimeout));
}

absl::Status CrunRuntime::Delete(absl::string_view id, absl::string_view cgroup_path) {
  PLIMSOLL_RETURN_IF_ERROR(CheckId(id));
  std::string cgroup(cgroup_path);
  const absl::StatusOr<FsRoot> bundle = Bundle(id);
  if (!absl::IsNotFound(bundle.status())) PLIMSOLL_RETURN_IF_ERROR(bundle.status());
  // Any other error is no proof that there is no monitor: EndMonitor reports it.
  const bool monitored = bundle.ok() && !absl::IsNotFound(FindMonitor(*bundle).status());
  absl::Status result;
  if (bundle.ok()) result = SetBackSharedSettings(*bundle);
  result = FirstError(result, KillProcesses(id, &cgroup));
  if (monitored) {
    result = FirstError(result, EndMonitor(*bundle, MonotonicNow() + kMonitorGrace));
    // The monitor may have been in the middle of a create, for a daemon that is gone.
    result = FirstError(result, KillProcesses(id, &cgroup));
  }
  if (result.ok() && bundle.ok()) result = RunPoststopHooks(*crun_, *bundle, id);
  absl::Status deleted;
  if (result.ok()) deleted = DeleteByOther(id);
  // Without their traces, surviving processes would be lost from sight: the traces stay for the
  // next attempt.
  PLIMSOLL_RETURN_IF_ERROR(Annotate(result, absl::StrCat("delete container ", id)));
  if (!cgroup.empty() && cgroup != "/") result = options_.cgroups->Remove(cgroup);
  // Reported once: the program's record goes all the same.
  result = FirstError(result, deleted);
  result = FirstError(result, options_.state.RemoveTree(LayerPath(id)));
  result = FirstError(result, options_.run.RemoveTree(BundlePath(id)));
  result = FirstError(result, crun_->Forget(id));
  if (direct_ != nullptr) direct_->Forget(id);
  return Annotate(result, absl::StrCat("delete container ", id));
}

absl::Status CrunRuntime::DeleteByOther(absl::string_view id) const {
  PLIMSOLL_ASSIGN_OR_RETURN(const auto other, OtherOf(id));
  // One that is no longer installed holds nothing that isn't swept here.
  if (!other.has_value() || access(other->path().c_str(), X_OK) != 0) return absl::OkStatus();
  return other->Delete(id);
}

absl::StatusOr<ExecTools> CrunRuntime::ToolsFor(absl::string_view id, ExecRequest* request) {
  const bool own = request->oom_score_adj == machine_.oom_score_adj;
  if (own || (request->oom_score_adj < machine_.oom_score_adj && !machine_.lowers_oom_score_adj)) {
    request->oom_score_adj.reset();
  }
  ExecTools tools = {crun_.get(), launcher_,    options_.host, machine_.layout, cancel_execs_.get(),
                     &entering_,  std::nullopt, direct_.get(), std::nullopt};
  if (options_.descriptor_limit != OwnDescriptorLimit()) {
    tools.descriptor_limit = options_.descriptor_limit;
  }
  PLIMSOLL_ASSIGN_OR_RETURN(tools.other, OtherOf(id));
  return tools;
}

absl::StatusOr<ExecResult> CrunRuntime::Exec(absl::string_view id, absl::string_view cgroup_path,
                                             const ExecRequest& request) {
  PLIMSOLL_RETURN_IF_ERROR(CheckId(id));
  ExecRequest possible = request;
  PLIMSOLL_ASSIGN_OR_RETURN(const ExecTools tools, ToolsFor(id, &possible));
  return ExecInContainer(tools, id, cgroup_path, possible);
}

absl::StatusOr<std::unique_ptr<RunningCommand>> CrunRuntime::StartExec(
    absl::string_view id, absl::string_view cgroup_path, const ExecRequest& request) {
  PLIMSOLL_ASSIGN_OR_RETURN(const FsRoot bundle, Bundle(id));
  ExecRequest possible = request;
  PLIMSOLL_ASSIGN_OR_RETURN(const ExecTools tools, ToolsFor(id, &possible));
  return StartInContainer(tools, id, cgroup_path, possible, bundle);
}

absl::StatusOr<UniqueFd> CrunRuntime::Attach(absl::string_view id, bool input) {
  PLIMSOLL_ASSIGN_OR_RETURN(const FsRoot bundle, Bundle(id));
  return AttachToMonitor(bundle, input);
}

void CrunRuntime::CancelExecs() {
  const uint64_t one = 1;
  while (write(cancel_execs_.get(), &one, sizeof(one)) < 0 && errno == EINTR) {
  }
}

absl::Status CrunRuntime::ReopenLog(absl::string_view id) {
  PLIMSOLL_ASSIGN_OR_RETURN(const FsRoot bundle, Bundle(id));
  return runtime::ReopenLog(bundle);
}

absl::StatusOr<std::vector<std::string>> CrunRuntime::ListTraces() const {
  std::set<std::string> ids;
  PLIMSOLL_ASSIGN_OR_RETURN(const std::vector<std::string> crun, crun_->List());
  PLIMSOLL_ASSIGN_OR_RETURN(const std::vector<std::string> bundles,
                            options_.run.List("oci/containers"));
  PLIMSOLL_ASSIGN_OR_RETURN(const std::vector<std::string> layers,
                            options_.state.List("containers"));
  for (const auto* list : {&crun, &bundles, &layers}) ids.insert(list->begin(), list->end());
  return std::vector<std::string>(ids.begin(), ids.end());
}

}  // namespace plimsoll::runtime
