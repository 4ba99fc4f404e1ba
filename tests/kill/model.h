// An actor's model of its pod: for each object the set of its possible states.
//
// An answered call leaves one state; a call cut off by the daemon's death leaves those before and
// after it. After a restart the daemon must show one of them, which is the only one from then on.
#ifndef PLIMSOLL_TESTS_KILL_MODEL_H_
#define PLIMSOLL_TESTS_KILL_MODEL_H_

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "linux/cgroup/settings.h"

namespace plimsoll::testing {

enum Life : unsigned {
  kAbsent = 1,
  kCreated = 2,  // of a container
  kRunning = 4,
  kExited = 8,
  kReady = 16,  // of a pod
  kNotReady = 32,
  kPresent = 64,  // of an image
};

std::string LifeNames(unsigned lives);  // "Created|Running"

// The way a container's program ends.
enum class Ending {
  kAtOnce,       // by itself, with `code`
  kAtGate,       // with `code`, when its gate opens
  kOnTerm,       // with `code`, on SIGTERM
  kNever,        // only by SIGKILL
  kOutOfMemory,  // when its gate opens, killed by the kernel
};

struct ContainerModel {
  std::string name;
  std::string id;
  Ending ending = Ending::kNever;
  int code = 0;
  unsigned lives = kAbsent;
  bool start_tried = false;
  bool gate_open = false;
  std::set<int> codes;  // possible exit codes after the calls so far
  // Once seen, the exit must not change any more.
  bool exit_seen = false;
  int exit_code = 0;
  int64_t finished_at = 0;
  // The kernel's limits when the last update was answered; nullopt: unknown.
  std::optional<linux::CgroupSettings> held;
  std::optional<linux::CgroupSettings> cut;  // a later update, which was cut off
  // Bounds of its end while no daemon lived, in nanoseconds since the epoch; 0: unknown.
  int64_t ended_after = 0;
  int64_t ended_before = 0;
};

// The text that identifies it in /proc while it runs.
std::string Token(const ContainerModel& container);
// The shell script of its start and end. It leaves a mark in /marks when it begins.
std::string ScriptOf(const ContainerModel& container);

struct PodModel {
  std::string name;
  std::string id;
  std::string cgroup_parent;  // empty: the daemon's default
  unsigned lives = kAbsent;
  std::vector<ContainerModel> containers;
};

struct ImageModel {
  std::string tag;
  unsigned lives = kAbsent;
};

}  // namespace plimsoll::testing

#endif  // PLIMSOLL_TESTS_KILL_MODEL_H_
