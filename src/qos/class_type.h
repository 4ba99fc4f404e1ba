// The interface of a type of QoS classes (KEP-3008).
//
// A type ("rdt", "blockio", ...) has named classes, of which a pod or a container holds one. The
// type decides what a class means in the kernel. The registry (registry.h) decides who may hold how
// many of which, for all types of one request together.
#ifndef PLIMSOLL_QOS_CLASS_TYPE_H_
#define PLIMSOLL_QOS_CLASS_TYPE_H_

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "linux/process.h"

namespace plimsoll::qos {

enum class Level { kPod, kContainer };

// The origin of a request for a class.
enum class ClassSource { kMessage, kPodAnnotation, kContainerAnnotation };

struct ClassInfo {
  std::string name;
  uint64_t capacity = 0;  // most holders at once; 0: any number
  std::string meaning;    // on this machine, one line: "L3 0=0xff0,1=0xff0; MB 0=50"
};

// A pod or container that classes are for. Its kernel objects exist: the group with the init in it,
// asleep or running.
struct Target {
  Level level = Level::kContainer;
  std::string id;           // of the sandbox or container
  std::string name;         // for messages: "container web (0123456789ab)"
  std::string cgroup_path;  // as CgroupManager names groups
  linux::ProcessId init;    // containers only
  // Programs of ours that are on their way into the container (execs); asked again at each look.
  std::function<std::vector<pid_t>()> entering;
  // The value that a client without a class asked for a kernel file of the target's group
  // ("cpu.weight", or "oom_score_adj" of its init), in the file's own format. It is written when a
  // class that has set the file goes. A Target is kept for as long as a class is held: the records
  // at the time of the call count. nullopt: nobody asked, the kernel's default then. May be null.
  std::function<std::optional<std::string>(absl::string_view file)> underlying;
};

// A target that holds a class of a type.
struct Holder {
  Target target;
  std::string class_name;
};
using Holders = std::vector<Holder>;

// A new definition of a type's classes, read and compiled but not yet in force.
class PendingReload {
 public:
  virtual ~PendingReload() = default;
  // The classes of the new definition.
  virtual std::vector<std::string> class_names() const = 0;
  // Changes that it would make, as lines for the log. Empty: none.
  virtual std::vector<std::string> changes() const = 0;
  // The part of ClassType::warnings() that is known before it is applied.
  virtual std::vector<std::string> warnings() const { return {}; }
  // Repairs made by Commit, as lines for the log: places where the kernel differed from a
  // definition that hasn't changed.
  virtual std::vector<std::string> put_right() const { return {}; }
  // Puts it in force, also for present holders. On error everything is as before.
  virtual absl::Status Commit(const Holders& holders) = 0;
  // Undoes a Commit, because another type's failed.
  virtual absl::Status Revert(const Holders& holders) = 0;
};

// A type of class. Thread-safe; the registry lets only one call about a target in at a time. Errors
// name type, class, target, file and value.
class ClassType {
 public:
  virtual ~ClassType() = default;

  virtual std::string name() const = 0;
  virtual Level level() const = 0;
  // Whether a holder keeps the class that it was created with.
  virtual bool immutable() const { return false; }
  // Whether its classes only show what follows from the rest of a request. A cluster's scheduler
  // doesn't give them out.
  virtual bool is_informative() const { return false; }
  // The class of a holder that names none; empty: no class, which changes nothing in the kernel.
  virtual std::string default_class() const = 0;
  // In the order of the configuration, or sorted.
  virtual std::vector<ClassInfo> classes() const = 0;
  // Warnings for the administrator: classes that this machine can't honour in full, rounding.
  virtual std::vector<std::string> warnings() const { return {}; }

  // FAILED_PRECONDITION when the configuration forbids taking the class from that source
  // (`denyPodAnnotation`, `denyContainerAnnotation` of an rdt file).
  virtual absl::Status CheckSource(absl::string_view /*class_name*/, ClassSource /*source*/) const {
    return absl::OkStatus();
  }

  // Files of the group (cgroup v2's names, and "oom_score_adj") that the class sets. While it is
  // held they are the class's, not the client's.
  virtual std::vector<std::string> OwnedFiles(absl::string_view /*class_name*/) const { return {}; }

  // Puts the target into the class, wherever it was before: every thread, and forks made meanwhile.
  // `from` is the class it holds (empty: none), whose settings are taken away. On error the target
  // is where it was. Both names are this type's.
  virtual absl::Status Assign(const Target& target, absl::string_view from,
                              absl::string_view to) = 0;
  // Takes over a target that has held the class since before this daemon's start, as if assigned.
  // The target gets what the class means now, which may have changed, and any setting that it has
  // lost. `files` are those that the class had set, as recorded (OwnedFiles). Called once for each
  // recorded holder, before any other call about it. An error is for the log.
  virtual absl::Status Adopt(const Target& /*target*/, absl::string_view /*class_name*/,
                             const std::vector<std::string>& /*files*/) {
    return absl::OkStatus();
  }
  // Lets a target go: its processes have ended, or it goes on without a class. Nothing of the
  // type's is left for it. OK when there is nothing.
  virtual absl::Status Release(const Target& target, absl::string_view class_name) = 0;
  // The difference between the kernel and the class that the target holds, one sentence ("thread
  // 4711 is in resctrl group /silver"); empty: none. Changes nothing.
  virtual absl::StatusOr<std::string> Drift(const Target& target,
                                            absl::string_view class_name) const = 0;

  // The file to which a program about to enter the target writes its pid, so that the program it
  // becomes is in the class from its first instruction; empty: needs none. Absolute.
  virtual std::string EntryFile(const Target& /*target*/, absl::string_view /*class_name*/) const {
    return "";
  }
  // Reads the type's file again. Null: it has none. Changes nothing.
  virtual absl::StatusOr<std::unique_ptr<PendingReload>> PrepareReload() {
    return std::unique_ptr<PendingReload>();
  }

  // Devices of the machine have come, gone or changed: evaluates the classes again and updates
  // every holder. Each is tried; the first error is returned.
  virtual absl::Status Refresh(const Holders& /*holders*/) { return absl::OkStatus(); }

  // Measurements of a target or, with an empty id, of a class as a whole: metric name without
  // prefix ("llc_occupancy_bytes") -> value. Empty where nothing is measured.
  virtual std::map<std::string, uint64_t> Measure(absl::string_view /*id*/,
                                                  absl::string_view /*class_name*/) const {
    return {};
  }
};

// The well-known types (KEP-3008 "Consts").
inline constexpr char kRdt[] = "rdt";
inline constexpr char kBlockio[] = "blockio";

}  // namespace plimsoll::qos

#endif  // PLIMSOLL_QOS_CLASS_TYPE_H_
