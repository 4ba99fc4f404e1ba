// ResourceSlices of a node's classes: the objects, and whether one has to be written.
#ifndef PLIMSOLL_KUBE_DRIVER_SLICES_H_
#define PLIMSOLL_KUBE_DRIVER_SLICES_H_

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "kube/driver/pool_devices.h"

namespace plimsoll::kube {

// An API server takes 128 devices in a slice, and 64 where one has a taint (k8s.io/api/resource/v1,
// ResourceSliceMaxDevicesWithTaintsOrConsumesCounters). A class that drifts must not move others to
// another slice.
inline constexpr size_t kMaxSliceDevices = 64;
// The key of the taint of a class that the kernel doesn't hold to.
inline constexpr char kDriftTaint[] = "classes.plimsoll.dev/drift";
inline constexpr char kSlicesPath[] = "/apis/resource.k8s.io/v1/resourceslices";

struct PoolFrame {
  std::string node;      // its name is the pool's
  std::string node_uid;  // of the Node object, with which the slices go
  bool taints = true;    // of drifting classes
};

// "node1-classes-0". A name of a node that is too long for this is cut, and a hash of it put
// behind.
std::string SliceName(const std::string& node, size_t index);

// The pool's slices without generation and resourceVersion. No device: no slice.
std::vector<nlohmann::json> SlicesOf(const std::vector<PoolDevice>& devices,
                                     const PoolFrame& frame);
// The pool's slices of this generation.
void SetGeneration(nlohmann::json& slice, int64_t generation);
// 0: the object has none, or one that has no successor.
int64_t GenerationOf(const nlohmann::json& slice);

// The part of a slice in an answer or a watch that we decide about: without the members that the
// server adds, and without the generation.
nlohmann::json OwnPart(const nlohmann::json& slice);

// Members of our devices that the server's answer lacks: it has the feature switched off.
struct Dropped {
  bool multiple_allocations = false;  // gate DRAConsumableCapacity
  bool taints = false;                // gate DRADeviceTaints
  bool any() const { return multiple_allocations || taints; }
};
Dropped DroppedOf(const nlohmann::json& sent, const nlohmann::json& answer);

}  // namespace plimsoll::kube

#endif  // PLIMSOLL_KUBE_DRIVER_SLICES_H_
