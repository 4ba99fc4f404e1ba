// Unpacks one layer's tar stream into a directory that overlayfs can use as a lower layer.
#ifndef PLIMSOLL_IMAGE_LAYERS_LAYER_UNPACKER_H_
#define PLIMSOLL_IMAGE_LAYERS_LAYER_UNPACKER_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "base/fs_root.h"
#include "image/layers/archive_reader.h"
#include "image/layers/image_budget.h"
#include "image/layers/layer_tree.h"

namespace plimsoll::image {

struct UnpackLimits {
  uint64_t max_entries = 1'000'000;
  uint64_t max_bytes = uint64_t{64} * 1024 * 1024 * 1024;  // of file content, and of the stream
  size_t max_xattr_bytes = 64 * 1024;                      // of one entry's names and values
  size_t max_path_bytes = 64 * 1024 * 1024;        // of all directories, kept in memory to the end
  uint64_t max_header_bytes = 1024 * 1024 * 1024;  // of all names, links' targets and attributes
  ImageBudget* budget = nullptr;  // shared by all layers of the image; null: no other layers
};

struct UnpackResult {
  StreamDigests digests;
  uint64_t bytes = 0;   // of file content written
  uint64_t inodes = 0;  // files, directories and others made
};

// Unpacks `reader` into `diff`, an empty directory. Keeps owner, mode (with setuid), modification
// time, security.capability and user.* attributes, device nodes, fifos, hard links and holes; drops
// other attributes and sockets. `.wh.name` becomes an overlay whiteout and `.wh..wh..opq` an opaque
// directory (OCI image spec, layer.md, "Whiteouts"). `lowers` are the layers below, top first (see
// LayerTree). A layer without an entry for its root directory gets that of the layer below.
//
// An error names the entry: INVALID_ARGUMENT if it would leave the layer, carries an overlay
// attribute of its own, or can't be made; RESOURCE_EXHAUSTED if it breaks a limit; DATA_LOSS for a
// damaged stream. Entries already written stay: the caller removes the directory.
absl::StatusOr<UnpackResult> UnpackLayer(ArchiveReader& reader, const FsRoot& diff,
                                         const std::vector<FsRoot>& lowers,
                                         const UnpackLimits& limits = {});
// Unpacks like the above, with layers below that are opened only when one is needed.
absl::StatusOr<UnpackResult> UnpackLayer(ArchiveReader& reader, const FsRoot& diff,
                                         LayerTree::LowersFn lowers,
                                         const UnpackLimits& limits = {});

}  // namespace plimsoll::image

#endif  // PLIMSOLL_IMAGE_LAYERS_LAYER_UNPACKER_H_
