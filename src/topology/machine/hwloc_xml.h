// The formats of hwloc's XML.
#ifndef PLIMSOLL_TOPOLOGY_MACHINE_HWLOC_XML_H_
#define PLIMSOLL_TOPOLOGY_MACHINE_HWLOC_XML_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace plimsoll::topology {

// The format's number: 3 for output of hwloc 3's lstopo; 0 where the text doesn't say, as in format
// 1.
uint32_t HwlocXmlFormat(absl::string_view xml);

// Converts format 3 to format 2, which hwloc 2.9 reads: moves the topology's own infos to its root
// object, and drops the parts that format 2 lacks and a Machine doesn't need. INVALID_ARGUMENT
// where the XML is not well-formed.
absl::StatusOr<std::string> HwlocXmlAsFormat2(absl::string_view xml);

}  // namespace plimsoll::topology

#endif  // PLIMSOLL_TOPOLOGY_MACHINE_HWLOC_XML_H_
