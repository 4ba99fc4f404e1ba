// Contradictions between the requests and limits as written and the Linux settings beside them
// (KEP-4112 "Risks and Mitigations").
#ifndef PLIMSOLL_RESOURCES_CONTRADICTIONS_H_
#define PLIMSOLL_RESOURCES_CONTRADICTIONS_H_

#include <string>
#include <vector>

#include "linux/cgroup/settings.h"
#include "resources/requirements.h"

namespace plimsoll::resources {

// One sentence for each contradiction, with both values. `written`: the container's, before
// WithDefaults; `pod`: the whole pod's, whose limits hold for a container without its own
// (KEP-2837). Compares by kubelet's formulas (kuberuntime's calculateLinuxResources), to a
// thousandth of a CPU: shares with the request or else the limit, quota and period, the memory
// limit, limits of huge pages.
//
// No contradiction: an absent setting; no limit where none is written; and no quota of a container
// that may have exclusive CPUs, since it asks for a whole number of CPUs with request and limit
// equal.
std::vector<std::string> ContradictionsOf(const Requirements& written, const Requirements& pod,
                                          const linux::CgroupSettings& settings);

}  // namespace plimsoll::resources

#endif  // PLIMSOLL_RESOURCES_CONTRADICTIONS_H_
