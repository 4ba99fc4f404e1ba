// Id mappings of user namespaces and id-mapped mounts: user_namespaces(7).
#ifndef PLIMSOLL_LINUX_NAMESPACES_ID_MAPPING_H_
#define PLIMSOLL_LINUX_NAMESPACES_ID_MAPPING_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace plimsoll::linux {

struct IdMapping {
  uint32_t host_id = 0;
  uint32_t container_id = 0;
  uint32_t length = 0;
  bool operator==(const IdMapping&) const = default;
};

// The text for /proc/<pid>/uid_map: one line "<container id> <host id> <length>" per mapping.
std::string IdMapText(const std::vector<IdMapping>& mappings);

// INVALID_ARGUMENT, naming `field`, for an empty list, more mappings than the kernel takes, a
// length of 0, ids past the last one (4294967294), and mappings that overlap.
absl::Status CheckIdMappings(absl::string_view field, const std::vector<IdMapping>& mappings);

// The host's id for an id in the container; 4294967295, which is nobody's, if it has none.
uint32_t HostIdOf(const std::vector<IdMapping>& mappings, uint32_t container_id);

}  // namespace plimsoll::linux

#endif  // PLIMSOLL_LINUX_NAMESPACES_ID_MAPPING_H_
