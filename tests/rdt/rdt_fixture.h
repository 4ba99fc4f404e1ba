// For tests of the rdt type: a machine with resctrl, a container to move, records in memory.
//
// The machine is resctrl's stand-in, or a real one: PLIMSOLL_TEST_RESCTRL is the directory that
// contains sys/fs/resctrl, "/" for this machine's. It must have no groups, and nothing important
// should run: cache ways are divided again. Groups that tests make are removed.
#ifndef PLIMSOLL_TESTS_RDT_RDT_FIXTURE_H_
#define PLIMSOLL_TESTS_RDT_RDT_FIXTURE_H_

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"
#include "base/dir_for_test.h"
#include "gtest/gtest.h"
#include "linux/cgroup/cgroup.h"
#include "linux/process.h"
#include "linux/resctrl.h"
#include "qos/container_freezer.h"
#include "qos/owned_in_memory_for_test.h"
#include "qos/rdt/rdt.h"
#include "resctrlfs/fixture.h"
#include "resctrlfs/member.h"

namespace plimsoll::qos {

// A process in a cgroup of its own, with its forks.
class Container {
 public:
  Container(linux::CgroupManager* cgroups, const std::string& id)
      : cgroups_(*cgroups), path_(absl::StrCat("/plimsoll-test-rdt-", getpid(), "-", id)) {
    EXPECT_TRUE(cgroups_.Create(path_).ok());
    EXPECT_TRUE(cgroups_.AddProcess(path_, member_->pid()).ok());
    target_ = {.id = id, .name = "container " + id, .cgroup_path = path_};
  }
  ~Container() { End(); }

  // Ends all its processes and removes its cgroup.
  void End() {
    if (member_ == nullptr) return;
    cgroups_.KillAll(path_, absl::Now() + absl::Seconds(20)).IgnoreError();
    member_.reset();
    const absl::Status removed = cgroups_.Remove(path_);
    EXPECT_TRUE(removed.ok()) << removed;
  }
  const Target& target() const { return target_; }
  Target& target() { return target_; }
  resctrlfs::Member& member() { return *member_; }
  std::vector<pid_t> Threads() const { return *cgroups_.Threads(path_); }

 private:
  linux::CgroupManager& cgroups_;
  const std::string path_;
  std::unique_ptr<resctrlfs::Member> member_ = std::make_unique<resctrlfs::Member>();
  Target target_;
};

inline constexpr char kThreeClasses[] = R"(
partitions:
  exclusive:
    l3Allocation: 60%
    classes:
      gold: {kubernetes: {denyPodAnnotation: true}}
      silver: {l3Allocation: 50%}
  shared:
    l3Allocation: 40%
    classes:
      bronze: {}
)";

// The first line of tests that need more of the machine than files.
#define PLIMSOLL_NEEDS_STAND_IN() \
  if (resctrl_ == nullptr) GTEST_SKIP() << "only resctrl's stand-in can do this"

class RdtFixture : public ::testing::Test {
 protected:
  void SetUp() override {
    if (const char* real = getenv("PLIMSOLL_TEST_RESCTRL"); real != nullptr) {
      SetUpReal(real);
      return;
    }
    if (const std::string why = resctrlfs::ResctrlFsFixture::WhyNot(); !why.empty()) {
      GTEST_SKIP() << why;
    }
    auto cgroups = linux::CgroupManager::Detect(host_);
    if (!cgroups.ok()) GTEST_SKIP() << cgroups.status();
    cgroups_ = *std::move(cgroups);
    resctrlfs::Layout layout;
    layout.caches[0].ids = {0, 1};
    layout.caches[0].closids = 5;
    layout.monitoring = resctrlfs::MonitoringLayout();
    layout.monitoring->ids = {0, 1};
    Mount(layout);
    WriteConfig(kThreeClasses);
  }

