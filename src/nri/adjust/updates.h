// Updates and evictions that plugins ask for in their answers, put together.
#ifndef PLIMSOLL_NRI_ADJUST_UPDATES_H_
#define PLIMSOLL_NRI_ADJUST_UPDATES_H_

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "nri/adjust/owners.h"
#include "nri/v1alpha1/api.pb.h"
#include "runtime/requests/resource_update.h"
#include "runtime/spec/oci_extras.h"

namespace plimsoll::nri {

namespace api = ::nri::pkg::api::v1alpha1;

// An update of a container that a plugin asked for.
struct AskedUpdate {
  std::string plugin;  // the first one's, if several set different fields of one container
  // With `ignore_failure` if all plugins that had a part in it set that.
  api::ContainerUpdate update;
  std::vector<runtime::PluginChange> changed_by;  // each field with its plugin
};
struct AskedEviction {
  std::string plugin;
  api::ContainerEviction eviction;
};
// An update that can't be made, whose failure the plugin ignores.
struct IgnoredUpdate {
  std::string plugin;
  api::ContainerUpdate update;
  absl::Status why;
};

// Answers to one UpdateContainer, StopContainer or Synchronize. Not thread-safe.
class Updates {
 public:
  // `container_id`: of the container that is being updated; empty: none is.
  explicit Updates(std::string container_id) : container_id_(std::move(container_id)) {}

  // Takes the answer of a plugin. ALREADY_EXISTS names the container, the field and both plugins,
  // if an earlier one has set it; other errors name the plugin, the container and the field. After
  // an error the object is as before.
  absl::Status Take(const std::string& plugin,
                    const google::protobuf::RepeatedPtrField<api::ContainerUpdate>& updates,
                    const google::protobuf::RepeatedPtrField<api::ContainerEviction>& evictions);

  // Changes that plugins made to the update itself; empty: none.
  const api::LinuxResources& own() const { return state_.own; }
  // Updates of other containers.
  const std::vector<AskedUpdate>& updates() const { return state_.updates; }
  const std::vector<AskedEviction>& evictions() const { return state_.evictions; }
  const std::vector<IgnoredUpdate>& ignored() const { return state_.ignored; }
  // Owners of fields of all containers, by container.
  const std::map<std::string, Owners>& owners() const { return state_.owners; }

 private:
  struct State {
    api::LinuxResources own;
    std::map<std::string, Owners> owners;
    std::map<std::string, size_t> places;  // in `updates`, by container
    std::map<std::string, int> counts;     // of updates asked for, by container
    std::vector<AskedUpdate> updates;
    std::vector<AskedEviction> evictions;
    std::vector<IgnoredUpdate> ignored;
  };

  absl::Status TakeUpdate(const std::string& plugin, const api::ContainerUpdate& update,
                          State* state) const;
  static absl::Status TakeEviction(const std::string& plugin,
                                   const api::ContainerEviction& eviction, State* state);

  const std::string container_id_;
  State state_;
};

// An update as the engine takes it. Errors name the field.
absl::StatusOr<runtime::ResourceUpdate> ToUpdate(const api::LinuxResources& resources);

}  // namespace plimsoll::nri

#endif  // PLIMSOLL_NRI_ADJUST_UPDATES_H_
