// kubelet's side of a DRA driver: finds its registration socket, registers it, and calls it.
#ifndef PLIMSOLL_TESTS_HARNESS_DRIVERS_KUBELET_H_
#define PLIMSOLL_TESTS_HARNESS_DRIVERS_KUBELET_H_

#include <grpcpp/grpcpp.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "kubelet/dra/v1/api.grpc.pb.h"
#include "kubelet/drahealth/v1alpha1/api.grpc.pb.h"
#include "kubelet/pluginregistration/v1/api.grpc.pb.h"

namespace plimsoll::testing {

// A claim, named as kubelet names it.
struct ClaimName {
  std::string claim_namespace;
  std::string name;
  std::string uid;
};

// Each call makes a connection of its own, as a kubelet that was just started.
class DriversKubelet {
 public:
  explicit DriversKubelet(std::string root) : root_(std::move(root)) {}

  const std::string& root() const { return root_; }
  std::string registration_socket() const {
    return root_ + "/plugins_registry/classes.plimsoll.dev-reg.sock";
  }

  // Looks for the driver, asks for its name and endpoint, and notifies it that it is registered.
  grpc::Status Register();
  // The driver's information about itself.
  const pluginregistration::PluginInfo& info() const { return info_; }

  // The driver must be registered. CDI names of the claim's devices, by request; or the error.
  using Prepared = std::map<std::string, std::vector<std::string>>;
  std::string Prepare(const ClaimName& claim, Prepared* prepared);
  // Empty: done.
  std::string Unprepare(const ClaimName& claim);
  // The health of the device; UNKNOWN without one.
  v1alpha1::HealthStatus Health(const std::string& device);

 private:
  const std::string root_;
  pluginregistration::PluginInfo info_;
};

}  // namespace plimsoll::testing

#endif  // PLIMSOLL_TESTS_HARNESS_DRIVERS_KUBELET_H_
