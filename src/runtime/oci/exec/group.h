// A control group that holds all processes of one exec'd command, so that they can be killed
// together.
#ifndef PLIMSOLL_RUNTIME_OCI_EXEC_GROUP_H_
#define PLIMSOLL_RUNTIME_OCI_EXEC_GROUP_H_

#include <sys/types.h>

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "base/fs_root.h"
#include "linux/cgroup/cgroup.h"
#include "linux/cgroup/tree.h"
#include "runtime/oci/crun/plan.h"

namespace plimsoll::runtime {

// A process that forks twice and makes a session of its own can be attributed only by its control
// group. On v2 that is a group below the container's (`crun exec --cgroup`). On v1, crun would look
// for that group in every hierarchy, so only one hierarchy gets it, which limits nothing: v2's on a
// hybrid machine, systemd's named one, or another. The group is bound over the container's own in
// crun's mount namespace, and so crun puts the command there.
class ExecGroup {
 public:
  // FAILED_PRECONDITION when the container has no group (any more). `host` holds sys/fs/cgroup.
  static absl::StatusOr<ExecGroup> Make(const FsRoot& host, linux::CgroupLayout layout,
                                        absl::string_view container_group);

  // Every remaining group that Make made for that container. For groups whose maker is gone.
  static absl::StatusOr<std::vector<ExecGroup>> FindAll(const FsRoot& host,
                                                        linux::CgroupLayout layout,
                                                        absl::string_view container_group);
  const std::string& name() const { return name_; }
  // The group's hierarchy, a directory below sys/fs/cgroup; empty: v2's.
  const std::string& hierarchy() const { return hierarchy_; }
  std::string directory() const { return host_.PathOf(Path(group())); }
  // False when the container's group is gone, and the container with it.
  bool HasContainer() const { return host_.Exists(Path(container_)); }

  // An argument for `crun exec`, or empty.
  std::string RuntimeOption() const;
  // Adds plimsoll-launch's preparations; false: none are needed.
  bool AddToPlan(PlanWriter* plan) const;

  // SIGKILL to all in it and below until there is nobody left. DEADLINE_EXCEEDED names those that
  // are.
  absl::Status Kill(absl::Time deadline) const;
  // Moves processes that the command has left running into the container's own group and removes
  // this one. If removal fails, the next calls of Make retry it.
  void Remove() const;

 private:
  ExecGroup(FsRoot host, std::string hierarchy, absl::string_view container_group,
            std::string name);
  // The name in linux::CgroupTree's form.
  std::string group() const;
  // The path of a group's directory, below host_.
  std::string Path(absl::string_view group) const;
  absl::StatusOr<linux::CgroupTree> Tree() const;
  void MoveOut() const;
  bool MoveTo(linux::CgroupTree* tree, const std::string& to) const;
  bool TryRemove() const;
  static void TryLeftAgain();

  FsRoot host_;
  std::string hierarchy_;  // directory below sys/fs/cgroup; empty: v2
  std::string container_;  // its group
  std::string name_;
};

}  // namespace plimsoll::runtime

#endif  // PLIMSOLL_RUNTIME_OCI_EXEC_GROUP_H_
