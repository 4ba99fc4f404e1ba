// Names of the control groups that kubelet makes: kubepods, a group for each QoS class but
// Guaranteed below it, and a group for each pod (pkg/kubelet/cm, CgroupName).
#ifndef PLIMSOLL_AGENT_GROUPS_GROUP_NAMES_H_
#define PLIMSOLL_AGENT_GROUPS_GROUP_NAMES_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "resources/requirements.h"

namespace plimsoll::agent {

enum class CgroupDriver { kCgroupfs, kSystemd };

// Paths are those of linux::CgroupManager, without the systemd driver "/kubepods/burstable/pod1",
// with it "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod1.slice". Immutable.
class GroupNames {
 public:
  // `root`: the group that holds kubepods, "" or "/" for the machine's root. For systemd it is a
  // slice ("a-b.slice", also with its place in front), or a path as for cgroupfs: "/a/b" then means
  // a-b.slice. INVALID_ARGUMENT for a root that no group can have.
  static absl::StatusOr<GroupNames> Make(CgroupDriver driver, absl::string_view root);

  const std::string& root() const { return root_; }
  std::string Kubepods() const;
  // The parent of the class's pods: kubepods itself for Guaranteed.
  std::string Qos(resources::QosClass qos) const;
  // `uid`: one that CheckUid accepts.
  std::string Pod(resources::QosClass qos, absl::string_view uid) const;
  // The pod's group as the CRI's cgroup_parent: the path, or for systemd the slice's name alone.
  std::string CgroupParent(resources::QosClass qos, absl::string_view uid) const;

 private:
  GroupNames(CgroupDriver driver, std::string root) : driver_(driver), root_(std::move(root)) {}

  CgroupDriver driver_;
  std::string root_;
};

// INVALID_ARGUMENT unless `uid` has 1 to 128 letters, digits and "-". Other characters could leave
// the group's directory, or give two pods one slice.
absl::Status CheckUid(absl::string_view uid);

}  // namespace plimsoll::agent

#endif  // PLIMSOLL_AGENT_GROUPS_GROUP_NAMES_H_
