// How large a virtual machine must be for its pod, and how its runtime is told. Pure functions.
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

// Absent: the pod says nothing of it, and the handler's default holds.
struct PodSize {
  std::optional<int64_t> cpu_request_milli;
  std::optional<int64_t> cpu_limit_milli;
  std::optional<int64_t> vcpus;  // whole ones, for the larger of the two
  std::optional<int64_t> memory_bytes;
  std::map<std::string, int64_t> hugepages;      // bytes, by "2Mi"; beside memory_bytes
  std::map<std::string, std::string> resources;  // all other: amounts, in canonical form
  Plug plug = Plug::kNone;
  std::vector<VfioGroup> groups;

  // How many devices go behind ports of the kind.
  int Ports(PortKind kind) const;
  bool operator==(const PodSize&) const = default;
};

// `total`: of the pod without its overhead, which is what the virtual machine itself costs the
// host. Of each resource the larger one of limit and request.
PodSize SizeFor(const Handler& handler, const resources::Requirements& total,
                std::vector<VfioGroup> groups);

// {"vcpus":2,...}: every member that is known, in a fixed order.
std::string ToJson(const PodSize& size);

// What the OCI runtime is told, by annotation.
std::map<std::string, std::string> AnnotationsFor(const Handler& handler, const PodSize& size);

// What `wanted` has more than `announced`, one sentence each; empty: nothing. Of what had no limit,
// a limit is none too many. That a limit is gone is not seen here: a sum has one as long as one of
// its parts has.
std::vector<std::string> GrowthOver(const resources::Requirements& announced,
                                    const resources::Requirements& wanted);

// Limits of resources with an announced limit that `had` has and `wanted` hasn't, one sentence
// each. Of CPU and memory, 0 is no limit.
std::vector<std::string> LiftedLimits(const resources::Requirements& announced,
                                      const resources::Requirements& had,
                                      const resources::Requirements& wanted);

}  // namespace plimsoll::runtime

#endif  // PLIMSOLL_RUNTIME_HANDLERS_POD_SIZE_H_
