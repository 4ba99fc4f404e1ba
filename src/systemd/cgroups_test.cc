#include "systemd/cgroups.h"

#include <cerrno>
#include <functional>
#include <map>
#include <set>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "base/dir_for_test.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "linux/cgroup/fake_tree_for_test.h"
#include "linux/cgroup/v2.h"

namespace plimsoll::systemd {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr char kPod[] = "/kubepods.slice/kubepods-pod1.slice";
constexpr char kScope[] = "/kubepods.slice/kubepods-pod1.slice/plimsoll-1.scope";
constexpr char kUnit[] = "plimsoll-1.scope";

// Records its calls; `fault` fails the next one. The real Units is tested in tests/vm.
class RecordedUnits final : public Units {
 public:
  explicit RecordedUnits(linux::CgroupTree* tree) : tree_(*tree) {}

  std::vector<std::string> calls;
  std::map<std::string, std::map<std::string, PropertyValue>> properties;  // by unit
  std::set<std::string> there;
  absl::Status fault;  // of the next call
  int systemd_version = 252;
  std::function<void()> rewritten;

  int version() const override { return systemd_version; }
  absl::Status StartTransient(const std::string& unit,
                              const std::vector<Property>& asked) override {
    calls.push_back("start " + unit);
    PLIMSOLL_RETURN_IF_ERROR(Fault());
    if (!there.insert(unit).second) return absl::AlreadyExistsError("Unit already exists");
    Keep(unit, asked);
    return MakeGroup(unit);
  }
  absl::Status Start(const std::string& unit) override {
    calls.push_back("start again " + unit);
    PLIMSOLL_RETURN_IF_ERROR(Fault());
    return MakeGroup(unit);
  }
  absl::Status Stop(const std::string& unit) override {
    calls.push_back("stop " + unit);
    PLIMSOLL_RETURN_IF_ERROR(Fault());
    there.erase(unit);
    return absl::OkStatus();
  }
  absl::Status SetProperties(const std::string& unit, const std::vector<Property>& asked) override {
    calls.push_back("set " + unit);
    PLIMSOLL_RETURN_IF_ERROR(Fault());
    if (!there.contains(unit)) return absl::NotFoundError("Unit not found");
    Keep(unit, asked);
    return absl::OkStatus();
  }
  void Expect() override { calls.emplace_back("expect"); }
  void Listen(std::function<void()> listener) override { rewritten = std::move(listener); }

 private:
  absl::Status Fault() { return std::exchange(fault, absl::OkStatus()); }
  void Keep(const std::string& unit, const std::vector<Property>& asked) {
    for (const Property& one : asked) properties[unit][one.name] = one.value;
  }
  absl::Status MakeGroup(const std::string& unit) {
    const auto group = linux::ExpandCgroupParent(unit);
    if (!IsSliceName(unit)) return absl::OkStatus();
    for (const std::string& each : linux::GroupAndParents(*group)) {
      if (each != "/" && !tree_.Exists(each).value_or(false)) {
        PLIMSOLL_RETURN_IF_ERROR(tree_.Make(each));
      }
    }
    return absl::OkStatus();
  }
  static bool IsSliceName(const std::string& unit) { return unit.find(".slice") != unit.npos; }

  linux::CgroupTree& tree_;
};

const linux::FakeCgroupTree::Files& V2Files() {
  static const linux::FakeCgroupTree::Files files = {
      {"", {{"cpu.stat", "usage_usec 0\n"}}},
      {"cpu", {{"cpu.weight", "100\n"}, {"cpu.max", "max 100000\n"}}},
      {"cpuset", {{"cpuset.cpus", "\n"}, {"cpuset.mems", "\n"}}},
      {"io",
       {{"io.max", "\n"},
        {"io.latency", "\n"},
        {"io.weight", "default 100\n"},
        {"io.bfq.weight", "default 100\n"}}},
      {"memory",
       {{"memory.max", "max\n"},
        {"memory.swap.max", "max\n"},
        {"memory.current", "0\n"},
        {"memory.high", "max\n"},
        {"memory.oom.group", "0\n"},
        {"memory.events", "oom 0\noom_kill 0\n"},
        {"memory.stat", "anon 0\n"}}},
      {"pids", {{"pids.max", "max\n"}, {"pids.current", "0\n"}}},
  };
  return files;
}

class SystemdCgroupsTest : public ::testing::Test {
 protected:
  SystemdCgroupsTest() {
    auto units = std::make_unique<RecordedUnits>(tree_.get());
    units_ = units.get();
    cgroups_ = std::make_unique<SystemdCgroups>(std::make_unique<linux::CgroupV2>(tree_),
                                                std::move(units), dir_.root(), "/run/plimsoll");
  }

