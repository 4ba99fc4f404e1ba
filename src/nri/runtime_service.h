// The service that plugins call.
#ifndef PLIMSOLL_NRI_RUNTIME_SERVICE_H_
#define PLIMSOLL_NRI_RUNTIME_SERVICE_H_

#include <map>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "nri/parts.h"
#include "nri/plugin_connection.h"
#include "nri/update_applier.h"

namespace plimsoll::nri {

// Thread-safe. Takes no turn: a plugin may call while it is being asked.
class RuntimeService : public RuntimeCalls {
 public:
  RuntimeService(Parts* parts, UpdateApplier* applier) : parts_(parts), applier_(applier) {}

  absl::Status Register(PluginConnection& plugin,
                        const api::RegisterPluginRequest& request) override;
  // FAILED_PRECONDITION before Synchronize.
  absl::StatusOr<api::UpdateContainersResponse> UpdateContainers(
      PluginConnection& plugin, const api::UpdateContainersRequest& request) override;
  absl::Status UpdateNodeResources(PluginConnection& plugin,
                                   const api::UpdateNodeResourcesRequest& request) override;
  // The plugin's connection has ended: the topology that it provided goes.
  void Withdraw(const PluginConnection& plugin);

 private:
  Parts* const parts_;
  UpdateApplier* const applier_;
  absl::Mutex providing_;  // no topology comes after its plugin's withdrawal
  // The connection of each provider, by the plugin's name: one that comes again may have provided
  // before its earlier connection is withdrawn.
  std::map<std::string, const PluginConnection*> providers_ ABSL_GUARDED_BY(providing_);
};

}  // namespace plimsoll::nri

#endif  // PLIMSOLL_NRI_RUNTIME_SERVICE_H_
