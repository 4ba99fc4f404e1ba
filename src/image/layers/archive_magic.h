// Recognizes an archive by its first bytes.
#ifndef PLIMSOLL_IMAGE_LAYERS_ARCHIVE_MAGIC_H_
#define PLIMSOLL_IMAGE_LAYERS_ARCHIVE_MAGIC_H_

#include <cstddef>

#include "absl/strings/string_view.h"

namespace plimsoll::image {

// The number of bytes that BeginsLikeArchive needs; fewer are a stream that ended.
inline constexpr size_t kArchiveStartBytes = 512;

// True when a stream with this start may suit ArchiveReader: tar, or a compressed stream.
// Recognizes a tar by its first block's checksum, which old formats have too.
bool BeginsLikeArchive(absl::string_view start);

}  // namespace plimsoll::image

#endif  // PLIMSOLL_IMAGE_LAYERS_ARCHIVE_MAGIC_H_
