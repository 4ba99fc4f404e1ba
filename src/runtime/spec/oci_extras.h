// Settings of a container that the OCI runtime specification has and the CRI has not. Plugins of
// the Node Resource Interface set them.
#ifndef PLIMSOLL_RUNTIME_SPEC_OCI_EXTRAS_H_
#define PLIMSOLL_RUNTIME_SPEC_OCI_EXTRAS_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "cdi/edits.h"

namespace plimsoll::runtime {

struct Rlimit {
  std::string type;  // "RLIMIT_NOFILE"
  uint64_t soft = 0;
  uint64_t hard = 0;
  bool operator==(const Rlimit&) const = default;
};

// A namespace to be in, instead of the one that the container would get.
struct NamespaceChange {
  std::string type;      // the OCI specification's: "network", "ipc"
  std::string path;      // empty: a new one
  bool of_host = false;  // true: none of its own, so it is in the host's
  bool operator==(const NamespaceChange&) const = default;
};

struct IoPriority {
  std::string io_class;  // "IOPRIO_CLASS_BE"
  int priority = 0;      // 0 to 7
  bool operator==(const IoPriority&) const = default;
};

// sched_setattr(2).
struct Scheduler {
  std::string policy;  // "SCHED_BATCH"
  int nice = 0;
  int priority = 0;
  std::vector<std::string> flags;  // "SCHED_FLAG_RESET_ON_FORK"
  uint64_t runtime_ns = 0;
  uint64_t deadline_ns = 0;
  uint64_t period_ns = 0;
  bool operator==(const Scheduler&) const = default;
};

// set_mempolicy(2).
struct MemoryPolicy {
  std::string mode;                // "MPOL_BIND"
  std::string nodes;               // the kernel's list format
  std::vector<std::string> flags;  // "MPOL_F_STATIC_NODES"
  bool operator==(const MemoryPolicy&) const = default;
};

// Memory settings that linux::CgroupSettings has no member for; each has the OCI specification's
// name and unit.
struct MoreMemory {
  std::optional<int64_t> reservation_bytes;
  std::optional<int64_t> kernel_bytes;
  std::optional<int64_t> kernel_tcp_bytes;
  std::optional<uint64_t> swappiness;
  std::optional<bool> disable_oom_killer;
  std::optional<bool> use_hierarchy;
  bool operator==(const MoreMemory&) const = default;
};

struct RealtimeCpu {
  std::optional<int64_t> runtime_us;
  std::optional<uint64_t> period_us;
  bool operator==(const RealtimeCpu&) const = default;
};

// Applied when the container is made. Members without a value change nothing.
struct OciExtras {
  std::vector<std::string> unset_environment;  // names, of variables of the image too
  // Mounts of any type, device nodes and hooks of the OCI runtime; its other members stay empty.
  cdi::ContainerEdits edits;
  std::vector<Rlimit> rlimits;  // one a type
  std::map<std::string, std::string> sysctls;
  std::vector<NamespaceChange> namespaces;  // one a type
  std::optional<IoPriority> io_priority;
  std::optional<Scheduler> scheduler;
  std::optional<MemoryPolicy> memory_policy;
  std::string seccomp_policy;  // JSON: `linux.seccomp` of the OCI specification; empty: as asked
  // Network devices of the host that move into the container's network namespace, and their names
  // there.
  std::map<std::string, std::string> net_devices;
  MoreMemory memory;
  RealtimeCpu realtime;
  std::string cgroups_path;  // the container's group, below its pod's; empty: the usual one
  bool operator==(const OciExtras&) const = default;
};

// A field of a container that a plugin set.
struct PluginChange {
  std::string field;   // as the protocol names it: "env", "linux.resources.cpu.cpus"
  std::string key;     // of a list or map; else empty
  std::string plugin;  // "10-topology-aware"
  bool operator==(const PluginChange&) const = default;
};

}  // namespace plimsoll::runtime

#endif  // PLIMSOLL_RUNTIME_SPEC_OCI_EXTRAS_H_
