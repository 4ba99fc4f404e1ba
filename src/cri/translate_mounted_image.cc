#include "cri/translate_mounted_image.h"

namespace plimsoll::cri {

runtime::MountedImageSpec MountedImageSpecFrom(const ::runtime::v1::ImageSpec& image) {
  return {.annotations = {image.annotations().begin(), image.annotations().end()},
          .user_specified_image = image.user_specified_image(),
          .runtime_handler = image.runtime_handler(),
          .image_ref = image.image_ref()};
}

void FillMountedImageSpec(const runtime::MountedImageSpec& spec, ::runtime::v1::ImageSpec* out) {
  out->mutable_annotations()->insert(spec.annotations.begin(), spec.annotations.end());
  out->set_user_specified_image(spec.user_specified_image);
  out->set_runtime_handler(spec.runtime_handler);
  out->set_image_ref(spec.image_ref);
}

}  // namespace plimsoll::cri
