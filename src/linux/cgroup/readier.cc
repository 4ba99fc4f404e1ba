#include "linux/cgroup/readier.h"

#include <utility>

namespace plimsoll::linux {

CgroupReadier::CgroupReadier(CgroupManager* cgroups, FsRoot host)
    : cgroups_(cgroups), host_(std::move(host)), thread_([this] { Loop(); }) {}

CgroupReadier::~CgroupReadier() {
  {
    absl::MutexLock lock(&mutex_);
    ending_ = true;
  }
  thread_.join();
}

void CgroupReadier::Expect() {
  absl::MutexLock lock(&mutex_);
  expected_ = true;
}

void CgroupReadier::Loop() {
  const auto has_work = [this]()
                            ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return expected_ || ending_; };
  while (true) {
    {
      absl::MutexLock lock(&mutex_, absl::Condition(&has_work));
      if (ending_) return;
      expected_ = false;
    }
    cgroups_->MoveInPlace(host_).IgnoreError();
  }
}

}  // namespace plimsoll::linux
