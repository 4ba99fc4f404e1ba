// Where an image's files are read from: a directory, or an archive.
#ifndef PLIMSOLL_IMAGE_FILE_SOURCE_H_
#define PLIMSOLL_IMAGE_FILE_SOURCE_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/fs_root.h"
#include "base/unique_fd.h"
#include "image/byte_stream.h"

namespace plimsoll::image {

// Files by relative path. Thread-safe once made.
class FileSource {
 public:
  virtual ~FileSource() = default;
  // A regular file, at its beginning. NOT_FOUND; INVALID_ARGUMENT for anything else, a path that
  // leads out among them.
  virtual absl::StatusOr<UniqueFd> Open(absl::string_view path) const = 0;

  // The same, for what is read once. DATA_LOSS when it has other than `size` bytes, where that is
  // said.
  virtual absl::StatusOr<std::unique_ptr<ByteStream>> OpenStream(
      absl::string_view path, std::optional<uint64_t> size) const;
  // Whether streams are still on their way while they are read.
  virtual bool comes_as_it_is_read() const { return false; }
  // Ends the wait of readers for what has yet to come: they get CANCELLED. For a reader of several
  // files that has failed with one.
  virtual void Stop() const {}

  bool Has(absl::string_view path) const { return Open(path).ok(); }
  // RESOURCE_EXHAUSTED when it is larger than `max_bytes`.
  absl::StatusOr<std::string> Read(absl::string_view path, size_t max_bytes) const;
};

class DirectorySource : public FileSource {
 public:
  explicit DirectorySource(FsRoot directory) : directory_(std::move(directory)) {}
  absl::StatusOr<UniqueFd> Open(absl::string_view path) const override;

 private:
  const FsRoot directory_;
};

// A tar archive, copied member by member into numbered files: its names are only ever looked up in
// a table, so none of them can reach anything else. Links between members are followed.
class ArchiveSource : public FileSource {
 public:
  // Of all members' paths and links' targets, which are kept in memory.
  static constexpr size_t kMaxPathBytes = size_t{256} * 1024 * 1024;

  // `work` is an empty directory that the caller removes. `cancelled`: see ArchiveReader.
  static absl::StatusOr<std::unique_ptr<ArchiveSource>> Extract(
      UniqueFd archive, absl::string_view name, const FsRoot& work,
      const std::function<bool()>& cancelled, size_t max_path_bytes = kMaxPathBytes);
  absl::StatusOr<UniqueFd> Open(absl::string_view path) const override;

 private:
  explicit ArchiveSource(FsRoot work) : work_(std::move(work)) {}

  const FsRoot work_;
  absl::flat_hash_map<std::string, std::string> files_;  // path -> file in work_
  absl::flat_hash_map<std::string, std::string> links_;  // path -> path
};

}  // namespace plimsoll::image

#endif  // PLIMSOLL_IMAGE_FILE_SOURCE_H_
