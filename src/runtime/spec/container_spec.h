// The specification of a container. See sandbox_spec.h.
#ifndef PLIMSOLL_RUNTIME_SPEC_CONTAINER_SPEC_H_
#define PLIMSOLL_RUNTIME_SPEC_CONTAINER_SPEC_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "linux/cgroup/settings.h"
#include "linux/selinux.h"
#include "qos/classes.h"
#include "runtime/spec/mount.h"
#include "runtime/spec/oci_extras.h"
#include "runtime/spec/pod_resources.h"
#include "runtime/spec/sandbox_spec.h"

namespace plimsoll::runtime {

struct SecurityProfile {
  enum class Type { kRuntimeDefault, kUnconfined, kLocalhost };
  Type type = Type::kUnconfined;
  std::string localhost_path;  // for kLocalhost
  bool operator==(const SecurityProfile&) const = default;
};

struct Capabilities {
  std::vector<std::string> add;  // "NET_ADMIN", "CAP_NET_ADMIN", "ALL"
  std::vector<std::string> drop;
  std::vector<std::string> add_ambient;
  bool operator==(const Capabilities&) const = default;
};

struct SecurityContext {
  Capabilities capabilities;
  bool privileged = false;
  NamespaceOptions namespaces;
  std::optional<int64_t> run_as_user;
  std::optional<int64_t> run_as_group;
  std::string run_as_username;
  std::vector<int64_t> supplemental_groups;
  bool supplemental_groups_strict = false;  // ignore the image's /etc/group
  bool readonly_rootfs = false;
  bool no_new_privs = false;
  std::vector<std::string> masked_paths;
  std::vector<std::string> readonly_paths;
  SecurityProfile seccomp;  // unset means Unconfined in the CRI
  SecurityProfile apparmor;
  linux::SelinuxOptions selinux;  // empty: the pod's
  bool operator==(const SecurityContext&) const = default;
};

// The user of a process, names looked up.
struct ProcessUser {
  uint32_t uid = 0;
  uint32_t gid = 0;
  std::vector<uint32_t> supplemental_groups;  // sorted; the primary group among them
  bool operator==(const ProcessUser&) const = default;
};

// A container's resources when last read from the kernel.
struct LastResources {
  linux::CgroupSettings cgroup;
  std::optional<int> oom_score_adj;  // of its init; nullopt: recorded before this was kept
  bool operator==(const LastResources&) const = default;
};

// The members of a container's spec that show in its pod's picture, as the client asked for them.
struct AskedParts {
  linux::CgroupSettings resources;
  std::vector<Mount> mounts;
  std::vector<DeviceMapping> devices;
  std::vector<std::string> cdi_devices;
  bool operator==(const AskedParts&) const = default;
};

struct ContainerSpec {
  std::string name;
  uint32_t attempt = 0;
  std::string image;  // as the client names it; the engine looks it up

  // Kubernetes' rules: `command` replaces the image's entrypoint, and then the image's command is
  // ignored; `args` replace the image's command.
  std::vector<std::string> command;
  std::vector<std::string> args;
  std::string working_directory;
  std::vector<std::pair<std::string, std::string>> environment;  // over the image's
  std::vector<Mount> mounts;
  std::vector<DeviceMapping> devices;
  // "vendor.com/class=name". Those of qos::kClassDriver are in `classes` already.
  std::vector<std::string> cdi_devices;
  std::string log_path;     // relative to the sandbox's log directory; empty: no log is kept
  bool open_stdin = false;  // not `stdin`: a macro
  bool stdin_once = false;
  bool tty = false;
  std::string stop_signal;  // empty: the image's, else SIGTERM

  linux::CgroupSettings resources;
  int oom_score_adj = 0;
  SecurityContext security;
  // Candidates for the OCI spec's annotations (cri/ has applied the allow list).
  std::map<std::string, std::string> annotations;
  qos::ClassNames classes;                   // asked for by name (KEP-3008 "ContainerConfig")
  KubernetesResources kubernetes_resources;  // as last given (KEP-4112 "CreateContainer")
  OwnWords said;                             // counted by the engine
  // Settings by plugins that the members above have no room for, and the plugins' names for these
  // and for all other changes of theirs.
  OciExtras extras;
  std::vector<PluginChange> changed_by;
  std::optional<AskedParts> asked;  // nullopt: the members above are as asked

  bool operator==(const ContainerSpec&) const = default;
};

}  // namespace plimsoll::runtime

#endif  // PLIMSOLL_RUNTIME_SPEC_CONTAINER_SPEC_H_
