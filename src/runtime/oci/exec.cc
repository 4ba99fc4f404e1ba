#include "runtime/oci/exec.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <nlohmann/json.hpp>
#include <optional>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "base/status.h"
#include "linux/process.h"
#include "linux/process_tree.h"
#include "runtime/oci/exec_group.h"
#include "runtime/oci/exec_process.h"
#include "runtime/oci/exec_strays.h"

namespace plimsoll::runtime {
namespace {

constexpr int kSilentFailure = 255;  // of crun, when its own part of it is killed
constexpr absl::Duration kEnding = absl::Milliseconds(100);
constexpr absl::Duration kKilling = absl::Seconds(10);
constexpr absl::Duration kKillingFrozen = absl::Milliseconds(500);  // which most likely is in vain
constexpr absl::Duration kCrunEnds = absl::Milliseconds(200);
constexpr int kPlanDescriptor = 3;
constexpr int kLogDescriptor = 4;
constexpr int kEnteredDescriptor = 5;
constexpr int kProcessDescriptor = 6;

// One stream of the command, collected up to a limit.
class Output {
 public:
  absl::Status Open(size_t max_bytes) {
    int fds[2];
    if (pipe2(fds, O_CLOEXEC) != 0) return ErrnoStatus(errno, "pipe");
    reader_.Reset(fds[0]);
    writer_.Reset(fds[1]);
    fcntl(reader_.get(), F_SETFL, O_NONBLOCK);
    max_ = max_bytes;
    return absl::OkStatus();
  }
  int reader() const { return reader_.get(); }
  int writer() const { return writer_.get(); }
  void CloseWriter() { writer_.Reset(); }

  // Takes some of what is there; how much, or 0 when there is nothing now or ever.
  size_t Take() {
    char buffer[65536];
    ssize_t n = -1;
    do {
      n = read(reader_.get(), buffer, sizeof(buffer));
    } while (n < 0 && errno == EINTR);
    if (n < 0 && errno == EAGAIN) return 0;
    if (n <= 0) {
      reader_.Reset();
      return 0;
    }
    const size_t taken = static_cast<size_t>(n);
    const size_t room = max_ - std::min(max_, text_.size());
    text_.append(buffer, std::min(room, taken));
    dropped_ = dropped_ || taken > room;
    return taken;
  }

  // What the command had written when it ended: never more than the pipe holds, whoever goes on
  // writing.
  void TakeRest() {
    const int capacity = fcntl(reader_.get(), F_GETPIPE_SZ);
    size_t left = capacity > 0 ? static_cast<size_t>(capacity) : 0;
    while (left > 0 && reader_.valid()) {
      const size_t taken = Take();
      if (taken == 0) break;
      left -= std::min(left, taken);
    }
    reader_.Reset();
  }

  bool StartsWith(absl::string_view text) const { return absl::StartsWith(text_, text); }
  std::string Text() && {
    if (dropped_)
      absl::StrAppend(&text_, "\n[plimsoll: output truncated after ", max_, " bytes]\n");
    return std::move(text_);
  }

