// Corrections of a word about resources that may be newer or older than the settings in Linux:
// during a resize kubelet reports the spec as wished, and the CRI sets the one as allocated. Pure
// functions.
#ifndef PLIMSOLL_RUNTIME_REQUESTS_LINUX_HOLDS_H_
#define PLIMSOLL_RUNTIME_REQUESTS_LINUX_HOLDS_H_

#include <string>
#include <vector>

#include "linux/cgroup/settings.h"
#include "resources/requirements.h"
#include "runtime/spec/pod_resources.h"

namespace plimsoll::runtime {

// Replaces the amounts that contradict `settings` (resources::ContradictionsOf) by those of
// `settings`. A request that was within its limit stays so. Returns the replaced members
// ("limits[cpu]"), sorted. `pod`: the whole pod's own limits, for a container without its own.
std::vector<std::string> LetLinuxHold(const linux::CgroupSettings& settings,
                                      const resources::Requirements& pod,
                                      resources::Requirements* told);
// The same for amounts in writing: those that stay do so byte for byte. Nothing is replaced in a
// text that can't be parsed.
std::vector<std::string> LetLinuxHold(const linux::CgroupSettings& settings,
                                      const resources::Requirements& pod,
                                      KubernetesResources* told);

}  // namespace plimsoll::runtime

#endif  // PLIMSOLL_RUNTIME_REQUESTS_LINUX_HOLDS_H_
