// Counters of the interfaces in network namespaces.
//
//   const auto links = ReadLinkCounters(host, run, {"sandboxes/1/net", "sandboxes/2/net"});
//   if (links[0].ok()) for (const LinkCounters& link : *links[0]) ... link.rx_bytes ...
#ifndef PLIMSOLL_LINUX_LINK_COUNTERS_H_
#define PLIMSOLL_LINUX_LINK_COUNTERS_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/fs_root.h"

namespace plimsoll::linux {

// The counters of one interface since it was made.
struct LinkCounters {
  std::string name;  // "eth0"; bytes that are not printable ASCII are escaped, as in "\xff"
  uint64_t rx_bytes = 0;
  uint64_t rx_packets = 0;
  uint64_t rx_errors = 0;
  uint64_t rx_dropped = 0;  // includes packets dropped by a full ring
  uint64_t tx_bytes = 0;
  uint64_t tx_packets = 0;
  uint64_t tx_errors = 0;
  uint64_t tx_dropped = 0;
  bool operator==(const LinkCounters&) const = default;
};

// Only the kernel's first interfaces are reported: a pod that may make interfaces may make
// thousands.
inline constexpr size_t kMostLinks = 256;

// Parses /proc/<pid>/net/dev (proc(5)): two lines of headings, then a line for each interface, in
// the kernel's order.
absl::StatusOr<std::vector<LinkCounters>> ParseLinkCounters(absl::string_view text);

// Reads the counters of pinned namespaces, files below `directory`: one answer each, in that order.
// NOT_FOUND: the namespace isn't pinned there (any more). A thread of this call's own reads them
// all, so no other thread changes its namespace; no namespace is held when this returns. `host`
// holds proc/.
std::vector<absl::StatusOr<std::vector<LinkCounters>>> ReadLinkCounters(
    const FsRoot& host, const FsRoot& directory, const std::vector<std::string>& namespaces);

}  // namespace plimsoll::linux

#endif  // PLIMSOLL_LINUX_LINK_COUNTERS_H_
