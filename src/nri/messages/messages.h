// The engine's records as messages of the Node Resource Interface, and its messages of resources as
// the engine's updates.
#ifndef PLIMSOLL_NRI_MESSAGES_MESSAGES_H_
#define PLIMSOLL_NRI_MESSAGES_MESSAGES_H_

#include "absl/status/status.h"
#include "base/fs_root.h"
#include "linux/cgroup/settings.h"
#include "nri/v1alpha1/api.pb.h"
#include "qos/classes.h"
#include "runtime/pod/hooks.h"
#include "runtime/requests/resource_update.h"
#include "runtime/spec/oci_extras.h"

namespace plimsoll::nri {

namespace api = ::nri::pkg::api::v1alpha1;

// The pod with its real needs: field 4112 and the annotation plimsoll.dev/pod-resources, which has
// the picture's JSON.
api::PodSandbox MakePod(const runtime::HookedPod& pod);
// The container with its command line, environment and mounts as it gets them, field 4112 included.
// Variables that only the making of it knows (HOME) are not there, nor Plimsoll's own files
// (/etc/hosts). `host` has the devices that the client named; null: they are left out. A privileged
// container's devices of the host are left out in any case.
api::Container MakeContainer(const runtime::HookedPod& pod,
                             const runtime::HookedContainer& container,
                             const FsRoot* host = nullptr);

// Resources with the classes of types blockio and rdt. An empty class is the type's default.
api::LinuxResources MakeResources(const linux::CgroupSettings& settings,
                                  const qos::ClassNames& classes);
// Changes `settings`, `more`, `realtime` and `classes` as `resources` say; members without a value
// there stay. INVALID_ARGUMENT names the protocol's field, FAILED_PRECONDITION and UNIMPLEMENTED
// too: a value that this machine or Plimsoll can't have.
struct ResourceTarget {
  linux::CgroupSettings* settings = nullptr;
  qos::ClassNames* classes = nullptr;
  runtime::MoreMemory* more = nullptr;       // null: fields of it are refused
  runtime::RealtimeCpu* realtime = nullptr;  // null: as above
};
absl::Status ReadResources(const api::LinuxResources& resources, const ResourceTarget& target);

// The request for plugins of an update: new values in `linux_resources` and field 4112.
api::UpdateContainerRequest MakeUpdate(const api::PodSandbox& pod, const api::Container& container,
                                       const runtime::ResourceUpdate& update);
api::UpdatePodSandboxRequest MakeUpdate(const api::PodSandbox& pod,
                                        const runtime::SandboxUpdate& update);

}  // namespace plimsoll::nri

#endif  // PLIMSOLL_NRI_MESSAGES_MESSAGES_H_
