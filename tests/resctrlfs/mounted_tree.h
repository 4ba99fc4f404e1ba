// The tree, mounted: libfuse's low-level interface over Tree.
#ifndef PLIMSOLL_TESTS_RESCTRLFS_MOUNTED_TREE_H_
#define PLIMSOLL_TESTS_RESCTRLFS_MOUNTED_TREE_H_

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "resctrlfs/tree.h"

namespace plimsoll::resctrlfs {

class FuseSession;

// Requests are answered one after the other by the caller of Serve, as under the kernel's one
// mutex. Nothing is cached: each look at a file is a request.
class MountedTree {
 public:
  // Mounts on an existing directory, for all users, with file modes enforced. `tree` must outlive
  // it.
  static absl::StatusOr<std::unique_ptr<MountedTree>> Mount(Tree* tree,
                                                            const std::string& directory);
  // Unmounts.
  ~MountedTree();
  MountedTree(const MountedTree&) = delete;
  MountedTree& operator=(const MountedTree&) = delete;

  // The descriptor that polls readable when there is a request.
  int fd() const;
  // Answers one request, if there is any. False once it has been unmounted.
  bool Serve();

 private:
  explicit MountedTree(std::unique_ptr<FuseSession> session);

  std::unique_ptr<FuseSession> session_;
};

}  // namespace plimsoll::resctrlfs

#endif  // PLIMSOLL_TESTS_RESCTRLFS_MOUNTED_TREE_H_
