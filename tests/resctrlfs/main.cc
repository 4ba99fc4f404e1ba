// resctrlfs LAYOUT MOUNT_POINT: mounts a stand-in for Linux resctrl (README.md).
//
// Prints {"ok": true, ...} on standard output once it is mounted, then takes commands on standard
// input (control.h). Ends, with everything undone, on "stop", at the end of standard input, on
// SIGTERM, SIGINT and SIGHUP, and when it is unmounted.
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "base/fs_root.h"
#include "base/random_id.h"
#include "base/status.h"
#include "base/unique_fd.h"
#include "resctrlfs/cgroup_membership.h"
#include "resctrlfs/control.h"
#include "resctrlfs/hiding.h"
#include "resctrlfs/hierarchy.h"
#include "resctrlfs/layout.h"
#include "resctrlfs/mounted_tree.h"
#include "resctrlfs/record.h"
#include "resctrlfs/state.h"
#include "resctrlfs/threads.h"
#include "resctrlfs/tree.h"

namespace plimsoll::resctrlfs {
namespace {

// The directory of the records of running programs.
constexpr char kRecords[] = "/run/plimsoll-test-resctrlfs";

absl::StatusOr<UniqueFd> BlockSignals() {
  sigset_t signals;
  sigemptyset(&signals);
  for (int signal : {SIGTERM, SIGINT, SIGHUP}) sigaddset(&signals, signal);
  if (sigprocmask(SIG_BLOCK, &signals, nullptr) != 0) return ErrnoStatus(errno, "block signals");
  // The reader of the answers may be gone; the end of the input shows that.
  signal(SIGPIPE, SIG_IGN);
  UniqueFd fd(signalfd(-1, &signals, SFD_CLOEXEC));
  if (!fd.valid()) return ErrnoStatus(errno, "signalfd");
  return fd;
}

void Say(const std::string& text) {
  for (size_t said = 0; said < text.size();) {
    const ssize_t written = write(STDOUT_FILENO, text.data() + said, text.size() - said);
    if (written < 0 && errno != EINTR) return;
    if (written > 0) said += static_cast<size_t>(written);
  }
}

void Complain(const absl::Status& status) {
  std::fprintf(stderr, "resctrlfs: %s\n", std::string(status.message()).c_str());
}

// False at the end of standard input.
bool TakeCommands(Control* control) {
  char bytes[4096];
  const ssize_t count = read(STDIN_FILENO, bytes, sizeof bytes);
  if (count < 0) return errno == EINTR || errno == EAGAIN;
  Say(control->Receive(absl::string_view(bytes, static_cast<size_t>(count))));
  return count > 0;
}

absl::Status ServeUntilStopped(MountedTree* mounted, Control* control, int signals) {
  while (!control->is_stopped()) {
    pollfd polled[] = {{.fd = mounted->fd(), .events = POLLIN},
                       {.fd = STDIN_FILENO, .events = POLLIN},
                       {.fd = signals, .events = POLLIN}};
    if (poll(polled, 3, -1) < 0 && errno != EINTR) return ErrnoStatus(errno, "poll");
    if (polled[2].revents != 0) break;
    if (polled[0].revents != 0 && !mounted->Serve()) break;
    if (polled[1].revents != 0 && !TakeCommands(control)) break;
  }
  return absl::OkStatus();
}

absl::Status Serve(const FsRoot& host, const Record& record, Layout layout, int signals) {
  const Threads threads(host);
  PLIMSOLL_ASSIGN_OR_RETURN(Hierarchy hierarchy, Hierarchy::Open(record.hierarchy));
  CgroupMembership members(std::move(hierarchy), &threads);
  HidingMembership hiding(&members, &threads);
  State state(std::move(layout), &hiding);
  Script script;
  Tree tree(&state, &script, [&](uid_t uid, pid_t thread) { return threads.MayMove(uid, thread); });
  Control control(&state, &tree, &script, &hiding);
  PLIMSOLL_ASSIGN_OR_RETURN(const std::unique_ptr<MountedTree> mounted,
                            MountedTree::Mount(&tree, record.mount_point));
  Say("{\"ok\": true}\n");
  return ServeUntilStopped(mounted.get(), &control, signals);
}

absl::Status Run(const std::string& layout_path, const std::string& mount_point) {
  PLIMSOLL_ASSIGN_OR_RETURN(const UniqueFd signals, BlockSignals());
  PLIMSOLL_ASSIGN_OR_RETURN(const FsRoot host, FsRoot::Open("/"));
  PLIMSOLL_ASSIGN_OR_RETURN(const FsRoot records, FsRoot::OpenOrCreate(kRecords));
  if (const absl::Status status = CleanUpAfterTheDead(host, records); !status.ok()) {
    // The record stays, and the next start tries again.
    Complain(status);
  }
  PLIMSOLL_ASSIGN_OR_RETURN(const std::string json, host.Read(layout_path));
  PLIMSOLL_ASSIGN_OR_RETURN(Layout layout, ParseLayout(json));

  const Record record = {.hierarchy = "plimsoll-test-resctrl-" + RandomId().substr(0, 12),
                         .mount_point = mount_point};
  PLIMSOLL_RETURN_IF_ERROR(WriteRecord(host, records, record));
  const absl::Status served = Serve(host, record, std::move(layout), signals.get());
  const absl::Status cleaned = CleanUp(host, record);
  if (cleaned.ok()) PLIMSOLL_RETURN_IF_ERROR(RemoveRecord(records, record));
  return FirstError(served, cleaned);
}

}  // namespace
}  // namespace plimsoll::resctrlfs

int main(int argc, char** argv) {
  if (argc != 3 || argv[1][0] != '/' || argv[2][0] != '/') {
    std::fprintf(stderr, "usage: resctrlfs /path/of/layout.json /path/of/mount/point\n");
    return 2;
  }
  const absl::Status status = plimsoll::resctrlfs::Run(argv[1], argv[2]);
  if (status.ok()) return 0;
  plimsoll::resctrlfs::Complain(status);
  return 1;
}
