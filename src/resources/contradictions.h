// Where requests and limits as they are written, and what Linux is told beside them, can't both be
// meant (KEP-4112 "Risks and Mitigations").
#ifndef PLIMSOLL_RESOURCES_CONTRADICTIONS_H_
#define PLIMSOLL_RESOURCES_CONTRADICTIONS_H_

#include <string>
#include <vector>

#include "linux/cgroup/settings.h"
#include "resources/requirements.h"

namespace plimsoll::resources {

// One sentence each, with both values; empty: none. `written` of a container, before WithDefaults;
// `pod`: what is written of its pod as a whole, whose limits hold for a container that has none of
// its own (KEP-2837). Held against each other by kubelet's formulas (kuberuntime's
// calculateLinuxResources), to a thousandth of a CPU: shares of the request or else the limit,
// quota and period, the memory limit, limits of huge pages.
//
// No contradiction: a setting that is absent, since nothing is said by that; no limit where none is
// written; and no quota of a container whose CPUs may be its own alone, which has a whole number of
// them and requests its limit.
std::vector<std::string> ContradictionsOf(const Requirements& written, const Requirements& pod,
                                          const linux::CgroupSettings& settings);

}  // namespace plimsoll::resources

#endif  // PLIMSOLL_RESOURCES_CONTRADICTIONS_H_
