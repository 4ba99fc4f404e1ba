// Random sequences of events: every container is wholly where it belongs, and no unneeded group is
// left.
#include <map>
#include <random>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "gmock/gmock.h"
#include "rdt/rdt_fixture.h"

namespace plimsoll::qos {
namespace {

class RdtSequenceTest : public RdtFixture {
 protected:
  // The expected state.
  struct Expected {
    std::unique_ptr<Container> container;
    std::string class_name;  // empty: none
  };

  size_t Below(size_t n) { return std::uniform_int_distribution<size_t>(0, n - 1)(random_); }

  std::string RandomClass() {
    std::vector<std::string> names;
    for (const ClassInfo& info : type_->classes()) names.push_back(info.name);
    return names[Below(names.size())];
  }
  static std::string GroupOf(const std::string& class_name) {
    return class_name == kRdtRootClass ? "" : class_name;
  }

  std::string Step() {
    Expected& one = expected_[Below(expected_.size())];
    const std::string id = absl::StrCat("c", &one - expected_.data());
    const size_t what = Below(20);
    if (what == 0) {
      Start();
      return "restart";
    }
    if (what == 1) return Reload();
    if (what == 2 && one.container != nullptr) {
      one.container->member().Fork();
      return id + " forks";
    }
    if (what <= 4 && one.container != nullptr) {
      const Target target = one.container->target();
      if (what == 3) one.container->End();  // otherwise it goes on without a class
      EXPECT_EQ(type_->Release(target, one.class_name).ToString(), "OK");
      if (what == 3) one.container.reset();
      one.class_name.clear();
      return id + (what == 3 ? " ends" : " is released");
    }
    if (one.container == nullptr) one.container = std::make_unique<Container>(cgroups_.get(), id);
    const std::string to = RandomClass();
    const std::string said = absl::StrCat(id, " from \"", one.class_name, "\" to ", to);
    if (what == 5 && resctrl_ != nullptr && to != kRdtRootClass && one.class_name != to) {
      EXPECT_TRUE(resctrl_->RefuseNext("write", to + "/tasks", EIO).ok());
      EXPECT_FALSE(type_->Assign(one.container->target(), one.class_name, to).ok());
      return said + ", refused";
    }
    EXPECT_EQ(Assign(*one.container, one.class_name, to), "OK");
    one.class_name = to;
    return said;
  }

  // Reloads a file with all held classes and some of the others.
  std::string Reload() {
    std::set<std::string> names;
    for (const Expected& one : expected_) names.insert(one.class_name);
    for (const char* name : {"gold", "silver", "bronze"}) {
      if (Below(2) == 0) names.insert(name);
    }
    names.erase("");
    names.erase(kRdtRootClass);
    const size_t percent = 30 + Below(70);
    WriteConfig(absl::StrCat("partitions: {p: {l3Allocation: ", percent, "%, classes: {",
                             absl::StrJoin(names, ": , "), names.empty() ? "" : ": ", "}}}"));
    auto pending = type_->PrepareReload();
    const absl::Status done = pending.ok() ? (*pending)->Commit({}) : pending.status();
    EXPECT_TRUE(done.ok()) << done;
    return absl::StrCat("reload with ", absl::StrJoin(names, ", "));
  }

  void Check() {
    std::set<std::string> groups;
    for (const ClassInfo& info : type_->classes()) {
      if (info.name != kRdtRootClass) groups.insert(info.name);
    }
    ASSERT_THAT(*fs_->ControlGroups(), ::testing::ElementsAreArray(groups));
    std::map<std::string, size_t> threads;
    for (const Expected& one : expected_) {
      if (one.container == nullptr) continue;
      ASSERT_TRUE(IsWholeIn(*one.container,
                            GroupOf(one.class_name.empty() ? kRdtRootClass : one.class_name)));
      if (one.class_name.empty()) continue;
      threads[GroupOf(one.class_name)] += one.container->Threads().size();
      const std::string monitor = linux::MonitoringGroupPath(
          GroupOf(one.class_name), "plimsoll-" + one.container->target().id);
      ASSERT_TRUE(IsWholeIn(*one.container, monitor));
      ASSERT_EQ(Drift(*one.container, one.class_name), "");
      groups.insert(monitor);
    }
    ASSERT_THAT(owned_.Groups(), ::testing::ElementsAreArray(groups));
    for (const ClassInfo& info : type_->classes()) {
      if (info.name == kRdtRootClass) continue;
      ASSERT_EQ(fs_->Threads(info.name)->size(), threads[info.name]) << info.name;
    }
  }

  std::mt19937 random_{20260};
  std::vector<Expected> expected_;
};

TEST_F(RdtSequenceTest, LeavesExactlyTheExpectedMembership) {
  Start();
  expected_.resize(4);
  std::vector<std::string> story;
  const absl::Time end = absl::Now() + absl::Minutes(1);  // on a very busy machine fewer steps do
  for (int i = 0; i < 150 && absl::Now() < end; ++i) {
    story.push_back(Step());
    Check();
    if (HasFailure()) FAIL() << absl::StrJoin(story, "\n");
  }
}

}  // namespace
}  // namespace plimsoll::qos
