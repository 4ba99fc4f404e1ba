// Making, removing and moving groups: the work of mkdir, rmdir and rename.
#ifndef PLIMSOLL_TESTS_RESCTRLFS_GROUPS_H_
#define PLIMSOLL_TESTS_RESCTRLFS_GROUPS_H_

#include <string>

#include "resctrlfs/command_status.h"
#include "resctrlfs/state.h"

namespace plimsoll::resctrlfs {

// Takes the lowest free CLOSID, and a RMID if the machine monitors. ENOSPC when there is none or
// when exclusive groups leave too little of a cache, EBUSY when RMIDs only linger. The group is
// shareable and may use everything that no exclusive group has.
Errno MakeControlGroup(State* state, const std::string& name, Group** made);
Errno MakeMonitorGroup(State* state, Group* parent, const std::string& name, Group** made);

// A control group's threads and CPUs go to the root group and its monitoring groups with it; a
// monitoring group's threads go back to its control group. `group` is freed; not the root group.
// Doesn't touch last_cmd_status.
Errno RemoveGroup(State* state, Group* group);

// Gives a monitoring group another name, and another control group if `new_parent` is one: its
// threads belong to that one then, its counters stay. EPERM when it monitors CPUs.
Errno MoveMonitorGroup(State* state, Group* group, Group* new_parent, const std::string& new_name);

// The groups whose threads `group` lists and whose counters it sums: itself, and a control group's
// monitoring groups.
std::vector<GroupId> WithMonitors(const Group& group);

}  // namespace plimsoll::resctrlfs

#endif  // PLIMSOLL_TESTS_RESCTRLFS_GROUPS_H_
