#include "qos/drift_watch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "qos/fake_type_for_test.h"

namespace plimsoll::qos {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

class DriftWatchTest : public testing::Test {
 protected:
  DriftWatchTest() {
    std::vector<std::unique_ptr<ClassType>> types;
    types.push_back(std::make_unique<FakeType>(&rdt_, FakeType::Options{.name = "rdt"}));
    types.push_back(std::make_unique<FakeType>(&oom_, FakeType::Options{.name = "oom"}));
    registry_ = *Registry::Create(std::move(types));
    watch_.emplace(registry_.get());
  }
  void Add(const std::string& id, const ClassNames& classes) {
    Target target;
    target.id = id;
    target.name = absl::StrCat("container ", id);
    ASSERT_TRUE(registry_->Reserve(Level::kContainer, id, target.name, classes).ok());
    ASSERT_TRUE(registry_->Enforce(target).ok());
  }
  static DriftWatch::Key KeyOf(const std::string& type, const std::string& name) {
    return {Level::kContainer, type, name};
  }

  FakeKernel rdt_;
  FakeKernel oom_;
  std::unique_ptr<Registry> registry_;
  std::optional<DriftWatch> watch_;
};

TEST_F(DriftWatchTest, CountsWhatIsSeenTwiceInARow) {
  Add("a", {{"rdt", "gold"}, {"oom", "gold"}});
  Add("b", {{"rdt", "gold"}});
  Add("c", {{"rdt", "silver"}});
  EXPECT_THAT(watch_->Look(absl::Minutes(1)), IsEmpty());
  rdt_.drift = "thread 5 is elsewhere";
  EXPECT_FALSE(watch_->HasNew());
  EXPECT_THAT(watch_->Look(absl::Minutes(1)), IsEmpty()) << "it may be a change that is under way";
  EXPECT_TRUE(watch_->HasNew());
  EXPECT_THAT(watch_->Look(absl::Minutes(1)),
              ElementsAre(Pair(KeyOf("rdt", "gold"), 2), Pair(KeyOf("rdt", "silver"), 1)));
  EXPECT_FALSE(watch_->HasNew());
  Target gone;
  gone.id = "b";
  ASSERT_TRUE(registry_->Release(gone).ok());
  EXPECT_THAT(watch_->Look(absl::Minutes(1)),
              ElementsAre(Pair(KeyOf("rdt", "gold"), 1), Pair(KeyOf("rdt", "silver"), 1)));
  rdt_.drift.clear();
  EXPECT_THAT(watch_->Look(absl::Minutes(1)), IsEmpty());
}

TEST_F(DriftWatchTest, SaysWhichHoldersDrifted) {
  Add("a", {{"rdt", "gold"}});
  Add("b", {{"rdt", "gold"}});
  rdt_.drift = "thread 5 is elsewhere";
  watch_->Look(absl::Minutes(1));
  EXPECT_THAT(watch_->Drifted(10), IsEmpty());
  watch_->Look(absl::Minutes(1));
  EXPECT_THAT(
      watch_->Drifted(10),
      ElementsAre(Pair(KeyOf("rdt", "gold"), ElementsAre("container a: thread 5 is elsewhere",
                                                         "container b: thread 5 is elsewhere"))));
  EXPECT_THAT(
      watch_->Drifted(1),
      ElementsAre(Pair(KeyOf("rdt", "gold"), ElementsAre("container a: thread 5 is elsewhere"))));
}

TEST_F(DriftWatchTest, WithoutTimeItLooksAtOneAndGoesOnWithTheNext) {
  for (const char* id : {"a", "b", "c"}) Add(id, {{"rdt", "gold"}});
  rdt_.drift = "thread 5 is elsewhere";
  for (int look = 1; look <= 6; ++look) {
    const auto counts = watch_->Look(absl::ZeroDuration());
    EXPECT_EQ(rdt_.looks, look);
    const auto count = counts.find(KeyOf("rdt", "gold"));
    // From the second round on each look adds one.
    EXPECT_EQ(count == counts.end() ? 0 : count->second,
              static_cast<uint64_t>(std::max(look - 3, 0)));
  }
}

}  // namespace
}  // namespace plimsoll::qos
