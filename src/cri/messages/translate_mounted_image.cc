#include "cri/messages/translate_mounted_image.h"

namespace plimsoll::cri {

runtime::MountedImageSpec MountedImageSpecFrom(const ::runtime::v1::ImageSpec& image) {
  return {.annotations = {image.annotations().begin(), image.annotations().end()},
          .user_specified_image = image.user_specified_image(),
          .runtime_handler = image.runtime_handler(),
          .image_ref = image.image_ref()};
}

}  // namespace plimsoll::cri
