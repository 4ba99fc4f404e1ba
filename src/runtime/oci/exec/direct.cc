#include "runtime/oci/exec/direct.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/programs/sealed_copy.h"
#include "base/status.h"
#include "container_entry/protocol.h"
#include "linux/process.h"
#include "runtime/oci/crun/plan.h"
#include "runtime/oci/exec/strays.h"

namespace plimsoll::runtime {
namespace {

// The name that /proc/<pid>/exe shows as "/memfd:plimsoll-exec (deleted)".
constexpr char kExecMemfdName[] = "plimsoll-exec";

constexpr char kCgroupRoot[] = "sys/fs/cgroup";
constexpr size_t kMaxTemplate = 8 << 20;

// Descriptors of plimsoll-exec.
constexpr int kLog = 4;
constexpr int kEntered = 5;
constexpr int kInit = 6;
constexpr int kFilter = 7;

// Adds the container's control groups, one in each hierarchy that has one; the command's own group
// replaces the container's in its hierarchy.
absl::Status AddGroups(const ExecTools& tools, absl::string_view cgroup_path,
                       const std::optional<ExecGroup>& group, PlanWriter* plan) {
  if (tools.layout == linux::CgroupLayout::kV2) {
    plan->Add("into", group ? group->directory()
                            : tools.host.PathOf(absl::StrCat(kCgroupRoot, "/", cgroup_path)));
    return absl::OkStatus();
  }
  PLIMSOLL_ASSIGN_OR_RETURN(const std::vector<std::string> hierarchies,
                            tools.host.List(kCgroupRoot));
  bool any = false;
  for (const std::string& hierarchy : hierarchies) {
    // "cpu" leads to "cpu,cpuacct".
    const std::string mount = absl::StrCat(kCgroupRoot, "/", hierarchy);
    if (tools.host.ReadLink(mount).ok()) continue;
    const std::string container = absl::StrCat(mount, "/", cgroup_path);
    PLIMSOLL_ASSIGN_OR_RETURN(const bool is_there, tools.host.Has(container));
    if (!is_there) continue;
    const bool own = group && group->hierarchy() == hierarchy;
    const std::string directory = own ? group->directory() : tools.host.PathOf(container);
    // A move by `tasks` waits for nobody; cgroup.procs stops all forks and exits of the machine
    // meanwhile. v2 has no `tasks`.
    PLIMSOLL_ASSIGN_OR_RETURN(const bool has_tasks,
                              tools.host.Has(absl::StrCat(container, "/tasks")));
    plan->Add("group", absl::StrCat(directory, has_tasks ? "/tasks" : "/cgroup.procs"));
    any = true;
  }
  if (any) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("exec: there is no control group ", cgroup_path, " to enter"));
}

// Adds the settings of this command alone.
void AddRequest(const ExecTools& tools, const ExecRequest& request, const ExecDescriptors& own,
                PlanWriter* plan) {
  for (const std::string& file : request.entry_files) plan->Add("enter", file);
  if (request.oom_score_adj.has_value()) plan->Add("oom", absl::StrCat(*request.oom_score_adj));
  if (const auto& limit = tools.descriptor_limit; limit.has_value()) {
    plan->Add("nofile", absl::StrCat(limit->soft, ":", limit->hard));
  }
  for (const std::string& word : request.argv) plan->Add("arg", word);
  if (!own.console.empty()) plan->Add("console", own.console);
}

bool Has(absl::string_view plan, absl::string_view beginning) {
  return absl::StartsWith(plan, beginning) ||
         absl::StrContains(plan, absl::StrCat(absl::string_view("\0", 1), beginning));
}

}  // namespace

absl::StatusOr<std::unique_ptr<DirectExec>> DirectExec::Load(const std::string& program,
                                                             FsRoot bundles) {
  PLIMSOLL_ASSIGN_OR_RETURN(UniqueFd copy, SealedCopy(program, kExecMemfdName));
  return std::unique_ptr<DirectExec>(new DirectExec(std::move(copy), std::move(bundles)));
}

DirectExec::DirectExec(UniqueFd program, FsRoot bundles)
    : program_(std::move(program)),
      executable_(absl::StrCat("/proc/", getpid(), "/fd/", program_.get())),
      bundles_(std::move(bundles)) {}

