#include "qos/registry.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <thread>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/notification.h"
#include "qos/fake_type_for_test.h"

namespace plimsoll::qos {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::UnorderedElementsAre;

constexpr auto kContainer = Level::kContainer;

class RegistryTest : public testing::Test {
 protected:
  void Make(std::vector<FakeType::Options> options, std::vector<UnavailableType> unavailable = {}) {
    registry_.reset();
    fakes_.clear();
    std::vector<std::unique_ptr<ClassType>> types;
    for (FakeType::Options& one : options) {
      FakeKernel* kernel = &kernels_[one.name];
      auto type = std::make_unique<FakeType>(kernel, std::move(one));
      fakes_.push_back(type.get());
      types.push_back(std::move(type));
    }
    auto registry = Registry::Create(std::move(types), std::move(unavailable));
    ASSERT_TRUE(registry.ok()) << registry.status();
    registry_ = *std::move(registry);
  }
  static Target Container(const std::string& id) {
    Target target;
    target.id = id;
    target.name = absl::StrCat("container ", id);
    return target;
  }
  absl::Status Create(const std::string& id, const ClassNames& asked) {
    const auto held = registry_->Reserve(kContainer, id, absl::StrCat("container ", id), asked);
    if (!held.ok()) return held.status();
    saved_[id] = *held;
    const absl::Status enforced = registry_->Enforce(Container(id));
    if (!enforced.ok()) registry_->Cancel(id);
    return enforced;
  }
  absl::Status Change(const std::string& id, const ClassNames& asked) {
    return registry_->Change(Container(id), asked, [&](const HeldClasses& held) {
      if (save_fails_at > 0 && --save_fails_at == 0) return absl::InternalError("disk");
      saved_[id] = held;
      return absl::OkStatus();
    });
  }
  std::string Holds(const std::string& id, const std::string& type) {
    const auto effective = registry_->Effective(Container(id), false);
    const auto at = effective.find(type);
    return at == effective.end() ? "" : at->second.name;
  }

  int save_fails_at = 0;
  std::map<std::string, FakeKernel> kernels_;
  std::vector<FakeType*> fakes_;
  std::unique_ptr<Registry> registry_;
  std::map<std::string, HeldClasses> saved_;
};

TEST_F(RegistryTest, WhatIsAskedForIsInForce) {
  Make({{.name = "rdt"}, {.name = "blockio", .default_class = "gold"}});
  ASSERT_TRUE(Create("a", {{"rdt", "silver"}}).ok());
  EXPECT_THAT(kernels_["rdt"].members, ElementsAre(Pair("a", "silver")));
  EXPECT_THAT(kernels_["blockio"].members, ElementsAre(Pair("a", "gold")));
  const auto effective = registry_->Effective(Container("a"), true);
  EXPECT_FALSE(effective.at("rdt").implicit);
  EXPECT_TRUE(effective.at("blockio").implicit);
  EXPECT_THAT(registry_->EntryFiles(Container("a")),
              ElementsAre("/blockio/gold/tasks", "/rdt/silver/tasks"));
  ASSERT_TRUE(registry_->Release(Container("a")).ok());
  EXPECT_THAT(kernels_["rdt"].members, IsEmpty());
  EXPECT_THAT(registry_->Effective(Container("a"), true), IsEmpty());
  EXPECT_TRUE(registry_->Release(Container("a")).ok());
}

TEST_F(RegistryTest, AnEmptyNameIsTheDefaultClass) {
  Make({{.name = "rdt", .default_class = "silver"}, {.name = "oom"}});
  ASSERT_TRUE(Create("a", {{"rdt", ""}}).ok());
  EXPECT_EQ(Holds("a", "rdt"), "silver");
  EXPECT_FALSE(registry_->Effective(Container("a"), false).at("rdt").implicit);
  const absl::Status status = Create("b", {{"oom", ""}});
  EXPECT_TRUE(absl::IsNotFound(status));
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("container b: type \"oom\" has no default class, name one; there are: "));
}

