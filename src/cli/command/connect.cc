#include "cli/command/connect.h"

#include <fcntl.h>
#include <sys/file.h>

#include <algorithm>
#include <cerrno>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "base/fs_root.h"
#include "base/random_id.h"
#include "base/socket_probe.h"
#include "base/status.h"
#include "base/unique_fd.h"
#include "cli/command/standalone.h"
#include "cli/terminal/errors.h"
#include "cli/terminal/output.h"
#include "systemd/units.h"

namespace plimsoll::cli {
namespace {

// `may_start`: without --address the command would start one.
absl::Status NoDaemon(const absl::Status& status, const std::string& address, bool may_start) {
  if (absl::IsPermissionDenied(status)) {
    return WithHint(Annotate(status, absl::StrCat("no permission for the daemon at ", address)),
                    "Run this as root, or as a member of the group that owns the socket.");
  }
  if (absl::IsFailedPrecondition(status)) {
    return WithHint(
        Annotate(status, absl::StrCat("no daemon at ", address)),
        absl::StrCat("--address takes the socket of a daemon, as ", pod::kDefaultAddress));
  }
  return WithHint(
      Annotate(
          absl::Status(absl::IsNotFound(status) ? absl::StatusCode::kUnavailable : status.code(),
                       status.message()),
          absl::StrCat("no daemon at ", address)),
      absl::StrCat(
          HowToStart("plimsolld"),
          may_start ? ", or leave --address out: plimsoll then starts a daemon of its own." : "."));
}

// True if a daemon has that run directory: it holds flock(2) on the file "lock" there. The lock is
// taken for a moment only, and shared, so that it keeps no daemon from starting.
bool IsInUse(const FsRoot& run) {
  const absl::StatusOr<UniqueFd> lock = run.OpenFile("lock", O_RDONLY);
  return lock.ok() && flock(lock->get(), LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
}

class StandaloneKeeper : public pod::DaemonKeeper {
 public:
  StandaloneKeeper(StandaloneOptions options, Standalone standalone)
      : options_(std::move(options)), standalone_(std::move(standalone)) {}

  void Revive() override {
    absl::MutexLock lock(&mutex_);
    if (ProbeSocket(options_.dirs.socket()).ok()) return;
    absl::StatusOr<Standalone> again = Standalone::Join(options_);
    if (again.ok()) standalone_ = *std::move(again);
  }

  // Waits, so that the next command of a script finds no daemon about to end.
  void LeaveUnused() override {
    absl::MutexLock lock(&mutex_);
    standalone_.Leave(absl::Seconds(3));
  }

 private:
  const StandaloneOptions options_;
  absl::Mutex mutex_;
  Standalone standalone_ ABSL_GUARDED_BY(mutex_);
};

absl::StatusOr<std::unique_ptr<pod::Client>> Open(const std::string& address,
                                                  std::unique_ptr<pod::DaemonKeeper> keeper) {
  return pod::Client::Open(
      {.address = address,
       .silent =
           [] {
             PrintNote(
                 "plimsoll: the daemon does not answer (is it stopped, or the machine "
                 "overloaded?); waiting for it. Ctrl-C gives up.\n");
           },
       .answers_again = [] { PrintNote("plimsoll: the daemon answers again\n"); },
       .keeper = std::move(keeper)});
}

// UNAVAILABLE unless the daemon of our own runs.
absl::Status CheckRuns(const StandaloneDirs& dirs) {
  const absl::Status listening = ProbeSocket(dirs.socket());
  if (absl::IsNotFound(listening)) {
    return WithHint(
        absl::UnavailableError(absl::StrCat("no daemon runs in ", dirs.run)),
        "A command that needs a daemon starts one itself; for a lasting one, start plimsolld.");
  }
  return listening.ok() ? listening
                        : NoDaemon(listening, "unix://" + dirs.socket(), /*may_start=*/false);
}

absl::StatusOr<std::unique_ptr<pod::Client>> ConnectToOwn(const ConnectOptions& options) {
  const StandaloneOptions own = {.dirs = StandaloneDirs::Below(options.root),
                                 .daemon = options.daemon};
  if (!options.may_start) PLIMSOLL_RETURN_IF_ERROR(CheckRuns(own.dirs));
  PLIMSOLL_ASSIGN_OR_RETURN(Standalone standalone, Standalone::Join(own));
  const std::string address = "unix://" + standalone.socket();
  return Open(address, std::make_unique<StandaloneKeeper>(own, std::move(standalone)));
}

}  // namespace

absl::Status CheckNoService(const std::string& socket) {
  const std::string directory = socket.substr(0, socket.rfind('/'));
  const absl::StatusOr<FsRoot> run = FsRoot::Open(directory);
  if (!run.ok()) return absl::OkStatus();
  // A daemon that ends in order removes its socket, a killed one leaves it.
  const bool is_locked = IsInUse(*run);
  if (!is_locked && !run->Has(socket.substr(directory.size() + 1)).value_or(false)) {
    return absl::OkStatus();
  }
  return WithHint(
      absl::UnavailableError(absl::StrCat(
          "no daemon answers at unix://", socket, ": ",
          is_locked ? "the plimsolld of that directory is starting or ending, or listens elsewhere"
                    : "the socket was left by a plimsolld that was killed")),
      absl::StrCat(
          HowToStart("plimsolld"),
          ", or try again if it is just starting. If this machine is to have none, remove the "
          "socket. --root DIRECTORY uses a daemon of your own."));
}

std::string SocketFor(const ConnectOptions& options) {
  const std::string own = StandaloneDirs::Below(options.root).socket();
  if (options.address.empty() && !options.root.empty()) return own;
  const std::string address = options.address.empty() ? options.service : options.address;
  // An address of another kind is Connect's to refuse.
  const std::string path = pod::SocketPathOf(address).value_or(address);
  const bool is_own =
      options.address.empty() && absl::IsNotFound(ProbeSocket(path)) && CheckNoService(path).ok();
  return is_own ? own : path;
}

std::string StartCommand(absl::string_view service, const std::string& root) {
  const absl::StatusOr<FsRoot> host = FsRoot::Open(root);
  if (!host.ok() || !systemd::SystemdRuns(*host)) return "";
  return absl::StrCat("systemctl start ", service);
}

std::string HowToStart(absl::string_view service, const std::string& root) {
  const std::string command = StartCommand(service, root);
  return absl::StrCat("Start ", service, command.empty() ? "" : absl::StrCat(" (`", command, "`)"));
}

std::string NoteOfHiddenPods(const std::string& socket, const std::string& service,
                             const std::string& own) {
  const std::string run = socket.substr(0, socket.rfind('/'));
  if (run != service && run != own) return "";
  const absl::StatusOr<FsRoot> other = FsRoot::Open(run == own ? service : own);
  if (!other.ok()) return "";
  const auto names = other->List("sandboxes").value_or(std::vector<std::string>());
  const auto pods =
      std::count_if(names.begin(), names.end(), [](const auto& name) { return IsId(name); });
  if (pods == 0) return "";
  const char* const of = pods == 1 ? " pod" : " pods";
  const std::string start = StartCommand("plimsolld");
  return run == own
             ? absl::StrCat("note: not shown: ", pods, of, " of plimsolld, which doesn't run",
                            start.empty() ? "" : absl::StrCat(" (", start, ")"), "\n")
             : absl::StrCat("note: not shown: ", pods, of,
                            " started without plimsolld, which commands reach while plimsolld "
                            "doesn't run\n");
}

absl::StatusOr<std::unique_ptr<pod::Client>> Connect(const ConnectOptions& options) {
  if (options.address.empty() && !options.root.empty()) return ConnectToOwn(options);
  std::string address = options.address.empty() ? options.service : options.address;
  if (absl::StartsWith(address, "/")) address = "unix://" + address;
  PLIMSOLL_ASSIGN_OR_RETURN(const std::string path, pod::SocketPathOf(address));
  const absl::Status listening = ProbeSocket(path);
  if (listening.ok()) return Open(address, nullptr);
  // A daemon of our own is for the case that nothing listens at the default socket.
  if (!options.address.empty() || !absl::IsNotFound(listening) || !options.may_start) {
    return NoDaemon(listening, address, options.may_start);
  }
  PLIMSOLL_RETURN_IF_ERROR(CheckNoService(path));
  return ConnectToOwn(options);
}

}  // namespace plimsoll::cli
