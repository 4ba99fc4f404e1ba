// Unpacks an opened image's layers into the layer store.
#ifndef PLIMSOLL_IMAGE_UNPACK_IMAGE_H_
#define PLIMSOLL_IMAGE_UNPACK_IMAGE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "image/image_service.h"
#include "image/importer.h"
#include "image/layer_store.h"

namespace plimsoll::image {

struct UnpackedImage {
  ImageConfig config;
  std::vector<std::string> chain_ids;   // bottom first
  std::vector<LayerStore::Hold> holds;  // of all of them
  uint64_t size_bytes = 0;
};

// The chain ids of layers with these diff_ids, bottom first.
std::vector<std::string> ChainIds(const std::vector<std::string>& diff_ids);

// Unpacks the layers that the store lacks, up to three at once: a layer that must look up paths in
// those below waits for them. `progress` is called in several threads, never at once. For a layer
// in the store, the source's own copy is read and hashed all the same: a config that claims the
// digest of a layer doesn't prove that its author has the layer. Exempt are the layers whose chain
// ids are in `shown`; the caller must hold them. INVALID_ARGUMENT when config and manifest
// don't fit together, DATA_LOSS when a layer is missing or differs from them; the message names the
// layer. CANCELLED. After a failure nothing is left.
absl::StatusOr<UnpackedImage> UnpackImage(LayerStore& layers, const OpenedImage& opened,
                                          const absl::flat_hash_set<std::string>& shown,
                                          const ProgressFn& progress);

}  // namespace plimsoll::image

#endif  // PLIMSOLL_IMAGE_UNPACK_IMAGE_H_