TEST_F(RegistryTest, UnknownNamesAreToldWithTheValidOnes) {
  Make({{.name = "rdt"}, {.name = "net", .level = Level::kPod}},
       {{kContainer, "blockio", "no controller blkio"}});
  absl::Status status = Create("a", {{"rdt", "platinum"}});
  EXPECT_TRUE(absl::IsNotFound(status));
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("container a: type \"rdt\" has no class \"platinum\"; there are: \"gold\", "
                        "\"silver\", \"bronze\""));
  status = Create("a", {{"net", "gold"}});
  EXPECT_TRUE(absl::IsNotFound(status));
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("no class type \"net\" for a container; there are: \"rdt\""));
  status = Create("a", {{"blockio", "gold"}});
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("(blockio is configured, but: no controller blkio)"));
  EXPECT_THAT(kernels_["rdt"].members, IsEmpty());
  EXPECT_EQ(registry_->Refusals().at({"rdt", "unknown_class"}), 1u);
  EXPECT_EQ(registry_->CheckKnown(kContainer, "container a", "blockio", "gold"), status);
  EXPECT_TRUE(absl::IsNotFound(registry_->CheckKnown(kContainer, "a", "rdt", "tin")));
  EXPECT_TRUE(registry_->CheckKnown(kContainer, "a", "rdt", "gold").ok());
  // Where warnings are reported, so is the unavailable type.
  EXPECT_THAT(registry_->Describe(), testing::SizeIs(2));
  const std::vector<TypeReport> all = registry_->Describe(/*look=*/true);
  ASSERT_EQ(all.size(), 3u);
  EXPECT_EQ(all[2].name, "blockio");
  EXPECT_THAT(all[2].warnings, ElementsAre("no controller blkio"));
}

TEST_F(RegistryTest, CapacityIsCountedAndComesBack) {
  Make({{.name = "rdt"}});
  ASSERT_TRUE(Create("a", {{"rdt", "bronze"}}).ok());
  const absl::Status full = Create("b", {{"rdt", "bronze"}});
  EXPECT_TRUE(absl::IsResourceExhausted(full));
  EXPECT_THAT(
      std::string(full.message()),
      HasSubstr("container b: class \"bronze\" of type \"rdt\" is full: its only place is taken"));
  EXPECT_TRUE(Change("a", {{"rdt", "bronze"}}).ok()) << "its own place is no other's";
  ASSERT_TRUE(Create("c", {{"rdt", "gold"}}).ok());
  EXPECT_TRUE(absl::IsResourceExhausted(Change("c", {{"rdt", "bronze"}})));
  ASSERT_TRUE(registry_->Release(Container("a")).ok());
  EXPECT_TRUE(Change("c", {{"rdt", "bronze"}}).ok());
}

TEST_F(RegistryTest, AChangeTakesTheNewPlaceBeforeItGivesUpTheOld) {
  Make({{.name = "rdt"}});
  ASSERT_TRUE(Create("a", {{"rdt", "gold"}}).ok());
  int looks = 0;
  kernels_["rdt"].on_assign = [&] {
    // Another client's thread, while the kernel is being asked.
    std::thread other([&] {
      ++looks;
      EXPECT_TRUE(absl::IsResourceExhausted(Create("b", {{"rdt", "bronze"}})));
    });
    other.join();
  };
  EXPECT_TRUE(Change("a", {{"rdt", "bronze"}}).ok());
  EXPECT_TRUE(Change("a", {{"rdt", "gold"}}).ok());
  EXPECT_EQ(looks, 2);
  kernels_["rdt"].on_assign = nullptr;
  EXPECT_TRUE(Create("b", {{"rdt", "bronze"}}).ok());
}

