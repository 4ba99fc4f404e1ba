// Sockets that systemd made and passed on (sd_listen_fds(3)): they lie in directories of root's, so
// that the program needs no root.
#ifndef PLIMSOLL_KUBE_INHERITED_SOCKETS_H_
#define PLIMSOLL_KUBE_INHERITED_SOCKETS_H_

#include <sys/types.h>

#include <functional>
#include <map>
#include <string>

#include "absl/status/statusor.h"
#include "base/unique_fd.h"

namespace plimsoll::kube {

// Listening unix sockets by their paths. None: nothing was passed on to this process. Takes the
// descriptors, so it is called once. INVALID_ARGUMENT: one of them is something else.
absl::StatusOr<std::map<std::string, UniqueFd>> InheritedSockets(
    const std::function<const char*(const char*)>& environment, pid_t self, int first = 3);

// Takes the socket of this path out of them; invalid: there is none.
UniqueFd TakeSocket(std::map<std::string, UniqueFd>& sockets, const std::string& path);

}  // namespace plimsoll::kube

#endif  // PLIMSOLL_KUBE_INHERITED_SOCKETS_H_
