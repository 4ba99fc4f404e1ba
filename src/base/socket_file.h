// A server's unix socket file, which appears at its path with mode and group right.
//
//   PLIMSOLL_RETURN_IF_ERROR(CheckSocketPath(path));
//   PLIMSOLL_RETURN_IF_ERROR(CheckNobodyListens(path));
//   PLIMSOLL_ASSIGN_OR_RETURN(UniqueFd listener, ListenAt({path, 0660, group}));
//
// A library that listens by itself gets UnfinishedSocket(path), and PublishSocket follows.
#ifndef PLIMSOLL_BASE_SOCKET_FILE_H_
#define PLIMSOLL_BASE_SOCKET_FILE_H_

#include <sys/types.h>

#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/unique_fd.h"

namespace plimsoll {

// INVALID_ARGUMENT: not absolute, or longer than a socket's address may be.
absl::Status CheckSocketPath(const std::string& path);

// FAILED_PRECONDITION if a process listens there, or it is no socket at all.
absl::Status CheckNobodyListens(const std::string& path);

// The path to listen on first: a hidden file beside it.
std::string UnfinishedSocket(const std::string& path);

struct SocketFile {
  std::string path;
  mode_t mode = 0660;
  std::optional<gid_t> group;  // owner stays this process's user
};
// Gives the unfinished socket its mode and group, and only then its name. Replaces a file that was
// there.
absl::Status PublishSocket(const SocketFile& socket);

// A non-blocking listener at the path. Replaces a file that was there. A failure leaves no file.
absl::StatusOr<UniqueFd> ListenAt(const SocketFile& socket);

}  // namespace plimsoll

#endif  // PLIMSOLL_BASE_SOCKET_FILE_H_
