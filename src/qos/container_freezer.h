// Freezes of containers while their class changes, and the retries of failed thaws.
#ifndef PLIMSOLL_QOS_CONTAINER_FREEZER_H_
#define PLIMSOLL_QOS_CONTAINER_FREEZER_H_

#include <map>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "linux/cgroup/cgroup.h"
#include "qos/owned_objects.h"

namespace plimsoll::qos {

// One for all class types of a daemon: a container frozen by one type is thawed when no type needs
// it still any more.
//
// A failed thaw (no descriptor is free, say) is no reason to undo the change: that would not let
// the container run either. It is retried ten times a second until the container runs or is gone;
// drift and warnings tell of it meanwhile. A mark is on record from before the freeze until after
// the thaw, so that the next daemon's Recover thaws what a killed one left frozen. (If the daemon
// was killed between mark and freeze, Recover also thaws somebody else's freeze.)
//
// Thread-safe.
class ContainerFreezer {
 public:
  // Both must outlive it. Marks are objects of kind "frozen"; null `owned` means none are kept.
  ContainerFreezer(linux::CgroupManager* cgroups, OwnedObjects* owned)
      : cgroups_(*cgroups), owned_(owned) {}
  // Tries a last time to thaw.
  ~ContainerFreezer();
  ContainerFreezer(const ContainerFreezer&) = delete;
  ContainerFreezer& operator=(const ContainerFreezer&) = delete;

  // Thaws containers that an earlier daemon left frozen. Call it before any Stop. The error names
  // those that could not be thawed; they are retried all the same.
  absl::Status Recover();

  // A container's freeze, within 20 ms or not at all, and its thaw at the end. Stops of one
  // container may overlap, also on different threads: the last one's end thaws it.
  class Stop {
   public:
    Stop(ContainerFreezer* freezer, std::string cgroup_path)
        : freezer_(*freezer), path_(std::move(cgroup_path)), is_still_(freezer_.Freeze(path_)) {}
    ~Stop() {
      if (is_still_) freezer_.Thaw(path_);
    }
    Stop(const Stop&) = delete;
    Stop& operator=(const Stop&) = delete;

    // Whether nothing in the container runs while this lives. False: it could not be frozen or
    // marked, or somebody else has it frozen and may thaw it at any moment.
    bool is_still() const { return is_still_; }

   private:
    ContainerFreezer& freezer_;
    const std::string path_;
    const bool is_still_;
  };

  // "it is still frozen ..."; empty: it isn't.
  std::string Trouble(const std::string& cgroup_path) const;
  // Trouble() of all containers, with their groups' paths.
  std::vector<std::string> Troubles() const;

 private:
  // A container that is frozen, or marked, or about to be.
  struct Group {
    bool busy = false;    // a thread freezes or thaws it now, with a copy of this
    int stops = 0;        // number of Stops alive
    bool marked = false;  // on record
    bool frozen = false;  // by this freezer
    absl::Status why;     // it is frozen though nobody wants it so
  };

  bool Freeze(const std::string& path);
  void Thaw(const std::string& path);
  // Claims the container; no other thread touches it until Put.
  Group Take(const std::string& path);
  void Put(const std::string& path, const Group& group);
  // Marks and freezes.
  bool Hold(const std::string& path, Group& group);
  // Thaws and removes the mark. False: something is left to do, and `why` says why.
  bool LetGo(const std::string& path, Group& group);
  std::vector<std::string> Owed() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Run();

  linux::CgroupManager& cgroups_;
  OwnedObjects* const owned_;
  mutable absl::Mutex mutex_;
  std::map<std::string, Group> groups_ ABSL_GUARDED_BY(mutex_);  // by path
  bool stop_ ABSL_GUARDED_BY(mutex_) = false;
  bool has_thread_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;  // started when first needed
};

}  // namespace plimsoll::qos

#endif  // PLIMSOLL_QOS_CONTAINER_FREEZER_H_
