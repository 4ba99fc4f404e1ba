// The answers of plugins, put together: each field and key has one owner.
#ifndef PLIMSOLL_NRI_ADJUST_ADJUST_H_
#define PLIMSOLL_NRI_ADJUST_ADJUST_H_

#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "nri/config.h"
#include "nri/v1alpha1/api.pb.h"
#include "runtime/resource_update.h"
#include "runtime/spec/container_spec.h"

namespace plimsoll::nri {

namespace api = ::nri::pkg::api::v1alpha1;

// An update of a container that a plugin asked for.
struct AskedUpdate {
  std::string plugin;  // the first one's, if several set different fields of one container
  api::ContainerUpdate update;
};
struct AskedEviction {
  std::string plugin;
  api::ContainerEviction eviction;
};

// Answers to one CreateContainer, in the order of the plugins. Not thread-safe.
class Creation {
 public:
  Creation(const api::PodSandbox& pod, const api::Container& container);

  // The request for the next plugin: the container as all before it want it.
  const api::CreateContainerRequest& request() const { return request_; }
  // Takes the answer of a plugin. ALREADY_EXISTS names field and key and both plugins, if an
  // earlier one has set it; INVALID_ARGUMENT and UNIMPLEMENTED name the plugin and the field.
  // After an error the object is as before.
  absl::Status Take(const std::string& plugin, const api::CreateContainerResponse& answer);

  // For validators: everything, with owners. `plugins`: "10-name" of all that were asked.
  api::ValidateContainerAdjustmentRequest ForValidators(
      const std::vector<std::string>& plugins) const;
  // `asked` with all changes, `extras` and `changed_by` among them. Errors name plugin and field.
  absl::StatusOr<runtime::ContainerSpec> Adjusted(const runtime::ContainerSpec& asked) const;

  const std::vector<AskedUpdate>& updates() const { return updates_; }
  const std::vector<AskedEviction>& evictions() const { return evictions_; }

 private:
  api::CreateContainerRequest original_;
  api::CreateContainerRequest request_;
  api::ContainerAdjustment adjustment_;
  api::OwningPlugins owners_;
  std::vector<AskedUpdate> updates_;
  std::vector<AskedEviction> evictions_;
};

// Answers to one UpdateContainer, StopContainer or Synchronize. Not thread-safe.
class Updates {
 public:
  // `container_id`: of the container that is being updated; empty: none is.
  explicit Updates(std::string container_id) : container_id_(std::move(container_id)) {}

  // As Creation::Take.
  absl::Status Take(const std::string& plugin,
                    const google::protobuf::RepeatedPtrField<api::ContainerUpdate>& updates,
                    const google::protobuf::RepeatedPtrField<api::ContainerEviction>& evictions);

  // Changes that plugins made to the update itself; empty: none.
  const api::LinuxResources& own() const { return own_; }
  // Of other containers.
  const std::vector<AskedUpdate>& updates() const { return updates_; }
  const std::vector<AskedEviction>& evictions() const { return evictions_; }

 private:
  const std::string container_id_;
  api::LinuxResources own_;
  api::OwningPlugins owners_;
  std::vector<AskedUpdate> updates_;
  std::vector<AskedEviction> evictions_;
};

// An update as the engine takes it. Errors name the field.
absl::StatusOr<runtime::ResourceUpdate> ToUpdate(const api::LinuxResources& resources);

// Plimsoll's own validator. OK, or PERMISSION_DENIED with the plugin, the field and the switch.
absl::Status Validate(const ValidatorConfig& config,
                      const api::ValidateContainerAdjustmentRequest& request);

}  // namespace plimsoll::nri

#endif  // PLIMSOLL_NRI_ADJUST_ADJUST_H_
