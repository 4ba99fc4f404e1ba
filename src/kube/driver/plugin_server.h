// kubelet's side of the driver: the registration socket, the driver's socket, and what is served
// there (pluginregistration.Registration, k8s.io.kubelet.pkg.apis.dra.v1.DRAPlugin,
// v1alpha1.DRAResourceHealth).
#ifndef PLIMSOLL_KUBE_DRIVER_PLUGIN_SERVER_H_
#define PLIMSOLL_KUBE_DRIVER_PLUGIN_SERVER_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/unique_fd.h"
#include "kube/driver/claims.h"
#include "kube/driver/device_board.h"

namespace plimsoll::kube {

// The number of claims in a call.
inline constexpr int kMaxClaims = 1000;

// One of the two sockets.
struct PluginSocket {
  std::string path;   // absolute
  UniqueFd listener;  // listens there already; invalid: the server makes the socket
};

struct PluginServerOptions {
  std::string node;
  PluginSocket registration;  // plugins_registry/classes.plimsoll.dev-reg.sock
  PluginSocket driver;        // plugins/classes.plimsoll.dev/dra.sock
  Claims* claims = nullptr;   // this and the board outlive the server
  DeviceBoard* board = nullptr;
  // kubelet's verdict: registered, or the reason of a refusal. From a thread of gRPC's.
  std::function<void(bool registered, const std::string& error)> on_verdict;
  // Before each call about claims, from a thread of gRPC's: kubelet has registered the driver,
  // maybe one that ran before. May be null.
  std::function<void()> on_call;
  // A socket was removed by others: it has been made again (OK), or can't be. May be null.
  std::function<void(const std::string& path, const absl::Status&)> tell_socket;
  // At the end, for calls that run, and then the call of `abandon`, which ends them soon. It may be
  // null.
  absl::Duration grace = absl::Seconds(5);
  std::function<void()> abandon;
};

struct PluginCounts {
  uint64_t prepared = 0;  // claims, since the start
  uint64_t prepare_failures = 0;
  uint64_t unprepared = 0;
  uint64_t unprepare_failures = 0;
};

class PluginServer {
 public:
  // Serves when it returns. FAILED_PRECONDITION: another process listens at a socket that has to be
  // made. A leftover socket is replaced.
  static absl::StatusOr<std::unique_ptr<PluginServer>> Start(PluginServerOptions options);
  // Takes no more connections, and returns once no call runs. The sockets that it made are removed:
  // kubelet then removes this node's slices, unless the driver is back within half a minute.
  virtual ~PluginServer() = default;

  virtual PluginCounts counts() const = 0;
};

}  // namespace plimsoll::kube

#endif  // PLIMSOLL_KUBE_DRIVER_PLUGIN_SERVER_H_
