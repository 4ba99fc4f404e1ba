// Removes a directory tree of any depth.
#ifndef PLIMSOLL_BASE_REMOVE_TREE_H_
#define PLIMSOLL_BASE_REMOVE_TREE_H_

#include <string>

#include "absl/status/status.h"

namespace plimsoll {

// Removes the file or directory `name` of the open directory `parent`, with the promises of
// FsRoot::RemoveTree; OK when there is none. Messages call it `path`. A container chooses the
// tree's depth: that costs heap for one name a level, but neither stack nor more than four open
// descriptors. ABORTED when a directory of the tree is moved meanwhile.
absl::Status RemoveTreeAt(int parent, const std::string& name, const std::string& path);

}  // namespace plimsoll

#endif  // PLIMSOLL_BASE_REMOVE_TREE_H_
