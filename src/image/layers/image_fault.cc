#include "image/layers/image_fault.h"

#include <cerrno>

#include "base/status.h"

namespace plimsoll::image {

absl::Status BlameImage(const absl::Status& status) {
  switch (ErrnoOf(status)) {
    case ENAMETOOLONG:
    case ENOTDIR:
    case EISDIR:
    case ELOOP:
    case EEXIST:
    case ENOTEMPTY:
    case EXDEV:
    case EFBIG:
    case EMLINK:
    case E2BIG:
    case ERANGE:
    case EINVAL:
    case EILSEQ:
    case EOVERFLOW:
      return absl::InvalidArgumentError(status.message());
    default:
      return status;
  }
}

}  // namespace plimsoll::image