TEST_F(RegistryTest, AChangeOfSeveralTypesIsAtomic) {
  Make({{.name = "blockio"}, {.name = "oom", .immutable = true}, {.name = "rdt"}});
  ASSERT_TRUE(Create("a", {{"rdt", "gold"}, {"oom", "gold"}, {"blockio", "gold"}}).ok());
  const HeldClasses before = saved_["a"];
  const absl::Status fixed = Change("a", {{"blockio", "silver"}, {"oom", "silver"}});
  EXPECT_TRUE(absl::IsFailedPrecondition(fixed)) << fixed;
  EXPECT_EQ(fixed.message(),
            "container a: class type \"oom\" can't be changed while a container exists; it holds "
            "\"gold\"");
  EXPECT_TRUE(Change("a", {{"oom", "gold"}}).ok()) << "the class that is held is always right";
  EXPECT_EQ(kernels_["blockio"].members["a"], "gold");
  kernels_["rdt"].refuse_after = 0;
  const absl::Status refused = Change("a", {{"blockio", "silver"}, {"rdt", "silver"}});
  EXPECT_EQ(refused.message(), "container a: class \"silver\" of type \"rdt\": the kernel said no");
  EXPECT_EQ(kernels_["blockio"].members["a"], "gold");
  EXPECT_EQ(saved_["a"], before);
  kernels_["rdt"].refuse_after = -1;
  // Neither the place taken in vain nor the one given up is lost.
  ASSERT_TRUE(Create("b", {{"blockio", "silver"}}).ok());
  EXPECT_TRUE(Create("c", {{"blockio", "silver"}}).ok());
}

TEST_F(RegistryTest, WhatCannotBeUndoneIsTold) {
  Make({{.name = "blockio"}, {.name = "rdt"}});
  ASSERT_TRUE(Create("a", {{"rdt", "gold"}, {"blockio", "gold"}}).ok());
  kernels_["blockio"].refuse_after = 1;  // it takes the change and refuses its undoing
  kernels_["rdt"].refuse_after = 0;
  const absl::Status status = Change("a", {{"blockio", "silver"}, {"rdt", "silver"}});
  EXPECT_EQ(status.message(),
            "container a: class \"silver\" of type \"rdt\": the kernel said no; and undoing the "
            "earlier steps failed: the kernel said no");
}

TEST_F(RegistryTest, EveryRefusalIsCountedByItsReason) {
  Make({{.name = "oom", .immutable = true}, {.name = "rdt"}});
  ASSERT_TRUE(Create("a", {{"oom", "gold"}, {"rdt", "bronze"}}).ok());
  EXPECT_FALSE(Create("b", {{"cpu", "gold"}}).ok());
  EXPECT_FALSE(Create("b", {{"rdt", "tin"}}).ok());
  EXPECT_FALSE(Create("b", {{"rdt", "bronze"}}).ok());
  EXPECT_FALSE(Change("a", {{"oom", "silver"}}).ok());
  kernels_["rdt"].refuse_after = 0;
  EXPECT_FALSE(Change("a", {{"rdt", "silver"}}).ok());
  const std::map<std::pair<std::string, std::string>, uint64_t> expected = {
      {{"", "unknown_type"}, 1}, {{"oom", "immutable"}, 1},     {{"rdt", "capacity"}, 1},
      {{"rdt", "kernel"}, 1},    {{"rdt", "unknown_class"}, 1},
  };
  EXPECT_EQ(registry_->Refusals(), expected);
}

TEST_F(RegistryTest, WhatCannotBeSavedIsUndone) {
  Make({{.name = "rdt"}});
  for (const int fails_at : {1, 2}) {
    const std::string id = absl::StrCat("a", fails_at);
    ASSERT_TRUE(Create(id, {{"rdt", "gold"}}).ok());
    save_fails_at = fails_at;
    EXPECT_FALSE(Change(id, {{"rdt", "silver"}}).ok());
    EXPECT_EQ(kernels_["rdt"].members[id], "gold");
    EXPECT_EQ(Holds(id, "rdt"), "gold");
    EXPECT_EQ(saved_[id].at("rdt").changing_to, "");
  }
}

TEST_F(RegistryTest, AFailedEnforceLeavesNothing) {
  Make({{.name = "blockio"}, {.name = "rdt"}});
  kernels_["rdt"].refuse_after = 0;
  EXPECT_FALSE(Create("a", {{"rdt", "bronze"}, {"blockio", "bronze"}}).ok());
  EXPECT_THAT(kernels_["blockio"].members, IsEmpty());
  kernels_["rdt"].refuse_after = -1;
  EXPECT_TRUE(Create("b", {{"rdt", "bronze"}, {"blockio", "bronze"}}).ok());
}

