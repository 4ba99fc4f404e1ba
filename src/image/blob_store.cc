#include "image/blob_store.h"

#include <sys/stat.h>

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "image/names/digest.h"

namespace plimsoll::image {
namespace {

// st_blocks counts 512 bytes on every file system (stat(2)).
uint64_t BytesOnDisk(const struct stat& info) {
  return static_cast<uint64_t>(info.st_blocks) * 512;
}

}  // namespace

absl::StatusOr<std::unique_ptr<BlobStore>> BlobStore::Open(const FsRoot& directory) {
  PLIMSOLL_RETURN_IF_ERROR(directory.MakeDirs("blobs/sha256"));
  PLIMSOLL_ASSIGN_OR_RETURN(FsRoot files, directory.Sub("blobs/sha256"));
  std::unique_ptr<BlobStore> store(new BlobStore(std::move(files)));
  PLIMSOLL_ASSIGN_OR_RETURN(const std::vector<std::string> names, store->files_.List("."));
  absl::MutexLock lock(&store->mutex_);
  for (const std::string& name : names) {
    const std::string digest = absl::StrCat("sha256:", name);
    if (!IsDigest(digest)) {  // left by an interrupted write
      PLIMSOLL_RETURN_IF_ERROR(store->files_.RemoveFile(name));
      continue;
    }
    PLIMSOLL_ASSIGN_OR_RETURN(const struct stat info, store->files_.Stat(name));
    store->disk_bytes_[digest] = BytesOnDisk(info);
  }
  return store;
}

absl::StatusOr<std::string> BlobStore::Put(absl::string_view content) {
  std::string digest = DigestOf(content);
  absl::MutexLock lock(&mutex_);
  if (disk_bytes_.contains(digest)) return digest;
  PLIMSOLL_RETURN_IF_ERROR(files_.ReplaceFile(DigestHex(digest), content, 0600, /*sync=*/true));
  const absl::StatusOr<struct stat> info = files_.Stat(DigestHex(digest));
  disk_bytes_[digest] = info.ok() ? BytesOnDisk(*info) : content.size();
  return digest;
}

absl::StatusOr<std::string> BlobStore::Read(absl::string_view digest) const {
  PLIMSOLL_RETURN_IF_ERROR(CheckDigest(digest, "the blob asked for"));
  PLIMSOLL_ASSIGN_OR_RETURN(std::string content, files_.Read(DigestHex(digest)));
  if (DigestOf(content) != digest) {
    return absl::DataLossError(absl::StrCat(files_.PathOf(DigestHex(digest)),
                                            " was changed: its content doesn't match its digest"));
  }
  return content;
}

absl::Status BlobStore::RemoveAllBut(const absl::flat_hash_set<std::string>& digests) {
  absl::MutexLock lock(&mutex_);
  absl::Status first;
  for (auto it = disk_bytes_.begin(); it != disk_bytes_.end();) {
    const auto current = it++;
    if (digests.contains(current->first)) continue;
    const absl::Status removed = files_.RemoveFile(DigestHex(current->first));
    if (removed.ok()) disk_bytes_.erase(current);
    first = FirstError(std::move(first), removed);
  }
  return first;
}

uint64_t BlobStore::TotalBytes() const {
  absl::MutexLock lock(&mutex_);
  uint64_t total = 0;
  for (const auto& [digest, size] : disk_bytes_) total += size;
  return total;
}

uint64_t BlobStore::Count() const {
  absl::MutexLock lock(&mutex_);
  return disk_bytes_.size();
}

}  // namespace plimsoll::image
