#include "soak/own_network.h"

#include <net/if.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "base/fs_root.h"
#include "base/status.h"
#include "base/unique_fd.h"

namespace plimsoll::testing {

absl::Status EnterOwnNetwork() {
  if (unshare(CLONE_NEWNET) != 0) return ErrnoStatus(errno, "make a network namespace");
  const UniqueFd handle(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  ifreq request = {};
  std::strncpy(request.ifr_name, "lo", sizeof(request.ifr_name) - 1);
  request.ifr_flags = IFF_UP;
  if (ioctl(handle.get(), SIOCSIFFLAGS, &request) != 0) return ErrnoStatus(errno, "bring lo up");
  return absl::OkStatus();
}

absl::StatusOr<std::string> WriteNetwork(const std::string& directory, const std::string& list) {
  std::string text = absl::StrCat(
      R"({"cniVersion": "1.0.0", "name": "soak", "disableCheck": true, "plugins": [
          {"type": "bridge", "bridge": "plsoak0", "isGateway": true, "ipMasq": true,
           "ipam": {"type": "host-local", "dataDir": ")",
      directory, R"(/leases", "ranges": [[{"subnet": "198.18.0.0/16"}]],
                    "routes": [{"dst": "0.0.0.0/0"}]}},
          {"type": "portmap", "snat": true, "capabilities": {"portMappings": true}}]})");
  if (!list.empty()) {
    PLIMSOLL_ASSIGN_OR_RETURN(const FsRoot here, FsRoot::Open("."));
    PLIMSOLL_ASSIGN_OR_RETURN(const FsRoot host, FsRoot::Open("/"));
    PLIMSOLL_ASSIGN_OR_RETURN(text, (list.front() == '/' ? host : here).Read(list));
  }
  PLIMSOLL_ASSIGN_OR_RETURN(const FsRoot root, FsRoot::Open(directory));
  PLIMSOLL_RETURN_IF_ERROR(root.MakeDirs("net.d", 0755));
  PLIMSOLL_RETURN_IF_ERROR(root.ReplaceFile("net.d/10-soak.conflist", text, 0644));
  return absl::StrCat("network:\n  config_dir: ", directory,
                      "/net.d\n  plugin_dirs: [/usr/lib/cni, /opt/cni/bin]\n");
}

}  // namespace plimsoll::testing
