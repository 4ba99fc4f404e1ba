// A container's spec as its client asked for it, and the record of what plugins changed in it. Pure
// functions.
#ifndef PLIMSOLL_RUNTIME_REQUESTS_ASKED_SPEC_H_
#define PLIMSOLL_RUNTIME_REQUESTS_ASKED_SPEC_H_

#include <vector>

#include "absl/status/status.h"
#include "linux/cgroup/cgroup.h"
#include "runtime/requests/resource_update.h"
#include "runtime/spec/container_spec.h"

namespace plimsoll::runtime {

// The spec with the members of `asked` in their places: what pictures and comparisons with the
// client's words are made of.
ContainerSpec AsAsked(ContainerSpec spec);

// The spec of a container to be made: `adjusted` by plugins, with all that is the client's alone as
// in `asked` (name, attempt, image, log, Kubernetes' resources), and with `asked` on record where
// the two differ.
ContainerSpec TakeAdjusted(const ContainerSpec& asked, ContainerSpec adjusted);

// Changes the spec as an update does. `by_client`: the client's own part of the settings; that of
// plugins is no client's word.
void TakeUpdate(const ResourceUpdate& update, const linux::CgroupSettings& by_client,
                linux::CgroupLayout layout, ContainerSpec* spec);

// The error of a request, with the plugins that changed the request: "... (plugins 10-a and 20-b
// have changed this request: env, linux.resources.cpu.cpus)". It doesn't say that they are at
// fault.
absl::Status NamePlugins(const absl::Status& failure, const std::vector<PluginChange>& changes);

}  // namespace plimsoll::runtime

#endif  // PLIMSOLL_RUNTIME_REQUESTS_ASKED_SPEC_H_
