// Names by which a cluster knows a QoS class: one injective encoding of level, type and class into
// the names of a DRA device, a DeviceClass, an extended resource and a CDI device. plimsolld, the
// DRA driver and the admission policies share it.
//
//   container level, rdt, gold:  rdt-gold, rdt.gold.classes.plimsoll.dev,
//   class.plimsoll.dev/rdt.gold,
//                                classes.plimsoll.dev/rdt=gold
#ifndef PLIMSOLL_QOS_CLASS_DEVICES_H_
#define PLIMSOLL_QOS_CLASS_DEVICES_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "qos/class_type.h"

namespace plimsoll::qos {

// The DRA driver, and the domain of the CDI kinds.
inline constexpr char kClassDriver[] = "classes.plimsoll.dev";
// The domain of the extended resources.
inline constexpr char kClassResourceDomain[] = "class.plimsoll.dev";

struct ClassId {
  Level level = Level::kContainer;
  std::string type;
  std::string name;
  auto operator<=>(const ClassId&) const = default;
};

// Names that fit a kind's limits are kept readable; of others ("vendor/type", "system/default",
// capitals) a readable remainder and a hash. Two different ids never share a name of one kind.

// A device of a ResourceSlice: a DNS label.
std::string DeviceName(const ClassId& id);
// A DeviceClass: a DNS subdomain of at most 63 characters, so that its implicit extended resource
// "deviceclass.resource.kubernetes.io/<name>" is a valid one.
std::string DeviceClassName(const ClassId& id);
// "class.plimsoll.dev/<name>", valid as a key of a container's limits and of a ResourceQuota.
std::string ExtendedResourceName(const ClassId& id);
// "classes.plimsoll.dev/<type>=<class>". Pod-level classes have one too, for messages.
std::string CdiName(const ClassId& id);

// Whether a CDI device is a class request: its kind's domain is kClassDriver.
bool IsClassDevice(absl::string_view cdi_name);

}  // namespace plimsoll::qos

#endif  // PLIMSOLL_QOS_CLASS_DEVICES_H_