TEST_F(RegistryTest, ARestartFindsHoldersAndEndsWhatWasBeingChanged) {
  Make({{.name = "rdt"}});
  ASSERT_TRUE(Create("a", {{"rdt", "bronze"}}).ok());
  // The daemon was killed after the kernel had moved the holder and before that was saved.
  saved_["a"]["rdt"].changing_to = "gold";
  kernels_["rdt"].members["a"] = "gold";
  Make({{.name = "rdt"}});
  ASSERT_TRUE(registry_->Adopt(Container("a"), &saved_["a"]).ok());
  EXPECT_EQ(kernels_["rdt"].members["a"], "bronze");
  EXPECT_EQ(saved_["a"]["rdt"].changing_to, "");
  EXPECT_THAT(fakes_[0]->adopted, ElementsAre(Pair("a", "bronze")));
  EXPECT_TRUE(absl::IsResourceExhausted(Create("b", {{"rdt", "bronze"}})));
  ASSERT_TRUE(registry_->Release(Container("a")).ok());
  EXPECT_TRUE(Create("b", {{"rdt", "bronze"}}).ok());
}

TEST_F(RegistryTest, WhatCannotBePutBackStaysAsItWas) {
  Make({{.name = "oom"}, {.name = "rdt"}});
  ASSERT_TRUE(Create("a", {{"rdt", "gold"}}).ok());
  saved_["a"]["rdt"].changing_to = "silver";
  saved_["a"]["oom"].changing_to = "gold";  // its first class
  kernels_["rdt"].members["a"] = "silver";
  kernels_["oom"].members["a"] = "bronze";  // a class that nobody can take away
  kernels_["rdt"].refuse_after = 0;
  Make({{.name = "oom"}, {.name = "rdt"}});
  EXPECT_FALSE(registry_->Adopt(Container("a"), &saved_["a"]).ok());
  EXPECT_EQ(Holds("a", "rdt"), "gold");
  EXPECT_EQ(Holds("a", "oom"), "");
  EXPECT_EQ(saved_["a"]["rdt"].changing_to, "silver");
  EXPECT_EQ(saved_["a"]["oom"].changing_to, "gold");
  kernels_["rdt"].refuse_after = -1;
  kernels_["oom"].members["a"] = "gold";
  Make({{.name = "oom"}, {.name = "rdt"}});
  ASSERT_TRUE(registry_->Adopt(Container("a"), &saved_["a"]).ok());
  EXPECT_EQ(kernels_["rdt"].members["a"], "gold");
  EXPECT_THAT(kernels_["oom"].members, IsEmpty());
  EXPECT_FALSE(saved_["a"].contains("oom"));
  EXPECT_EQ(saved_["a"]["rdt"].changing_to, "");
}

TEST_F(RegistryTest, AFirstClassIsOnRecordBeforeTheKernelIsAsked) {
  Make({{.name = "rdt"}});
  ASSERT_TRUE(Create("a", {}).ok());
  EXPECT_TRUE(saved_["a"].empty());
  HeldClasses first;
  ASSERT_TRUE(registry_
                  ->Change(Container("a"), {{"rdt", "gold"}},
                           [&](const HeldClasses& held) {
                             if (first.empty()) first = held;
                             return absl::OkStatus();
                           })
                  .ok());
  EXPECT_EQ(first.at("rdt").changing_to, "gold");
  EXPECT_EQ(first.at("rdt").name, "");
  // The daemon was killed at that point: the holder has no class, in the kernel neither.
  Make({{.name = "rdt"}});
  ASSERT_TRUE(registry_->Adopt(Container("a"), &first).ok());
  EXPECT_THAT(first, IsEmpty());
  EXPECT_THAT(kernels_["rdt"].members, IsEmpty());
}

TEST_F(RegistryTest, BeingNamedIsSavedToo) {
  Make({{.name = "rdt", .default_class = "gold"}});
  ASSERT_TRUE(Create("a", {}).ok());
  save_fails_at = 1;
  EXPECT_FALSE(Change("a", {{"rdt", "gold"}}).ok());
  EXPECT_TRUE(saved_["a"]["rdt"].implicit);
  EXPECT_TRUE(registry_->Effective(Container("a"), false).at("rdt").implicit);
  EXPECT_TRUE(Change("a", {{"rdt", "gold"}}).ok());
  EXPECT_FALSE(saved_["a"]["rdt"].implicit);
}

