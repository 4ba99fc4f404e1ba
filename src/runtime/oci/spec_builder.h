// The OCI runtime spec (config.json) of a container.
#ifndef PLIMSOLL_RUNTIME_OCI_SPEC_BUILDER_H_
#define PLIMSOLL_RUNTIME_OCI_SPEC_BUILDER_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "base/fs_root.h"
#include "image/user_lookup.h"
#include "runtime/oci/container_runtime.h"
#include "runtime/oci/declared_volumes.h"
#include "runtime/oci/late_hooks.h"
#include "runtime/oci/machine.h"
#include "runtime/oci/mount_points.h"
#include "runtime/oci/mount_source.h"
#include "runtime/oci/mount_targets.h"
#include "runtime/oci/seccomp.h"

namespace plimsoll::runtime {

// The inputs of a spec, looked up before.
struct SpecInput {
  const CreateRequest* request = nullptr;
  const HostFeatures* machine = nullptr;
  const FsRoot* host = nullptr;  // has mounts' sources and devices
  std::string root_path;         // the root filesystem's mount point
  std::string stage_path;        // plimsoll-launch puts volumes together there
  image::ResolvedUser user;
  ContainerCapabilities capabilities;
  Seccomp seccomp;                                  // empty: unconfined
  std::string apparmor_profile;                     // loaded; empty: unconfined
  linux::SelinuxLabels selinux;                     // empty members: no label
  std::optional<DescriptorLimit> descriptor_limit;  // nullopt: the OCI runtime's own
  bool runs_image_volumes = true;                   // whether programs of mounted images may run
  bool has_declared_volumes = true;                 // whether the image's VOLUMEs are made
};

struct BuiltSpec {
  std::string json;
  std::string entry;              // for commands (entry_template.h); empty: the OCI runtime enters
  std::string working_directory;  // made in the root filesystem if missing
  int oom_score_adj = 0;          // as the machine allows it
  ProcessUser user;
  std::vector<HeldVolume> volumes;  // of host paths, for AddStageToPlan
  std::vector<MountPoint> mount_points;
  DeclaredVolumes declared;    // by the image
  std::string byte_variables;  // those that JSON can\'t hold (byte_variables.h)
  MountTargets targets;        // permitted mount points in /proc, /sys and /dev
  std::string file_label;      // SELinux's, of the root filesystem; empty: none
  std::string memory_policy;   // for plimsoll-launch (linux/memory_policy.h); empty: none
  LateHooks late_hooks;
  std::vector<std::string> warnings;  // parts left out or changed
};

// INVALID_ARGUMENT names the field and the mistake, UNIMPLEMENTED an unsupported feature.
// OUT_OF_RANGE: arguments and environment are larger than execve(2) takes.
absl::StatusOr<BuiltSpec> BuildSpec(const SpecInput& input);

// The user of the process: the pod's fields take precedence over the image's, names are looked up
// in the image's files. A user that is the image's own keeps the image's group.
absl::StatusOr<image::ResolvedUser> ResolveProcessUser(const SecurityContext& security,
                                                       const image::ImageConfig& image,
                                                       absl::string_view passwd_text,
                                                       absl::string_view group_text);

// Variables by rising precedence: `defaults`, the image's, those of the container. Those that a
// plugin has unset come from the container alone.
std::vector<std::string> EnvironmentOf(std::vector<std::string> defaults, const ContainerSpec& spec,
                                       const image::ImageConfig& image);

// Sets each NAME=value in place of an earlier value of the same name, else at the end.
void SetVariables(const std::vector<std::string>& variables, std::vector<std::string>* environment);

// The command line by Kubernetes' rules: command and args take precedence over the image's
// entrypoint and command.
absl::StatusOr<std::vector<std::string>> ProcessArguments(const ContainerSpec& spec,
                                                          const image::ImageConfig& image);

// The container's own, else its image's, else "/".
std::string WorkingDirectoryOf(const ContainerSpec& spec, const image::ImageConfig& image);

}  // namespace plimsoll::runtime

#endif  // PLIMSOLL_RUNTIME_OCI_SPEC_BUILDER_H_
