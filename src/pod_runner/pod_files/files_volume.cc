#include "pod_runner/pod_files/files_volume.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <set>
#include <utility>
#include <vector>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/random_id.h"
#include "base/status.h"
#include "pod_runner/cri_requests/fields.h"

namespace plimsoll::pod {
namespace {

constexpr char kData[] = "..data";
constexpr char kNewData[] = "..data_tmp";

// Each item is a copy of its key's bytes, or of all labels: a manifest could fill a disk with them.
// An object has a MiB at most.
constexpr size_t kMostBytes = size_t{64} << 20;

// Puts a file there. `left` is what further files may have.
absl::Status PutFile(const std::string& path, VolumeFile file, size_t& left, VolumeFiles& files) {
  if (file.content.size() > left) {
    return absl::InvalidArgumentError(
        absl::StrCat("its files have more than ", kMostBytes >> 20, " MiB together"));
  }
  left -= file.content.size();
  files[path] = std::move(file);
  return absl::OkStatus();
}

absl::Status AddObject(const Manifest& pod, const VolumeProjection& source, int64_t default_mode,
                       const PodContext& context, size_t& left, VolumeFiles& files) {
  const ObjectKind kind =
      source.kind == VolumeProjection::Kind::kSecret ? ObjectKind::kSecret : ObjectKind::kConfigMap;
  PLIMSOLL_ASSIGN_OR_RETURN(const Object* object,
                            FindObject(pod, kind, source.object, source.optional, context));
  if (object == nullptr) return absl::OkStatus();
  if (source.items.empty()) {
    for (const auto& [key, bytes] : object->data) {
      PLIMSOLL_RETURN_IF_ERROR(PutFile(key, {bytes, default_mode}, left, files));
    }
  }
  for (const KeyToPath& item : source.items) {
    const auto found = object->data.find(item.key);
    if (found == object->data.end()) {
      if (source.optional) continue;
      return absl::NotFoundError(absl::StrCat(NameOf(kind, pod.pod_namespace, source.object),
                                              " has no key \"", item.key, "\""));
    }
    PLIMSOLL_RETURN_IF_ERROR(
        PutFile(item.path, {found->second, item.mode.value_or(default_mode)}, left, files));
  }
  return absl::OkStatus();
}

absl::Status AddDownward(const Manifest& pod, const VolumeProjection& source, int64_t default_mode,
                         const PodContext& context, size_t& left, VolumeFiles& files) {
  for (const DownwardFile& file : source.files) {
    VolumeFile out;
    out.mode = file.mode.value_or(default_mode);
    if (file.resource) {
      PLIMSOLL_ASSIGN_OR_RETURN(out.content, ResourceValue(pod, nullptr, *file.resource, context));
    } else {
      out.content = FieldValue(pod, file.field_path, context);
    }
    PLIMSOLL_RETURN_IF_ERROR(PutFile(file.path, std::move(out), left, files));
  }
  return absl::OkStatus();
}

// A path below another file's, and paths that normalise to the same, are told by the kernel.
absl::Status WriteOne(const FsRoot& root, const std::string& path, const VolumeFile& file,
                      std::optional<gid_t> group) {
  if (const size_t slash = path.rfind('/'); slash != std::string::npos) {
    PLIMSOLL_RETURN_IF_ERROR(root.MakeDirs(path.substr(0, slash), 0755));
  }
  PLIMSOLL_ASSIGN_OR_RETURN(const UniqueFd fd,
                            root.OpenFile(path, O_WRONLY | O_CREAT | O_EXCL, 0600));
  absl::string_view rest = file.content;
  while (!rest.empty()) {
    const ssize_t n = write(fd.get(), rest.data(), rest.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return ErrnoStatus(errno, absl::StrCat("write ", root.PathOf(path)));
    rest.remove_prefix(static_cast<size_t>(n));
  }
  auto mode = static_cast<mode_t>(file.mode);
  if (group) {
    mode |= 0440;
    if (fchown(fd.get(), static_cast<uid_t>(-1), *group) != 0) {
      return ErrnoStatus(errno, absl::StrCat("chown ", root.PathOf(path)));
    }
  }
  if (fchmod(fd.get(), mode) != 0) {
    return ErrnoStatus(errno, absl::StrCat("chmod ", root.PathOf(path)));
  }
  return absl::OkStatus();
}

// Directories below a volume are readable whatever the umask.
absl::Status OpenUp(const FsRoot& root, const std::string& name, std::optional<gid_t> group) {
  PLIMSOLL_ASSIGN_OR_RETURN(const UniqueFd fd, root.OpenFile(name, O_RDONLY | O_DIRECTORY));
  if (group && fchown(fd.get(), static_cast<uid_t>(-1), *group) != 0) {
    return ErrnoStatus(errno, absl::StrCat("chown ", root.PathOf(name)));
  }
  if (fchmod(fd.get(), group ? 02755 : 0755) != 0) {
    return ErrnoStatus(errno, absl::StrCat("chmod ", root.PathOf(name)));
  }
  return absl::OkStatus();
}

absl::Status OpenUpParents(const FsRoot& root, const std::string& path,
                           std::optional<gid_t> group) {
  absl::Status status;
  for (size_t at = path.find('/'); at != std::string::npos; at = path.find('/', at + 1)) {
    status = FirstError(status, OpenUp(root, path.substr(0, at), group));
  }
  return status;
}

absl::Status Link(const FsRoot& root, const std::string& target, const std::string& name) {
  if (symlinkat(target.c_str(), root.fd(), name.c_str()) == 0) return absl::OkStatus();
  return ErrnoStatus(errno, absl::StrCat("link ", root.PathOf(name)));
}

// The first component of a path: the name that the volume's directory shows.
std::string TopOf(const std::string& path) {
  return path.substr(0, path.find('/'));
}

// The directory behind ..data, or empty.
std::string CurrentOf(const FsRoot& root) {
  return root.ReadLink(kData).value_or("");
}

bool IsSame(const FsRoot& root, const VolumeFiles& files) {
  const absl::StatusOr<FsRoot> current = root.Sub(kData);
  if (!current.ok()) return false;
  for (const auto& [path, file] : files) {
    const absl::StatusOr<std::string> there = current->Read(path, file.content.size() + 1);
    if (!there.ok() || *there != file.content) return false;
  }
  const absl::StatusOr<std::vector<std::string>> names = current->List(".");
  std::set<std::string> tops;
  for (const auto& [path, file] : files) tops.insert(TopOf(path));
  return names.ok() && std::set<std::string>(names->begin(), names->end()) == tops;
}

// Links of files that are gone, and directories that no link leads to.
absl::Status RemoveStale(const FsRoot& root, const VolumeFiles& files, const std::string& current) {
  std::set<std::string> tops;
  for (const auto& [path, file] : files) tops.insert(TopOf(path));
  PLIMSOLL_ASSIGN_OR_RETURN(const std::vector<std::string> names, root.List("."));
  absl::Status status;
  for (const std::string& name : names) {
    if (name == kData || name == current || tops.contains(name)) continue;
    status = FirstError(status, absl::StartsWith(name, "..") && name != kNewData
                                    ? root.RemoveTree(name)
                                    : root.RemoveFile(name));
  }
  return status;
}

absl::Status WriteTree(const FsRoot& directory, const std::string& name, const VolumeFiles& files,
                       std::optional<gid_t> group) {
  PLIMSOLL_RETURN_IF_ERROR(directory.MakeDirs(name, 0755));
  PLIMSOLL_RETURN_IF_ERROR(OpenUp(directory, name, group));
  PLIMSOLL_ASSIGN_OR_RETURN(const FsRoot root, directory.Sub(name));
  for (const auto& [path, file] : files) {
    PLIMSOLL_RETURN_IF_ERROR(WriteOne(root, path, file, group));
    PLIMSOLL_RETURN_IF_ERROR(OpenUpParents(root, path, group));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<VolumeFiles> ContentsOf(const Manifest& pod, const Volume& volume,
                                       const PodContext& context) {
  VolumeFiles files;
  size_t left = kMostBytes;
  for (const VolumeProjection& source : volume.files->sources) {
    const auto add = source.kind == VolumeProjection::Kind::kDownwardApi ? AddDownward : AddObject;
    PLIMSOLL_RETURN_IF_ERROR(
        Annotate(add(pod, source, volume.files->default_mode, context, left, files),
                 absl::StrCat("volume ", volume.name)));
  }
  return files;
}

absl::Status WriteFiles(const FsRoot& directory, const VolumeFiles& files,
                        std::optional<gid_t> group) {
  if (IsSame(directory, files)) return absl::OkStatus();
  const std::string name = absl::StrCat("..", RandomId().substr(0, 16));
  absl::Cleanup undo = [&] { directory.RemoveTree(name).IgnoreError(); };
  PLIMSOLL_RETURN_IF_ERROR(WriteTree(directory, name, files, group));
  PLIMSOLL_RETURN_IF_ERROR(directory.RemoveFile(kNewData));
  PLIMSOLL_RETURN_IF_ERROR(Link(directory, name, kNewData));
  if (renameat(directory.fd(), kNewData, directory.fd(), kData) != 0) {
    return ErrnoStatus(errno, absl::StrCat("rename ", directory.PathOf(kNewData)));
  }
  std::move(undo).Cancel();
  for (const auto& [path, file] : files) {
    const std::string top = TopOf(path);
    if (directory.ReadLink(top).ok()) continue;
    PLIMSOLL_RETURN_IF_ERROR(Link(directory, absl::StrCat(kData, "/", top), top));
  }
  return RemoveStale(directory, files, CurrentOf(directory));
}

bool HoldsSecret(const FilesVolume& volume) {
  return std::any_of(volume.sources.begin(), volume.sources.end(),
                     [](const VolumeProjection& source) {
                       return source.kind == VolumeProjection::Kind::kSecret;
                     });
}

}  // namespace plimsoll::pod
