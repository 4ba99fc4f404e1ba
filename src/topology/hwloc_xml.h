// The formats of hwloc's XML.
#ifndef PLIMSOLL_TOPOLOGY_HWLOC_XML_H_
#define PLIMSOLL_TOPOLOGY_HWLOC_XML_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace plimsoll::topology {

// 3 for what lstopo of hwloc 3 writes; 0 where it is not said, as in format 1.
uint32_t HwlocXmlFormat(absl::string_view xml);

// XML of format 3 as format 2, which is what hwloc 2.9 reads: with the topology's own infos at its
// root object, where format 2 has them, and without what a Machine doesn't need and format 2 lacks.
// INVALID_ARGUMENT where it is not well-formed.
absl::StatusOr<std::string> HwlocXmlAsFormat2(absl::string_view xml);

}  // namespace plimsoll::topology

#endif  // PLIMSOLL_TOPOLOGY_HWLOC_XML_H_
