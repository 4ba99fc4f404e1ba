// Problems that keep a machine from being a Ready node under kubelet, as far as they show before
// kubelet starts: kubeadm's preflight checks, and those that concern this runtime. Changes nothing,
// but the kernel may load its module overlay.
//
// Needs plimsolld's configuration and no daemon, which a node that isn't Ready may lack: so
// `plimsolld --check-node` runs the checks, for `plimsoll doctor --node` too. They read files
// through FsRoot and ask the system through HostQueries, so that a test spoils one thing of a
// machine.
//
//   const std::vector<Problem> problems = CheckNode(input);
//   std::puts(ToJson(problems).c_str());
#ifndef PLIMSOLL_PREFLIGHT_PREFLIGHT_H_
#define PLIMSOLL_PREFLIGHT_PREFLIGHT_H_

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/fs_root.h"
#include "linux/cgroup/cgroup.h"

namespace plimsoll::preflight {

// Room of a file system.
struct DiskRoom {
  uint64_t bytes = 0;  // its size; 0: unknown
  uint64_t free_bytes = 0;
  uint64_t inodes = 0;  // 0: it has no fixed number
  uint64_t free_inodes = 0;
  bool is_overlayfs = false;  // which carries no container's root file system
};

// The machine, as far as it is read by system calls instead of files.
struct HostQueries {
  std::string host_name;
  std::string kernel_release;  // "6.1.0-40-amd64"
  // Whether the kernel's clock is synchronised; nullopt: unknown.
  std::optional<bool> clock_is_synchronised;
  // OK if the name has an address.
  std::function<absl::Status(const std::string& name)> resolve;
  // A program's path. NOT_FOUND names it.
  std::function<absl::StatusOr<std::string>(absl::string_view name)> find_program;
  // Room of the file system of a directory. NOT_FOUND: there is no such directory.
  std::function<absl::StatusOr<DiskRoom>(const std::string& directory)> room;
  // OK if the kernel has overlayfs.
  std::function<bool()> has_overlayfs;
  // Properties of a unit of systemd's, as `systemctl show` prints them. An error: they are unknown.
  std::function<absl::StatusOr<std::map<std::string, std::string>>(const std::string& unit)> unit;
};
// The machine on which this process runs. May load the kernel's module overlay.
HostQueries ThisMachine();

struct Input {
  FsRoot host;  // "/"
  HostQueries machine;
  // Values of plimsolld's configuration.
  std::string state_directory;
  std::string run_directory;
  std::string socket;                // the CRI's, an absolute path
  std::string network_directory;     // of CNI configurations; empty: none
  std::vector<std::string> plugins;  // directories of CNI plugins
  std::string kubelet_root;          // "/var/lib/kubelet"
  bool systemd_driver = false;
  linux::CgroupLayout layout = linux::CgroupLayout::kV2;
  std::vector<std::string> controllers;  // those that can set limits
  // OK if all of Plimsoll's programs are there and fit each other.
  absl::Status package;
  absl::Status hwloc_program;  // OK if plimsoll-hwloc is there, which commands run
  absl::Status oci_runtime;    // OK if it runs and is one
};

struct Problem {
  std::string check;  // a name of CheckNames: "Swap"
  // kubelet doesn't start, the node doesn't become Ready, or it runs no pods; kubeadm's refusals
  // count too. False: a warning, since a node in a container has neither systemd nor a
  // synchronised clock of its own.
  bool is_error = true;
  std::string what;
  std::string remedy;
  bool operator==(const Problem&) const = default;
};

// All checks, in their order. For programs: a name keeps its meaning.
std::vector<std::string> CheckNames();

// Runs all checks, in the order of CheckNames: some milliseconds, and a look-up of the host's name,
// which may take seconds.
std::vector<Problem> CheckNode(const Input& input);

// True if no problem is an error.
bool IsReady(const std::vector<Problem>& problems);

// {"ready": ..., "problems": [{"check", "level", "what", "remedy"}], "passed": [names]}, where a
// level is "error" or "warning".
std::string ToJson(const std::vector<Problem>& problems);

}  // namespace plimsoll::preflight

#endif  // PLIMSOLL_PREFLIGHT_PREFLIGHT_H_
