// The DRA driver of QoS classes on one node: publishes the node's classes as devices, and prepares
// claims for kubelet.
//
//   PLIMSOLL_ASSIGN_OR_RETURN(auto driver, ClassDriver::Start(*api, *link, std::move(options)));
//   driver->Report(report);  // each report of the link, nullptr when it is lost
//   driver->Drain();
//   api->Stop();             // before the destructor
#ifndef PLIMSOLL_KUBE_DRIVER_DRIVER_H_
#define PLIMSOLL_KUBE_DRIVER_DRIVER_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/fs_root.h"
#include "kube/apiserver/api_client.h"
#include "kube/driver/plugin_server.h"
#include "kube/driver/slice_publisher.h"
#include "kube/link/runtime_link.h"

namespace plimsoll::kube {

struct DriverOptions {
  std::string node;
  FsRoot state;  // the directory of the prepared claims
  PluginSocket registration;
  PluginSocket driver;
  // For the log: a lasting trouble, once each time that it changes, and what is so now.
  std::function<void(const std::string&)> warn;
  std::function<void(const std::string&)> note;
  absl::Duration claim_patience = absl::Seconds(10);
  absl::Duration drain_grace = absl::Seconds(5);
};

struct DriverCounts {
  PluginCounts calls;
  int64_t prepared_claims = 0;  // on the disk
  uint64_t slice_writes = 0;
  bool registered = false;  // by kubelet, since the start
  bool runtime_answers = false;
  bool published = false;  // the slices are as the classes are, as far as is known
};

// Thread-safe.
class ClassDriver {
 public:
  // Serves when it returns, also while the API server or plimsolld is away. Client and link outlive
  // this; the client is stopped before the end of this.
  static absl::StatusOr<std::unique_ptr<ClassDriver>> Start(ApiClient& api, RuntimeLink& link,
                                                            DriverOptions options);
  virtual ~ClassDriver() = default;

  // Doesn't wait.
  virtual void Report(std::shared_ptr<const NodeReport> report) = 0;
  // Serves kubelet no longer; claims under way get `drain_grace`, and then the API client is
  // stopped.
  virtual void Drain() = 0;
  virtual DriverCounts counts() = 0;
};

// The sockets below kubelet's root, "/var/lib/kubelet".
std::string RegistrationSocketOf(const std::string& kubelet_root);
std::string DriverSocketOf(const std::string& kubelet_root);

}  // namespace plimsoll::kube

#endif  // PLIMSOLL_KUBE_DRIVER_DRIVER_H_