TEST_F(RegistryTest, ATypeThatIsNoLongerConfiguredIsShown) {
  Make({});
  HeldClasses held = {{"rdt", {.name = "gold"}}};
  const absl::Status adopted = registry_->Adopt(Container("a"), &held);
  EXPECT_THAT(std::string(adopted.message()),
              AllOf(HasSubstr("holds class \"gold\" of type \"rdt\""),
                    HasSubstr("not configured any more")));
  EXPECT_EQ(held.at("rdt").name, "gold");
  EXPECT_THAT(registry_->Effective(Container("a"), true).at("rdt").drift,
              HasSubstr("not configured any more"));
  const auto types = registry_->Describe(/*look=*/true);
  ASSERT_EQ(types.size(), 1u);
  EXPECT_EQ(types[0].name, "rdt");
  EXPECT_THAT(types[0].warnings, ElementsAre(AllOf(HasSubstr("container a holds class \"gold\""),
                                                   HasSubstr("not configured any more"))));
  EXPECT_THAT(registry_->Describe(), IsEmpty());
  EXPECT_TRUE(Change("a", {{"rdt", "gold"}}).ok()) << "it holds it";
  EXPECT_TRUE(absl::IsNotFound(Change("a", {{"rdt", "silver"}})));
  EXPECT_TRUE(registry_->Release(Container("a")).ok());
  EXPECT_THAT(registry_->Describe(/*look=*/true), IsEmpty());
}

TEST_F(RegistryTest, AHeldTypeThatCannotBeHadAnyMoreIsToldWithTheReason) {
  Make({}, {{kContainer, "rdt", "resctrl is not mounted"}});
  HeldClasses held = {{"rdt", {.name = "gold"}}};
  EXPECT_EQ(
      registry_->Adopt(Container("a"), &held).message(),
      "it holds class \"gold\" of type \"rdt\" since before this start: this class type can't "
      "be had: resctrl is not mounted; the class's settings stay as they are");
  const auto types = registry_->Describe(/*look=*/true);
  ASSERT_EQ(types.size(), 1u);
  EXPECT_THAT(types[0].warnings,
              ElementsAre("resctrl is not mounted",
                          "container a holds class \"gold\" since before the daemon's start: this "
                          "class type can't be had: resctrl is not mounted"));
}

TEST_F(RegistryTest, AClassThatIsThereNoMoreIsToldAndKept) {
  Make({{.name = "oom"}, {.name = "rdt"}});
  kernels_["oom"].members["a"] = "tin";
  HeldClasses held = {{"oom", {.name = "tin"}}, {"rdt", {.name = "iron"}}};
  const absl::Status adopted = registry_->Adopt(Container("a"), &held);
  EXPECT_THAT(std::string(adopted.message()), AllOf(HasSubstr("\"tin\""), HasSubstr("\"iron\"")));
  EXPECT_THAT(fakes_[1]->adopted, IsEmpty());
  EXPECT_THAT(registry_->Effective(Container("a"), true).at("rdt").drift,
              HasSubstr("no such class any more"));
  EXPECT_THAT(registry_->Describe(/*look=*/true)[1].warnings,
              ElementsAre(HasSubstr("container a holds class \"iron\"")));
  EXPECT_TRUE(Change("a", {{"oom", "gold"}, {"rdt", "iron"}}).ok()) << "iron is what it holds";
  EXPECT_EQ(Holds("a", "rdt"), "iron");
  EXPECT_TRUE(absl::IsNotFound(Change("a", {{"oom", "tin"}})));
}

