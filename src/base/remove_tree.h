// Removal of a directory with all that is below it, however deep that goes.
#ifndef PLIMSOLL_BASE_REMOVE_TREE_H_
#define PLIMSOLL_BASE_REMOVE_TREE_H_

#include <string>

#include "absl/status/status.h"

namespace plimsoll {

// Removes the file or directory `name` of the open directory `parent`; OK when there is none. What
// FsRoot::RemoveTree promises holds. `path` is what messages call it. The depth of the tree, which
// a container chooses, costs memory on the heap for a name a level, but neither stack nor
// descriptors: four at most are open. ABORTED when a directory of the tree is moved meanwhile.
absl::Status RemoveTreeAt(int parent, const std::string& name, const std::string& path);

}  // namespace plimsoll

#endif  // PLIMSOLL_BASE_REMOVE_TREE_H_
