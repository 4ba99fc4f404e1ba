// systemd's properties for the values in cgroup v2's control files.
//
// At each daemon-reload systemd writes all of a unit's values that it has properties for, even
// values that nobody set: whatever it wasn't told is lost then.
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
  std::string device;  // path of the device node
  uint64_t value = 0;
  bool operator==(const DeviceValue&) const = default;
};

// D-Bus types b, t, s, as, ay, au and a(st).
using PropertyValue =
    std::variant<bool, uint64_t, std::string, std::vector<std::string>, std::vector<uint8_t>,
                 std::vector<uint32_t>, std::vector<DeviceValue>>;

// Named as in org.freedesktop.systemd1(5). A list of devices adds to the present one, and an empty
// list clears it. So each such property comes twice, the first time empty.
struct Property {
  std::string name;
  PropertyValue value;
  bool operator==(const Property&) const = default;
};

// "No limit" in properties of type t.
constexpr uint64_t kInfinity = UINT64_MAX;

// All files that systemd has properties for.
const std::vector<std::string>& ControlFiles();
bool IsControlFile(absl::string_view file);

// Reads a group's control file, without surrounding white space. NOT_FOUND if it doesn't exist.
using FileReader = absl::FunctionRef<absl::StatusOr<std::string>(absl::string_view file)>;
// True when systemd limits the block device "8:0" itself: for a partition, or a device stacked upon
// one disk (LUKS, LVM), it would limit that disk instead.
using DiskTest = absl::FunctionRef<bool(absl::string_view number)>;

// The properties that make systemd write the present values of `files`; skips files without a
// property, and missing ones. INTERNAL for text that is not the kernel's.
absl::StatusOr<std::vector<Property>> PropertiesOf(const std::vector<std::string>& files,
                                                   FileReader read, DiskTest is_disk);

// The part of `files` whose value changes when systemd writes it again from its unit files: it
// keeps CPU quotas in whole percents of a CPU, rounded down, and one weight for two I/O schedulers.
// With its weight, which it writes first, BFQ forgets those of all disks.
std::vector<std::string> InexactFiles(const std::vector<std::string>& files, FileReader read);

}  // namespace plimsoll::systemd

#endif  // PLIMSOLL_SYSTEMD_PROPERTIES_H_
