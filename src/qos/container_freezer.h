// Stops a container for the time of a change of its class, and sees to it that it runs again.
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

// One for all class types of a daemon: what one type has frozen is thawed when none needs it still
// any more, and never by another meanwhile.
//
// A container that can't be thawed at once (no descriptor is free, say) is no reason to undo what
// was done to it: that would not let it run either. It is tried again, ten times a second, until it
// runs or is gone, and drift and warnings tell of it meanwhile. A mark is on record from before the
// freeze until after the thaw, so that what is frozen when the daemon dies is thawed by the next
// one's Recover. (Killed between mark and freeze, that thaws what somebody else has frozen.)
//
// Thread-safe.
class ContainerFreezer {
 public:
  // Both outlive it. Marks are objects of kind "frozen"; without `owned` there are none.
  ContainerFreezer(linux::CgroupManager* cgroups, OwnedObjects* owned)
      : cgroups_(*cgroups), owned_(owned) {}
  // Tries a last time.
  ~ContainerFreezer();
  ContainerFreezer(const ContainerFreezer&) = delete;
  ContainerFreezer& operator=(const ContainerFreezer&) = delete;

  // Lets go what an earlier daemon has left frozen. Before any Stop. An error says what could not
  // be thawed; it is tried again all the same.
  absl::Status Recover();

  // From the container's freeze, within 20 ms or not at all, to its thaw. Several of one container,
  // also on different threads: until the last goes.
  class Stop {
   public:
    Stop(ContainerFreezer* freezer, std::string cgroup_path)
        : freezer_(*freezer), path_(std::move(cgroup_path)), is_still_(freezer_.Freeze(path_)) {}
    ~Stop() {
      if (is_still_) freezer_.Thaw(path_);
    }
    Stop(const Stop&) = delete;
    Stop& operator=(const Stop&) = delete;

    // Nothing in it runs while this lives. False: it could not be frozen or marked, or somebody
    // else has it frozen and may thaw it at any moment.
    bool is_still() const { return is_still_; }

   private:
    ContainerFreezer& freezer_;
    const std::string path_;
    const bool is_still_;
  };

  // "it is still frozen ..."; empty: it isn't.
  std::string Trouble(const std::string& cgroup_path) const;
  // The same of all, with their groups' paths.
  std::vector<std::string> Troubles() const;

 private:
  // A container that is frozen, or marked, or about to be.
  struct Group {
    bool busy = false;    // somebody freezes or thaws it now, with a copy of this
    int stops = 0;        // that want it still
    bool marked = false;  // on record
    bool frozen = false;  // by us
    absl::Status why;     // it is when nobody wants it so
  };

  bool Freeze(const std::string& path);
  void Thaw(const std::string& path);
  // Between the two nobody else touches the container.
  Group Take(const std::string& path);
  void Put(const std::string& path, const Group& group);
  // Marks and freezes.
  bool Hold(const std::string& path, Group& group);
  // Thaws and strikes out. False: something is left to be done, and `why` says why.
  bool LetGo(const std::string& path, Group& group);
  std::vector<std::string> Owed() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Run();

  linux::CgroupManager& cgroups_;
  OwnedObjects* const owned_;
  mutable absl::Mutex mutex_;
  std::map<std::string, Group> groups_ ABSL_GUARDED_BY(mutex_);  // by path
  bool stop_ ABSL_GUARDED_BY(mutex_) = false;
  bool has_thread_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;  // there is none before it is needed
};

}  // namespace plimsoll::qos

#endif  // PLIMSOLL_QOS_CONTAINER_FREEZER_H_
