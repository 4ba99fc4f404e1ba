// Telling what the kernel refuses of an image's making from what fails on this machine.
#ifndef PLIMSOLL_IMAGE_IMAGE_FAULT_H_
#define PLIMSOLL_IMAGE_IMAGE_FAULT_H_

#include "absl/status/status.h"

namespace plimsoll::image {

// INVALID_ARGUMENT with the same message where the errno is one that only names, links and sizes of
// an image bring about: a component longer than NAME_MAX, a file where a directory is to be, a loop
// of links, more names for a file than the file system has. All else stays what it is.
absl::Status BlameImage(const absl::Status& status);

}  // namespace plimsoll::image

#endif  // PLIMSOLL_IMAGE_IMAGE_FAULT_H_
