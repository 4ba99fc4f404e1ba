// The size of a virtual machine for its pod, and the annotations that tell its runtime. Pure
// functions.
#ifndef PLIMSOLL_RUNTIME_HANDLERS_POD_SIZE_H_
#define PLIMSOLL_RUNTIME_HANDLERS_POD_SIZE_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "resources/requirements.h"
#include "runtime/handlers/handler.h"
#include "runtime/handlers/vfio.h"

namespace plimsoll::runtime {

// Absent: the pod sets none, and the handler's default holds.
struct PodSize {
  std::optional<int64_t> cpu_request_milli;
  std::optional<int64_t> cpu_limit_milli;
  std::optional<int64_t> vcpus;  // whole ones, for the larger of request and limit
  std::optional<int64_t> memory_bytes;
  std::map<std::string, int64_t> hugepages;      // bytes, by "2Mi"; not part of memory_bytes
  std::map<std::string, std::string> resources;  // all others: amounts, in canonical form
  Plug plug = Plug::kNone;
  std::vector<VfioGroup> groups;

  // Number of devices behind ports of the kind.
  int Ports(PortKind kind) const;
  bool operator==(const PodSize&) const = default;
};

// `total`: the pod's resources without its overhead, which is the host's cost of the virtual
// machine itself. The larger one of limit and request counts for each resource.
PodSize SizeFor(const Handler& handler, const resources::Requirements& total,
                std::vector<VfioGroup> groups);

// A size into which both fit. A member that one of them lacks is the other's: nothing says which is
// larger, the handler's default or an amount.
PodSize LargerOf(const PodSize& one, const PodSize& other);

// {"vcpus":2,...}: every known member, in a fixed order.
std::string ToJson(const PodSize& size);

// The annotations that tell the OCI runtime the size.
std::map<std::string, std::string> AnnotationsFor(const Handler& handler, const PodSize& size);

// Excesses of `wanted` over `announced`, one sentence each; empty: none. Where no limit was
// announced, any limit is fine. A removed limit is not noticed here: a sum has one as long as one
// of its parts has.
std::vector<std::string> GrowthOver(const resources::Requirements& announced,
                                    const resources::Requirements& wanted);

// Announced limits that `had` has and `wanted` hasn't, one sentence each. For CPU and memory, 0 is
// no limit.
std::vector<std::string> LiftedLimits(const resources::Requirements& announced,
                                      const resources::Requirements& had,
                                      const resources::Requirements& wanted);

}  // namespace plimsoll::runtime

#endif  // PLIMSOLL_RUNTIME_HANDLERS_POD_SIZE_H_
