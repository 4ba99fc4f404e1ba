// The long part of a pull: from the registry's manifest to unpacked layers.
#ifndef PLIMSOLL_IMAGE_DOWNLOAD_H_
#define PLIMSOLL_IMAGE_DOWNLOAD_H_

#include <cstdint>
#include <functional>
#include <string>

#include "absl/status/statusor.h"
#include "base/fs_root.h"
#include "image/image_content.h"
#include "image/image_service.h"
#include "image/layer_store.h"
#include "image/transport_skopeo.h"
#include "image/unpack_image.h"

namespace plimsoll::image {

// True when an image may use a stored layer, by chain id, without its bytes.
using MayReuse = std::function<bool(const std::string& chain_id)>;

struct DownloadedImage {
  ImageContent content;
  UnpackedImage unpacked;
};

// Stored layers that `may_reuse` accepts, by chain id, are not fetched; the others are unpacked
// while they arrive. With `copy`, or when skopeo can't stream, each is copied first: only then does
// skopeo check the image against policy.json. `work` is the transport's. `progress` is called in
// several threads, never at once. `bytes` gets the number received, even on failure. Errors are
// those of the transport and of UnpackImage.
absl::StatusOr<DownloadedImage> Download(SkopeoTransport& transport, const RegistryImage& image,
                                         const FsRoot& work, LayerStore& layers,
                                         const MayReuse& may_reuse, bool copy,
                                         const std::function<bool()>& cancelled,
                                         const ProgressFn& progress, uint64_t* bytes);

}  // namespace plimsoll::image

#endif  // PLIMSOLL_IMAGE_DOWNLOAD_H_
