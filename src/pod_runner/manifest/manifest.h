// Pod manifests: the part of Kubernetes' v1 Pod that Plimsoll runs, as plain structs.
//
// Reading is strict. A field that Kubernetes doesn't have is an error with line, column and the
// closest name. A field that Plimsoll can't honour is refused with the reason. A field that only
// matters to a cluster (a node selector, say) is ignored with a note.
#ifndef PLIMSOLL_POD_RUNNER_MANIFEST_MANIFEST_H_
#define PLIMSOLL_POD_RUNNER_MANIFEST_MANIFEST_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "pod_runner/manifest/env_source.h"
#include "pod_runner/manifest/probe.h"
#include "pod_runner/manifest/volume_source.h"
#include "resources/requirements.h"

namespace plimsoll::pod {

// The cpuset of all containers of a pod, or of one container: "plimsoll.dev/cpuset.<container>".
inline constexpr char kCpusetAnnotation[] = "plimsoll.dev/cpuset";
// CDI devices, likewise; names are separated by commas: "vendor.com/gpu=0".
inline constexpr char kCdiAnnotation[] = "plimsoll.dev/cdi";

struct VolumeMount {
  std::string volume;
  std::string mount_path;
  std::string sub_path;
  std::string sub_path_expr;  // with $(NAME) of the container's variables; excludes `sub_path`
  bool read_only = false;
  std::string propagation;  // "", "None", "HostToContainer", "Bidirectional"
};

// A seccomp or AppArmor profile.
struct SecurityProfile {
  std::string type;  // "RuntimeDefault", "Unconfined", "Localhost"
  // AppArmor's name of it; of seccomp a path below the root of all, without "..". A pod on record
  // may have an absolute one, which is used as it is.
  std::string localhost_profile;
  bool operator==(const SecurityProfile&) const = default;
};

// Parts of an SELinux label; empty: the machine's default.
struct SelinuxParts {
  std::string user;
  std::string role;
  std::string type;
  std::string level;
};

// The fields of a pod or a container; the pod's values are its containers' defaults.
struct PodSecurityFields {
  std::optional<int64_t> run_as_user;
  std::optional<int64_t> run_as_group;
  std::optional<bool> run_as_non_root;
  std::optional<SecurityProfile> seccomp;
  std::optional<SecurityProfile> apparmor;
  std::optional<SelinuxParts> selinux;
};

struct ContainerSecurity : PodSecurityFields {
  bool privileged = false;
  bool read_only_root = false;
  std::optional<bool> allow_privilege_escalation;
  std::vector<std::string> add_capabilities;
  std::vector<std::string> drop_capabilities;
};

struct PodSecurity : PodSecurityFields {
  std::vector<int64_t> supplemental_groups;  // with fsGroup
  std::string supplemental_groups_policy;    // "", "Merge" (with the image's), "Strict"
  std::optional<int64_t> fs_group;           // owns the pod's own volumes
  std::string fs_group_change_policy;        // "", "OnRootMismatch", "Always"
  std::map<std::string, std::string> sysctls;
};

// A port of the host that leads to a port of the pod.
struct HostPort {
  std::string protocol = "TCP";  // TCP, UDP, SCTP
  int64_t container_port = 0;
  int64_t host_port = 0;
  std::string host_ip;  // empty: every address of the host
};

// How a container takes a change of one resource in place (KEP-1287).
struct ResizePolicy {
  std::string resource;        // "cpu", "memory"
  std::string restart_policy;  // "NotRequired", "RestartContainer"
};

struct ContainerManifest {
  resources::ContainerRequirements::Role role = resources::ContainerRequirements::Role::kContainer;
  std::string name;
  std::string image;
  std::string pull_policy;  // "Always", "Never", "IfNotPresent"; never empty
  std::vector<std::string> command;
  std::vector<std::string> args;
  std::string working_dir;
  std::vector<EnvVar> env;
  std::vector<EnvFrom> env_from;
  std::vector<VolumeMount> mounts;
  std::vector<HostPort> host_ports;
  std::map<std::string, int64_t> named_ports;  // of the container
  resources::Requirements resources;           // as written
  std::map<std::string, std::string> classes;  // of resources: type to class (see classes.h)
  std::vector<ResizePolicy> resize_policy;
  ContainerSecurity security;
  std::optional<Probe> liveness;
  std::optional<Probe> readiness;
  std::optional<Probe> startup;
  Lifecycle lifecycle;
  std::string termination_message_path = "/dev/termination-log";
  std::string termination_message_policy = "File";  // "File", "FallbackToLogsOnError"
  bool open_stdin = false;
  bool stdin_once = false;
  bool tty = false;
};

// A line of /etc/hosts.
struct HostAlias {
  std::string ip;
  std::vector<std::string> hostnames;
};

struct Manifest {
  std::string file;  // stands in messages
  std::string name;
  std::string pod_namespace = "default";
  std::map<std::string, std::string> labels;
  std::map<std::string, std::string> annotations;

  // Init containers first, in the order in which they run.
  std::vector<ContainerManifest> containers;
  std::vector<Volume> volumes;
  std::string restart_policy = "Always";
  int64_t grace_period_s = 30;
  std::optional<int64_t> active_deadline_s;  // from the pod's start; it fails then
  std::string runtime_handler;               // by runtimeClassName; empty: the runtime's default
  std::string service_account = "default";
  std::vector<std::string> pull_secrets;  // names of Secrets, in the order in which they are tried
  std::string hostname;
  std::string dns_policy = "ClusterFirst";
  std::vector<std::string> dns_servers;
  std::vector<std::string> dns_searches;
  std::vector<std::string> dns_options;  // "ndots:5", "rotate"
  std::vector<HostAlias> host_aliases;
  bool host_network = false;
  bool host_pid = false;
  bool share_pid = false;  // one PID namespace for all containers
  bool host_ipc = false;
  bool host_users = true;  // false: the pod has a user namespace of its own
  PodSecurity security;
  // The request of the pod as a whole (KEP-2837), as written; nullopt: the containers' sum.
  std::optional<resources::Requirements> resources;
  std::map<std::string, std::string> classes;  // of the pod's resources: type to class

  // Fields that were read and have no effect, a sentence each.
  std::vector<std::string> notes;
  // Fields that an agent acts on and `plimsoll run` does not, likewise.
  std::vector<std::string> left_to_agent;
};

// Where a manifest's text comes from.
enum class ManifestOrigin {
  kUser,
  // Taken before, maybe by an older version. Rules that came later don't hold: an absolute
  // localhostProfile, two mounts at one path, Bidirectional without privilege, and all annotations
  // of Kubernetes' own are taken. hostPath without ".." and the bounds of memory do hold.
  kRecord,
};

// Parses all documents of a YAML (or JSON) text; each must be a v1 Pod. `file` stands in messages.
// INVALID_ARGUMENT has every problem, a line each, up to kMostProblems (base/text/problems.h):
// documents behind that many are not read.
absl::StatusOr<std::vector<Manifest>> ParseManifests(absl::string_view text, absl::string_view file,
                                                     ManifestOrigin origin = ManifestOrigin::kUser);

// A DNS name as Kubernetes wants it (RFC 1123): at most 63 lower-case letters, digits and "-", no
// "-" at the ends. `dots` permits "." between such parts, and 253 characters in all.
bool IsDnsName(absl::string_view name, bool dots);

}  // namespace plimsoll::pod

#endif  // PLIMSOLL_POD_RUNNER_MANIFEST_MANIFEST_H_
