// For tests: a cgroup hierarchy of plain files that imitates the kernel. New groups get their
// control files, v2 controllers come with cgroup.subtree_control, and any write can be refused.
#ifndef PLIMSOLL_LINUX_CGROUP_FAKE_TREE_FOR_TEST_H_
#define PLIMSOLL_LINUX_CGROUP_FAKE_TREE_FOR_TEST_H_

#include <cerrno>
#include <map>
#include <string>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/synchronization/mutex.h"
#include "base/status.h"
#include "linux/cgroup/files.h"
#include "linux/cgroup/tree.h"

namespace plimsoll::linux {

// Write, Make and Remove may be called by several threads, as the kernel's files may. Tests touch
// `writes` and `refuse` while no other thread is at work.
class FakeCgroupTree : public CgroupTree {
 public:
  // `files`: by controller, the control files of a new group with their first content; every group
  // has those of "". `v2`: a group has a controller's files only once its parent enables it.
  using Files = std::map<std::string, std::map<std::string, std::string>>;
  FakeCgroupTree(const FsRoot& mount, Files files, bool v2)
      : CgroupTree(mount), mount_(mount), files_(std::move(files)), v2_(v2) {
    std::string controllers;
    for (const auto& [controller, unused] : files_) absl::StrAppend(&controllers, controller, " ");
    Put("/", "cgroup.procs", "");
    if (v2_) Put("/", "cgroup.controllers", controllers);
    if (v2_) Put("/", "cgroup.subtree_control", "");
    if (!v2_) PutFiles("/", ParseWords(controllers));
  }

  void Put(absl::string_view group, absl::string_view file, absl::string_view content) {
    const std::string path = absl::StrCat(group, "/", file);
    mount_.MakeDirs(group).IgnoreError();
    mount_.ReplaceFile(path, content).IgnoreError();
  }

  // "/a/cpu.max=50000 100000" for each accepted write.
  std::vector<std::string> writes;
  // Writes to these files ("/a/cpu.max") fail with that errno.
  std::map<std::string, int> refuse;

  absl::Status Write(absl::string_view group, absl::string_view file,
                     absl::string_view value) override {
    absl::MutexLock lock(&mutex_);
    const std::string name = absl::StrCat(group == "/" ? "" : group, "/", file);
    if (const auto at = refuse.find(name); at != refuse.end()) {
      return ErrnoStatus(at->second, absl::StrCat("write \"", value, "\" to ", name));
    }
    if (file == "cgroup.subtree_control") {
      PLIMSOLL_RETURN_IF_ERROR(Enable(group, ParseWords(value)));
    } else {
      PLIMSOLL_RETURN_IF_ERROR(CgroupTree::Write(group, file, value));
    }
    writes.push_back(absl::StrCat(name, "=", value));
    return absl::OkStatus();
  }

  absl::Status Make(absl::string_view group) override {
    absl::MutexLock lock(&mutex_);
    if (const auto at = refuse.find(std::string(group)); at != refuse.end()) {
      return ErrnoStatus(at->second, absl::StrCat("make cgroup ", group));
    }
    PLIMSOLL_RETURN_IF_ERROR(CgroupTree::Make(group));
    Put(group, "cgroup.procs", "");
    std::vector<std::string> controllers;
    for (const auto& [controller, unused] : files_) {
      if (!controller.empty()) controllers.push_back(controller);
    }
    if (v2_) {
      controllers = ParseWords(*Read(ParentGroup(group), "cgroup.subtree_control"));
      Put(group, "cgroup.controllers", absl::StrJoin(controllers, " "));
      Put(group, "cgroup.subtree_control", "");
    }
    controllers.emplace_back("");
    PutFiles(group, controllers);
    return absl::OkStatus();
  }

  absl::Status Remove(absl::string_view group) override {
    absl::MutexLock lock(&mutex_);
    if (!*Exists(group)) return absl::OkStatus();
    if (Subtree(group)->size() > 1) return ErrnoStatus(EBUSY, absl::StrCat("remove ", group));
    return mount_.RemoveTree(group);
  }

 private:
  void PutFiles(absl::string_view group, const std::vector<std::string>& controllers) {
    for (const std::string& controller : controllers) {
      for (const auto& [file, content] : files_[controller]) Put(group, file, content);
    }
  }

  absl::Status Enable(absl::string_view group, const std::vector<std::string>& words) {
    if (group != "/" && !Read(group, "cgroup.procs")->empty()) {
      return ErrnoStatus(EBUSY, absl::StrCat("write to cgroup.subtree_control of ", group));
    }
    std::vector<std::string> enabled = ParseWords(*Read(group, "cgroup.subtree_control"));
    const auto available = ParseWords(*Read(group, "cgroup.controllers"));
    for (const std::string& word : words) {
      if (!absl::StartsWith(word, "+") || !absl::c_linear_search(available, word.substr(1))) {
        return ErrnoStatus(ENOENT, absl::StrCat("write ", word, " to cgroup.subtree_control"));
      }
      enabled.push_back(word.substr(1));
    }
    Put(group, "cgroup.subtree_control", absl::StrJoin(enabled, " "));
    return absl::OkStatus();
  }

  absl::Mutex mutex_;
  FsRoot mount_;
  Files files_;
  bool v2_;
};

}  // namespace plimsoll::linux

#endif  // PLIMSOLL_LINUX_CGROUP_FAKE_TREE_FOR_TEST_H_