  // Makes a scope like an OCI runtime.
  void MakeScope(const std::string& group = kScope) {
    linux::CgroupV2 files(tree_);
    ASSERT_TRUE(files.Create(group).ok());
  }
  std::string Get(absl::string_view file, absl::string_view group = kScope) {
    return tree_->Read(group, file).value_or("no such file");
  }
  template <typename Value>
  Value PropertyOf(const std::string& name, const std::string& unit = kUnit) {
    const auto at = units_->properties[unit].find(name);
    if (at == units_->properties[unit].end()) {
      ADD_FAILURE() << unit << " has no " << name;
      return Value();
    }
    return std::get<Value>(at->second);
  }

  TestDir dir_;
  std::shared_ptr<linux::FakeCgroupTree> tree_ =
      std::make_shared<linux::FakeCgroupTree>(dir_.root(), V2Files(), /*v2=*/true);
  RecordedUnits* units_ = nullptr;
  std::unique_ptr<SystemdCgroups> cgroups_;
};

TEST_F(SystemdCgroupsTest, SlicesAreMadeOutermostFirstAndGoInTurn) {
  EXPECT_THAT(*cgroups_->Create(kPod), ElementsAre("/kubepods.slice", kPod));
  EXPECT_THAT(units_->calls, ElementsAre("start kubepods.slice", "start kubepods-pod1.slice"));
  EXPECT_TRUE(PropertyOf<bool>("MemoryAccounting", "kubepods-pod1.slice"));
  EXPECT_EQ(PropertyOf<uint64_t>("CPUWeight", "kubepods-pod1.slice"), 100u);
  EXPECT_THAT(*cgroups_->Create(kPod), IsEmpty());
  ASSERT_TRUE(cgroups_->Remove(kPod).ok());
  EXPECT_FALSE(*cgroups_->Exists(kPod));
  ASSERT_TRUE(cgroups_->RemoveIfUnused("/kubepods.slice").ok());
  EXPECT_THAT(units_->there, IsEmpty());
  ASSERT_TRUE(cgroups_->Remove(kPod).ok()) << "of what is gone nobody is asked";
  EXPECT_THAT(units_->calls, ElementsAre("start kubepods.slice", "start kubepods-pod1.slice",
                                         "stop kubepods-pod1.slice", "stop kubepods.slice"));
}

TEST_F(SystemdCgroupsTest, ASliceThatSystemdKnowsIsStarted) {
  units_->there.insert("kubepods.slice");
  EXPECT_THAT(*cgroups_->Create("/kubepods.slice"), ElementsAre("/kubepods.slice"));
  EXPECT_THAT(units_->calls, ElementsAre("start kubepods.slice", "start again kubepods.slice"));
}

TEST_F(SystemdCgroupsTest, ACreationThatFailsLeavesNothing) {
  // Gives groups further down controllers to enable.
  ASSERT_TRUE(linux::CgroupV2(tree_).Create("/other").ok());
  ASSERT_TRUE(cgroups_->Create("/kubepods.slice").ok());
  tree_->refuse["/kubepods.slice/cgroup.subtree_control"] = EBUSY;
  EXPECT_FALSE(cgroups_->Create(kPod).ok());
  EXPECT_FALSE(*cgroups_->Exists(kPod));
  EXPECT_THAT(units_->there, ElementsAre("kubepods.slice"));
}

TEST_F(SystemdCgroupsTest, OtherGroupsAreDirectories) {
  EXPECT_THAT(*cgroups_->Create("/plimsoll/1"), ElementsAre("/plimsoll", "/plimsoll/1"));
  EXPECT_TRUE(cgroups_->Apply("/plimsoll/1", {.pids_limit = 5}).ok());
  EXPECT_TRUE(cgroups_->Register("/plimsoll/1", 7, {.pids_limit = 6}).ok());
  EXPECT_TRUE(cgroups_->WriteFile("/plimsoll/1", "memory", "memory.high", "4096").ok());
  EXPECT_TRUE(cgroups_->Remove("/plimsoll/1").ok());
  EXPECT_THAT(units_->calls, IsEmpty());
}

TEST_F(SystemdCgroupsTest, AScopeHasTheValuesOfItsGroup) {
  MakeScope();
  const linux::CgroupSettings settings = {.cpu_quota_us = 50000, .memory_limit_bytes = 1 << 20};
  ASSERT_TRUE(tree_->Write(kScope, "memory.max", "1048576").ok());
  ASSERT_TRUE(tree_->Write(kScope, "cpu.max", "50000 100000").ok());
  ASSERT_TRUE(cgroups_->Register(kScope, 7, settings).ok());
  EXPECT_THAT(units_->calls, ElementsAre("start plimsoll-1.scope")) << "one call is enough";
  EXPECT_EQ(PropertyOf<std::string>("Slice"), "kubepods-pod1.slice");
  EXPECT_THAT(PropertyOf<std::vector<uint32_t>>("PIDs"), ElementsAre(7u));
  EXPECT_TRUE(PropertyOf<bool>("Delegate"));
  EXPECT_EQ(PropertyOf<uint64_t>("MemoryMax"), 1u << 20);
  EXPECT_EQ(PropertyOf<uint64_t>("CPUQuotaPerSecUSec"), 500000u);
  EXPECT_EQ(PropertyOf<uint64_t>("TasksMax"), kInfinity) << "and not systemd's default";
  EXPECT_FALSE(units_->properties[kUnit].contains("OOMPolicy"));
  EXPECT_TRUE(PropertyOf<bool>("DefaultDependencies")) << "it ends at shutdown";
  EXPECT_EQ(PropertyOf<uint64_t>("TimeoutStopUSec"), 30000000u);
  EXPECT_THAT(PropertyOf<std::vector<std::string>>("RequiresMountsFor"),
              ElementsAre("/run/plimsoll"));
}

TEST_F(SystemdCgroupsTest, WhatAReloadHasTakenBeforeIsSetAgain) {
  MakeScope();  // without its values
  ASSERT_TRUE(cgroups_->Register(kScope, 7, {.memory_limit_bytes = 1 << 20}).ok());
  EXPECT_EQ(Get("memory.max"), "1048576");
  EXPECT_EQ(PropertyOf<uint64_t>("MemoryMax"), 1u << 20);
}

TEST_F(SystemdCgroupsTest, LaterSystemdsAreToldOfOomGroups) {
  units_->systemd_version = 253;
  MakeScope();
  ASSERT_TRUE(tree_->Write(kScope, "memory.oom.group", "1").ok());
  ASSERT_TRUE(cgroups_->Register(kScope, 7, {}).ok());
  EXPECT_EQ(PropertyOf<std::string>("OOMPolicy"), "kill");
}

TEST_F(SystemdCgroupsTest, AScopeThatCantBeStartedIsAnError) {
  MakeScope();
  units_->fault = absl::InternalError("its job ended as \"failed\"");
  EXPECT_FALSE(cgroups_->Register(kScope, 7, {}).ok());
  ASSERT_TRUE(cgroups_->Register(kScope, 7, {}).ok());
  EXPECT_TRUE(cgroups_->Register(kScope, 7, {}).ok()) << "known already";
}

TEST_F(SystemdCgroupsTest, WhatIsAppliedIsTold) {
  MakeScope();
  ASSERT_TRUE(cgroups_->Register(kScope, 7, {}).ok());
  units_->properties.clear();
  ASSERT_TRUE(cgroups_->Apply(kScope, {.cpu_shares = 1024, .pids_limit = 9}).ok());
  EXPECT_EQ(units_->properties[kUnit].size(), 2u) << "and nothing else";
  EXPECT_EQ(PropertyOf<uint64_t>("CPUWeight"), 39u);
  EXPECT_EQ(PropertyOf<uint64_t>("TasksMax"), 9u);
  ASSERT_TRUE(cgroups_->WriteFile(kScope, "memory", "memory.high", "8192").ok());
  EXPECT_EQ(PropertyOf<uint64_t>("MemoryHigh"), 8192u);
  units_->calls.clear();
  ASSERT_TRUE(cgroups_->WriteFile(kScope, "memory", "memory.oom.group", "1").ok());
  EXPECT_THAT(units_->calls, IsEmpty()) << "systemd has no word for it";
}

TEST_F(SystemdCgroupsTest, AnOomGroupIsWrittenAgain) {
  MakeScope();
  ASSERT_TRUE(tree_->Write(kScope, "memory.oom.group", "1").ok());
  ASSERT_TRUE(cgroups_->Register(kScope, 7, {}).ok());
  EXPECT_THAT(units_->calls, ElementsAre("start plimsoll-1.scope", "expect"));
  tree_->Put(kScope, "memory.oom.group", "0\n");  // systemd 252 does this whenever it writes values
  units_->rewritten();
  EXPECT_EQ(absl::StripAsciiWhitespace(Get("memory.oom.group")), "1");
  ASSERT_TRUE(cgroups_->Apply(kScope, {.unified = {{"memory.oom.group", "0"}}}).ok());
  units_->rewritten();
  EXPECT_EQ(absl::StripAsciiWhitespace(Get("memory.oom.group")), "0");
  ASSERT_TRUE(cgroups_->WriteFile(kScope, "memory", "memory.oom.group", "1").ok());
  tree_->Put(kScope, "memory.oom.group", "0\n");
  units_->calls.clear();
  ASSERT_TRUE(cgroups_->Apply(kScope, {.pids_limit = 9}).ok());
  EXPECT_EQ(absl::StripAsciiWhitespace(Get("memory.oom.group")), "1");
  EXPECT_THAT(units_->calls, ElementsAre("set plimsoll-1.scope", "expect"));
  units_->fault = absl::UnavailableError("no connection to systemd");
  ASSERT_FALSE(
      cgroups_->Apply(kScope, {.pids_limit = 8, .unified = {{"memory.oom.group", "0"}}}).ok());
  tree_->Put(kScope, "memory.oom.group", "0\n");
  units_->rewritten();
  EXPECT_EQ(absl::StripAsciiWhitespace(Get("memory.oom.group")), "1") << "as it was";
}

TEST_F(SystemdCgroupsTest, WhatSystemdRefusesIsSetBack) {
  MakeScope();
  ASSERT_TRUE(cgroups_->Register(kScope, 7, {}).ok());
  ASSERT_TRUE(cgroups_->Apply(kScope, {.memory_limit_bytes = 4096, .pids_limit = 3}).ok());
  units_->fault = absl::UnavailableError("no connection to systemd");
  const absl::Status status = cgroups_->Apply(
      kScope, {.memory_limit_bytes = 8192, .pids_limit = 4, .unified = {{"memory.high", "4096"}}});
  EXPECT_TRUE(absl::IsUnavailable(status)) << status;
  EXPECT_EQ(Get("memory.max"), "4096");
  EXPECT_EQ(Get("memory.high"), "max");
  EXPECT_EQ(Get("pids.max"), "3");
  units_->fault = absl::UnavailableError("no connection to systemd");
  EXPECT_FALSE(cgroups_->WriteFile(kScope, "pids", "pids.max", "5").ok());
  EXPECT_EQ(Get("pids.max"), "3");
}

TEST_F(SystemdCgroupsTest, ALineIsSetBackInItsFilesOwnWords) {
  MakeScope();
  ASSERT_TRUE(cgroups_->Register(kScope, 7, {}).ok());
  units_->fault = absl::UnavailableError("no connection to systemd");
  const absl::Status status =
      cgroups_->Apply(kScope, {.pids_limit = 4, .unified = {{"io.latency", "8:16 target=5000"}}});
  EXPECT_TRUE(absl::IsUnavailable(status)) << status;
  EXPECT_EQ(Get("io.latency"), "8:16 target=0");
}

TEST_F(SystemdCgroupsTest, WhatTheKernelRefusesIsNotTold) {
  MakeScope();
  ASSERT_TRUE(cgroups_->Register(kScope, 7, {}).ok());
  units_->calls.clear();
  tree_->refuse[absl::StrCat(kScope, "/pids.max")] = EINVAL;
  EXPECT_FALSE(cgroups_->Apply(kScope, {.pids_limit = 4}).ok());
  EXPECT_THAT(units_->calls, IsEmpty());
}

TEST_F(SystemdCgroupsTest, AGroupThatIsNoUnitYetIsAPlainOne) {
  MakeScope();
  EXPECT_TRUE(cgroups_->Apply(kScope, {.pids_limit = 4}).ok());
  EXPECT_EQ(Get("pids.max"), "4");
}

TEST_F(SystemdCgroupsTest, WhatSystemdRoundsIsWrittenAgain) {
  MakeScope();
  ASSERT_TRUE(cgroups_->Register(kScope, 7, {}).ok());
  ASSERT_TRUE(cgroups_->Apply(kScope, {.cpu_quota_us = 12345}).ok());
  tree_->Put(kScope, "cpu.max", "12000 100000\n");  // a daemon-reload
  units_->rewritten();
  EXPECT_EQ(Get("cpu.max"), "12345 100000");
  units_->properties.clear();
  ASSERT_TRUE(cgroups_->Apply(kScope, {.pids_limit = 5}).ok());
  EXPECT_EQ(PropertyOf<uint64_t>("CPUQuotaPerSecUSec"), 123450u)
      << "else it writes what it rounded";
  ASSERT_TRUE(cgroups_->Apply(kScope, {.cpu_quota_us = 20000}).ok());
  tree_->Put(kScope, "cpu.max", "30000 100000\n");
  units_->rewritten();
  EXPECT_EQ(Get("cpu.max"), "30000 100000") << "whose exact value is systemd's own";
}

// systemd writes a default weight at any moment after it got one, and BFQ then forgets those
// of disks.
TEST_F(SystemdCgroupsTest, WeightsOfDisksOutliveWhatSystemdWrites) {
  const std::string wiped = "default 100\n";
  MakeScope();
  ASSERT_TRUE(cgroups_->Register(kScope, 7, {}).ok());
  ASSERT_TRUE(cgroups_->WriteFile(kScope, "io", "io.bfq.weight", "8:0 20").ok());
  tree_->Put(kScope, "io.bfq.weight", wiped);  // before the next line
  ASSERT_TRUE(cgroups_->WriteFile(kScope, "io", "io.bfq.weight", "8:16 30").ok());
  EXPECT_THAT(PropertyOf<std::vector<DeviceValue>>("IODeviceWeight"),
              ElementsAre(DeviceValue{"/dev/block/8:0", 20}, DeviceValue{"/dev/block/8:16", 30}));
  for (int i = 0; i < 2; ++i) {
    tree_->Put(kScope, "io.bfq.weight", wiped);
    tree_->writes.clear();
    units_->rewritten();
    EXPECT_THAT(tree_->writes, ElementsAre(absl::StrCat(kScope, "/io.bfq.weight=8:0 20"),
                                           absl::StrCat(kScope, "/io.bfq.weight=8:16 30")));
  }
  tree_->Put(kScope, "io.bfq.weight", wiped);
  units_->fault = absl::UnavailableError("no connection to systemd");
  EXPECT_FALSE(cgroups_->WriteFile(kScope, "io", "io.bfq.weight", "8:0 99").ok());
  ASSERT_TRUE(cgroups_->WriteFile(kScope, "io", "io.bfq.weight", "8:16 default").ok());
  EXPECT_THAT(PropertyOf<std::vector<DeviceValue>>("IODeviceWeight"),
              ElementsAre(DeviceValue{"/dev/block/8:0", 20}));
  // With a new default the disks' weights go, as in the kernel.
  ASSERT_TRUE(cgroups_->WriteFile(kScope, "io", "io.bfq.weight", "default 50").ok());
  tree_->Put(kScope, "io.bfq.weight", wiped);
  tree_->writes.clear();
  units_->rewritten();
  EXPECT_THAT(tree_->writes, ElementsAre(absl::StrCat(kScope, "/io.bfq.weight=default 50")));
}

TEST_F(SystemdCgroupsTest, AScopeIsStartedWithItsFirstProcess) {
  MakeScope();
  ASSERT_TRUE(cgroups_->AddProcess(kScope, 7).ok());
  ASSERT_TRUE(cgroups_->AddProcess(kScope, 8).ok());
  EXPECT_THAT(units_->calls, ElementsAre("start plimsoll-1.scope"));
  EXPECT_EQ(Get("cgroup.procs"), "8");
  // The scope has ended, group and all.
  units_->there.clear();
  tree_->Put(kScope, "cgroup.procs", "");
  ASSERT_TRUE(linux::CgroupV2(tree_).Remove(kScope).ok());
  ASSERT_TRUE(cgroups_->AddProcess(kScope, 9).ok());
  EXPECT_THAT(PropertyOf<std::vector<uint32_t>>("PIDs"), ElementsAre(9u));
}

TEST_F(SystemdCgroupsTest, ASharedNamespacesInitEndsAfterItsContainers) {
  const std::string group = absl::StrCat(kPod, "/plimsoll-pause-1.scope");
  MakeScope(group);
  ASSERT_TRUE(cgroups_->AddProcess(group, 7).ok());
  EXPECT_FALSE(PropertyOf<bool>("DefaultDependencies", "plimsoll-pause-1.scope"));
}

TEST_F(SystemdCgroupsTest, NoKeeperIsNeededInASlice) {
  MakeScope();
  EXPECT_THAT(*cgroups_->MakeKeeper(absl::StrCat(kPod, "/plimsoll-keep-1")), IsEmpty());
  EXPECT_FALSE(*cgroups_->Exists(absl::StrCat(kPod, "/plimsoll-keep-1")));
}

TEST_F(SystemdCgroupsTest, KillsOfTheOomKillerAreKnownWithoutTheGroup) {
  const std::string other = absl::StrCat(kPod, "/plimsoll-2.scope");
  const auto count = [&](const std::string& group, int kills) {
    tree_->Put(group, "memory.events", absl::StrCat("oom_kill ", kills, "\n"));
  };
  MakeScope();
  MakeScope(other);
  count(kPod, 5);  // by containers before these
  ASSERT_TRUE(cgroups_->Register(kScope, 7, {}).ok());
  ASSERT_TRUE(cgroups_->Register(other, 8, {}).ok());
  count(other, 2);
  count(kPod, 7);
  EXPECT_EQ(*cgroups_->OomKills(other), 2u);
  EXPECT_EQ(*cgroups_->OomKills(kScope), 0u);
  ASSERT_TRUE(linux::CgroupV2(tree_).Remove(kScope).ok());
  EXPECT_EQ(*cgroups_->OomKills(kScope), 0u) << "the kills are the other's";
  count(kPod, 8);
  EXPECT_EQ(*cgroups_->OomKills(kScope), 1u);
  EXPECT_EQ(*cgroups_->OomKills(kScope), 1u);
  EXPECT_EQ(*cgroups_->OomKills(other), 2u);
  ASSERT_TRUE(cgroups_->Remove(kScope).ok());
  EXPECT_TRUE(absl::IsNotFound(cgroups_->OomKills(kScope).status()));
  ASSERT_TRUE(linux::CgroupV2(tree_).Remove(other).ok());
  EXPECT_EQ(*cgroups_->OomKills(other), 2u) << "and not the one of before";
}

TEST_F(SystemdCgroupsTest, AGroupThatGoesWhileItIsReadIsNotFound) {
  MakeScope();
  EXPECT_TRUE(cgroups_->Read(kScope).ok());
  ASSERT_TRUE(linux::CgroupV2(tree_).Remove(kScope).ok());
  EXPECT_TRUE(absl::IsNotFound(cgroups_->Read(kScope).status()));
}

}  // namespace
}  // namespace plimsoll::systemd
