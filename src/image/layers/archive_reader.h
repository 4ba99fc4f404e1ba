// Reads tar streams with libarchive, reports its errors as Status, and writes nothing anywhere.
#ifndef PLIMSOLL_IMAGE_LAYERS_ARCHIVE_READER_H_
#define PLIMSOLL_IMAGE_LAYERS_ARCHIVE_READER_H_

#include <sys/types.h>
#include <time.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/unique_fd.h"
#include "image/layers/byte_stream.h"

namespace plimsoll::image {

// One member as the archive states it: unchecked.
struct ArchiveEntry {
  std::string path;
  std::string hardlink;    // target; not empty: the entry is a hard link, and `type` is meaningless
  std::string symlink;     // target
  mode_t type = 0;         // S_IFREG, S_IFDIR, ...
  mode_t permissions = 0;  // 07777
  int64_t uid = 0;
  int64_t gid = 0;
  int64_t size = 0;
  dev_t device = 0;
  struct timespec mtime = {};
  std::vector<std::pair<std::string, std::string>> xattrs;
};

struct StreamDigests {
  std::string stored;    // of the bytes in the file
  std::string unpacked;  // of the uncompressed stream: an OCI "diff id"
};

// A tar archive, as is or compressed with gzip, zstd, bzip2 or xz (all decompressed in process,
// never by a program). Computes both digests on the way. Not thread-safe.
class ArchiveReader {
 public:
  // `name` is for messages. Reads in the calling thread. RESOURCE_EXHAUSTED beyond `max_bytes`
  // uncompressed. Each read of the file calls `cancelled`; once that returns true, everything fails
  // with CANCELLED.
  static absl::StatusOr<std::unique_ptr<ArchiveReader>> Open(
      UniqueFd fd, absl::string_view name, uint64_t max_bytes,
      std::function<bool()> cancelled = nullptr);
  static absl::StatusOr<std::unique_ptr<ArchiveReader>> Open(
      std::unique_ptr<ByteStream> stream, absl::string_view name, uint64_t max_bytes,
      std::function<bool()> cancelled = nullptr);
  ~ArchiveReader();

  // False at the end. DATA_LOSS when the archive is truncated or damaged.
  absl::StatusOr<bool> Next(ArchiveEntry* entry);

  // Passes the content of Next's entry to `sink`, in order, with its offset in the file; holes are
  // left out.
  using Sink = std::function<absl::Status(uint64_t offset, absl::string_view data)>;
  absl::Status ReadData(const Sink& sink);

  // Reads the rest after the last entry, to the end of the file. Call after Next returned false.
  absl::StatusOr<StreamDigests> Finish();

  // After Finish: DATA_LOSS unless the stream ends in the two empty blocks that every tar writer
  // puts there. Without them it was cut off; if that was just between two entries, the rest looks
  // whole. For archives that no digest vouches for.
  absl::Status CheckEnd() const;

 private:
  struct Impl;
  explicit ArchiveReader(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace plimsoll::image

#endif  // PLIMSOLL_IMAGE_LAYERS_ARCHIVE_READER_H_
