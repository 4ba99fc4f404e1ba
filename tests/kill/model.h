// What an actor knows of its pod: for each object the states in which it may be.
//
// A call that was answered leaves one state; one that the daemon's death cut off leaves those
// before and after it. After a restart the daemon must show one of them, and it is the truth from
// then on.
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

// How a container's program ends.
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
  std::set<int> codes;  // exit codes that what was done so far may give
  // Once the exit has been seen it must not change any more.
  bool exit_seen = false;
  int exit_code = 0;
  int64_t finished_at = 0;
  // What the kernel held of its limits when the last update had been answered; nullopt: not known.
  std::optional<linux::CgroupSettings> held;
  std::optional<linux::CgroupSettings> cut;  // an update since then, which was cut off
  // Nanoseconds since the epoch between which it ended while no daemon lived; 0: not known.
  int64_t ended_after = 0;
  int64_t ended_before = 0;
};

// What it shows in /proc while it runs.
std::string Token(const ContainerModel& container);
// The shell's words for how it begins and ends. It leaves a mark in /marks when it begins.
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
