// Recognizes the kind of a file or directory, and opens it as an image.
#ifndef PLIMSOLL_IMAGE_IMPORTER_H_
#define PLIMSOLL_IMAGE_IMPORTER_H_

#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/fs_root.h"
#include "image/image_content.h"
#include "image/layers/file_source.h"

namespace plimsoll::image {

struct OpenedImage {
  std::unique_ptr<FileSource> source;
  ImageContent content;
  std::function<bool()> cancelled;  // may be null; called in several threads at once
};

// `path`: an OCI layout (directory or tar), a docker-archive tar, or else a plain root file system
// (directory or tar), which becomes an image of one layer and a config made here. `wanted` chooses
// among several images (see ReadOciLayout). `work` is an empty directory on the store's file
// system, which lives as long as the result; the caller removes it. NOT_FOUND when the path doesn't
// exist, CANCELLED once `cancelled` (kept in the result; may be null) returns true, DATA_LOSS for a
// tar that was cut off.
absl::StatusOr<OpenedImage> OpenImage(const std::string& path, absl::string_view wanted,
                                      const FsRoot& work, std::function<bool()> cancelled);

}  // namespace plimsoll::image

#endif  // PLIMSOLL_IMAGE_IMPORTER_H_
