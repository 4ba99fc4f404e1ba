// The list of images, as image/ needs it stored. The database implements it (runtime/store).
#ifndef PLIMSOLL_IMAGE_CATALOG_H_
#define PLIMSOLL_IMAGE_CATALOG_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace plimsoll::image {

// One image. Everything else about it is in its config blob.
struct ImageRecord {
  std::string id;                         // "sha256:<64 hex>": digest of the config blob
  std::string manifest_digest;            // "sha256:..."; empty for a plain rootfs
  std::vector<std::string> repo_tags;     // "docker.io/library/busybox:latest"
  std::vector<std::string> repo_digests;  // "docker.io/library/busybox@sha256:..."
  std::vector<std::string> chain_ids;     // of the unpacked layers, bottom first
  std::vector<std::string> blobs;         // digests of every blob it needs, config included
  uint64_t size_bytes = 0;                // of the unpacked layers
  bool pinned = false;                    // never garbage-collected
  int64_t created_unix_nanos = 0;         // time of arrival in the store

  bool operator==(const ImageRecord&) const = default;
};

// A row that can't be read.
struct DamagedImage {
  std::string id;
  std::string what;  // "database row image sha256:ab12, column repo_tags: ..."
};

// Changes are durable on return: a power cut loses nothing acknowledged. Thread-safe.
class Catalog {
 public:
  virtual ~Catalog() = default;
  // Every readable row. One damaged row must not hide the others: DamagedImages lists it
  // afterwards.
  virtual absl::StatusOr<std::vector<ImageRecord>> LoadImages() = 0;
  virtual std::vector<DamagedImage> DamagedImages() const { return {}; }
  virtual absl::Status PutImage(const ImageRecord& image) = 0;  // inserts or replaces by id
  virtual absl::Status RemoveImage(const std::string& id) = 0;
};

}  // namespace plimsoll::image

#endif  // PLIMSOLL_IMAGE_CATALOG_H_
