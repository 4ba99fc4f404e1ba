// The list of images in memory: names, ids, and changes to them.
#ifndef PLIMSOLL_IMAGE_IMAGE_INDEX_H_
#define PLIMSOLL_IMAGE_IMAGE_INDEX_H_

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "image/image_service.h"

namespace plimsoll::image {

// A name belongs to one image at most. A change is computed first, and applied once it is on disk.
// Not thread-safe.
class ImageIndex {
 public:
  struct Step {
    std::string id;
    std::optional<Image> before;  // none: the image is new
    std::optional<Image> after;   // none: the image is removed
  };
  using Change = std::vector<Step>;

  struct Match {
    std::string id;
    std::string name;  // empty when found by id
  };

  // Finds a tag, digest reference, id or unambiguous id prefix of at least 3 digits; names first.
  // NOT_FOUND, or INVALID_ARGUMENT for a malformed reference or an ambiguous prefix.
  absl::StatusOr<Match> Find(absl::string_view reference) const;
  // Finds a name in its full form only.
  std::optional<Match> FindName(const std::string& name) const;
  std::optional<Image> FindId(const std::string& id) const;
  std::optional<Image> FindManifest(absl::string_view manifest_digest) const;
  // True when the image came from this repository ("docker.io/library/app").
  static bool IsFrom(const ImageRecord& image, absl::string_view repository);
  std::vector<Image> All() const;  // by id
  absl::flat_hash_set<std::string> Blobs() const;
  // The layers, by chain id, of all images from this repository ("docker.io/library/app").
  absl::flat_hash_set<std::string> LayersFrom(absl::string_view repository) const;

  // Adds an image, or adds its names and blobs to the one with that id. Other images lose these
  // tags.
  Change Put(const Image& image) const;
  // Removes a name, or the whole image if it was found by id. A repository's last tag takes its
  // digests with it, and the last name the image.
  Change Remove(const Match& match) const;

  void Apply(const Change& change);

 private:
  std::map<std::string, Image> images_;       // by id
  std::map<std::string, std::string> names_;  // tag or digest reference -> id
};

}  // namespace plimsoll::image

#endif  // PLIMSOLL_IMAGE_IMAGE_INDEX_H_
