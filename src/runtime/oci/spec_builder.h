// The OCI runtime spec (config.json) of a container.
#ifndef PLIMSOLL_RUNTIME_OCI_SPEC_BUILDER_H_
#define PLIMSOLL_RUNTIME_OCI_SPEC_BUILDER_H_

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "base/fs_root.h"
#include "image/user_lookup.h"
#include "runtime/oci/container_runtime.h"
#include "runtime/oci/machine.h"
#include "runtime/oci/mount_targets.h"

namespace plimsoll::runtime {

// What the spec is made from, looked up before.
struct SpecInput {
  const CreateRequest* request = nullptr;
  const Machine* machine = nullptr;
  const FsRoot* host = nullptr;  // where mounts' sources and devices are
  std::string root_path;         // the root filesystem's mount point
  std::string stage_path;        // where plimsoll-launch puts volumes together
  image::ResolvedUser user;
  ContainerCapabilities capabilities;
  std::string seccomp_filter;                       // base64; empty: unconfined
  std::string apparmor_profile;                     // loaded; empty: unconfined
  linux::SelinuxLabels selinux;                     // empty members: no label
  std::optional<DescriptorLimit> descriptor_limit;  // nullopt: what the OCI runtime has
  bool runs_image_volumes = true;                   // programs in images that are mounted may run
};

struct BuiltSpec {
  std::string json;
  std::string entry;  // for commands (entry_template.h); empty: they enter by the OCI runtime
  std::string working_directory;  // made in the root filesystem if it isn't there
  int oom_score_adj = 0;          // as the machine allows it
  ProcessUser user;
  // Of the host's paths that plimsoll-launch mounts, by the mount's index: for AddStageToPlan.
  std::map<size_t, std::string> source_inodes;
  MountTargets targets;               // where mounts may be in /proc, /sys and /dev
  std::string file_label;             // SELinux's, of the root filesystem; empty: none
  std::vector<std::string> warnings;  // what was left out or changed
};

// INVALID_ARGUMENT names the field and what is wrong with it, UNIMPLEMENTED what isn't supported.
absl::StatusOr<BuiltSpec> BuildSpec(const SpecInput& input);

// Who the process runs as: the pod's fields over the image's, with names looked up in the image
// (`rootfs`, its root directory).
absl::StatusOr<image::ResolvedUser> ResolveProcessUser(const SecurityContext& security,
                                                       const image::ImageConfig& image,
                                                       absl::string_view passwd_text,
                                                       absl::string_view group_text);

// Kubernetes' rules about command and args over the image's entrypoint and command.
absl::StatusOr<std::vector<std::string>> ProcessArguments(const ContainerSpec& spec,
                                                          const image::ImageConfig& image);

// The container's own, else its image's, else "/".
std::string WorkingDirectoryOf(const ContainerSpec& spec, const image::ImageConfig& image);

}  // namespace plimsoll::runtime

#endif  // PLIMSOLL_RUNTIME_OCI_SPEC_BUILDER_H_
