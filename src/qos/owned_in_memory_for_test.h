// For tests: records of owned objects, in memory.
#ifndef PLIMSOLL_QOS_OWNED_IN_MEMORY_FOR_TEST_H_
#define PLIMSOLL_QOS_OWNED_IN_MEMORY_FOR_TEST_H_

#include <atomic>
#include <map>
#include <set>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "qos/owned_objects.h"

namespace plimsoll::qos {

class OwnedInMemory : public OwnedObjects {
 public:
  absl::StatusOr<std::set<std::string>> ListOwned(const std::string& kind) const override {
    absl::MutexLock lock(&mutex_);
    const auto at = names_.find(kind);
    return at == names_.end() ? std::set<std::string>() : at->second;
  }
  absl::Status AddOwned(const std::string& kind, const std::string& name) override {
    absl::MutexLock lock(&mutex_);
    if (refuse || kind == refused_kind) return absl::InternalError("the disk is full");
    names_[kind].insert(name);
    all_[kind].insert(name);
    return absl::OkStatus();
  }
  absl::Status RemoveOwned(const std::string& kind, const std::string& name) override {
    absl::MutexLock lock(&mutex_);
    if (refuse_removal) return absl::InternalError("the disk is full");
    names_[kind].erase(name);
    return absl::OkStatus();
  }

  // Names of kind "resctrl", without the boot's id.
  std::set<std::string> Groups() const {
    absl::MutexLock lock(&mutex_);
    return WithoutBoot(names_);
  }
  // Names ever added, removed ones included.
  std::set<std::string> All() const {
    absl::MutexLock lock(&mutex_);
    return WithoutBoot(all_);
  }

  std::atomic<bool> refuse = false;
  std::atomic<bool> refuse_removal = false;
  std::string refused_kind;  // additions of that kind fail; set while no other thread is at work

 private:
  using Names = std::map<std::string, std::set<std::string>>;  // by kind

  static std::set<std::string> WithoutBoot(const Names& names) {
    std::set<std::string> groups;
    const auto at = names.find("resctrl");
    if (at == names.end()) return groups;
    for (const std::string& name : at->second) groups.insert(name.substr(name.find('/') + 1));
    return groups;
  }

  mutable absl::Mutex mutex_;
  Names names_ ABSL_GUARDED_BY(mutex_);
  Names all_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace plimsoll::qos

#endif  // PLIMSOLL_QOS_OWNED_IN_MEMORY_FOR_TEST_H_
