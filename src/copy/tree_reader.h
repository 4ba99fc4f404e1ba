// Tells a file or a directory tree as a tar stream, of a side where somebody else may change it
// meanwhile.
#ifndef PLIMSOLL_COPY_TREE_READER_H_
#define PLIMSOLL_COPY_TREE_READER_H_

#include <cstdint>
#include <functional>
#include <string>

#include "absl/status/status.h"
#include "copy/place.h"

namespace plimsoll::copy {

struct ReadOptions {
  std::string name;         // of the top in the archive
  bool follow = false;      // the path's own last link
  bool attributes = false;  // user.* and security.capability too
  // Called with how many bytes of content were read; its error ends the reading. May be null.
  std::function<absl::Status(uint64_t)> step;
  std::function<void(const std::string&)> left_out;  // "web:/run/x is a FIFO"; may be null
};

// Each name is opened without following it and without effect (O_PATH), looked at, and only then
// opened by its descriptor to be read: a FIFO, device or socket never is. Those are left out, as is
// what is below a mounted procfs, sysfs or the like, and what vanishes meanwhile. Files with
// several names in the tree are hard links of the first, holes stay holes. To `out`, which is not
// closed.
//
// INVALID_ARGUMENT where the path itself is nothing that can be copied, or more than 256
// directories are in one another; ABORTED when a file shrinks while it is read.
absl::Status ReadTree(const Place& place, const std::string& path, const ReadOptions& options,
                      int out);

}  // namespace plimsoll::copy

#endif  // PLIMSOLL_COPY_TREE_READER_H_
