// Settings of a control group: the part that a machine can hold, and the part that each step of a
// change writes. Pure functions.
#ifndef PLIMSOLL_AGENT_GROUPS_LIMITS_H_
#define PLIMSOLL_AGENT_GROUPS_LIMITS_H_

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "linux/cgroup/cgroup.h"
#include "linux/cgroup/settings.h"
#include "resources/pages.h"

namespace plimsoll::agent {

struct GroupMachine {
  linux::CgroupLayout layout = linux::CgroupLayout::kV2;
  std::set<std::string> controllers;      // linux::CgroupManager::Controllers
  std::set<std::string> huge_page_sizes;  // linux::ReadHugePageSizes
  int64_t page_bytes = resources::PageBytes();
};

// `settings` without values that no file of this machine holds: of processes or huge pages without
// the controller, of huge pages in sizes that the kernel lacks. The rest is as the kernel keeps it:
// shares as a weight on v2, memory in whole pages.
linux::CgroupSettings Fit(linux::CgroupSettings settings, const GroupMachine& machine);
// A sentence for each kind of limit that Fit takes away.
std::vector<std::string> LimitsLost(const GroupMachine& machine);

// The part of `wanted`, which comes from Fit, that isn't in force in a group with `now`
// (linux::CgroupManager::Read).
// Quota and period come together.
linux::CgroupSettings Changes(const linux::CgroupSettings& now,
                              const linux::CgroupSettings& wanted);
// The part of Changes that grants more than `now`: shares, quota per period, memory, processes or
// huge pages.
linux::CgroupSettings Raises(const linux::CgroupSettings& now, const linux::CgroupSettings& wanted);
// The values of `now` that `written` replaces.
linux::CgroupSettings Replaced(const linux::CgroupSettings& now,
                               const linux::CgroupSettings& written);

}  // namespace plimsoll::agent

#endif  // PLIMSOLL_AGENT_GROUPS_LIMITS_H_
