// Finding the daemon that a command talks to, or starting one of the command line's own.
#ifndef PLIMSOLL_CLI_COMMAND_CONNECT_H_
#define PLIMSOLL_CLI_COMMAND_CONNECT_H_

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "pod_runner/runtime_client/client.h"

namespace plimsoll::cli {

struct ConnectOptions {
  std::string address;    // empty: the service's socket, else a daemon of our own
  std::string root;       // for a daemon of our own; given, the default socket is not tried
  std::string daemon;     // see StandaloneOptions
  bool may_start = true;  // false: UNAVAILABLE rather than start one
  std::string service = pod::kDefaultAddress;  // the machine's plimsolld, in its run directory
};

// The client says on standard error when the daemon gives no answer. UNAVAILABLE, with a hint, when
// no daemon listens. No daemon is started while the service's socket file exists or the lock of its
// run directory is held (UNAVAILABLE too): the machine's daemon was killed, or is starting or
// ending, and another would not know its containers. Further errors as of SocketPathOf, ProbeSocket
// and Standalone::Join.
absl::StatusOr<std::unique_ptr<pod::Client>> Connect(const ConnectOptions& options);

// UNAVAILABLE, with a hint, if the machine has a daemon whose socket this is, which doesn't listen
// there now: the file or the lock of its run directory is there. Then no command starts another.
absl::Status CheckNoService(const std::string& socket);

// The path of the socket that Connect would use now. Starts nothing.
std::string SocketFor(const ConnectOptions& options);

// The command that starts a service of this machine, as "systemctl start plimsolld"; empty: no
// systemd runs. `root`: the machine's.
std::string StartCommand(absl::string_view service, const std::string& root = "/");
// "Start plimsolld (`systemctl start plimsolld`)", or without the command.
std::string HowToStart(absl::string_view service, const std::string& root = "/");

// A note on pods of this machine that a client at `socket` doesn't see: a plimsolld and the
// commands without one have sets of their own, in the run directories `service` and `own`. Empty:
// it sees all, or it isn't known.
std::string NoteOfHiddenPods(const std::string& socket, const std::string& service,
                             const std::string& own);

}  // namespace plimsoll::cli

#endif  // PLIMSOLL_CLI_COMMAND_CONNECT_H_
