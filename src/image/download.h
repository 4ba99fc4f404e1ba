// A pull's long part: from the manifest that a registry gave to unpacked layers.
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

// Whether a layer that is here may go into an image without its bytes, by chain id.
using MayReuse = std::function<bool(const std::string& chain_id)>;

struct DownloadedImage {
  ImageContent content;
  UnpackedImage unpacked;
};

// Of the layers in the store those that `may_reuse`, by chain id, are not asked for; the others are
// unpacked while they come. With `copy`, or where skopeo gives no streams, each is copied first:
// only then does skopeo hold the image against policy.json. `work` is the transport's.
// `progress` is called in several threads, never at once. `bytes` is set to what came, also when it
// fails. Errors are those of the transport and of UnpackImage.
absl::StatusOr<DownloadedImage> Download(SkopeoTransport& transport, const RegistryImage& image,
                                         const FsRoot& work, LayerStore& layers,
                                         const MayReuse& may_reuse, bool copy,
                                         const std::function<bool()>& cancelled,
                                         const ProgressFn& progress, uint64_t* bytes);

}  // namespace plimsoll::image

#endif  // PLIMSOLL_IMAGE_DOWNLOAD_H_
