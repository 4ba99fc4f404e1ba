// What systemd has a property for: from the text of a control file of cgroup v2.
//
// systemd writes all values of a unit's group that it has properties for again at each
// daemon-reload, also those that nobody set: what it isn't told is lost then.
#ifndef PLIMSOLL_SYSTEMD_PROPERTIES_H_
#define PLIMSOLL_SYSTEMD_PROPERTIES_H_

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace plimsoll::systemd {

struct DeviceValue {
  std::string device;  // path of its node
  uint64_t value = 0;
  bool operator==(const DeviceValue&) const = default;
};

// D-Bus' b, t, s, ay, au and a(st).
using PropertyValue = std::variant<bool, uint64_t, std::string, std::vector<uint8_t>,
                                   std::vector<uint32_t>, std::vector<DeviceValue>>;

// As org.freedesktop.systemd1(5) names them. A list of devices adds to what there was, unless it is
// empty: then it takes all away. So each such property comes twice, the first time empty.
struct Property {
  std::string name;
  PropertyValue value;
  bool operator==(const Property&) const = default;
};

// No limit, in properties of type t.
constexpr uint64_t kInfinity = UINT64_MAX;

// All files that systemd has properties for.
const std::vector<std::string>& ControlFiles();
bool IsControlFile(absl::string_view file);

// A group's control files, without surrounding white space. NOT_FOUND: it has none of that name.
using FileReader = absl::FunctionRef<absl::StatusOr<std::string>(absl::string_view file)>;
// Whether systemd takes the block device "8:0" for itself: of a partition or what is stacked upon
// one disk (LUKS, LVM) it would limit that disk instead.
using DiskTest = absl::FunctionRef<bool(absl::string_view number)>;

// The properties that make systemd write what `files` hold now; other files are left out, as are
// those that aren't there. INTERNAL for text that is no kernel's.
absl::StatusOr<std::vector<Property>> PropertiesOf(const std::vector<std::string>& files,
                                                   FileReader read, DiskTest is_disk);

// Those of `files` that don't hold the same after systemd has written them anew, from what it keeps
// in its unit files: it keeps CPU quotas in whole percents of a CPU, rounded down, and one weight
// for two I/O schedulers.
std::vector<std::string> InexactFiles(const std::vector<std::string>& files, FileReader read);

}  // namespace plimsoll::systemd

#endif  // PLIMSOLL_SYSTEMD_PROPERTIES_H_
