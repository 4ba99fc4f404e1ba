// kubelet.sock: where device plugins register (v1beta1.Registration).
#ifndef PLIMSOLL_AGENT_DEVICE_MANAGER_REGISTRATION_SERVER_H_
#define PLIMSOLL_AGENT_DEVICE_MANAGER_REGISTRATION_SERVER_H_

#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "agent/counters/counters.h"
#include "agent/device_manager/manager_news.h"
#include "base/fs_root.h"
#include "base/worker_pool.h"

namespace plimsoll::agent {

inline constexpr char kDevicePluginVersion[] = "v1beta1";
inline constexpr char kKubeletSocket[] = "kubelet.sock";

// Connects to a plugin and takes it, before its registration is answered. Waits for the plugin.
using EnlistPlugin =
    std::function<absl::Status(const std::string& resource, const std::string& socket_path)>;

class RegistrationServer {
 public:
  struct Options {
    FsRoot root;
    std::string directory;         // absolute, beneath `root`; is made, with mode 0750
    EnlistPlugin enlist;           // called in the pool
    WorkerPool* pool = nullptr;    // these outlive the server
    ManagerNews* news = nullptr;   // gets what was refused
    Counters* counters = nullptr;  // may be null
  };
  // Removes all other sockets of the directory. FAILED_PRECONDITION: another process listens at
  // kubelet.sock.
  static absl::StatusOr<std::unique_ptr<RegistrationServer>> Start(Options options);
  // Waits for registrations under way. Removes the socket, unless another file has its place.
  virtual ~RegistrationServer() = default;
};

}  // namespace plimsoll::agent

#endif  // PLIMSOLL_AGENT_DEVICE_MANAGER_REGISTRATION_SERVER_H_
