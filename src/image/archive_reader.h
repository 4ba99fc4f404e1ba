// Reading tar streams with libarchive, with its errors as Status and nothing written anywhere.
#ifndef PLIMSOLL_IMAGE_ARCHIVE_READER_H_
#define PLIMSOLL_IMAGE_ARCHIVE_READER_H_

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
#include "image/byte_stream.h"

namespace plimsoll::image {

// One member as the archive states it: nothing here has been checked.
struct ArchiveEntry {
  std::string path;
  std::string hardlink;    // target; not empty: the entry is a hard link and `type` says nothing
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
// never by a program). Both digests are taken on the way. Not thread-safe.
class ArchiveReader {
 public:
  // `name` is for messages. It is read in the thread that calls. More than `max_bytes` uncompressed
  // is RESOURCE_EXHAUSTED. Once `cancelled`, asked at each read of the file, is true, all is
  // CANCELLED.
  static absl::StatusOr<std::unique_ptr<ArchiveReader>> Open(
      UniqueFd fd, absl::string_view name, uint64_t max_bytes,
      std::function<bool()> cancelled = nullptr);
  static absl::StatusOr<std::unique_ptr<ArchiveReader>> Open(
      std::unique_ptr<ByteStream> stream, absl::string_view name, uint64_t max_bytes,
      std::function<bool()> cancelled = nullptr);
  ~ArchiveReader();

  // False at the end. DATA_LOSS when the archive is truncated or damaged.
  absl::StatusOr<bool> Next(ArchiveEntry* entry);

  // The content of the entry that Next gave, in order; holes are left out. `sink` gets the offset
  // in the file.
  using Sink = std::function<absl::Status(uint64_t offset, absl::string_view data)>;
  absl::Status ReadData(const Sink& sink);

  // Reads what follows the last entry, to the end of the file. Call after Next gave false.
  absl::StatusOr<StreamDigests> Finish();

  // After Finish: DATA_LOSS unless the stream ends in the two empty blocks that every writer of tar
  // archives puts there. Without them it was cut off, and what can be read of it looks whole when
  // that was just between two entries. For archives that no digest vouches for.
  absl::Status CheckEnd() const;

 private:
  struct Impl;
  explicit ArchiveReader(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace plimsoll::image

#endif  // PLIMSOLL_IMAGE_ARCHIVE_READER_H_
