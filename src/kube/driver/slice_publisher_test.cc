#include "kube/driver/slice_publisher.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <optional>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/match.h"
#include "base/wait_until_for_test.h"
#include "kube/apiserver/fake_api_client_for_test.h"
#include "kube/driver/node_for_test.h"

namespace plimsoll::kube {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using Json = nlohmann::json;

constexpr char kSlice[] = "/apis/resource.k8s.io/v1/resourceslices/n1-classes-0";

// A server without some features, and what it was asked.
class OldServer final : public FakeApiClient {
 public:
  absl::StatusOr<Json> Call(const ApiRequest& request, absl::Duration patience) override {
    ApiRequest changed = request;
    if (changed.body.is_object() && changed.body.contains("spec")) {
      for (Json& device : changed.body["spec"]["devices"]) {
        if (refuses_taints_ && device.contains("taints")) {
          return absl::InvalidArgumentError("spec.devices[3].taints: Forbidden");
        }
        for (const std::string& key : drops_) device.erase(key);
      }
    }
    return FakeApiClient::Call(changed, patience);
  }
  void Drop(std::vector<std::string> keys) { drops_ = std::move(keys); }
  void RefuseTaints() { refuses_taints_ = true; }

 private:
  std::vector<std::string> drops_;
  bool refuses_taints_ = false;
};

class SlicePublisherTest : public testing::Test {
 protected:
  SlicePublisherTest() { api_.Put("/api/v1/nodes/n1", {{"metadata", {{"uid", "node-uid"}}}}); }
  ~SlicePublisherTest() override { End(); }

  void Start() {
    SlicePublisherOptions options;
    options.node = "n1";
    options.on_state = [this](const absl::Status& status) {
      const absl::MutexLock lock(&mutex_);
      states_.push_back(status);
    };
    options.warn = [this](const std::string& text) {
      const absl::MutexLock lock(&mutex_);
      warnings_.push_back(text);
    };
    options.rest = absl::ZeroDuration();
    options.retry = {
        .first = absl::Milliseconds(1), .longest = absl::Milliseconds(4), .jitter = {}};
    publisher_.emplace(api_, std::move(options));
  }
  void End() {
    api_.Stop();
    publisher_.reset();
  }
  void Publish(const NodeReport& report = ReportForTest()) {
    publisher_->SetDevices(PoolDevicesOf(report));
  }
  Json Slice() const { return api_.Get(kSlice); }
  std::vector<Json> AllSlices() const { return api_.All(kSlicesPath); }
  int64_t Generation() const { return GenerationOf(Slice()); }
  std::string LastFailure() {
    const absl::MutexLock lock(&mutex_);
    for (auto each = states_.rbegin(); each != states_.rend(); ++each) {
      if (!each->ok()) return std::string(each->message());
    }
    return "";
  }
  std::vector<std::string> Warnings() {
    const absl::MutexLock lock(&mutex_);
    return warnings_;
  }
  // Until everything that can happen by itself has happened: no write is made any more.
  void Settle() {
    api_.Bookmark();
    ASSERT_TRUE(WaitUntil([&] { return api_.watches() == 1; }));
    publisher_->SetDevices({});
    ASSERT_TRUE(WaitUntil([&] { return AllSlices().empty(); }));
    // The publisher counts a write once it has the answer.
    ASSERT_TRUE(WaitUntil([&] { return publisher_->writes() == WritesOfTheServer(); }));
  }
  uint64_t WritesOfTheServer() const {
    uint64_t writes = 0;
    for (const ApiRequest& each : api_.requests()) {
      writes += each.method != "GET" && each.method != "WATCH" ? 1 : 0;
    }
    return writes;
  }

