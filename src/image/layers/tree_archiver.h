// Writes a directory tree as a tar stream, which makes a layer of a plain root filesystem.
#ifndef PLIMSOLL_IMAGE_LAYERS_TREE_ARCHIVER_H_
#define PLIMSOLL_IMAGE_LAYERS_TREE_ARCHIVER_H_

#include <functional>

#include "absl/status/status.h"
#include "base/fs_root.h"

namespace plimsoll::image {

// Writes `tree`'s own metadata and everything below to `out_fd` as a pax archive: owner, mode,
// times, links, devices, fifos, and the attributes that layers keep. Names are in order, so the
// same tree gives the same bytes. Sockets are left out, other mounts (proc, sys) appear as empty
// directories. An unreadable or vanishing file is an error that names it. CANCELLED once
// `cancelled`, which may be null, returns true.
absl::Status ArchiveTree(const FsRoot& tree, int out_fd,
                         const std::function<bool()>& cancelled = nullptr);

}  // namespace plimsoll::image

#endif  // PLIMSOLL_IMAGE_LAYERS_TREE_ARCHIVER_H_
