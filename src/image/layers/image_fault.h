// Separates faults of an image from failures of this machine.
#ifndef PLIMSOLL_IMAGE_LAYERS_IMAGE_FAULT_H_
#define PLIMSOLL_IMAGE_LAYERS_IMAGE_FAULT_H_

#include "absl/status/status.h"

namespace plimsoll::image {

// Turns an error into INVALID_ARGUMENT with the same message if only an image's names, links and
// sizes cause its errno: a component longer than NAME_MAX, a file in place of a directory, a loop
// of links, too many names for a file. Other errors stay.
absl::Status BlameImage(const absl::Status& status);

}  // namespace plimsoll::image

#endif  // PLIMSOLL_IMAGE_LAYERS_IMAGE_FAULT_H_
