// The directory tree of one layer during unpacking, seen over the layers below it.
#ifndef PLIMSOLL_IMAGE_LAYERS_LAYER_TREE_H_
#define PLIMSOLL_IMAGE_LAYERS_LAYER_TREE_H_

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
#include "image/layers/lower_file.h"

namespace plimsoll::image {

// An overlay whiteout: a character device 0:0 (Documentation/filesystems/overlayfs.rst).
bool IsWhiteout(const struct stat& info);

// Resolves paths one component at a time; the kernel never follows a link. An absolute symbolic
// link starts again at the layer's root, as it will in the container; one that climbs out of the
// root with ".." is refused. A parent directory missing in this layer is looked up in the layers
// below, as the overlay will: a directory there is made here with the same owner and mode, a
// symbolic link there is followed. Not thread-safe.
class LayerTree {
 public:
  // Returns the layers below, top first. Called at most once, when one of them is needed.
  using LowersFn = std::function<absl::StatusOr<std::vector<FsRoot>>()>;
  LayerTree(FsRoot diff, LowersFn lowers);

  struct Directory {
    UniqueFd fd;       // O_PATH
    std::string path;  // real path below the layer's root, "" for the root itself
    // True: lower layers' directories show through below (nothing above is opaque).
    bool merged = true;
  };

  // The directory at `components` (no "." or ".."). Makes missing ones, unless `must_exist`: then
  // NOT_FOUND. INVALID_ARGUMENT when the path leads out of the layer or over more than 40 symbolic
  // links, ENOTDIR when it leads through a file of this layer. Valid until the next call.
  absl::StatusOr<const Directory*> Resolve(const std::vector<std::string>& components,
                                           bool must_exist);

  // Resolves like Resolve, but makes only directories that lower layers have; NOT_FOUND for others.
  absl::StatusOr<const Directory*> ResolveFromBelow(const std::vector<std::string>& components);
  // The file that the topmost of the lower layers with one shows at `name`, of any type; nothing if
  // they show none.
  absl::StatusOr<std::optional<LowerFile>> FileBelow(const Directory& parent,
                                                     const std::string& name);

  // Removes `name` in `directory`, whatever it is, and returns its stat, if it existed.
  absl::StatusOr<std::optional<struct stat>> Remove(const Directory& directory,
                                                    const std::string& name);

  // Hides the directory's content in lower layers. `path` is for the message.
  absl::Status SetOpaque(int directory_fd, absl::string_view path);

  // Call it after making a directory or link: resolved paths may lead elsewhere now.
  void Changed() { stale_ = true; }

  // Directories made by Resolve, which count as inodes.
  uint64_t made_directories() const { return made_directories_; }
  const FsRoot& diff() const { return diff_; }
  absl::StatusOr<const std::vector<FsRoot>*> Lowers();

  // Splits and cleans an archive's path. "./a//b/../c" is {"a","c"}; the root is {}. An absolute
  // path starts at the layer's root: Kaniko writes such names. INVALID_ARGUMENT when it leads out
  // through "..", is longer than 4096 bytes, deeper than 256 or has a NUL, or a whiteout name as
  // directory.
  static absl::StatusOr<std::vector<std::string>> Clean(absl::string_view path);

 private:
  // The treatment of a directory that this layer lacks.
  enum class Missing { kMake, kRefuse, kTakeFromBelow };
  struct Lower {
    struct stat info = {};
    std::string link;  // target, when it is a symbolic link
  };
  absl::StatusOr<Directory> OpenRoot() const;
  absl::StatusOr<Directory> Reopen(const std::vector<std::string>& real) const;
  absl::StatusOr<Directory> Walk(const std::vector<std::string>& components, Missing missing);
  absl::Status Step(const std::string& name, Missing missing, int* links,
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
  bool stale_ = false;  // separate from `cached_`, whose address a caller may still hold
  Directory uncached_;
};

}  // namespace plimsoll::image

#endif  // PLIMSOLL_IMAGE_LAYERS_LAYER_TREE_H_
