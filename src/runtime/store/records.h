// The records of a sandbox and a container, which survive a restart.
#ifndef PLIMSOLL_RUNTIME_STORE_RECORDS_H_
#define PLIMSOLL_RUNTIME_STORE_RECORDS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "linux/cgroup/settings.h"
#include "linux/process.h"
#include "qos/classes.h"
#include "runtime/spec/container_spec.h"
#include "runtime/spec/sandbox_spec.h"

namespace plimsoll::runtime {

// Stored by number: never renumber.
enum class SandboxState { kCreating = 0, kReady = 1, kNotReady = 2, kRemoving = 3 };
enum class ContainerState {
  kCreating = 0,
  kCreated = 1,
  kRunning = 2,
  kExited = 3,
  kUnknown = 4,
  kRemoving = 5,
};

struct SandboxRecord {
  std::string id;
  SandboxState state = SandboxState::kCreating;
  int64_t created_unix_nanos = 0;
  std::string boot_id;  // the boot in which its namespaces were made
  SandboxSpec spec;
  std::string client_config;               // the client's message as received, opaque here
  std::string cgroup_path;                 // the pod's group
  std::vector<std::string> owned_cgroups;  // groups made for it, outermost first
  // Init of the PID namespace shared by its containers; pid 0: they share none.
  linux::ProcessId pause;
  qos::HeldClasses classes;  // of the pod as a whole; held since it was made
  bool operator==(const SandboxRecord&) const = default;
};

struct ContainerRecord {
  std::string id;
  std::string sandbox_id;
  ContainerState state = ContainerState::kCreating;
  int64_t created_unix_nanos = 0;
  int64_t started_unix_nanos = 0;   // 0: never
  int64_t finished_unix_nanos = 0;  // 0: not yet
  int exit_code = 0;
  bool oom_killed = false;
  // The reason of its end: "Completed", "Error", "OOMKilled", "StartError", "Unknown". For a
  // Created container, "StartError" says that it has no process, and the message why (IsRefused).
  std::string reason;
  std::string message;
  std::string boot_id;
  ContainerSpec spec;
  std::string client_config;
  std::string image_id;   // "sha256:..."
  std::string image_ref;  // repo digest, or else the id
  std::vector<std::string>
      chain_ids;         // of the image's layers, bottom first: leased while it exists
  std::string log_path;  // absolute; empty: none
  std::string cgroup_path;
  int stop_signal = 15;
  std::optional<ProcessUser> user;  // of its first process; nullopt: made before this was recorded
  linux::ProcessId monitor;
  linux::ProcessId init;
  LastResources last_resources;  // shown once group and init are gone
  qos::HeldClasses classes;      // held since it was made; after its exit those held last
  bool operator==(const ContainerRecord&) const = default;
};

// A row with an unreadable column. Its record has the readable ones: a container is Unknown then, a
// sandbox NotReady.
struct DamagedRow {
  std::string id;
  std::string what;  // "database row container abc, column spec: ..."
};

}  // namespace plimsoll::runtime

#endif  // PLIMSOLL_RUNTIME_STORE_RECORDS_H_
