#include "runtime/oci/exec/command.h"

#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <nlohmann/json.hpp>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/monotonic_time.h"
#include "base/programs/kill_timeout.h"
#include "base/status.h"
#include "linux/process.h"
#include "linux/process_tree.h"
#include "runtime/oci/exec/direct.h"
#include "runtime/oci/exec/process.h"
#include "runtime/oci/exec/strays.h"

namespace plimsoll::runtime {
namespace {

constexpr absl::Duration kEnding = absl::Milliseconds(100);
constexpr absl::Duration kKillingFrozen = absl::Milliseconds(500);  // most likely in vain
constexpr absl::Duration kCrunEnds = absl::Milliseconds(200);
constexpr int kPlanDescriptor = 3;
constexpr int kLogDescriptor = 4;
constexpr int kEnteredDescriptor = 5;
constexpr int kProcessDescriptor = 6;

// Usually the group dies, crun sees that and ends. If crun was still on its way into the container,
// its children are not in the group yet. Without a group (a cancelled call without a timeout)
// processes in the background stay until their container goes.
absl::Status KillTree(const FsRoot& host, const std::optional<ExecGroup>& group,
                      absl::Duration patience, Child* child) {
  const absl::Time deadline = MonotonicNow() + patience;
  const auto kill_group = [&](absl::Time until) {
    return group ? group->Kill(until) : absl::OkStatus();
  };
  const absl::Status killed = kill_group(deadline);
  if (child->Wait(MonotonicNow() + kCrunEnds).ok()) return killed;
  child->Signal(SIGSTOP).IgnoreError();  // so that it starts nothing meanwhile
  const absl::Status below = linux::KillDescendants(host, child->pid()).status();
  child->Signal(SIGKILL).IgnoreError();
  child->Wait(std::max(deadline, MonotonicNow() + kCrunEnds)).IgnoreError();
  const absl::Status again = kill_group(std::max(deadline, MonotonicNow() + kCrunEnds));
  return FirstError(killed, FirstError(below, again));
}

// crun's record of the container, if it exists and can't be parsed; else empty.
std::string DamagedRecord(const ExecTools& tools, absl::string_view id) {
  constexpr size_t kMostBytes = 1 << 20;
  const std::string path = absl::StrCat(id, "/status");
  const absl::StatusOr<std::string> text = tools.crun->state().Read(path, kMostBytes);
  if (!text.ok()) return "";
  const auto json = nlohmann::json::parse(*text, nullptr, /*allow_exceptions=*/false);
  return json.is_object() ? "" : tools.crun->state().PathOf(path);
}

// Whether the container has ended, or is about to.
bool HasEnded(const ExecTools& tools, absl::string_view id) {
  if (tools.other.has_value()) {
    const absl::StatusOr<std::optional<ProgramState>> state = tools.other->State(id);
    return state.ok() && (!state->has_value() || (*state)->status == "stopped");
  }
  const absl::StatusOr<std::optional<CrunStatus>> found = tools.crun->Status(id);
  if (!found.ok()) return false;
  const std::optional<CrunStatus>& status = *found;
  if (!status) return !tools.crun->state().Has(id).value_or(true);
  const auto init = linux::OpenProcess(tools.host, {status->pid, status->start_time_ticks});
  if (!init.ok()) return absl::IsNotFound(init.status());
  return linux::AwaitExit(*init, MonotonicNow() + kEnding);
}

// The specification of the container: crun has a copy of its own.
absl::StatusOr<std::string> ConfigOf(const ExecTools& tools, absl::string_view id) {
  if (tools.other.has_value()) return tools.other->bundle().Read("config.json");
  return tools.crun->state().Read(absl::StrCat(id, "/config.json"));
}

Command CommandOf(const ExecTools& tools, const std::vector<std::string>& arguments) {
  return tools.other.has_value() ? tools.other->MakeCommand(arguments)
                                 : tools.crun->MakeCommand(arguments);
}

void AddRuntime(const ExecTools& tools, PlanWriter* plan) {
  plan->Add("runtime", tools.other.has_value() ? tools.other->path() : tools.crun->executable());
  if (tools.other.has_value()) plan->Add("name", tools.other->path());
  plan->Add("root", tools.crun->state().path());
}

void AddTerminal(const ExecDescriptors& own, std::vector<std::string>* arguments,
                 PlanWriter* plan) {
  if (!own.terminal) return;
  arguments->push_back("--tty");
  if (!own.console.empty()) {
    arguments->push_back(absl::StrCat("--console-socket=", own.console));
  } else {
    plan->Add("session", "terminal");  // sizes and hang-ups reach the runtime
  }
}

// Makes crun run the container's own process with other words. If there is no such container, crun
// says so.
absl::Status UseContainersProcess(const ExecTools& tools, absl::string_view id,
                                  const ExecRequest& request, ExecDescriptors* own,
                                  std::vector<std::string>* arguments, PlanWriter* plan) {
  const absl::StatusOr<std::string> config = ConfigOf(tools, id);
  if (absl::IsNotFound(config.status())) return absl::OkStatus();
  const std::string what = absl::StrCat("exec in container ", id);
  if (!config.ok()) return Annotate(config.status(), what);
  const absl::StatusOr<std::string> process = ExecProcess(*config, request.argv, own->terminal);
  if (!process.ok()) return Annotate(process.status(), what);
  PLIMSOLL_ASSIGN_OR_RETURN(own->process, MakeMemfd("exec-process", *process));
  arguments->push_back(absl::StrCat("--process=/proc/self/fd/", kProcessDescriptor));
  for (const std::string& limit : ExecLimits(*config)) plan->Add("rlimit", limit);
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<UniqueFd> MakeMemfd(const char* name, const std::string& text) {
  UniqueFd fd(memfd_create(name, MFD_CLOEXEC));
  if (!fd.valid() ||
      write(fd.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size())) {
    return ErrnoStatus(errno, "memfd for exec");
  }
  return fd;
}

bool IsFrozen(const ExecTools& tools, absl::string_view cgroup_path) {
  if (tools.layout == linux::CgroupLayout::kV2) {
    const auto freeze =
        tools.host.Read(absl::StrCat("sys/fs/cgroup/", cgroup_path, "/cgroup.freeze"));
    return freeze.ok() && absl::StripAsciiWhitespace(*freeze) == "1";
  }
  const auto state =
      tools.host.Read(absl::StrCat("sys/fs/cgroup/freezer/", cgroup_path, "/freezer.state"));
  return state.ok() && absl::StripAsciiWhitespace(*state) != "THAWED";
}

absl::Status KillExec(const ExecTools& tools, absl::string_view cgroup_path,
                      const std::optional<ExecGroup>& group, Child* child) {
  const bool frozen = tools.layout != linux::CgroupLayout::kV2 && IsFrozen(tools, cgroup_path);
  const absl::Status killed =
      KillTree(tools.host, group, frozen ? kKillingFrozen : kKillTimeout, child);
  if (!frozen) return killed;
  return AlsoSay(killed, "the container is frozen, and they end once it is thawed");
}

// crun's messages, which it writes as JSON lines into a file of ours: standard error is the
// command's.
std::string ExecDescriptors::RuntimeMessage() const {
  std::string text(8192, '\0');
  const ssize_t n = pread(log.get(), text.data(), text.size(), 0);
  text.resize(static_cast<size_t>(std::max<ssize_t>(n, 0)));
  for (absl::string_view line : absl::StrSplit(text, '\n', absl::SkipEmpty())) {
    const auto json = nlohmann::json::parse(line.begin(), line.end(), nullptr, false);
    if (!json.is_object()) continue;
    // runc warns of what doesn't fail a command.
    const auto level = json.find("level");
    if (level != json.end() && (*level == "warning" || *level == "info" || *level == "debug")) {
      continue;
    }
    const auto message = json.find("msg");
    if (message != json.end() && message->is_string()) return message->get<std::string>();
  }
  return text;
}

absl::StatusOr<ExecResult> TranslateExecFailure(const ExecTools& tools, const std::string& message,
                                                const ExecRequest& request, absl::string_view id) {
  if (tools.direct != nullptr && tools.direct->LeavesToCrun(id, message)) {
    return absl::AbortedError(absl::StrCat("exec in container ", id, ": ", message));
  }
  const std::string& program = request.argv[0];
  // Only a message about the program itself is the command's result; one about anything else (a
  // namespace or a group that is gone) is the runtime's own failure.
  const bool of_program = absl::StrContains(message, "executable") ||
                          absl::StrContains(message, "exec: ") ||
                          absl::StrContains(message, absl::StrCat("`", program, "`"));
  if (of_program && (absl::StrContains(message, "not found in $PATH") ||
                     absl::StrContains(message, "No such file or directory") ||
                     absl::StrContains(message, "no such file or directory"))) {
    return ExecResult{
        .exit_code = 127,
        .err = absl::StrCat("exec: ", program, ": not found in the container (", message, ")\n")};
  }
  if (of_program) {
    return ExecResult{
        .exit_code = 126,
        .err = absl::StrCat("exec: ", program, ": can't be executed (", message, ")\n")};
  }
  if (absl::StrContains(message, "is paused") || absl::StrContains(message, "paused container")) {
    return absl::AbortedError(absl::StrCat("exec: container ", id, " is frozen"));
  }
  if (absl::StrContains(message, "is not running") ||
      absl::StrContains(message, "container not running") ||
      absl::StrContains(message, "stopped container") ||
      absl::StrContains(message, "does not exist")) {
    return absl::FailedPreconditionError(absl::StrCat("exec: container ", id, " is not running"));
  }
  if (absl::StartsWith(message, "chdir ")) {
    return absl::FailedPreconditionError(absl::StrCat(
        "exec in container ", id, ": ", message,
        "; the container's working directory must be below its root and open to its user"));
  }
  if (absl::EndsWith(message, "fork: Resource temporarily unavailable")) {
    return absl::ResourceExhaustedError(
        absl::StrCat("exec in container ", id,
                     ": its pids limit, or that of its pod, leaves no room for another process (",
                     message, ")"));
  }
  return absl::InternalError(absl::StrCat("exec in container ", id, ": ", message));
}

absl::Status CheckContainer(const ExecTools& tools, absl::string_view id,
                            const ExecRequest& request, absl::string_view message) {
  const std::string what = absl::StrCat("exec in container ", id, ": \"", request.argv[0], "\"");
  const std::string damaged = message.empty() ? "" : DamagedRecord(tools, id);
  if (!damaged.empty()) {
    return absl::FailedPreconditionError(
        absl::StrCat(what, ": the OCI runtime's record ", damaged,
                     " is empty or damaged; remove the container and make it again"));
  }
  if (!HasEnded(tools, id)) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(what, ": the container ended at that moment",
                                                    message.empty() ? "" : ": ", message));
}

absl::StatusOr<Command> MakeExecCommand(const ExecTools& tools, absl::string_view id,
                                        absl::string_view cgroup_path, const ExecRequest& request,
                                        const std::optional<ExecGroup>& group,
                                        ExecDescriptors* own) {
  if (tools.direct != nullptr && !tools.other.has_value()) {
    PLIMSOLL_ASSIGN_OR_RETURN(
        std::optional<Command> command,
        tools.direct->MakeCommand(tools, id, cgroup_path, request, group, own));
    if (command.has_value()) return *std::move(command);
  }
  own->log.Reset(memfd_create("exec-log", MFD_CLOEXEC));
  if (!own->log.valid()) return ErrnoStatus(errno, "memfd for exec");
  std::vector<std::string> arguments = {
      absl::StrCat(tools.other.has_value() ? "--log=" : "--log=file:", "/proc/self/fd/",
                   kLogDescriptor),
      "--log-format=json", "exec"};
  if (group && !group->RuntimeOption().empty()) arguments.push_back(group->RuntimeOption());
  PlanWriter plan;
  AddTerminal(*own, &arguments, &plan);
  PLIMSOLL_RETURN_IF_ERROR(UseContainersProcess(tools, id, request, own, &arguments, &plan));
  // With a process crun passes over --tty and the words of the command, by which others know it in
  // a list of processes (strays.h).
  arguments.emplace_back(id);
  arguments.insert(arguments.end(), request.argv.begin(), request.argv.end());

  for (const std::string& file : request.entry_files) plan.Add("enter", file);
  if (request.oom_score_adj.has_value()) plan.Add("oom", absl::StrCat(*request.oom_score_adj));
  if (const auto& limit = tools.descriptor_limit; limit.has_value()) {
    plan.Add("nofile", absl::StrCat(limit->soft, ":", limit->hard));
  }
  const bool has_group = group && group->AddToPlan(&plan);
  if (!has_group && plan.text().empty()) {
    Command command = CommandOf(tools, arguments);
    command.environment.push_back(ExecMark(tools.crun->state()));
    command.descriptors = {{own->log.get(), kLogDescriptor}};
    if (own->process.valid()) {
      command.descriptors.emplace_back(own->process.get(), kProcessDescriptor);
    }
    return command;
  }
  AddRuntime(tools, &plan);
  plan.Add("entered", absl::StrCat(kEnteredDescriptor));
  PLIMSOLL_RETURN_IF_ERROR(own->entered.Open());
  PLIMSOLL_ASSIGN_OR_RETURN(own->plan, MakeMemfd("exec-plan", plan.text()));
  Command command;
  command.environment.push_back(ExecMark(tools.crun->state()));
  command.argv = {tools.launcher, absl::StrCat("/proc/self/fd/", kPlanDescriptor)};
  command.argv.insert(command.argv.end(), arguments.begin(), arguments.end());
  command.descriptors = {{own->plan.get(), kPlanDescriptor},
                         {own->log.get(), kLogDescriptor},
                         {own->entered.writer(), kEnteredDescriptor}};
  if (own->process.valid()) {
    command.descriptors.emplace_back(own->process.get(), kProcessDescriptor);
  }
  return command;
}

}  // namespace plimsoll::runtime
