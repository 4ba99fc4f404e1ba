// Translations between a pod's records and the amounts in its picture. Pure functions.
#ifndef PLIMSOLL_RUNTIME_REQUESTS_PICTURE_PARTS_H_
#define PLIMSOLL_RUNTIME_REQUESTS_PICTURE_PARTS_H_

#include "absl/status/statusor.h"
#include "linux/cgroup/settings.h"
#include "resources/requirements.h"
#include "runtime/spec/container_spec.h"
#include "runtime/spec/pod_resources.h"

namespace plimsoll::runtime {

resources::ContainerRequirements::Role RoleOf(AnnouncedContainer::Type type);

// Recorded amounts with defaults filled in. Recorded resources have been parsed before; unreadable
// ones count as unknown.
resources::Requirements ReadWritten(const KubernetesResources& written);

// The recorded amounts of a pod as a whole, whose requests may exceed its limits. INVALID_ARGUMENT
// for one that is no quantity.
absl::StatusOr<resources::Requirements> ReadTotal(const KubernetesResources& written);

// The requirements that a group's settings suggest: shares a request, the rest limits.
resources::Requirements GuessFrom(const linux::CgroupSettings& settings);

// In canonical form.
KubernetesResources InWriting(const resources::Requirements& requirements);

// A container as it would have been announced.
AnnouncedContainer AsAnnounced(const ContainerSpec& made);

}  // namespace plimsoll::runtime

#endif  // PLIMSOLL_RUNTIME_REQUESTS_PICTURE_PARTS_H_