 private:
  UniqueFd reader_;
  UniqueFd writer_;
  std::string text_;
  size_t max_ = 0;
  bool dropped_ = false;
};

enum class Ending { kExit, kTimeout, kStopping, kCancelled };

// What ends a call from outside, in the order of Ending's last two. -1 never does.
using CancelFds = std::array<int, 2>;

// Collects until the process ends, the deadline comes or one of `cancel` is readable.
Ending Collect(int pidfd, const CancelFds& cancel, absl::Time deadline, Output* out, Output* err) {
  while (true) {
    struct pollfd polls[5] = {{pidfd, POLLIN, 0},
                              {out->reader(), POLLIN, 0},
                              {err->reader(), POLLIN, 0},
                              {cancel[0], POLLIN, 0},
                              {cancel[1], POLLIN, 0}};
    int64_t wait = -1;
    if (deadline != absl::InfiniteFuture()) {
      wait = std::clamp<int64_t>(absl::ToInt64Milliseconds(deadline - absl::Now()) + 1, 0, 1 << 30);
    }
    const int ready = poll(polls, 5, static_cast<int>(wait));
    if (ready == 0) return Ending::kTimeout;
    if (ready < 0) continue;  // EINTR
    if (polls[1].revents != 0) out->Take();
    if (polls[2].revents != 0) err->Take();
    if (polls[0].revents != 0) break;
    if (polls[3].revents != 0) return Ending::kStopping;
    if (polls[4].revents != 0) return Ending::kCancelled;
    // Output that never pauses doesn't put it off.
    if (absl::Now() > deadline) return Ending::kTimeout;
  }
  out->TakeRest();
  err->TakeRest();
  return Ending::kExit;
}

// The usual case: the group dies, crun sees it and ends. If crun was still on its way into the
// container, its children are not in the group yet. Without a group (a call without a timeout that
// is cancelled) what the command left in the background stays until its container goes.
absl::Status KillTree(const FsRoot& host, const std::optional<ExecGroup>& group,
                      absl::Duration patience, Child* child) {
  const absl::Time deadline = absl::Now() + patience;
  const auto kill_group = [&] { return group ? group->Kill(deadline) : absl::OkStatus(); };
  absl::Status killed = kill_group();
  if (!child->Wait(absl::Now() + kCrunEnds).ok()) {
    const auto table = linux::ListProcessTable(host);
    child->Signal(SIGKILL).IgnoreError();
    if (table.ok()) {
      for (const linux::ProcessEntry& each : linux::DescendantsOf(*table, child->pid())) {
        killed = FirstError(killed, linux::KillProcess(host, each.id));
      }
    }
    child->Wait(std::max(deadline, absl::Now() + kCrunEnds)).IgnoreError();
    killed = FirstError(killed, kill_group());
  }
  return killed;
}

// SIGKILL ends what cgroup v1 has frozen only when it goes on.
bool IsFrozen(const ExecTools& tools, absl::string_view cgroup_path) {
  if (tools.layout == linux::CgroupLayout::kV2) return false;
  const auto state =
      tools.host.Read(absl::StrCat("sys/fs/cgroup/freezer/", cgroup_path, "/freezer.state"));
  return state.ok() && absl::StripAsciiWhitespace(*state) != "THAWED";
}

// crun's own words, which it writes as JSON lines into a file of ours: standard error is the
// command's.
std::string RuntimeMessage(int fd) {
  std::string text(8192, '\0');
  const ssize_t n = pread(fd, text.data(), text.size(), 0);
  text.resize(static_cast<size_t>(std::max<ssize_t>(n, 0)));
  for (absl::string_view line : absl::StrSplit(text, '\n', absl::SkipEmpty())) {
    const auto json = nlohmann::json::parse(line.begin(), line.end(), nullptr, false);
    if (!json.is_object()) continue;
    const auto message = json.find("msg");
    if (message != json.end() && message->is_string()) return message->get<std::string>();
  }
  return text;
}

absl::StatusOr<ExecResult> Translate(const std::string& message, const ExecRequest& request,
                                     absl::string_view id) {
  const std::string& program = request.argv[0];
  // Only what is said of the program itself is a result of the command; of anything else (a
  // namespace or a group that is gone) it is the runtime's own failure.
  const bool of_program = absl::StrContains(message, "executable") ||
                          absl::StrContains(message, "exec: ") ||
                          absl::StrContains(message, absl::StrCat("`", program, "`"));
  if (of_program && (absl::StrContains(message, "not found in $PATH") ||
                     absl::StrContains(message, "No such file or directory"))) {
    return ExecResult{
        .exit_code = 127,
        .err = absl::StrCat("exec: ", program, ": not found in the container (", message, ")\n")};
  }
  if (of_program) {
    return ExecResult{
        .exit_code = 126,
        .err = absl::StrCat("exec: ", program, ": can't be executed (", message, ")\n")};
  }
  if (absl::StrContains(message, "is paused")) {
    return absl::AbortedError(absl::StrCat("exec: container ", id, " is frozen"));
  }
  if (absl::StrContains(message, "is not running") ||
      absl::StrContains(message, "does not exist")) {
    return absl::FailedPreconditionError(absl::StrCat("exec: container ", id, " is not running"));
  }
  return absl::InternalError(absl::StrCat("exec in container ", id, ": ", message));
}

// What crun keeps of the container, where it is there and says nothing; else empty.
std::string DamagedRecord(const ExecTools& tools, absl::string_view id) {
  constexpr size_t kMostBytes = 1 << 20;
  const std::string path = absl::StrCat(id, "/status");
  const absl::StatusOr<std::string> text = tools.crun->state().Read(path, kMostBytes);
  if (!text.ok()) return "";
  const auto json = nlohmann::json::parse(*text, nullptr, /*allow_exceptions=*/false);
  return json.is_object() ? "" : tools.crun->state().PathOf(path);
}

// Whether the container has ended, or is about to: crun tells of a failure before the kernel is
// done with the container under it.
bool HasEnded(const ExecTools& tools, absl::string_view id) {
  const absl::StatusOr<std::optional<CrunStatus>> found = tools.crun->Status(id);
  if (!found.ok()) return false;
  const std::optional<CrunStatus>& status = *found;
  if (!status) return !tools.crun->state().Has(id).value_or(true);
  const auto init = linux::OpenProcess(tools.host, {status->pid, status->start_time_ticks});
  if (!init.ok()) return absl::IsNotFound(init.status());
  return linux::AwaitExit(*init, absl::Now() + kEnding);
}

struct Descriptors {
  UniqueFd plan;  // memfds
  UniqueFd log;
  UniqueFd process;
  LaunchSignal entered;
};

absl::StatusOr<UniqueFd> MakeMemfd(const char* name, const std::string& text) {
  UniqueFd fd(memfd_create(name, MFD_CLOEXEC));
  if (!fd.valid() ||
      write(fd.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size())) {
    return ErrnoStatus(errno, "memfd for exec");
  }
  return fd;
}

// Has crun take the command as the container's own process with other words. Where there is no such
// container, crun says so.
absl::Status UseContainersProcess(const ExecTools& tools, absl::string_view id,
                                  const ExecRequest& request, Descriptors* own,
                                  std::vector<std::string>* arguments) {
  const absl::StatusOr<std::string> config =
      tools.crun->state().Read(absl::StrCat(id, "/config.json"));
  if (absl::IsNotFound(config.status())) return absl::OkStatus();
  const std::string what = absl::StrCat("exec in container ", id);
  if (!config.ok()) return Annotate(config.status(), what);
  const absl::StatusOr<std::string> process = ExecProcess(*config, request.argv);
  if (!process.ok()) return Annotate(process.status(), what);
  PLIMSOLL_ASSIGN_OR_RETURN(own->process, MakeMemfd("exec-process", *process));
  arguments->push_back(absl::StrCat("--process=/proc/self/fd/", kProcessDescriptor));
  return absl::OkStatus();
}

absl::StatusOr<Command> MakeCommand(const ExecTools& tools, absl::string_view id,
                                    const ExecRequest& request,
                                    const std::optional<ExecGroup>& group, Descriptors* own) {
  own->log.Reset(memfd_create("exec-log", MFD_CLOEXEC));
  if (!own->log.valid()) return ErrnoStatus(errno, "memfd for exec");
  std::vector<std::string> arguments = {absl::StrCat("--log=file:/proc/self/fd/", kLogDescriptor),
                                        "--log-format=json", "exec"};
  if (group && !group->RuntimeOption().empty()) arguments.push_back(group->RuntimeOption());
  PLIMSOLL_RETURN_IF_ERROR(UseContainersProcess(tools, id, request, own, &arguments));
  // With a process crun passes over the words of the command, by which others know it in a list of
  // processes (exec_strays.h).
  arguments.emplace_back(id);
  arguments.insert(arguments.end(), request.argv.begin(), request.argv.end());

  LaunchPlan plan;
  for (const std::string& file : request.entry_files) plan.Add("enter", file);
  if (request.oom_score_adj.has_value()) plan.Add("oom", absl::StrCat(*request.oom_score_adj));
  // crun 1.8's exec leaves the container's limits aside: the command has what crun has.
  if (const auto& limit = tools.descriptor_limit; limit.has_value()) {
    plan.Add("nofile", absl::StrCat(limit->soft, ":", limit->hard));
  }
  const bool has_group = group && group->AddToPlan(&plan);
  if (!has_group && plan.text().empty()) {
    Command command = tools.crun->MakeCommand(arguments);
    command.environment.push_back(ExecMark(tools.crun->state()));
    command.descriptors = {{own->log.get(), kLogDescriptor}};
    if (own->process.valid()) {
      command.descriptors.emplace_back(own->process.get(), kProcessDescriptor);
    }
    return command;
  }
  plan.Add("runtime", tools.crun->executable());
  plan.Add("root", tools.crun->state().path());
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

}  // namespace

absl::StatusOr<ExecResult> ExecInContainer(const ExecTools& tools, absl::string_view id,
                                           absl::string_view cgroup_path,
                                           const ExecRequest& request) {
  if (request.argv.empty()) return absl::InvalidArgumentError("exec: no command");
  absl::Time deadline = absl::InfiniteFuture();
  std::optional<ExecGroup> group;
  if (request.timeout > absl::ZeroDuration()) {
    deadline = std::min(absl::Now() + request.timeout, request.deadline);
    PLIMSOLL_ASSIGN_OR_RETURN(group, ExecGroup::Make(tools.host, tools.layout, cgroup_path));
  }
  Descriptors own;
  Output out;
  Output err;
  absl::StatusOr<Child> child = [&]() -> absl::StatusOr<Child> {
    PLIMSOLL_RETURN_IF_ERROR(out.Open(request.max_output_bytes));
    PLIMSOLL_RETURN_IF_ERROR(err.Open(request.max_output_bytes));
    PLIMSOLL_ASSIGN_OR_RETURN(Command command, MakeCommand(tools, id, request, group, &own));
    command.descriptors.emplace_back(out.writer(), 1);
    command.descriptors.emplace_back(err.writer(), 2);
    return Spawn(command);
  }();
  if (!child.ok()) {
    if (group) group->Remove();
    return child.status();
  }
  out.CloseWriter();
  err.CloseWriter();
  std::optional<EnteringProcesses::Entry> entry;
  if (tools.entering != nullptr) entry.emplace(tools.entering, id, child->pid());
  const CancelFds cancel = {tools.cancel_fd,
                            request.cancellation == nullptr ? -1 : request.cancellation->fd()};
  own.entered.Await(cancel, deadline);
  if (request.entered) request.entered();
  const Ending ending = Collect(child->pidfd(), cancel, deadline, &out, &err);
  absl::Status killed;
  if (ending != Ending::kExit) {
    const bool frozen = IsFrozen(tools, cgroup_path);
    killed = KillTree(tools.host, group, frozen ? kKillingFrozen : kKilling, &*child);
    if (frozen) killed = AlsoSay(killed, "the container is frozen, and they end when it goes on");
  }
  if (group) group->Remove();
  const std::string what = absl::StrCat("exec in container ", id, ": \"", request.argv[0], "\"");
  const std::string end = killed.ok() ? ", killed" : absl::StrCat(": ", killed.message());
  if (ending == Ending::kTimeout) {
    return absl::DeadlineExceededError(
        absl::StrCat(what, " not finished after ", absl::FormatDuration(request.timeout), end));
  }
  if (ending == Ending::kCancelled) {
    return absl::CancelledError(
        absl::StrCat(what, " not finished when its client went or gave up waiting", end));
  }
  if (ending == Ending::kStopping) {
    return absl::UnavailableError(absl::StrCat(what, " not finished as the daemon stops", end));
  }
  PLIMSOLL_ASSIGN_OR_RETURN(const ExitStatus exit, child->Wait());
  const std::string message = RuntimeMessage(own.log.get());
  // The launcher finds the container's group by its path, which a container that ends takes away.
  const bool launched = exit.code != 1 || !message.empty() || !err.StartsWith("plimsoll: ");
  if (group && !launched && !group->HasContainer())
    return Translate("the container is not running", request, id);
  absl::StatusOr<ExecResult> result =
      !exit.success() && !message.empty()
          ? Translate(message, request, id)
          : ExecResult{
                .exit_code = exit.code, .out = std::move(out).Text(), .err = std::move(err).Text()};
  const bool is_silent = result.ok() && result->exit_code == kSilentFailure &&
                         result->out.empty() && result->err.empty();
  if (absl::IsInternal(result.status())) {
    if (const std::string file = DamagedRecord(tools, id); !file.empty()) {
      return absl::FailedPreconditionError(absl::StrCat(
          what, ": ", file, " is empty or damaged, by which the OCI runtime knows the ",
          "container; remove the container and make it anew"));
    }
  }
  if ((is_silent || absl::IsInternal(result.status())) && HasEnded(tools, id)) {
    return absl::FailedPreconditionError(absl::StrCat(what, ": the container ended at that moment",
                                                      message.empty() ? "" : ": ", message));
  }
  return result;
}

}  // namespace plimsoll::runtime
