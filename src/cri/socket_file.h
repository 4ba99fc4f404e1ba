// The unix socket that a server is found at: it appears at its path with mode and group right.
//
//   PLIMSOLL_RETURN_IF_ERROR(CheckSocketPath(path));
//   PLIMSOLL_RETURN_IF_ERROR(CheckNobodyListens(path));
//   ... listen on UnfinishedSocket(path) ...
//   PLIMSOLL_RETURN_IF_ERROR(PublishSocket({path, 0660, group}));
#ifndef PLIMSOLL_CRI_SOCKET_FILE_H_
#define PLIMSOLL_CRI_SOCKET_FILE_H_

#include <sys/types.h>

#include <optional>
#include <string>

#include "absl/status/status.h"

namespace plimsoll::cri {

// INVALID_ARGUMENT: not absolute, or longer than a socket's address may be.
absl::Status CheckSocketPath(const std::string& path);

// FAILED_PRECONDITION if somebody listens there, or if it is no socket at all.
absl::Status CheckNobodyListens(const std::string& path);

// Where to listen first.
std::string UnfinishedSocket(const std::string& path);

struct SocketFile {
  std::string path;
  mode_t mode = 0660;
  std::optional<gid_t> group;  // owner stays this process's user
};
// Gives the unfinished socket its mode and group, and only then its name. What was there is
// replaced.
absl::Status PublishSocket(const SocketFile& socket);

}  // namespace plimsoll::cri

#endif  // PLIMSOLL_CRI_SOCKET_FILE_H_
