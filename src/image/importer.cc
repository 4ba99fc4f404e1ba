#include "image/importer.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "base/unique_fd.h"
#include "image/layers/archive_reader.h"
#include "image/layers/layer_tree.h"
#include "image/layers/tree_archiver.h"
#include "image/names/digest.h"

namespace plimsoll::image {
namespace {

constexpr uint64_t kMaxImportBytes = uint64_t{128} * 1024 * 1024 * 1024;
constexpr absl::string_view kRootfsTar = "rootfs.tar";

enum class ArchiveKind { kOciLayout, kDockerArchive, kRootfs };

struct ArchiveLook {
  ArchiveKind kind = ArchiveKind::kRootfs;
  std::string diff_id;  // of a rootfs
};

// One file, whatever path is requested.
class SingleFileSource : public FileSource {
 public:
  explicit SingleFileSource(std::string path) : path_(std::move(path)) {}
  absl::StatusOr<UniqueFd> Open(absl::string_view /*path*/) const override {
    UniqueFd fd(open(path_.c_str(), O_RDONLY | O_CLOEXEC));
    if (!fd.valid()) return ErrnoStatus(errno, absl::StrCat("open ", path_));
    return fd;
  }

 private:
  const std::string path_;
};

// Reads an archive's table of contents until its kind is clear. Searches for an OCI layout to the
// end: archives of Docker 25 are both kinds, and the layout has more information.
absl::StatusOr<ArchiveLook> LookInto(UniqueFd fd, const std::string& path,
                                     const std::function<bool()>& cancelled) {
  PLIMSOLL_ASSIGN_OR_RETURN(const auto reader,
                            ArchiveReader::Open(std::move(fd), path, kMaxImportBytes, cancelled));
  ArchiveLook look;
  ArchiveEntry entry;
  size_t entries = 0;
  while (true) {
    PLIMSOLL_ASSIGN_OR_RETURN(const bool more, reader->Next(&entry));
    if (!more) break;
    ++entries;
    const absl::StatusOr<std::vector<std::string>> name = LayerTree::Clean(entry.path);
    if (!name.ok() || name->size() != 1 || entry.type != S_IFREG) continue;
    if (name->front() == "oci-layout") return ArchiveLook{ArchiveKind::kOciLayout, ""};
    if (name->front() == "manifest.json") look.kind = ArchiveKind::kDockerArchive;
  }
  if (entries == 0) return absl::InvalidArgumentError(absl::StrCat(path, " has no files"));
  if (look.kind == ArchiveKind::kRootfs) {
    PLIMSOLL_ASSIGN_OR_RETURN(StreamDigests digests, reader->Finish());
    PLIMSOLL_RETURN_IF_ERROR(reader->CheckEnd());
    look.diff_id = std::move(digests.unpacked);
  }
  return look;
}

ImageContent PlainContent(std::string file, absl::string_view diff_id) {
  ImageContent content;
  content.config = PlainConfigFile(diff_id);
  content.layers.push_back({std::move(file), ""});
  return content;
}

absl::StatusOr<OpenedImage> OpenRootfsDirectory(const FsRoot& directory, const FsRoot& work,
                                                const std::function<bool()>& cancelled) {
  PLIMSOLL_ASSIGN_OR_RETURN(const std::vector<std::string> names, directory.List("."));
  if (names.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(directory.path(), " has no files"));
  }
  PLIMSOLL_ASSIGN_OR_RETURN(const UniqueFd tar,
                            work.OpenFile(kRootfsTar, O_RDWR | O_CREAT | O_EXCL, 0600));
  PLIMSOLL_RETURN_IF_ERROR(ArchiveTree(directory, tar.get(), cancelled));
  if (lseek(tar.get(), 0, SEEK_SET) != 0) return ErrnoStatus(errno, "rewind an archive");
  PLIMSOLL_ASSIGN_OR_RETURN(const std::string diff_id,
                            DigestOfFile(tar.get(), work.PathOf(kRootfsTar)));
  OpenedImage opened;
  opened.source = std::make_unique<DirectorySource>(work);
  opened.content = PlainContent(std::string(kRootfsTar), diff_id);
  return opened;
}

absl::StatusOr<OpenedImage> OpenDirectory(const std::string& path, absl::string_view wanted,
                                          const FsRoot& work,
                                          const std::function<bool()>& cancelled) {
  PLIMSOLL_ASSIGN_OR_RETURN(const FsRoot directory, FsRoot::Open(path));
  if (!directory.Exists("oci-layout")) return OpenRootfsDirectory(directory, work, cancelled);
  OpenedImage opened;
  opened.source = std::make_unique<DirectorySource>(directory);
  PLIMSOLL_ASSIGN_OR_RETURN(opened.content, ReadOciLayout(*opened.source, wanted));
  return opened;
}

absl::StatusOr<OpenedImage> OpenArchive(UniqueFd fd, const std::string& path,
                                        absl::string_view wanted, const FsRoot& work,
                                        const std::function<bool()>& cancelled) {
  UniqueFd second(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!second.valid()) return ErrnoStatus(errno, absl::StrCat("open ", path));
  PLIMSOLL_ASSIGN_OR_RETURN(ArchiveLook look, LookInto(std::move(fd), path, cancelled));
  OpenedImage opened;
  if (look.kind == ArchiveKind::kRootfs) {
    opened.source = std::make_unique<SingleFileSource>(path);
    opened.content = PlainContent(path, look.diff_id);
    return opened;
  }
  PLIMSOLL_ASSIGN_OR_RETURN(opened.source,
                            ArchiveSource::Extract(std::move(second), path, work, cancelled));
  PLIMSOLL_ASSIGN_OR_RETURN(opened.content, look.kind == ArchiveKind::kOciLayout
                                                ? ReadOciLayout(*opened.source, wanted)
                                                : ReadDockerArchive(*opened.source, wanted));
  return opened;
}

}  // namespace

absl::StatusOr<OpenedImage> OpenImage(const std::string& path, absl::string_view wanted,
                                      const FsRoot& work, std::function<bool()> cancelled) {
  // Non-blocking, in case it is a fifo.
  UniqueFd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat info = {};
  if (!fd.valid() || fstat(fd.get(), &info) != 0) {
    return ErrnoStatus(errno, absl::StrCat("open ", path));
  }
  if (!S_ISDIR(info.st_mode) && !S_ISREG(info.st_mode)) {
    return absl::InvalidArgumentError(
        absl::StrCat(path,
                     " is neither a directory nor a file; valid is an OCI layout, a "
                     "docker-archive or a root file system, as directory or tar"));
  }
  absl::StatusOr<OpenedImage> opened =
      S_ISDIR(info.st_mode) ? OpenDirectory(path, wanted, work, cancelled)
                            : OpenArchive(std::move(fd), path, wanted, work, cancelled);
  if (opened.ok()) opened->cancelled = std::move(cancelled);
  return opened;
}

}  // namespace plimsoll::image