bool DirectExec::LeavesToCrun(absl::string_view id, absl::string_view message) {
  const bool lasts = absl::StartsWith(message, entry::kUnsupported);
  if (!lasts && !absl::StartsWith(message, entry::kNotNow)) return false;
  // A container being removed would never be forgotten.
  if (!bundles_.Exists(id)) return true;
  const absl::MutexLock lock(&mutex_);
  bool& known = avoided_[std::string(id)];
  known = known || lasts;
  return true;
}

void DirectExec::Forget(absl::string_view id) {
  const absl::MutexLock lock(&mutex_);
  const auto at = avoided_.find(id);
  if (at != avoided_.end()) avoided_.erase(at);
}

bool DirectExec::Avoids(absl::string_view id) {
  const absl::MutexLock lock(&mutex_);
  const auto at = avoided_.find(id);
  if (at == avoided_.end()) return false;
  if (!at->second) avoided_.erase(at);
  return true;
}

absl::StatusOr<std::optional<Command>> DirectExec::MakeCommand(
    const ExecTools& tools, absl::string_view id, absl::string_view cgroup_path,
    const ExecRequest& request, const std::optional<ExecGroup>& group, ExecDescriptors* own) {
  // NUL ends a value of the plan; crun decides what such words mean.
  if (Avoids(id) || absl::c_any_of(request.argv, [](const std::string& word) {
        return absl::StrContains(word, '\0');
      })) {
    return std::nullopt;
  }
  const auto text = bundles_.Read(absl::StrCat(id, "/", kTemplate), kMaxTemplate);
  if (!text.ok()) return std::nullopt;
  // If there is no init, or it has ended, crun reports the error.
  const auto status = tools.crun->Status(id);
  if (!status.ok() || !status->has_value()) return std::nullopt;
  absl::StatusOr<UniqueFd> init =
      linux::OpenProcess(tools.host, {(*status)->pid, (*status)->start_time_ticks});
  if (!init.ok() || linux::HasExited(*init)) return std::nullopt;
  own->init = *std::move(init);
  if (Has(*text, "seccomp=")) {
    auto filter = tools.crun->state().OpenFile(absl::StrCat(id, "/seccomp.bpf"), O_RDONLY);
    if (!filter.ok()) return std::nullopt;
    own->filter = *std::move(filter);
  }
  if (IsFrozen(tools, cgroup_path)) {
    return absl::AbortedError(absl::StrCat("exec: container ", id, " is frozen"));
  }

  PlanWriter plan;
  plan.Add("log", absl::StrCat(kLog));
  plan.Add("entered", absl::StrCat(kEntered));
  plan.Add("init", absl::StrCat(kInit));
  if (own->filter.valid()) plan.Add("filter", absl::StrCat(kFilter));
  plan.Add("pid", absl::StrCat((*status)->pid));
  PLIMSOLL_RETURN_IF_ERROR(AddGroups(tools, cgroup_path, group, &plan));
  AddRequest(tools, request, *own, &plan);
  if (!own->console.empty() && !Has(*text, "env=TERM=")) plan.Add("env", "TERM=xterm");

  own->direct = true;
  own->log.Reset(memfd_create("exec-log", MFD_CLOEXEC));
  if (!own->log.valid()) return ErrnoStatus(errno, "memfd for exec");
  PLIMSOLL_ASSIGN_OR_RETURN(own->plan, MakeMemfd("exec-plan", plan.text() + *text));
  PLIMSOLL_RETURN_IF_ERROR(own->entered.Open());
  Command command;
  PLIMSOLL_RETURN_IF_ERROR(RenewIfTouched(program_.get(), kExecMemfdName));
  command.executable = executable_;
  command.environment.push_back(ExecMark(tools.crun->state()));
  command.argv = {"plimsoll-exec", std::string(id)};
  command.argv.insert(command.argv.end(), request.argv.begin(), request.argv.end());
  command.descriptors = {{own->plan.get(), entry::kPlanDescriptor},
                         {own->log.get(), kLog},
                         {own->entered.writer(), kEntered},
                         {own->init.get(), kInit}};
  if (own->filter.valid()) command.descriptors.emplace_back(own->filter.get(), kFilter);
  return command;
}

}  // namespace plimsoll::runtime
