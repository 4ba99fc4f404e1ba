// Keeps a wait of the kernel's out of a pod's start.
#ifndef PLIMSOLL_LINUX_CGROUP_READIER_H_
#define PLIMSOLL_LINUX_CGROUP_READIER_H_

#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "base/fs_root.h"
#include "linux/cgroup/cgroup.h"

namespace plimsoll::linux {

// A caller that is about to put a process into a cgroup calls Expect and goes on. Meanwhile a
// thread of this object waits out the grace period that the kernel imposes on the first move
// (CgroupManager::MoveInPlace). A hint: if it fails, the move itself waits. Thread-safe.
class CgroupReadier {
 public:
  // `cgroups` must outlive it.
  CgroupReadier(CgroupManager* cgroups, FsRoot host);
  ~CgroupReadier();
  CgroupReadier(const CgroupReadier&) = delete;
  CgroupReadier& operator=(const CgroupReadier&) = delete;

  void Expect();

 private:
  void Loop();

  CgroupManager* const cgroups_;
  const FsRoot host_;
  absl::Mutex mutex_;
  bool expected_ ABSL_GUARDED_BY(mutex_) = false;
  bool ending_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace plimsoll::linux

#endif  // PLIMSOLL_LINUX_CGROUP_READIER_H_
