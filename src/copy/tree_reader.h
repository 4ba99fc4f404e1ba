// Turns a file or a directory tree into a tar stream, while somebody else may change it.
#ifndef PLIMSOLL_COPY_TREE_READER_H_
#define PLIMSOLL_COPY_TREE_READER_H_

#include <cstdint>
#include <functional>
#include <string>

#include "absl/status/status.h"
#include "copy/place.h"

namespace plimsoll::copy {

struct ReadOptions {
  std::string name;         // the top's, in the archive
  bool follow = false;      // the last link of the path
  bool attributes = false;  // include user.* and security.capability
  // Called with the number of content bytes just read; its error ends the reading. May be null.
  std::function<absl::Status(uint64_t)> step;
  std::function<void(const std::string&)> left_out;  // "web:/run/x is a FIFO"; may be null
};

// Opens each name without following it and without effect (O_PATH), checks it, and only then opens
// that descriptor for reading; so a FIFO, device or socket is never opened. Left out: those three;
// files below a mounted procfs, sysfs or the like; files that vanish meanwhile. Further names
// of a file in the tree are hard links to the first, holes stay holes. Writes to `out`, which it
// doesn't close.
//
// INVALID_ARGUMENT if the path itself can't be copied, or directories are nested more than 256
// deep; ABORTED when a file shrinks while it is read.
absl::Status ReadTree(const Place& place, const std::string& path, const ReadOptions& options,
                      int out);

}  // namespace plimsoll::copy

#endif  // PLIMSOLL_COPY_TREE_READER_H_
