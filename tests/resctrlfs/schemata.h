// The files `schemata` and `size` of a control group.
#ifndef PLIMSOLL_TESTS_RESCTRLFS_SCHEMATA_H_
#define PLIMSOLL_TESTS_RESCTRLFS_SCHEMATA_H_

#include <string>

#include "absl/strings/string_view.h"
#include "resctrlfs/command_status.h"
#include "resctrlfs/state.h"

namespace plimsoll::resctrlfs {

// A line for each schema, names aligned to the right:
//
//       MB:0=100;1= 50
//   L3DATA:0=fffff;1=3c0
std::string ShowSchemata(const State& state, const Group& group);

// The same, with bytes in place of masks.
std::string ShowSize(const State& state, const Group& group);

// Takes lines of the form above; values not named stay. The last byte must be a newline. EINVAL on
// any mistake, and then nothing is changed, with one exception that is the kernel's: with mba_MBps
// a bandwidth takes effect when it is read, whatever comes after it.
Errno WriteSchemata(State* state, Group* group, absl::string_view text);

}  // namespace plimsoll::resctrlfs

#endif  // PLIMSOLL_TESTS_RESCTRLFS_SCHEMATA_H_
