#include "image/layers/archive_reader.h"

#include <archive.h>
#include <archive_entry.h>
#include <locale.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "image/names/digest.h"

namespace plimsoll::image {
namespace {

constexpr size_t kBufferBytes = 128 * 1024;

// libarchive converts pax names, which are UTF-8, to the thread's locale, and fails in "C". In
// C.UTF-8, which the C library always has, a name stays the same, byte for byte.
class Utf8Locale {
 public:
  Utf8Locale() : previous_(uselocale(Get())) {}
  ~Utf8Locale() { uselocale(previous_); }
  Utf8Locale(const Utf8Locale&) = delete;
  Utf8Locale& operator=(const Utf8Locale&) = delete;

 private:
  static locale_t Get() {
    static const locale_t locale = newlocale(LC_CTYPE_MASK, "C.UTF-8", static_cast<locale_t>(0));
    return locale;  // 0, which changes nothing, if the locale is missing
  }
  locale_t previous_;
};

std::string Text(const char* text) {
  return text != nullptr ? text : "";
}

absl::Status EnableFilters(struct archive* raw) {
  // ARCHIVE_WARN would mean that libarchive runs an external program.
  const std::pair<const char*, int> results[] = {
      {"gzip", archive_read_support_filter_gzip(raw)},
      {"zstd", archive_read_support_filter_zstd(raw)},
      {"bzip2", archive_read_support_filter_bzip2(raw)},
      {"xz", archive_read_support_filter_xz(raw)},
  };
  for (const auto& [filter, result] : results) {
    if (result == ARCHIVE_OK) continue;
    return absl::UnimplementedError(
        absl::StrCat("this machine's libarchive is built without ", filter));
  }
  return absl::OkStatus();
}

void FillXattrs(struct archive_entry* from, ArchiveEntry* to) {
  archive_entry_xattr_reset(from);
  const char* name = nullptr;
  const void* value = nullptr;
  size_t size = 0;
  while (archive_entry_xattr_next(from, &name, &value, &size) == ARCHIVE_OK) {
    to->xattrs.emplace_back(Text(name), std::string(static_cast<const char*>(value), size));
  }
}

}  // namespace

struct ArchiveReader::Impl {
  // A stream of bytes on its way through the reader.
  struct Stage {
    uint64_t bytes = 0;  // so far
    Sha256 digest;
    std::vector<char> buffer = std::vector<char>(kBufferBytes);

    void Count(size_t n) {
      bytes += n;
      digest.Update(buffer.data(), n);
    }
  };

  std::unique_ptr<ByteStream> stream;
  std::string name;
  uint64_t max_bytes = 0;
  std::function<bool()> cancelled;  // may be null
  bool has_content = true;          // false: the uncompressed stream has no bytes at all
  size_t zeros_at_end = 0;          // of the uncompressed stream so far
  Stage stored;                     // the file's bytes
  Stage unpacked;                   // the uncompressed stream's
  struct archive* raw = nullptr;    // file -> uncompressed stream
  struct archive* tar = nullptr;    // uncompressed stream -> entries
  absl::Status failure;  // why a callback failed: clearer than what libarchive makes of it

  ~Impl() {
    if (tar != nullptr) archive_read_free(tar);
    if (raw != nullptr) archive_read_free(raw);
  }

  // Reads from the file: 0 at its end, -1 with `failure` set. libarchive takes a failure after the
  // last block of a compressed file for its end, so a failure is repeated.
  la_ssize_t ReadStored() {
    if (!failure.ok()) return -1;
    if (cancelled && cancelled()) {
      failure = absl::CancelledError(absl::StrCat("read ", name, ": cancelled"));
      return -1;
    }
    const absl::StatusOr<size_t> n = stream->Read(stored.buffer.data(), stored.buffer.size());
    if (!n.ok()) {
      failure = n.status();
      return -1;
    }
    stored.Count(*n);
    return static_cast<la_ssize_t>(*n);
  }

  // Reads from the uncompressed stream: 0 at its end, -1 with `failure` set.
  la_ssize_t ReadUnpacked() {
    if (!has_content) return 0;
    const la_ssize_t n = archive_read_data(raw, unpacked.buffer.data(), unpacked.buffer.size());
    if (n < 0) {
      if (failure.ok()) failure = Error(raw, "decompress");
      return -1;
    }
    unpacked.Count(static_cast<size_t>(n));
    if (unpacked.bytes > max_bytes) {
      failure = absl::ResourceExhaustedError(
          absl::StrCat(name, " is larger than ", max_bytes, " bytes when uncompressed"));
      return -1;
    }
    CountZeros(absl::string_view(unpacked.buffer.data(), static_cast<size_t>(n)));
    return n;
  }

  void CountZeros(absl::string_view data) {
    const size_t last = data.find_last_not_of('\0');
    zeros_at_end =
        last == absl::string_view::npos ? zeros_at_end + data.size() : data.size() - last - 1;
  }

  absl::Status Error(struct archive* archive, absl::string_view operation) const {
    if (!failure.ok()) return failure;
    const std::string why = Text(archive_error_string(archive));
    if (absl::StrContains(why, "Unrecognized archive format")) {
      return absl::DataLossError(absl::StrCat(name, " is no archive"));
    }
    return absl::DataLossError(absl::StrCat(operation, " ", name, ": ", why));
  }

