// Makes of a tar stream the files it tells of, as hostile as the stream may be.
#ifndef PLIMSOLL_COPY_TREE_WRITER_H_
#define PLIMSOLL_COPY_TREE_WRITER_H_

#include <functional>
#include <string>

#include "absl/status/status.h"
#include "copy/place.h"
#include "image/archive_reader.h"

namespace plimsoll::copy {

// The name that ReadTree gives the top of what WriteTree is to write.
inline constexpr char kTop[] = "top";

struct WriteOptions {
  // The source's own name, which it gets in a directory that is there; empty: it has none.
  std::string source_name;
  bool content = false;  // of the source, a directory: what is in it goes into the target itself
  // The stream tells several names of its own, not one top: they go into the target, a directory
  // that is there.
  bool bare = false;
  // Owners, set-id bits and attributes of the stream. Otherwise files are this process's own.
  bool archive = false;
  std::function<void(const std::string&)> left_out;  // may be null
};

// As cp(1): a top goes into `target` where that is a directory, else becomes it; files there are
// replaced, directories merged. Each file is written under a name of its own beside its place and
// renamed, so none is ever half there; after an error its unfinished one is removed, those before
// it stay.
//
// Whatever the stream says stays below the target: a name with "..", an absolute one, or one that
// leads through a symbolic link is INVALID_ARGUMENT. A hard link is made only to a file of the same
// stream. Devices, FIFOs and sockets are left out; none that is there is replaced, nor is a file
// that something is mounted on.
absl::Status WriteTree(image::ArchiveReader& reader, const Place& place, const std::string& target,
                       const WriteOptions& options);

}  // namespace plimsoll::copy

#endif  // PLIMSOLL_COPY_TREE_WRITER_H_