  OldServer api_;
  absl::Mutex mutex_;
  std::vector<absl::Status> states_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::string> warnings_ ABSL_GUARDED_BY(mutex_);
  std::optional<SlicePublisher> publisher_;
};

TEST_F(SlicePublisherTest, ClassesBecomeASliceThatTheNodeOwns) {
  Start();
  Publish();
  ASSERT_TRUE(WaitUntil([&] { return !Slice().is_null(); }));
  const Json slice = Slice();
  EXPECT_EQ(slice["spec"]["pool"],
            Json::parse(R"({"name": "n1", "generation": 1, "resourceSliceCount": 1})"));
  EXPECT_EQ(slice["metadata"]["ownerReferences"][0]["uid"], "node-uid");
  EXPECT_EQ(slice["spec"]["devices"].size(), 4u);
}

TEST_F(SlicePublisherTest, AChangeRaisesTheGenerationAndNothingElseDoes) {
  Start();
  Publish();
  ASSERT_TRUE(WaitUntil([&] { return Generation() == 1; }));
  NodeReport report = ReportForTest();
  report.types[0].classes[0].holders = 2;
  Publish(report);
  report.types[0].classes[0].capacity = 7;
  Publish(report);
  ASSERT_TRUE(WaitUntil([&] { return Generation() == 2; }));
  EXPECT_EQ(Slice()["spec"]["devices"][3]["capacity"]["holders"]["value"], "7");
  Settle();
  EXPECT_EQ(publisher_->writes(), 3u) << "one each for the two states, and a deletion";
}

TEST_F(SlicePublisherTest, ARestartWritesNothing) {
  Start();
  Publish();
  ASSERT_TRUE(WaitUntil([&] { return Generation() == 1; }));
  End();
  const Json before = Slice();
  OldServer second;
  second.Put("/api/v1/nodes/n1", {{"metadata", {{"uid", "node-uid"}}}});
  second.Put(kSlice, before);
  SlicePublisherOptions options;
  options.node = "n1";
  std::atomic<int> runs = 0;
  options.on_state = [&](const absl::Status& status) { runs += status.ok() ? 1 : 0; };
  options.warn = [](const std::string&) {};
  options.rest = absl::ZeroDuration();
  SlicePublisher publisher(second, options);
  const absl::Cleanup stop = [&] { second.Stop(); };
  publisher.SetDevices(PoolDevicesOf(ReportForTest()));
  ASSERT_TRUE(WaitUntil([&] { return second.watches() == 1 && runs >= 1; }));
  // Another's label, for one run more.
  const int before_label = runs;
  Json labelled = before;
  labelled["metadata"]["labels"]["theirs"] = "stays";
  second.Put(kSlice, labelled);
  ASSERT_TRUE(WaitUntil([&] { return runs > before_label; }));
  for (const std::string& line : second.TakeLines()) {
    EXPECT_FALSE(absl::StartsWith(line, "P")) << line;
  }
  EXPECT_EQ(publisher.writes(), 0u);
}

TEST_F(SlicePublisherTest, WhatOthersDoIsPutRight) {
  Start();
  Publish();
  ASSERT_TRUE(WaitUntil([&] { return Generation() == 1; }));
  Json spoiled = Slice();
  spoiled["spec"]["devices"].erase(0);
  spoiled["metadata"]["labels"]["theirs"] = "stays";
  api_.Put(kSlice, spoiled);
  ASSERT_TRUE(WaitUntil([&] { return Generation() == 2; }));
  EXPECT_EQ(Slice()["spec"]["devices"].size(), 4u);
  EXPECT_EQ(Slice()["metadata"]["labels"]["theirs"], "stays");
  api_.Remove(kSlice);
  ASSERT_TRUE(WaitUntil([&] { return !Slice().is_null(); }));
  Json foreign = Slice();
  foreign["metadata"].erase("name");
  api_.Put("/apis/resource.k8s.io/v1/resourceslices/other", foreign);
  ASSERT_TRUE(WaitUntil([&] { return AllSlices().size() == 1; })) << "no pool has a stray slice";
}

TEST_F(SlicePublisherTest, ADeletionThatTheWatchMissedIsPutRight) {
  Start();
  Publish();
  ASSERT_TRUE(WaitUntil([&] { return Generation() == 1; }));
  api_.Fail("WATCH", "resourceslices", absl::UnavailableError("cut"), FakeApiClient::kAlways);
  api_.EndWatches();
  ASSERT_TRUE(WaitUntil([&] { return api_.watches() == 0; }));
  api_.Remove(kSlice);
  api_.Compact();
  api_.Heal();
  EXPECT_TRUE(WaitUntil([&] { return !Slice().is_null(); }));
}

TEST_F(SlicePublisherTest, AnOutagesEndIsToldThoughNothingHasChanged) {
  Start();
  Publish();
  ASSERT_TRUE(WaitUntil([&] { return Generation() == 1; }));
  api_.Fail("WATCH", "resourceslices", absl::UnavailableError("cut"), FakeApiClient::kAlways);
  api_.EndWatches();
  ASSERT_TRUE(WaitUntil([&] { return absl::StrContains(LastFailure(), "cut"); }));
  api_.Heal();
  ASSERT_TRUE(WaitUntil([&] { return api_.watches() == 1; }));
  api_.Bookmark();  // which a server sends each minute
  EXPECT_TRUE(WaitUntil([&] {
    const absl::MutexLock lock(&mutex_);
    return states_.back().ok();
  }));
}

TEST_F(SlicePublisherTest, NoClassIsNoSlice) {
  Start();
  Publish();
  ASSERT_TRUE(WaitUntil([&] { return Generation() == 1; }));
  NodeReport report = ReportForTest();
  for (NodeClassType& each : report.types) each.unavailable = "gone";
  Publish(report);
  EXPECT_TRUE(WaitUntil([&] { return AllSlices().empty(); }));
}

TEST_F(SlicePublisherTest, BeforeTheFirstReportOldSlicesStay) {
  api_.Put(kSlice, {{"spec", {{"driver", "classes.plimsoll.dev"}, {"nodeName", "n1"}}}});
  Start();
  ASSERT_TRUE(WaitUntil([&] { return api_.watches() == 1; }));
  EXPECT_FALSE(Slice().is_null());
  Publish();
  EXPECT_TRUE(WaitUntil([&] { return Generation() == 1; }));
}

TEST_F(SlicePublisherTest, TheGenerationGoesOnFromTheHighestThatThereIs) {
  Json old = {{"spec", {{"driver", "classes.plimsoll.dev"}, {"nodeName", "n1"}}}};
  SetGeneration(old, 41);
  api_.Put("/apis/resource.k8s.io/v1/resourceslices/n1-classes-7", old);
  Start();
  Publish();
  ASSERT_TRUE(WaitUntil([&] { return Generation() == 42 && AllSlices().size() == 1; }));
}

TEST_F(SlicePublisherTest, ANodeMadeAnewGetsItsSlicesAnew) {
  Start();
  Publish();
  ASSERT_TRUE(WaitUntil([&] { return Generation() == 1; }));
  api_.Put("/api/v1/nodes/n1", {{"metadata", {{"uid", "second-uid"}}}});
  api_.Remove(kSlice);  // as the garbage collector does
  ASSERT_TRUE(WaitUntil([&] { return !Slice().is_null(); }));
  EXPECT_EQ(Slice()["metadata"]["ownerReferences"][0]["uid"], "second-uid");
}

TEST_F(SlicePublisherTest, WithoutItsNodeNothingIsPublishedYet) {
  api_.Remove("/api/v1/nodes/n1");
  Start();
  Publish();
  ASSERT_TRUE(WaitUntil(
      [&] { return absl::StrContains(LastFailure(), "there is no Node \"n1\": either kubelet"); }));
  api_.Put("/api/v1/nodes/n1", {{"metadata", {{"uid", "node-uid"}}}});
  EXPECT_TRUE(WaitUntil([&] { return Generation() == 1; }));
}

TEST_F(SlicePublisherTest, FailuresAndConflictsAreTriedAgain) {
  api_.Fail("POST", "resourceslices", absl::UnavailableError("etcd is away"), 3);
  Start();
  Publish();
  ASSERT_TRUE(WaitUntil([&] { return Generation() == 1; }));
  EXPECT_THAT(LastFailure(), HasSubstr("etcd is away"));
  api_.Fail("PUT", "resourceslices", absl::AbortedError("changed"), 2);
  NodeReport report = ReportForTest();
  report.types[0].classes[0].capacity = 9;
  Publish(report);
  EXPECT_TRUE(WaitUntil([&] { return Generation() == 2; }));
}

TEST_F(SlicePublisherTest, AServerThatDropsMembersIsToldOnceAndNotWrittenToForEver) {
  api_.Drop({"allowMultipleAllocations", "taints", "capacity"});
  Start();
  NodeReport report = ReportForTest();
  report.types[0].classes[0].drift = {"thread 7 is elsewhere"};
  Publish(report);
  ASSERT_TRUE(WaitUntil([&] { return Generation() == 1; }));
  Settle();
  EXPECT_EQ(publisher_->writes(), 2u);
  EXPECT_THAT(Warnings(),
              ElementsAre(HasSubstr("DRAConsumableCapacity"), HasSubstr("DRADeviceTaints")));
}

TEST_F(SlicePublisherTest, AServerThatRefusesTaintsGetsNone) {
  api_.RefuseTaints();
  Start();
  NodeReport report = ReportForTest();
  report.types[0].classes[0].drift = {"thread 7 is elsewhere"};
  Publish(report);
  ASSERT_TRUE(WaitUntil([&] { return Generation() == 1; }));
  EXPECT_FALSE(Slice()["spec"]["devices"][3].contains("taints"));
  report.types[0].classes[0].drift = {"thread 8 is elsewhere"};
  Publish(report);
  Settle();
  EXPECT_THAT(Warnings(), ElementsAre(HasSubstr("refuses device taints")));
}

TEST_F(SlicePublisherTest, DriftIsATaintUntilItHasPassed) {
  Start();
  NodeReport report = ReportForTest();
  report.types[0].classes[0].drift = {"thread 7 is elsewhere"};
  Publish(report);
  ASSERT_TRUE(WaitUntil([&] { return Generation() == 1; }));
  EXPECT_EQ(Slice()["spec"]["devices"][3]["taints"][0]["effect"], "NoSchedule");
  Publish();
  ASSERT_TRUE(WaitUntil([&] { return Generation() == 2; }));
  EXPECT_FALSE(Slice()["spec"]["devices"][3].contains("taints"));
  EXPECT_THAT(Warnings(), IsEmpty());
}

TEST(RemoveSlicesTest, TakesOnlyTheNodesOwn) {
  FakeApiClient api;
  const auto put = [&](const std::string& name, const std::string& node,
                       const std::string& driver) {
    api.Put("/apis/resource.k8s.io/v1/resourceslices/" + name,
            {{"spec", {{"driver", driver}, {"nodeName", node}}}});
  };
  put("a", "n1", "classes.plimsoll.dev");
  put("b", "n1", "classes.plimsoll.dev");
  put("c", "n2", "classes.plimsoll.dev");
  put("d", "n1", "gpu.example.com");
  EXPECT_EQ(RemoveSlices(api, "n1").value(), 2);
  EXPECT_EQ(RemoveSlices(api, "n1").value(), 0);
  EXPECT_EQ(api.All(kSlicesPath).size(), 2u);
  api.Fail("GET", "resourceslices", absl::UnavailableError("away"));
  EXPECT_FALSE(RemoveSlices(api, "n1").ok());
}

}  // namespace
}  // namespace plimsoll::kube
