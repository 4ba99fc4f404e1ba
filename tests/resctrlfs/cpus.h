// The files `cpus` (hexadecimal) and `cpus_list` of a group.
#ifndef PLIMSOLL_TESTS_RESCTRLFS_CPUS_H_
#define PLIMSOLL_TESTS_RESCTRLFS_CPUS_H_

#include <string>

#include "absl/strings/string_view.h"
#include "resctrlfs/command_status.h"
#include "resctrlfs/state.h"

namespace plimsoll::resctrlfs {

enum class CpuFormat { kMask, kList };

// A mask has digits for all CPUs of the machine, in groups of 32 bits: "ff,00000000".
std::string ShowCpus(const State& state, const Group& group, CpuFormat format);

// Every CPU has one control group. CPUs that a control group loses go to the root group, which
// can't lose any by itself. CPUs that it gains are taken from the others, and its monitoring groups
// lose all of theirs. A monitoring group takes CPUs of its control group only. EINVAL otherwise,
// and for CPUs that are not online; ERANGE or EOVERFLOW for numbers that no such machine has.
Errno WriteCpus(State* state, Group* group, absl::string_view text, CpuFormat format);

}  // namespace plimsoll::resctrlfs

#endif  // PLIMSOLL_TESTS_RESCTRLFS_CPUS_H_
