// Writes the files of a tar stream, however hostile the stream is.
#ifndef PLIMSOLL_COPY_TREE_WRITER_H_
#define PLIMSOLL_COPY_TREE_WRITER_H_

#include <functional>
#include <string>

#include "absl/status/status.h"
#include "copy/place.h"
#include "image/layers/archive_reader.h"

namespace plimsoll::copy {

// ReadTree's name for the top of a stream for WriteTree.
inline constexpr char kTop[] = "top";

struct WriteOptions {
  // The source's own name, for use in an existing target directory; empty: it has none.
  std::string source_name;
  bool content = false;  // the source's content goes into the target itself
  // The stream has several names of its own, not one top: they go into the target, an existing
  // directory.
  bool bare = false;
  // True: owners, set-id bits and attributes come from the stream. False: files are this process's
  // own.
  bool archive = false;
  std::function<void(const std::string&)> left_out;  // may be null
};

// Works as cp(1): a top goes into `target` if that is a directory, else becomes it; existing files
// are replaced, directories merged. Each file is written under a temporary name beside its place
// and renamed, so none is ever half there. An error removes the unfinished file; earlier ones stay.
//
// Everything stays below the target: INVALID_ARGUMENT for a name with "..", an absolute one, or one
// that leads through a symbolic link. A hard link is made only to a file of the same stream.
// Devices, FIFOs and sockets are left out; existing ones are not replaced, nor is a file under a
// mount (/etc/hosts). The unpacker of layers is no use here: it follows links as they will lead in
// the container, makes whiteouts and devices, and replaces existing files. The reader of archives
// is shared.
absl::Status WriteTree(image::ArchiveReader& reader, const Place& place, const std::string& target,
                       const WriteOptions& options);

}  // namespace plimsoll::copy

#endif  // PLIMSOLL_COPY_TREE_WRITER_H_
