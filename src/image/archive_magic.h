// Telling an archive from anything else by how it begins.
#ifndef PLIMSOLL_IMAGE_ARCHIVE_MAGIC_H_
#define PLIMSOLL_IMAGE_ARCHIVE_MAGIC_H_

#include <cstddef>

#include "absl/strings/string_view.h"

namespace plimsoll::image {

// How many bytes BeginsLikeArchive wants; fewer are a stream that ended.
inline constexpr size_t kArchiveStartBytes = 512;

// Whether a stream that begins so may be what ArchiveReader reads: tar, or a compressed stream. A
// tar's first block is known by its checksum, which old formats have too.
bool BeginsLikeArchive(absl::string_view start);

}  // namespace plimsoll::image

#endif  // PLIMSOLL_IMAGE_ARCHIVE_MAGIC_H_
