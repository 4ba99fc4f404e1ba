// The source of an image's files: a directory, or an archive.
#ifndef PLIMSOLL_IMAGE_LAYERS_FILE_SOURCE_H_
#define PLIMSOLL_IMAGE_LAYERS_FILE_SOURCE_H_

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
#include "image/layers/byte_stream.h"

namespace plimsoll::image {

// Files by relative path. Thread-safe once made.
class FileSource {
 public:
  virtual ~FileSource() = default;
  // Opens a regular file at its beginning. NOT_FOUND; INVALID_ARGUMENT for anything else, including
  // a path that leads out.
  virtual absl::StatusOr<UniqueFd> Open(absl::string_view path) const = 0;

  // The same, for reading once. DATA_LOSS when the file's size is not `size`, if given.
  virtual absl::StatusOr<std::unique_ptr<ByteStream>> OpenStream(
      absl::string_view path, std::optional<uint64_t> size) const;
  // True when streams still arrive while they are read.
  virtual bool comes_as_it_is_read() const { return false; }
  // Ends readers' waits for data still to come: they get CANCELLED. For a reader of several files
  // after one has failed.
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
  // The most bytes of all members' paths and links' targets, which are kept in memory.
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

#endif  // PLIMSOLL_IMAGE_LAYERS_FILE_SOURCE_H_
