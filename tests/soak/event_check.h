// Compares a pod's events from GetContainerEvents with what was done to it.
#ifndef PLIMSOLL_TESTS_SOAK_EVENT_CHECK_H_
#define PLIMSOLL_TESTS_SOAK_EVENT_CHECK_H_

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "cri/runtime/v1/api.pb.h"

namespace plimsoll::testing {

namespace cri = ::runtime::v1;

// One event of a pod, or of a container in it.
struct Told {
  uint64_t number = 0;  // its place in the stream
  cri::ContainerEventType type = cri::CONTAINER_CREATED_EVENT;
  int64_t unix_nanos = 0;
  std::optional<int> exit_code;  // in the event's container status, if it has exited
};
// By id; includes the pod's own id.
using ToldOfPod = std::map<std::string, std::vector<Told>>;

// A container that was created in the pod, and removed with it or before.
struct ContainerStory {
  std::string id;
  std::string name;
  bool started = false;
  std::set<int> exit_codes;  // possible codes; it has one of them
};

// Faults in the events of a pod that was run and removed: lost, invented, out of order, with
// another exit code. One sentence each.
std::vector<std::string> EventFaults(const std::string& pod,
                                     const std::vector<ContainerStory>& containers,
                                     const ToldOfPod& told);

}  // namespace plimsoll::testing

#endif  // PLIMSOLL_TESTS_SOAK_EVENT_CHECK_H_
