#include "agent/pods/admission/capacity_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "agent/pods/life/pod_host_for_test.h"
#include "sqlite/database.h"

namespace plimsoll::agent {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class SurplusTest : public testing::Test {
 protected:
  // Older than those added after it.
  void AddPod(const std::string& resources) {
    auto parsed = pod::ParseManifests(
        absl::StrCat("{apiVersion: v1, kind: Pod, metadata: {name: p", manifests_.size(),
                     "}, spec: {containers: [{name: c, image: i, resources: {", resources, "}}]}}"),
        "p");
    ASSERT_TRUE(parsed.ok()) << parsed.status();
    manifests_.push_back(std::make_unique<pod::Manifest>(parsed->front()));
    pods_.push_back({manifests_.back().get(),
                     absl::UnixEpoch() + absl::Hours(static_cast<int64_t>(pods_.size()))});
  }
  std::vector<size_t> Surplus(const std::string& cpu, const std::string& memory,
                              const std::string& pods = "110") {
    std::vector<size_t> indices;
    surplus_ = SurplusOf(pods_, {{"cpu", *resources::Quantity::Parse(cpu)},
                                 {"memory", *resources::Quantity::Parse(memory)},
                                 {"pods", *resources::Quantity::Parse(pods)}});
    for (const SurplusPod& each : surplus_) indices.push_back(each.index);
    return indices;
  }

  std::vector<std::unique_ptr<pod::Manifest>> manifests_;
  std::vector<ActivePod> pods_;
  std::vector<SurplusPod> surplus_;
};

TEST_F(SurplusTest, PodsThatFitStay) {
  AddPod("requests: {cpu: 1}");
  AddPod("");
  EXPECT_THAT(Surplus("1", "1Gi"), IsEmpty());
}

TEST_F(SurplusTest, TheLowestClassGoesFirstAndOfOneTheNewest) {
  AddPod("limits: {cpu: 1, memory: 1Mi}");  // guaranteed
  AddPod("requests: {cpu: 1}");             // burstable
  AddPod("requests: {cpu: 500m}");
  AddPod("limits: {cpu: 500m, memory: 1Mi}");
  EXPECT_THAT(Surplus("3", "1Gi"), IsEmpty());
  EXPECT_THAT(Surplus("2500m", "1Gi"), ElementsAre(2));
  EXPECT_THAT(Surplus("2", "1Gi"), ElementsAre(2, 1));
  EXPECT_THAT(Surplus("1", "1Gi"), ElementsAre(2, 1, 3));
  EXPECT_THAT(Surplus("0", "1Gi"), ElementsAre(2, 1, 3, 0));
}

TEST_F(SurplusTest, APodThatHasNothingToGiveStays) {
  AddPod("requests: {memory: 1Gi}");
  AddPod("requests: {cpu: 2}");
  AddPod("");
  EXPECT_THAT(Surplus("1", "2Gi"), ElementsAre(1));
  EXPECT_EQ(surplus_[0].verdict.reason, "Evicted");
  EXPECT_THAT(surplus_[0].verdict.message,
              HasSubstr("The node was low on resource: cpu. Pods request 2, allocatable is 1."));
}

TEST_F(SurplusTest, TheNumberOfPodsCounts) {
  for (int i = 0; i < 3; ++i) AddPod("");
  EXPECT_THAT(Surplus("1", "1Gi", "1"), ElementsAre(2, 1));
}

TEST_F(SurplusTest, DevicesAreNoMatterOfATopology) {
  AddPod("limits: {vendor.com/gpu: 1}");
  EXPECT_THAT(Surplus("1", "1Gi"), IsEmpty());
}

class CapacityLookTest : public PodsTest {
 protected:
  // Newer than those before it. It requests a CPU.
  PodTable::Worker Living(const std::string& name) {
    clock_.Advance(absl::Seconds(1));
    const std::string manifest = OnePod(name, "", "resources: {requests: {cpu: 1}}, ");
    PodTable::Worker worker = WorkerOf(Record(name, manifest), manifest);
    worker->Step();
    return worker;
  }
  void Execute(const std::string& sql) {
    const auto database =
        sqlite::Database::Open(dir_.root().PathOf(PodStore::kFileName), sqlite::Durability::kFull);
    ASSERT_TRUE(database.ok()) << database.status();
    ASSERT_TRUE((*database)->Execute(sql).ok());
  }
};

TEST_F(CapacityLookTest, AnEvictionThatFailsHoldsUpNoOtherAndIsTriedAgain) {
  const std::vector<PodTable::Worker> pods = {Living("a"), Living("b"), Living("c"), Living("d")};
  Execute(
      "CREATE TRIGGER refuse BEFORE UPDATE ON pods WHEN NEW.uid = 'uid-c'"
      " BEGIN SELECT RAISE(ABORT, 'no room for it'); END");
  const resources::ResourceList allocatable = {{"cpu", *resources::Quantity::Parse("1")},
                                               {"pods", *resources::Quantity::Parse("110")}};
  CapacityCheck check(events_, /*evicts=*/true);
  const CapacityCheck::Outcome first = check.Look(pods, allocatable);
  EXPECT_THAT(first.evicted, ElementsAre("uid-d", "uid-b"));
  EXPECT_THAT(std::string(first.status.message()), HasSubstr("pod default/c: "));
  EXPECT_TRUE(pods[1]->record().verdict.has_value());
  EXPECT_FALSE(pods[2]->record().verdict.has_value());

  Execute("DROP TRIGGER refuse");
  const CapacityCheck::Outcome second = check.Look(pods, allocatable);
  EXPECT_TRUE(second.status.ok()) << second.status;
  EXPECT_THAT(second.evicted, ElementsAre("uid-c"));
  EXPECT_THAT(check.Look(pods, allocatable).evicted, IsEmpty());
}

}  // namespace
}  // namespace plimsoll::agent