// The next start knows which files the classes had set.
TEST_F(RegistryTest, FilesAreOnRecord) {
  Make({{.name = "rdt", .files = {"io.max"}}});
  ASSERT_TRUE(Create("a", {{"rdt", "gold"}}).ok());
  EXPECT_THAT(saved_["a"]["rdt"].files, ElementsAre("io.max"));
  Make({{.name = "rdt", .files = {"io.weight"}}});
  ASSERT_TRUE(registry_->Adopt(Container("a"), &saved_["a"]).ok());
  EXPECT_THAT(fakes_[0]->adopted_files.at("a"), ElementsAre("io.max"));
  EXPECT_THAT(saved_["a"]["rdt"].files, ElementsAre("io.weight"));
  // A reload may change them, too.
  fakes_[0]->next_files = {"io.weight", "io.max"};
  std::vector<std::string> recorded;
  registry_->SaveWith([&](const Target& target, const HeldClasses& held) {
    EXPECT_EQ(target.id, "a");
    recorded = held.at("rdt").files;
    return absl::OkStatus();
  });
  ASSERT_TRUE(registry_->Reload().ok());
  EXPECT_THAT(recorded, ElementsAre("io.weight", "io.max"));
  recorded.clear();
  ASSERT_TRUE(registry_->Reload().ok());
  EXPECT_THAT(recorded, IsEmpty()) << "nothing has changed";
}

TEST_F(RegistryTest, DriftIsTheTypesWord) {
  Make({{.name = "rdt"}});
  ASSERT_TRUE(Create("a", {{"rdt", "gold"}}).ok());
  kernels_["rdt"].drift = "thread 5 is elsewhere";
  EXPECT_EQ(registry_->Effective(Container("a"), true).at("rdt").drift, "thread 5 is elsewhere");
  EXPECT_EQ(registry_->Effective(Container("a"), false).at("rdt").drift, "");
}

TEST_F(RegistryTest, OneFileBelongsToOneType) {
  std::vector<std::unique_ptr<ClassType>> types;
  FakeKernel kernel;
  for (const char* name : {"tier", "boost"}) {
    types.push_back(std::make_unique<FakeType>(
        &kernel, FakeType::Options{.name = name, .files = {"cpu.weight"}}));
  }
  const absl::Status status = Registry::Create(std::move(types)).status();
  EXPECT_TRUE(absl::IsInvalidArgument(status));
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("class types \"tier\" and \"boost\" both set cpu.weight of a container; a "
                        "file belongs to one type"));
  types.clear();
  for (const Level level : {Level::kPod, Level::kContainer}) {
    types.push_back(std::make_unique<FakeType>(
        &kernel, FakeType::Options{.level = level, .files = {"cpu.weight"}}));
  }
  EXPECT_TRUE(Registry::Create(std::move(types)).ok());
}

TEST_F(RegistryTest, ANameBelongsToOneTypeOfALevel) {
  std::vector<std::unique_ptr<ClassType>> types;
  FakeKernel kernel;
  for (const Level level : {Level::kContainer, Level::kPod, Level::kPod}) {
    types.push_back(
        std::make_unique<FakeType>(&kernel, FakeType::Options{.name = "tier", .level = level}));
  }
  const absl::Status status = Registry::Create(std::move(types)).status();
  EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
  EXPECT_EQ(status.message(), "two class types of pods are named \"tier\"");
}

TEST_F(RegistryTest, ReloadIsAllOrNothing) {
  Make({{.name = "blockio"}, {.name = "rdt"}});
  ASSERT_TRUE(Create("a", {{"rdt", "gold"}}).ok());
  fakes_[0]->next_classes = {{"new", 0, ""}};
  fakes_[1]->next_classes = {{"silver", 0, ""}};
  const auto vanished = registry_->Reload();
  EXPECT_TRUE(absl::IsFailedPrecondition(vanished.status()));
  EXPECT_THAT(std::string(vanished.status().message()),
              AllOf(HasSubstr("\"gold\" of type \"rdt\" is held by container a and is not in the "
                              "new file; nothing was reloaded"),
                    HasSubstr("move its holder to another class first")));
  EXPECT_TRUE(absl::IsNotFound(Create("b", {{"blockio", "new"}})));
  fakes_[1]->next_classes = {{"gold", 0, ""}};
  fakes_[1]->commit_status = absl::InternalError("refused");
  EXPECT_FALSE(registry_->Reload().ok());
  EXPECT_TRUE(absl::IsNotFound(Create("b", {{"blockio", "new"}})));
  fakes_[0]->revert_status = absl::InternalError("no way back");
  EXPECT_EQ(registry_->Reload().status().message(),
            "refused; and another type could not be put back: no way back");
  fakes_[0]->revert_status = absl::OkStatus();
  fakes_[1]->commit_status = absl::OkStatus();
  const auto changes = registry_->Reload();
  ASSERT_TRUE(changes.ok()) << changes.status();
  EXPECT_THAT(*changes, ElementsAre("blockio: changed", "rdt: changed"));
  EXPECT_TRUE(Create("b", {{"blockio", "new"}}).ok());
}

