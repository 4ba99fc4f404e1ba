#include "copy/helper.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "base/fs_root.h"
#include "base/monotonic_time.h"
#include "base/programs/pipe.h"
#include "base/status.h"
#include "copy/helper_protocol.h"
#include "copy/helper_report.h"

namespace plimsoll::copy {
namespace {

constexpr absl::Duration kLook = absl::Milliseconds(100);
constexpr absl::Duration kGrace = absl::Seconds(5);

std::string FlagsOf(const HelperPlan& plan, bool user_namespace) {
  std::string flags = "-";  // never empty, for readers of ps(1)
  if (plan.gives) flags += kGives;
  if (plan.archive) flags += kArchive;
  if (plan.follow) flags += kFollow;
  if (plan.content) flags += kContent;
  if (plan.bare) flags += kBare;
  if (user_namespace) flags += kUserNamespace;
  return flags;
}

std::string ReadAll(int fd) {
  std::string text;
  char buffer[4096];
  ssize_t n = 0;
  while ((n = pread(fd, buffer, sizeof(buffer), static_cast<off_t>(text.size()))) > 0) {
    text.append(buffer, static_cast<size_t>(n));
  }
  return text;
}

}  // namespace

absl::StatusOr<Helper> Helper::Start(const std::string& program, const HelperPlan& plan,
                                     const ContainerRoot& container) {
  PLIMSOLL_ASSIGN_OR_RETURN(Pipe pipe, MakePipe());
  UniqueFd report(memfd_create("cp-report", MFD_CLOEXEC));
  if (!report.valid()) return ErrnoStatus(errno, "memfd for cp");
  UniqueFd& its = plan.gives ? pipe.writer : pipe.reader;
  UniqueFd& ours = plan.gives ? pipe.reader : pipe.writer;
  const bool enters = container.user_namespace.valid();
  Command command;
  command.executable = program;
  command.argv = {"plimsoll", kHelperWord, FlagsOf(plan, enters), plan.label, plan.path, plan.name};
  command.descriptors = {
      {its.get(), kStreamFd}, {container.root.get(), kRootFd}, {report.get(), kReportFd}};
  if (enters) command.descriptors.emplace_back(container.user_namespace.get(), kUserFd);
  // Ctrl-C at the terminal is only for its starter.
  command.new_session = true;
  PLIMSOLL_ASSIGN_OR_RETURN(Child child, Spawn(command));
  return Helper(plan.gives, std::move(child), std::move(ours), std::move(report));
}

Helper::Outcome Helper::Await(const std::function<bool()>& hurry) {
  stream_.Reset();
  absl::Time end = absl::InfiniteFuture();
  auto exit = child_.Wait(MonotonicNow() + kLook);
  while (!exit.ok() && MonotonicNow() < end) {
    if (end == absl::InfiniteFuture() && hurry()) {
      end = MonotonicNow() + (gives_ ? absl::ZeroDuration() : kGrace);
    }
    exit = child_.Wait(MonotonicNow() + kLook);
  }
  if (!exit.ok()) {
    child_.Signal(SIGKILL).IgnoreError();
    return {.status = exit.status(), .notes = {}};
  }
  Report report = ParseReport(ReadAll(report_.get()));
  if (report.status.ok() && exit->code != 0 && exit->code != kNobodyReads) {
    report.status = absl::InternalError(
        absl::StrCat("the process at the container's files ended with ", exit->ToString()));
  }
  return {.status = std::move(report.status), .notes = std::move(report.notes)};
}

}  // namespace plimsoll::copy
