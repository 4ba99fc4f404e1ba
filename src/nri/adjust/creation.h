// The answers of plugins to one CreateContainer, put together: each field and key has one owner.
#ifndef PLIMSOLL_NRI_ADJUST_CREATION_H_
#define PLIMSOLL_NRI_ADJUST_CREATION_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "nri/adjust/owners.h"
#include "nri/adjust/updates.h"
#include "nri/v1alpha1/api.pb.h"
#include "runtime/spec/container_spec.h"

namespace plimsoll::nri {

namespace api = ::nri::pkg::api::v1alpha1;

// Answers in the order of the plugins. Not thread-safe.
//
// A plugin may remove what an earlier one has set, and then set it itself in the same answer. What
// a plugin has removed, no later one may set.
class Creation {
 public:
  Creation(const api::PodSandbox& pod, const api::Container& container);

  // The request for the next plugin: the container as all before it want it.
  const api::CreateContainerRequest& request() const { return request_; }
  // Takes the answer of a plugin. ALREADY_EXISTS names field and key and both plugins, if an
  // earlier one has set it; INVALID_ARGUMENT, FAILED_PRECONDITION, UNIMPLEMENTED and
  // RESOURCE_EXHAUSTED name the plugin and the field. After an error the object is as before.
  absl::Status Take(const std::string& plugin, const api::CreateContainerResponse& answer);

  // For validators: everything, with owners. `plugins`: "10-name" of all that were asked.
  api::ValidateContainerAdjustmentRequest ForValidators(
      const std::vector<std::string>& plugins) const;
  // `asked` with all changes, `extras` and `changed_by` among them. Errors name plugin and field.
  absl::StatusOr<runtime::ContainerSpec> Adjusted(const runtime::ContainerSpec& asked) const;

  // Whether any plugin has changed the container.
  bool IsAdjusted() const { return !owners_.empty(); }
  const std::vector<AskedUpdate>& updates() const { return updates_.updates(); }
  const std::vector<AskedEviction>& evictions() const { return updates_.evictions(); }
  const std::vector<IgnoredUpdate>& ignored() const { return updates_.ignored(); }

 private:
  absl::Status TakeOthers(const std::string& plugin, const api::CreateContainerResponse& answer);

  const api::CreateContainerRequest original_;
  api::CreateContainerRequest request_;
  api::ContainerAdjustment adjustment_;
  Owners owners_;
  Updates updates_{""};
};

}  // namespace plimsoll::nri

#endif  // PLIMSOLL_NRI_ADJUST_CREATION_H_
