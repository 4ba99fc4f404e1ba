// What a mount's image is said to be, beside its name: the CRI's message to the runtime's words and
// back.
#ifndef PLIMSOLL_CRI_TRANSLATE_MOUNTED_IMAGE_H_
#define PLIMSOLL_CRI_TRANSLATE_MOUNTED_IMAGE_H_

#include "cri/runtime/v1/api.pb.h"
#include "runtime/spec/mount.h"

namespace plimsoll::cri {

runtime::MountedImageSpec MountedImageSpecFrom(const ::runtime::v1::ImageSpec& image);
// All of the message but `image`.
void FillMountedImageSpec(const runtime::MountedImageSpec& spec, ::runtime::v1::ImageSpec* out);

}  // namespace plimsoll::cri

#endif  // PLIMSOLL_CRI_TRANSLATE_MOUNTED_IMAGE_H_
