#include "runtime/oci/image_files.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/fs_root.h"
#include "base/status.h"
#include "image/user_lookup.h"
#include "linux/namespaces/mounts.h"

namespace plimsoll::runtime {
namespace {

constexpr size_t kMaxCachedImages = 256;

}  // namespace

absl::StatusOr<std::shared_ptr<const UserFiles>> ImageFiles::Read(
    const std::vector<std::string>& lower_directories) {
  const std::string key = absl::StrJoin(lower_directories, ":");
  {
    absl::MutexLock lock(&mutex_);
    const auto found = files_.find(key);
    if (found != files_.end()) return found->second;
  }
  UniqueFd overlay;
  std::string path = lower_directories.empty() ? "" : lower_directories[0];
  if (lower_directories.size() != 1) {
    PLIMSOLL_ASSIGN_OR_RETURN(overlay, linux::OpenDetachedOverlay(lower_directories));
    path = absl::StrCat("/proc/self/fd/", overlay.get());
  }
  PLIMSOLL_ASSIGN_OR_RETURN(const FsRoot root, FsRoot::Open(path));
  UserFiles files;
  PLIMSOLL_ASSIGN_OR_RETURN(files.passwd, image::ReadUserFile(root, "etc/passwd"));
  PLIMSOLL_ASSIGN_OR_RETURN(files.group, image::ReadUserFile(root, "etc/group"));
  auto shared = std::make_shared<const UserFiles>(std::move(files));
  absl::MutexLock lock(&mutex_);
  if (files_.size() >= kMaxCachedImages) files_.clear();
  files_[key] = shared;
  return shared;
}

}  // namespace plimsoll::runtime