  void SetUpReal(const char* root) {
    auto opened = FsRoot::Open(root);
    ASSERT_TRUE(opened.ok()) << "PLIMSOLL_TEST_RESCTRL: " << opened.status();
    root_ = *std::move(opened);
    auto fs = linux::Resctrl::Open(*root_);
    ASSERT_TRUE(fs.ok()) << "PLIMSOLL_TEST_RESCTRL: " << fs.status();
    const auto machine = (*fs)->ReadInfo();
    ASSERT_TRUE(machine.ok()) << machine.status();
    if (!machine->l3 || !machine->monitoring) {
      GTEST_SKIP() << "this machine's resctrl can't both allocate and monitor L3";
    }
    // All groups at the test's end are the test's to remove.
    const auto groups = (*fs)->ControlGroups();
    ASSERT_TRUE(groups.ok()) << groups.status();
    if (!groups->empty() || !(*fs)->MonitoringGroups("")->empty()) {
      GTEST_SKIP() << "somebody has made groups in this machine's resctrl";
    }
    fs_ = *std::move(fs);
    auto cgroups = linux::CgroupManager::Detect(host_);
    ASSERT_TRUE(cgroups.ok()) << cgroups.status();
    cgroups_ = *std::move(cgroups);
    WriteConfig(kThreeClasses);
  }

  void Mount(const resctrlfs::Layout& layout) {
    type_.reset();
    fs_.reset();
    resctrl_.reset();
    auto started = resctrlfs::ResctrlFsFixture::Start(layout);
    ASSERT_TRUE(started.ok()) << started.status();
    resctrl_ = *std::move(started);
    auto fs = linux::Resctrl::Open(resctrl_->root());
    ASSERT_TRUE(fs.ok()) << fs.status();
    fs_ = *std::move(fs);
    root_ = resctrl_->root();
  }
  void TearDown() override {
    type_.reset();
    freezer_.reset();
    if (resctrl_ == nullptr && fs_ != nullptr) {
      const auto groups = fs_->ControlGroups();
      ASSERT_TRUE(groups.ok()) << groups.status();
      for (const std::string& group : *groups) {
        EXPECT_TRUE(fs_->RemoveGroup(group).ok()) << group;
      }
      const auto monitored = fs_->MonitoringGroups("");
      ASSERT_TRUE(monitored.ok()) << monitored.status();
      for (const std::string& group : *monitored) {
        EXPECT_TRUE(fs_->RemoveGroup(linux::MonitoringGroupPath("", group)).ok()) << group;
      }
    }
    fs_.reset();
    if (resctrl_ != nullptr) {
      const absl::Status stopped = resctrl_->Stop();
      EXPECT_TRUE(stopped.ok()) << stopped;
    }
  }

  void WriteConfig(absl::string_view text) {
    ASSERT_TRUE(dir_.root().ReplaceFile("rdt.yaml", text).ok());
    options_.config_file = dir_.path() + "/rdt.yaml";
  }
  absl::StatusOr<std::unique_ptr<ClassType>> Make() {
    if (!freezer_) freezer_.emplace(cgroups_.get(), &owned_);
    return MakeRdtType(options_, {host_, *root_, cgroups_.get(), &owned_, &*freezer_, warn_});
  }
  // Starts the type, as a restart of the daemon does.
  void Start() {
    type_.reset();
    freezer_.reset();
    auto type = Make();
    ASSERT_TRUE(type.ok()) << type.status();
    type_ = *std::move(type);
  }
  std::string Assign(const Container& container, absl::string_view from, absl::string_view to) {
    return type_->Assign(container.target(), from, to).ToString();
  }
  std::string Drift(const Container& container, absl::string_view name) {
    const auto drift = type_->Drift(container.target(), name);
    return drift.ok() ? *drift : drift.status().ToString();
  }
  // Whether every thread of the container is truly in the group.
  bool IsWholeIn(const Container& container, const std::string& group) {
    const std::vector<pid_t> threads = container.Threads();
    const std::vector<pid_t> members = *fs_->Threads(group);
    return std::includes(members.begin(), members.end(), threads.begin(), threads.end());
  }
  static bool WaitFor(const std::function<bool()>& condition) {
    for (const absl::Time end = absl::Now() + absl::Seconds(20); absl::Now() < end;) {
      if (condition()) return true;
      absl::SleepFor(absl::Milliseconds(5));
    }
    return condition();
  }

  const FsRoot host_ = *FsRoot::Open("/");
  TestDir dir_;
  OwnedInMemory owned_;
  std::unique_ptr<linux::CgroupManager> cgroups_;
  std::unique_ptr<resctrlfs::ResctrlFsFixture> resctrl_;  // null on a real machine
  std::optional<FsRoot> root_;
  std::unique_ptr<linux::Resctrl> fs_;
  RdtOptions options_;
  std::function<void(const std::string&)> warn_;
  std::optional<ContainerFreezer> freezer_;
  std::unique_ptr<ClassType> type_;
};

}  // namespace plimsoll::qos

#endif  // PLIMSOLL_TESTS_RDT_RDT_FIXTURE_H_
