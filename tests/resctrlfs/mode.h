// The file `mode` of a control group: whether others may use its part of the caches.
#ifndef PLIMSOLL_TESTS_RESCTRLFS_MODE_H_
#define PLIMSOLL_TESTS_RESCTRLFS_MODE_H_

#include <string>

#include "absl/strings/string_view.h"
#include "resctrlfs/command_status.h"
#include "resctrlfs/state.h"

namespace plimsoll::resctrlfs {

std::string ShowMode(const Group& group);

// Takes "shareable", "exclusive" or "pseudo-locksetup", and a newline. EINVAL: another word;
// exclusive where a mask has bits of another group or of the hardware's shareable ones, or there is
// no cache to control; pseudo-locksetup of the root group, under CDP, or of a group that has
// threads, CPUs or monitoring groups. There are no pseudo-locked groups here: writing the schemata
// of a group in pseudo-locksetup fails as if memory were short.
Errno WriteMode(State* state, Group* group, absl::string_view text);

}  // namespace plimsoll::resctrlfs

#endif  // PLIMSOLL_TESTS_RESCTRLFS_MODE_H_