  static la_ssize_t OnReadStored(struct archive* archive, void* self, const void** data) {
    Impl* impl = static_cast<Impl*>(self);
    *data = impl->stored.buffer.data();
    const la_ssize_t n = impl->ReadStored();
    if (n < 0) archive_set_error(archive, EIO, "read failed");
    return n;
  }
  static la_ssize_t OnReadUnpacked(struct archive* archive, void* self, const void** data) {
    Impl* impl = static_cast<Impl*>(self);
    *data = impl->unpacked.buffer.data();
    const la_ssize_t n = impl->ReadUnpacked();
    if (n < 0) archive_set_error(archive, EIO, "decompression failed");
    return n;
  }

  absl::Status Start() {
    raw = archive_read_new();
    tar = archive_read_new();
    if (raw == nullptr || tar == nullptr) return absl::ResourceExhaustedError("no memory");
    PLIMSOLL_RETURN_IF_ERROR(EnableFilters(raw));
    archive_read_support_format_raw(raw);
    archive_read_support_format_empty(raw);
    archive_read_support_format_tar(tar);
    archive_read_support_format_empty(tar);  // some tools write a layer of no bytes
    if (archive_read_open(raw, this, nullptr, &OnReadStored, nullptr) != ARCHIVE_OK) {
      return Error(raw, "open");
    }
    struct archive_entry* whole = nullptr;
    const int result = archive_read_next_header(raw, &whole);
    has_content = result != ARCHIVE_EOF;
    if (result < ARCHIVE_WARN) return Error(raw, "open");
    if (archive_read_open(tar, this, nullptr, &OnReadUnpacked, nullptr) != ARCHIVE_OK) {
      return Error(tar, "open");
    }
    return absl::OkStatus();
  }
};

ArchiveReader::ArchiveReader(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
ArchiveReader::~ArchiveReader() = default;

absl::StatusOr<std::unique_ptr<ArchiveReader>> ArchiveReader::Open(
    UniqueFd fd, absl::string_view name, uint64_t max_bytes, std::function<bool()> cancelled) {
  return Open(std::make_unique<FileStream>(std::move(fd), name), name, max_bytes,
              std::move(cancelled));
}

absl::StatusOr<std::unique_ptr<ArchiveReader>> ArchiveReader::Open(
    std::unique_ptr<ByteStream> stream, absl::string_view name, uint64_t max_bytes,
    std::function<bool()> cancelled) {
  const Utf8Locale locale;
  auto impl = std::make_unique<Impl>();
  impl->stream = std::move(stream);
  impl->name = std::string(name);
  impl->max_bytes = max_bytes;
  impl->cancelled = std::move(cancelled);
  PLIMSOLL_RETURN_IF_ERROR(impl->Start());
  return std::unique_ptr<ArchiveReader>(new ArchiveReader(std::move(impl)));
}

absl::StatusOr<bool> ArchiveReader::Next(ArchiveEntry* entry) {
  const Utf8Locale locale;
  struct archive_entry* from = nullptr;
  const int result = archive_read_next_header(impl_->tar, &from);
  if (!impl_->failure.ok()) return impl_->failure;
  if (result == ARCHIVE_EOF) return false;
  // A warning means names or attributes that libarchive didn't understand, which is not harmless
  // here.
  if (result != ARCHIVE_OK) return impl_->Error(impl_->tar, "read");
  *entry = ArchiveEntry();
  entry->path = Text(archive_entry_pathname(from));
  entry->hardlink = Text(archive_entry_hardlink(from));
  entry->symlink = Text(archive_entry_symlink(from));
  entry->type = archive_entry_filetype(from);
  entry->permissions = archive_entry_perm(from) & 07777;
  entry->uid = archive_entry_uid(from);
  entry->gid = archive_entry_gid(from);
  entry->size = archive_entry_size(from);
  entry->device = archive_entry_rdev(from);
  entry->mtime = {archive_entry_mtime(from), archive_entry_mtime_nsec(from)};
  FillXattrs(from, entry);
  return true;
}

absl::Status ArchiveReader::ReadData(const Sink& sink) {
  const Utf8Locale locale;
  while (true) {
    const void* data = nullptr;
    size_t size = 0;
    la_int64_t offset = 0;
    const int result = archive_read_data_block(impl_->tar, &data, &size, &offset);
    if (result == ARCHIVE_EOF) return absl::OkStatus();
    if (result != ARCHIVE_OK) return impl_->Error(impl_->tar, "read");
    if (offset < 0) {
      return absl::DataLossError(absl::StrCat("read ", impl_->name, ": negative file offset"));
    }
    PLIMSOLL_RETURN_IF_ERROR(sink(static_cast<uint64_t>(offset),
                                  absl::string_view(static_cast<const char*>(data), size)));
  }
}

absl::StatusOr<StreamDigests> ArchiveReader::Finish() {
  const Utf8Locale locale;
  la_ssize_t n = 0;
  while ((n = impl_->ReadUnpacked()) > 0) {
  }
  if (n < 0) return impl_->failure;
  while ((n = impl_->ReadStored()) > 0) {
  }
  if (n < 0) return impl_->failure;
  return StreamDigests{impl_->stored.digest.Finish(), impl_->unpacked.digest.Finish()};
}

absl::Status ArchiveReader::CheckEnd() const {
  constexpr size_t kEndBytes = 1024;
  if (impl_->zeros_at_end >= kEndBytes) return absl::OkStatus();
  return absl::DataLossError(absl::StrCat(
      impl_->name,
      " stops without an end-of-archive mark: it was cut off. Copy it or make it again."));
}

}  // namespace plimsoll::image
