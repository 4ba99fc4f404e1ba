// The directory tree of one layer while it is being unpacked, seen over the layers below it.
#ifndef PLIMSOLL_IMAGE_LAYER_TREE_H_
#define PLIMSOLL_IMAGE_LAYER_TREE_H_

#include <sys/stat.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/fs_root.h"
#include "base/unique_fd.h"

namespace plimsoll::image {

// An overlay whiteout: a character device 0:0 (Documentation/filesystems/overlayfs.rst).
bool IsWhiteout(const struct stat& info);

// Paths are resolved here one component at a time, never by the kernel following a link: an
// absolute symbolic link starts again at the layer's root, as it will in the container, and one
// that climbs out of the root with ".." is refused. A parent directory that this layer doesn't
// have is looked for in the layers below, as the overlay will: a directory there is made here with
// the same owner and mode, a symbolic link there is followed. Not thread-safe.
class LayerTree {
 public:
  // Gives the layers below, top first. Called at most once, when something of them is needed.
  using LowersFn = std::function<absl::StatusOr<std::vector<FsRoot>>()>;
  LayerTree(FsRoot diff, LowersFn lowers);

  struct Directory {
    UniqueFd fd;       // O_PATH
    std::string path;  // real path below the layer's root, "" for the root itself
    // Directories below are merged with those of lower layers (nothing above is opaque).
    bool merged = true;
  };

  // The directory that `components` (no "." or "..") lead to. Those that are missing are made,
  // unless `must_exist`: then NOT_FOUND. INVALID_ARGUMENT when the way leads out of the layer,
  // through a file, or over more than 40 symbolic links. Valid until the next call.
  absl::StatusOr<const Directory*> Resolve(const std::vector<std::string>& components,
                                           bool must_exist);

  // Removes `name` in `directory`, whatever it is. Returns what was there, if anything.
  absl::StatusOr<std::optional<struct stat>> Remove(const Directory& directory,
                                                    const std::string& name);

  // Hides what lower layers have in the directory. `path` is for the message.
  absl::Status SetOpaque(int directory_fd, absl::string_view path);

  // To be called when a directory or link was made, for ways resolved before may lead elsewhere.
  void Changed() { stale_ = true; }

  // Directories made by Resolve, which count as inodes.
  uint64_t made_directories() const { return made_directories_; }
  const FsRoot& diff() const { return diff_; }
  absl::StatusOr<const std::vector<FsRoot>*> Lowers();

  // Splits and cleans an archive's path. "./a//b/../c" is {"a","c"}; the root is {}.
  // INVALID_ARGUMENT when it is absolute (other than "/" itself), leads out through "..", is
  // longer than 4096 bytes, deeper than 256 or has a NUL or a whiteout name as directory.
  static absl::StatusOr<std::vector<std::string>> Clean(absl::string_view path);

 private:
  struct Lower {
    struct stat info = {};
    std::string link;  // target, when it is a symbolic link
  };
  absl::StatusOr<Directory> OpenRoot() const;
  absl::StatusOr<Directory> Reopen(const std::vector<std::string>& real) const;
  absl::Status Step(const std::string& name, bool must_exist, int* links,
                    std::vector<std::string>* real, std::vector<std::string>* todo,
                    Directory* current);
  absl::Status Follow(absl::string_view target, int* links, std::vector<std::string>* real,
                      std::vector<std::string>* todo, Directory* current);
  absl::Status Descend(const std::string& name, std::vector<std::string>* real,
                       Directory* current) const;
  absl::StatusOr<std::optional<Lower>> FindBelow(const Directory& parent, const std::string& name);
  absl::Status MakeDirectory(const std::string& name, const std::optional<Lower>& like,
                             const Directory& parent);

  FsRoot diff_;
  LowersFn ask_lowers_;
  std::optional<std::vector<FsRoot>> lowers_;
  uint64_t made_directories_ = 0;
  // The last directory resolved: archives list a directory's files one after the other.
  std::vector<std::string> cached_key_;
  std::optional<Directory> cached_;
  bool stale_ = false;  // kept apart from `cached_`, whose address a caller may still hold
  Directory uncached_;
};

}  // namespace plimsoll::image

#endif  // PLIMSOLL_IMAGE_LAYER_TREE_H_
