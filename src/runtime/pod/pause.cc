#include "runtime/pod/pause.h"

#include <sys/socket.h>

#include <cerrno>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/programs/own_program.h"
#include "base/programs/subprocess.h"
#include "base/status.h"

namespace plimsoll::runtime {
namespace {

constexpr int kGoDescriptor = 3;  // as plimsoll-pause knows it
constexpr char kRoot[] = "pause";

}  // namespace

absl::Status HeldPause::Release() {
  const char go = 1;
  if (send(go_.get(), &go, 1, MSG_NOSIGNAL) != 1) {
    return ErrnoStatus(errno, absl::StrCat("release process ", id_.pid, " of the PID namespace"));
  }
  go_.Reset();
  return absl::OkStatus();
}

absl::StatusOr<HeldPause> StartPause(const FsRoot& host, const FsRoot& directory,
                                     const std::string& program,
                                     const std::vector<std::string>& namespaces) {
  Command command;
  if (program.empty()) {
    PLIMSOLL_ASSIGN_OR_RETURN(command.executable, FindOwnProgram("plimsoll-pause"));
  } else {
    command.executable = program;
  }
  PLIMSOLL_RETURN_IF_ERROR(directory.MakeDirs(kRoot));
  command.argv = {"plimsoll-pause", "make", directory.PathOf(kRoot)};
  command.argv.insert(command.argv.end(), namespaces.begin(), namespaces.end());
  int ends[2];  // no pipe: a write without a reader would raise SIGPIPE
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
    return ErrnoStatus(errno, "socketpair");
  }
  const UniqueFd theirs(ends[0]);
  UniqueFd go(ends[1]);
  command.descriptors = {{theirs.get(), kGoDescriptor}};
  const absl::StatusOr<std::string> out = RunChecked(std::move(command));
  if (!out.ok()) return Annotate(out.status(), "make a PID namespace for the pod");
  int pid = 0;
  if (!absl::SimpleAtoi(*out, &pid)) {
    return absl::InternalError(absl::StrCat("plimsoll-pause said \"", *out, "\", not a pid"));
  }
  PLIMSOLL_ASSIGN_OR_RETURN(const linux::ProcessId id, linux::IdentifyProcess(host, pid));
  return HeldPause(id, std::move(go));
}

absl::Status EndPause(const FsRoot& host, const linux::ProcessId& id, absl::Time deadline) {
  return Annotate(linux::KillAndAwait(host, id, deadline), "the init of a pod's PID namespace");
}

}  // namespace plimsoll::runtime
