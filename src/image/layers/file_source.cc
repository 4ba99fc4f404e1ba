#include "image/layers/file_source.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status.h"
#include "image/layers/archive_reader.h"
#include "image/layers/image_fault.h"
#include "image/layers/layer_tree.h"

namespace plimsoll::image {
namespace {

constexpr uint64_t kMaxArchiveBytes = uint64_t{128} * 1024 * 1024 * 1024;
constexpr size_t kMaxMembers = 100'000;
constexpr int kMaxFileLinks = 8;

// Names in an archive or layout are relative; those of a layer's files need not be.
absl::StatusOr<std::string> CleanPath(absl::string_view path) {
  absl::StatusOr<std::vector<std::string>> components =
      path.size() > 1 && path.front() == '/'
          ? absl::InvalidArgumentError("the path is absolute; it must be relative")
          : LayerTree::Clean(path);
  if (!components.ok()) {
    return Annotate(components.status(),
                    absl::StrCat("\"", absl::CEscape(path.substr(0, 200)), "\""));
  }
  return absl::StrJoin(*components, "/");
}

absl::Status Copy(ArchiveReader& reader, const FsRoot& work, const std::string& file) {
  PLIMSOLL_ASSIGN_OR_RETURN(const UniqueFd fd,
                            work.OpenFile(file, O_WRONLY | O_CREAT | O_EXCL, 0600));
  return reader.ReadData([&](uint64_t offset, absl::string_view data) -> absl::Status {
    while (!data.empty()) {
      const ssize_t n = pwrite(fd.get(), data.data(), data.size(), static_cast<off_t>(offset));
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) return ErrnoStatus(errno, absl::StrCat("write ", work.PathOf(file)));
      data.remove_prefix(static_cast<size_t>(n));
      offset += static_cast<uint64_t>(n);
    }
    return absl::OkStatus();
  });
}

}  // namespace

absl::StatusOr<std::string> FileSource::Read(absl::string_view path, size_t max_bytes) const {
  PLIMSOLL_ASSIGN_OR_RETURN(const UniqueFd fd, Open(path));
  std::string content;
  std::vector<char> buffer(64 * 1024);
  while (true) {
    const ssize_t n = read(fd.get(), buffer.data(), buffer.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return ErrnoStatus(errno, absl::StrCat("read ", path));
    if (n == 0) return content;
    if (content.size() + static_cast<size_t>(n) > max_bytes) {
      return absl::ResourceExhaustedError(
          absl::StrCat(path, " is larger than ", max_bytes, " bytes"));
    }
    content.append(buffer.data(), static_cast<size_t>(n));
  }
}

absl::StatusOr<std::unique_ptr<ByteStream>> FileSource::OpenStream(
    absl::string_view path, std::optional<uint64_t> size) const {
  PLIMSOLL_ASSIGN_OR_RETURN(UniqueFd file, Open(path));
  struct stat info = {};
  if (fstat(file.get(), &info) != 0) return ErrnoStatus(errno, absl::StrCat("stat ", path));
  const auto has = static_cast<uint64_t>(info.st_size);
  if (size.value_or(has) != has) {
    return absl::DataLossError(
        absl::StrCat("size mismatch: the manifest says ", *size, " bytes, the layer has ", has));
  }
  return std::make_unique<FileStream>(std::move(file), path);
}

absl::StatusOr<UniqueFd> DirectorySource::Open(absl::string_view path) const {
  PLIMSOLL_ASSIGN_OR_RETURN(const std::string clean, CleanPath(path));
  // Non-blocking, in case it is a fifo.
  absl::StatusOr<UniqueFd> fd = directory_.OpenFile(clean, O_RDONLY | O_NONBLOCK);
  if (!fd.ok()) return BlameImage(fd.status());
  struct stat info = {};
  if (fstat(fd->get(), &info) != 0) return ErrnoStatus(errno, absl::StrCat("stat ", path));
  if (!S_ISREG(info.st_mode)) {
    return absl::InvalidArgumentError(
        absl::StrCat(directory_.PathOf(clean), " is not a regular file"));
  }
  return fd;
}

absl::StatusOr<std::unique_ptr<ArchiveSource>> ArchiveSource::Extract(
    UniqueFd archive, absl::string_view name, const FsRoot& work,
    const std::function<bool()>& cancelled, size_t max_path_bytes) {
  PLIMSOLL_ASSIGN_OR_RETURN(const auto reader, ArchiveReader::Open(std::move(archive), name,
                                                                   kMaxArchiveBytes, cancelled));
  std::unique_ptr<ArchiveSource> source(new ArchiveSource(work));
  ArchiveEntry entry;
  size_t path_bytes = 0;
  for (size_t members = 0;; ++members) {
    PLIMSOLL_ASSIGN_OR_RETURN(const bool more, reader->Next(&entry));
    if (!more) break;
    if (members >= kMaxMembers) {
      return absl::ResourceExhaustedError(
          absl::StrCat(name, " has more than ", kMaxMembers, " members"));
    }
    absl::StatusOr<std::string> path = CleanPath(entry.path);
    if (!path.ok()) return Annotate(path.status(), absl::StrCat(name, ", member"));
    path_bytes += path->size() + std::max(entry.hardlink.size(), entry.symlink.size());
    if (path_bytes > max_path_bytes) {
      return absl::ResourceExhaustedError(absl::StrCat(
          "the paths of the members of ", name, " have more than ", max_path_bytes, " bytes"));
    }
    source->files_.erase(*path);
    source->links_.erase(*path);
    if (!entry.hardlink.empty()) {
      source->links_[*path] = entry.hardlink;
    } else if (entry.type == S_IFLNK) {  // relative to the link's directory
      const size_t slash = path->rfind('/');
      source->links_[*path] =
          slash == std::string::npos
              ? entry.symlink
              : absl::StrCat(absl::string_view(*path).substr(0, slash), "/", entry.symlink);
    } else if (entry.type == S_IFREG) {
      const std::string file = absl::StrCat(members);
      PLIMSOLL_RETURN_IF_ERROR(Copy(*reader, work, file));
      source->files_[*path] = file;
    }
  }
  PLIMSOLL_RETURN_IF_ERROR(reader->Finish().status());
  PLIMSOLL_RETURN_IF_ERROR(reader->CheckEnd());
  return source;
}

absl::StatusOr<UniqueFd> ArchiveSource::Open(absl::string_view path) const {
  PLIMSOLL_ASSIGN_OR_RETURN(std::string clean, CleanPath(path));
  for (int links = 0; links < kMaxFileLinks; ++links) {
    if (const auto file = files_.find(clean); file != files_.end()) {
      return work_.OpenFile(file->second, O_RDONLY);
    }
    const auto link = links_.find(clean);
    if (link == links_.end()) {
      return absl::NotFoundError(
          absl::StrCat("the archive has no file \"", absl::CEscape(path), "\""));
    }
    PLIMSOLL_ASSIGN_OR_RETURN(clean, CleanPath(link->second));
  }
  return absl::InvalidArgumentError(
      absl::StrCat("the archive's \"", absl::CEscape(path), "\" is a link that leads nowhere"));
}

}  // namespace plimsoll::image
