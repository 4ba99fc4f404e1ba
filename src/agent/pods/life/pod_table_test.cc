#include "agent/pods/life/pod_table.h"

#include <gmock/gmock.h>

#include <vector>

#include "agent/pods/life/pod_host_for_test.h"
#include "base/wait_until_for_test.h"

namespace plimsoll::agent {
namespace {

using ::testing::ElementsAre;

class PodTableTest : public PodsTest {
 protected:
  // After what its threads use, and ended before.
  void TearDown() override { table_.reset(); }
  void Start() {
    table_ = std::make_unique<PodTable>(4, [this](const PodKey& key) {
      const absl::MutexLock lock(&mutex_);
      gone_.push_back(key.name);
    });
  }
  PodTable::Worker Add(const std::string& name) {
    const std::string manifest = OnePod(name);
    PodTable::Worker worker = WorkerOf(Record(name, manifest), manifest);
    table_->Add(worker);
    return worker;
  }
  bool AwaitGone(const std::vector<std::string>& names) {
    return WaitUntil([&] {
      const absl::MutexLock lock(&mutex_);
      return gone_ == names;
    });
  }

  absl::Mutex mutex_;
  std::vector<std::string> gone_ ABSL_GUARDED_BY(mutex_);
  std::unique_ptr<PodTable> table_;
};

TEST_F(PodTableTest, APodIsSteppedWhenItComesAndAfterNews) {
  Start();
  const PodTable::Worker worker = Add("web");
  ASSERT_TRUE(WaitUntil([&] { return worker->has_looked(); }));
  EXPECT_EQ(table_->Find({"default", "web"}), worker);
  EXPECT_EQ(table_->Find({"other", "web"}), nullptr);
  EXPECT_THAT(table_->All(), ElementsAre(worker));
  ASSERT_TRUE(worker->Delete(0).ok());
  table_->Wake("of another");
  table_->Wake(worker->uid());
  ASSERT_TRUE(AwaitGone({"web"}));
  EXPECT_EQ(table_->Find({"default", "web"}), nullptr);
}

TEST_F(PodTableTest, NewsDuringAStepIsAnotherStep) {
  Start();
  cri_.script().Hold("CreateContainer");
  const PodTable::Worker worker = Add("web");
  ASSERT_TRUE(cri_.script().AwaitHeld("CreateContainer"));
  ASSERT_TRUE(worker->Delete(0).ok());
  table_->Wake(worker->uid());
  cri_.script().Release("CreateContainer");
  EXPECT_TRUE(AwaitGone({"web"}));
}

TEST_F(PodTableTest, APodThatHangsHoldsUpNoOther) {
  Start();
  cri_.script().Hold("CreateContainer");
  Add("stuck");
  ASSERT_TRUE(cri_.script().AwaitHeld("CreateContainer"));
  const PodTable::Worker other = Add("other");
  EXPECT_TRUE(cri_.script().AwaitHeld("CreateContainer", 2));
  cri_.script().Release("CreateContainer");
  EXPECT_TRUE(WaitUntil([&] { return cri_.Running().size() == 2; }));
}

TEST_F(PodTableTest, ItsEndLeavesNoStepUnderWay) {
  Start();
  cri_.script().Hold("CreateContainer");
  Add("web");
  ASSERT_TRUE(cri_.script().AwaitHeld("CreateContainer"));
  client_->Abandon();
  table_.reset();
  EXPECT_EQ(cri_.script().Count("StartContainer"), 0);
}

}  // namespace
}  // namespace plimsoll::agent