TEST_F(RegistryTest, AReloadWarnsOfAllTypesBeforeAnythingIsWritten) {
  Make({{.name = "blockio"}, {.name = "rdt"}});
  ASSERT_TRUE(Create("a", {{"blockio", "gold"}}).ok());
  std::vector<std::string> told;
  int calls = 0;
  registry_->WarnWith([&](const std::vector<TypeReport>& types) {
    ++calls;
    EXPECT_THAT(fakes_[0]->committed, IsEmpty()) << "nothing is in force yet";
    for (const TypeReport& type : types) {
      for (const std::string& each : type.warnings) {
        told.push_back(absl::StrCat(type.name, ": ", each));
      }
    }
  });
  fakes_[0]->next_warnings = {"nobody heeds weights"};
  fakes_[1]->next_warnings = {"13% is 8% here", "devices use way 3 too"};
  fakes_[0]->commit_status = absl::InternalError("refused");
  EXPECT_FALSE(registry_->Reload().ok());
  EXPECT_THAT(told, ElementsAre("blockio: nobody heeds weights", "rdt: 13% is 8% here",
                                "rdt: devices use way 3 too"));
  // When one file can't be read, no warnings are told, the other files' neither.
  told.clear();
  fakes_[1]->next_status = absl::InvalidArgumentError("line 3");
  EXPECT_EQ(registry_->Reload().status().message(), "line 3; nothing was reloaded");
  EXPECT_THAT(told, IsEmpty());
  EXPECT_EQ(calls, 1) << "once a reload";
}

TEST_F(RegistryTest, WhatAReloadPutsRightIsAmongWhatChanged) {
  Make({{.name = "blockio"}, {.name = "rdt"}});
  fakes_[0]->put_right = {"class gold is put right"};
  const auto changes = registry_->Reload();
  ASSERT_TRUE(changes.ok()) << changes.status();
  EXPECT_THAT(*changes,
              ElementsAre("blockio: changed", "rdt: changed", "blockio: class gold is put right"));
}

TEST_F(RegistryTest, AReloadKnowsWhoHoldsWhatAfterARestart) {
  Make({{.name = "rdt"}});
  ASSERT_TRUE(Create("a", {{"rdt", "gold"}}).ok());
  ASSERT_TRUE(Create("b", {{"rdt", "silver"}}).ok());
  ASSERT_TRUE(Change("b", {{"rdt", "gold"}}).ok());
  Make({{.name = "rdt"}});
  for (const char* id : {"a", "b"}) {
    ASSERT_TRUE(registry_->Adopt(Container(id), &saved_[id]).ok());
  }
  EXPECT_THAT(fakes_[0]->adopted, ElementsAre(Pair("a", "gold"), Pair("b", "gold")));
  const auto changes = registry_->Reload();
  ASSERT_TRUE(changes.ok()) << changes.status();
  EXPECT_EQ(fakes_[0]->committed.size(), 2u);
}

TEST_F(RegistryTest, EveryTypeIsRefreshedWithItsHolders) {
  Make({{.name = "blockio"}, {.name = "rdt"}});
  ASSERT_TRUE(Create("a", {{"rdt", "gold"}, {"blockio", "silver"}}).ok());
  ASSERT_TRUE(Create("b", {{"rdt", "gold"}}).ok());
  fakes_[0]->refresh_status = absl::InternalError("no such disk");
  const absl::Status status = registry_->Refresh();
  EXPECT_THAT(std::string(status.message()), HasSubstr("class type blockio: no such disk"));
  ASSERT_EQ(fakes_[0]->refreshed.size(), 1u);
  EXPECT_EQ(fakes_[0]->refreshed[0].class_name, "silver");
  EXPECT_EQ(fakes_[1]->refreshed.size(), 2u);
}

