// The image of a mount, beside its name: translates the CRI's message to the runtime's type.
//
// ContainerStatus.mounts reports the image's id, as PullImage answers it, and not a repository's
// digest as ContainerStatus.image_ref does (KEP-5365 leaves it open): a client that mounts by id,
// as kubelet does, would get the digest of any repository that has the image.
#ifndef PLIMSOLL_CRI_MESSAGES_TRANSLATE_MOUNTED_IMAGE_H_
#define PLIMSOLL_CRI_MESSAGES_TRANSLATE_MOUNTED_IMAGE_H_

#include "cri/runtime/v1/api.pb.h"
#include "runtime/spec/mount.h"

namespace plimsoll::cri {

runtime::MountedImageSpec MountedImageSpecFrom(const ::runtime::v1::ImageSpec& image);

}  // namespace plimsoll::cri

#endif  // PLIMSOLL_CRI_MESSAGES_TRANSLATE_MOUNTED_IMAGE_H_
