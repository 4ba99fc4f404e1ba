// For tests: a control group of the test's own on this machine's kernel, and programs in it.
#ifndef PLIMSOLL_QOS_HOST_GROUP_FOR_TEST_H_
#define PLIMSOLL_QOS_HOST_GROUP_FOR_TEST_H_

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/fs_root.h"
#include "base/programs/subprocess.h"
#include "linux/cgroup/cgroup.h"
#include "qos/class_type.h"

namespace plimsoll::qos {

class HostGroupTest : public testing::Test {
 protected:
  void SetUp() override {
    if (geteuid() != 0) GTEST_SKIP() << "needs root to make cgroups";
    auto cgroups = linux::CgroupManager::Detect(root_);
    if (!cgroups.ok()) GTEST_SKIP() << cgroups.status();
    cgroups_ = *std::move(cgroups);
    const auto made = cgroups_->Create(group_);
    ASSERT_TRUE(made.ok()) << made.status();
  }
  void TearDown() override {
    if (cgroups_ == nullptr) return;
    EXPECT_TRUE(cgroups_->KillAll(group_, absl::Now() + absl::Seconds(20)).ok());
    for (const auto& child : children_) {
      child->Wait(absl::Now() + absl::Seconds(20)).IgnoreError();
    }
    const absl::Status removed = cgroups_->Remove(group_);
    EXPECT_TRUE(removed.ok()) << removed;
  }

  // A shell in the group, which runs `script` once it is there.
  Child& Start(const std::string& script) {
    Command command;
    command.argv = {"/bin/sh", "-c", absl::StrCat("kill -STOP $$; ", script)};
    children_.push_back(std::make_unique<Child>(*Spawn(command)));
    Child& child = *children_.back();
    EXPECT_TRUE(WaitFor([&] { return StateOf(child.pid()) == 'T'; })) << "shell did not stop";
    const absl::Status added = cgroups_->AddProcess(group_, child.pid());
    EXPECT_TRUE(added.ok()) << added;
    EXPECT_TRUE(child.Signal(SIGCONT).ok());
    return child;
  }
  char StateOf(pid_t pid) {
    const auto text = root_.Read(absl::StrCat("proc/", pid, "/stat"));
    if (!text.ok()) return '?';
    return (*text)[text->rfind(')') + 2];
  }
  static bool WaitFor(const std::function<bool()>& condition) {
    for (const absl::Time end = absl::Now() + absl::Seconds(20); absl::Now() < end;) {
      if (condition()) return true;
      absl::SleepFor(absl::Milliseconds(2));
    }
    return condition();
  }
  Target Container() const {
    return {.id = "c",
            .name = "container web",
            .cgroup_path = group_,
            .init = {},
            .entering = {},
            .underlying = {}};
  }

  FsRoot root_ = *FsRoot::Open("/");
  const std::string group_ = absl::StrCat("/plimsoll-test-qos-", getpid());
  std::unique_ptr<linux::CgroupManager> cgroups_;
  std::vector<std::unique_ptr<Child>> children_;
};

}  // namespace plimsoll::qos

#endif  // PLIMSOLL_QOS_HOST_GROUP_FOR_TEST_H_
