// Devices for virtual machines: VFIO's groups, which are handed over whole.
// Documentation/driver-api/vfio.rst
#ifndef PLIMSOLL_RUNTIME_HANDLERS_VFIO_H_
#define PLIMSOLL_RUNTIME_HANDLERS_VFIO_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/fs_root.h"
#include "runtime/handlers/handler.h"

namespace plimsoll::runtime {

struct VfioDevice {
  std::string address;    // "0000:3b:00.0"; of a mediated device its UUID
  std::string pci_class;  // "030200"; empty: it has none
  PortKind port = PortKind::kNone;
  bool operator==(const VfioDevice&) const = default;
};

struct VfioGroup {
  std::string group;  // IOMMU group: "42"
  // All devices of the group that can be handed over (bridges can't), by address.
  std::vector<VfioDevice> devices;
  bool operator==(const VfioGroup&) const = default;
};

// The groups of VFIO's device nodes: /dev/vfio/42, /dev/vfio/noiommu-42 and
// /dev/vfio/devices/vfio3. Each group once, in the order of the nodes; other nodes are left out.
// FAILED_PRECONDITION: the machine has no such group. `host` holds sys/; `ports`: Handler::ports.
absl::StatusOr<std::vector<VfioGroup>> FindVfioGroups(const FsRoot& host,
                                                      const std::vector<std::string>& nodes,
                                                      const std::map<std::string, PortKind>& ports);

}  // namespace plimsoll::runtime

#endif  // PLIMSOLL_RUNTIME_HANDLERS_VFIO_H_