TEST_F(RegistryTest, NobodyReloadsWhileFilesAreLookedAt) {
  Make({{.name = "rdt"}});
  absl::Notification reloaded;
  std::thread reload;
  {
    absl::ReaderMutexLock no_reload(&registry_->definitions());
    reload = std::thread([&] {
      EXPECT_TRUE(registry_->Reload().ok());
      reloaded.Notify();
    });
    // Calls that an update makes under the lock work, even if a reload waits.
    ASSERT_TRUE(Create("a", {{"rdt", "gold"}}).ok());
    EXPECT_TRUE(Change("a", {{"rdt", "silver"}}).ok());
    EXPECT_FALSE(reloaded.HasBeenNotified());
  }
  reload.join();
  EXPECT_TRUE(reloaded.HasBeenNotified());
}

TEST_F(RegistryTest, DescribeNamesHolders) {
  Make({{.name = "rdt", .default_class = "gold"}});
  ASSERT_TRUE(Create("a", {}).ok());
  ASSERT_TRUE(Create("b", {{"rdt", "silver"}}).ok());
  const auto types = registry_->Describe();
  ASSERT_EQ(types.size(), 1u);
  EXPECT_EQ(types[0].default_class, "gold");
  ASSERT_EQ(types[0].classes[0].holders.size(), 1u);
  EXPECT_EQ(types[0].classes[0].holders[0].name, "container a");
  EXPECT_EQ(types[0].classes[0].holders[0].id, "a");
  ASSERT_EQ(types[0].classes[1].holders.size(), 1u);
  EXPECT_EQ(types[0].classes[1].holders[0].name, "container b");
}

// Random lives of containers, restarts of the daemon among them: the kernel has exactly what was
// acknowledged, and the rest of the capacity is free.
TEST_F(RegistryTest, RandomLivesLeaveExactlyWhatIsHeld) {
  std::mt19937 random(3008);
  const std::vector<std::string> classes = {"gold", "silver", "bronze"};
  std::map<std::string, std::string> model;
  Make({{.name = "rdt"}});
  const auto count = [&](const std::string& name) {
    return std::count_if(model.begin(), model.end(),
                         [&](const auto& one) { return one.second == name; });
  };
  const auto is_free = [&](const std::string& name) {
    return name == "gold" || count(name) < (name == "silver" ? 2 : 1);
  };
  for (int step = 0; step < 5000; ++step) {
    const std::string id = absl::StrCat("c", random() % 6);
    const std::string& name = classes[random() % 3];
    const bool exists = model.contains(id);
    kernels_["rdt"].refuse_after = random() % 10 == 0 ? 0 : -1;
    const bool kernel_works = kernels_["rdt"].refuse_after < 0;
    switch (random() % 4) {
      case 0:
        if (exists) break;
        ASSERT_EQ(Create(id, {{"rdt", name}}).ok(), kernel_works && is_free(name));
        if (kernel_works && is_free(name)) model[id] = name;
        break;
      case 1: {
        if (!exists) break;
        const bool same = model[id] == name;
        const bool good = same || (kernel_works && is_free(name));
        ASSERT_EQ(Change(id, {{"rdt", name}}).ok(), good);
        if (good) model[id] = name;
        break;
      }
      case 2:
        ASSERT_TRUE(registry_->Release(Container(id)).ok());
        model.erase(id);
        break;
      default:
        if (random() % 20 != 0) break;
        Make({{.name = "rdt"}});
        for (const auto& [held_by, unused] : model) {
          ASSERT_TRUE(registry_->Adopt(Container(held_by), &saved_[held_by]).ok());
        }
    }
    ASSERT_EQ(kernels_["rdt"].members, model) << "step " << step;
  }
}

}  // namespace
}  // namespace plimsoll::qos
