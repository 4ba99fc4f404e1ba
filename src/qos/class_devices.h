// Names by which a cluster knows a QoS class: one injective encoding of level, type and class into
// the names of a DRA device, a DeviceClass, an extended resource and a CDI device. plimsolld, the
// DRA driver and the admission policies share it.
//
//                      rdt "gold" (container)        lane "fast" (pod)
//   DRA device         rdt-gold                      pod-lane-fast
//   DeviceClass        rdt.gold.classes.plimsoll.dev pod.lane.fast.classes.plimsoll.dev
//   extended resource  class.plimsoll.dev/rdt.gold   class.plimsoll.dev/pod.lane.fast
//   CDI device         classes.plimsoll.dev/rdt=gold classes.plimsoll.dev/pod.lane=fast
//
// Such a plain name is given where type and class fit the kind's alphabet and length as they are
// and only one id reads so: the separator is not in the type, the type isn't "pod", and no "--" is
// in either. Every other id ("vendor.io/type", "system/default", "Gold" as a device) has a readable
// remainder, "--" and a hash: "rdt-system-default--0m3v...". Only a hashed name holds "--".
#ifndef PLIMSOLL_QOS_CLASS_DEVICES_H_
#define PLIMSOLL_QOS_CLASS_DEVICES_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
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

// Each takes any bytes as type and class, and never gives two ids the same name.

// A device of a ResourceSlice: a DNS label.
std::string DeviceName(const ClassId& id);
// A DeviceClass: a DNS subdomain of at most 63 characters, so that its implicit extended resource
// "deviceclass.resource.kubernetes.io/<name>" is a valid one.
std::string DeviceClassName(const ClassId& id);
// "class.plimsoll.dev/<name>", valid as a key of a container's limits and, after "requests.", of a
// ResourceQuota.
std::string ExtendedResourceName(const ClassId& id);
// "classes.plimsoll.dev/<type>=<class>", valid by the CDI specification. Pod-level classes have one
// too, for messages.
std::string CdiName(const ClassId& id);

// Whether a CDI device is a class request: its kind's domain is kClassDriver.
bool IsClassDevice(absl::string_view cdi_name);
// The class of a plain CDI name, whether there is such a class or not. nullopt: not a class device,
// a hashed name, or one that CdiName gives to no id.
std::optional<ClassId> ClassOfPlainCdiName(absl::string_view cdi_name);
// The class among `known` to which `name_of` (one of the four above) gives `name`. NOT_FOUND lists
// the names of the known ones.
absl::StatusOr<ClassId> FindClass(absl::string_view name, const std::vector<ClassId>& known,
                                  std::string (*name_of)(const ClassId& id));

}  // namespace plimsoll::qos

#endif  // PLIMSOLL_QOS_CLASS_DEVICES_H_
