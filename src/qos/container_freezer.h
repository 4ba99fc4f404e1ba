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
#include "linux/cgroup.h"

namespace plimsoll::qos {

// A container that can't be thawed at once (no descriptor is free, say) is no reason to undo what
// was done to it: that would not let it run either. It is tried again, ten times a second, until it
// runs or is gone, and drift and warnings tell of it meanwhile. What is frozen when the daemon dies
// is thawed by the next one's recovery, which finds it by its record's `changing_to`.
// Thread-safe; one call about a container at a time.
class ContainerFreezer {
 public:
  // `cgroups` must outlive it.
  explicit ContainerFreezer(linux::CgroupManager* cgroups) : cgroups_(*cgroups) {}
  // Tries a last time.
  ~ContainerFreezer();
  ContainerFreezer(const ContainerFreezer&) = delete;
  ContainerFreezer& operator=(const ContainerFreezer&) = delete;

  // From the container's freeze, within 20 ms or not at all, to its thaw.
  class Stop {
   public:
    Stop(ContainerFreezer* freezer, std::string cgroup_path)
        : freezer_(*freezer), path_(std::move(cgroup_path)), is_still_(freezer_.Freeze(path_)) {}
    ~Stop() {
      if (is_still_) freezer_.Thaw(path_);
    }
    Stop(const Stop&) = delete;
    Stop& operator=(const Stop&) = delete;

    // Nothing in it runs while this lives. False: it could not be frozen, or somebody else has it
    // frozen and may thaw it at any moment.
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
  bool Freeze(const std::string& path);
  void Thaw(const std::string& path);
  absl::Status TryThaw(const std::string& path);
  void Owe(const std::string& path, const absl::Status& why) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Run();

  linux::CgroupManager& cgroups_;
  // Held while what is owed is tried, so that nothing is thawed that is being frozen anew.
  mutable absl::Mutex mutex_;
  std::map<std::string, absl::Status> owed_ ABSL_GUARDED_BY(mutex_);  // why it failed, by path
  bool stop_ ABSL_GUARDED_BY(mutex_) = false;
  bool has_thread_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;  // there is none before it is needed
};

}  // namespace plimsoll::qos

#endif  // PLIMSOLL_QOS_CONTAINER_FREEZER_H_
