// The text of resctrl's `schemata` files (Documentation/filesystems/resctrl.rst).
#ifndef PLIMSOLL_LINUX_SCHEMATA_H_
#define PLIMSOLL_LINUX_SCHEMATA_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace plimsoll::linux {

// Resource ("L3", "L3CODE", "L2DATA", "MB") to cache id to value: a mask of the cache's ways, or
// bandwidth in percent or, with mba_MBps, in MiB/s.
using Schemata = std::map<std::string, std::map<uint64_t, uint64_t>>;

// Parses "    L3:0=ff;1=ff\n    MB:0= 50;1=100\n". INVALID_ARGUMENT.
absl::StatusOr<Schemata> ParseSchemata(absl::string_view text);

// One line as the kernel takes it, without the newline: "L3:0=ff0;1=ff0", masks hexadecimal.
std::string SchemataLine(const std::string& resource, const std::map<uint64_t, uint64_t>& values);
// A line for each resource, each with its newline.
std::string SchemataText(const Schemata& schemata);

// Differences of `actual` from `wanted`: "L3 of cache 1 is 0xf, should be 0xf0". Values that
// `wanted` does not name are ignored.
std::vector<std::string> SchemataDifferences(const Schemata& wanted, const Schemata& actual);

// "0xf0" or "50", depending on the resource.
std::string SchemataValue(absl::string_view resource, uint64_t value);

}  // namespace plimsoll::linux

#endif  // PLIMSOLL_LINUX_SCHEMATA_H_
