// Resizes of one running pod, over a fake runtime and without the pod's worker.
#include "agent/pods/life/resize_keeper.h"

#include <gmock/gmock.h>

#include <string>
#include <vector>

#include "agent/pods/life/pod_host_for_test.h"

namespace plimsoll::agent {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::string PodOfCpu(const std::string& limit) {
  return OnePod("web", "", "resources: {limits: {cpu: " + limit + "}}, ");
}

nlohmann::json ObjectOfCpu(const std::string& limit) {
  return {
      {"apiVersion", "v1"},
      {"kind", "Pod"},
      {"metadata", {{"name", "web"}}},
      {"spec",
       {{"containers",
         {{{"name", "main"}, {"image", "i"}, {"resources", {{"limits", {{"cpu", limit}}}}}}}}}}};
}

class ResizeKeeperTest : public PodsTest {
 protected:
  void SetUp() override {
    cri_.TellResources();
    record_ = Record("web", PodOfCpu("100m"));
    record_.object = ObjectOfCpu("100m");
    WorkerOf(record_, PodOfCpu("100m"))->Step();
    ASSERT_THAT(cri_.Running(), ElementsAre("main"));
  }
  // The pod is to have this limit from now on.
  void Want(const std::string& limit) {
    if (record_.actuated.is_null()) record_.actuated = record_.object;
    record_.object = ObjectOfCpu(limit);
    record_.allocated_generation = ++record_.generation;
    pod_ = Parsed(PodOfCpu(limit));
  }
  absl::Duration Keep() {
    ResizeKeeper::Means means{host_, reader_, stopper_, change_};
    const PodRecord begun = record_;
    return keeper_.Keep(means, begun, pod_, observed_);
  }
  int64_t Quota() { return cri_.ResourcesOf("main").cpu_quota(); }
  int Updates() { return cri_.script().Count("UpdateContainerResources"); }

  PodRecord record_;
  pod::Manifest pod_ = Parsed(PodOfCpu("100m"));
  PodReader reader_{*client_, "uid-web", dir_.path(), nullptr};
  PodStopper stopper_{host_, pod_};
  ObservedPod observed_;
  absl::Status kept_ = absl::OkStatus();  // of the next changes of the record
  std::function<absl::Status(absl::FunctionRef<void(PodRecord&)>)> change_ =
      [this](absl::FunctionRef<void(PodRecord&)> change) {
        if (kept_.ok()) change(record_);
        return kept_;
      };
  ResizeKeeper keeper_;
};

TEST_F(ResizeKeeperTest, NothingIsDoneWithoutAChange) {
  EXPECT_EQ(Keep(), absl::InfiniteDuration());
  Want("200m");
  host_.resizes_pods = false;
  EXPECT_EQ(Keep(), absl::InfiniteDuration());
  EXPECT_EQ(Updates(), 0);
  EXPECT_THAT(observed_.containers, IsEmpty()) << "the runtime isn't even asked";
}

TEST_F(ResizeKeeperTest, AChangeComesIntoForceAndOffTheRecord) {
  Want("200m");
  EXPECT_EQ(Keep(), absl::InfiniteDuration());
  EXPECT_EQ(Quota(), 20'000);
  EXPECT_TRUE(record_.actuated.is_null());
  EXPECT_EQ(EventOf("web", "ResizeCompleted"), "Pod resize completed, to generation 2");
  ASSERT_EQ(observed_.containers.size(), 1u);
  EXPECT_EQ(observed_.containers.front().resources->cpu_quota_us, 20'000) << "as after it";
}

TEST_F(ResizeKeeperTest, AFailureIsToldAndRetriedAfterAPause) {
  Want("200m");
  cri_.script().Fail("UpdateContainerResources", grpc::StatusCode::INTERNAL, "cpu.max: EINVAL");
  EXPECT_EQ(Keep(), BackOff::kFirst);
  EXPECT_EQ(keeper_.failure(), "cpu.max: EINVAL");
  EXPECT_THAT(EventOf("web", "ResizeError"), HasSubstr("is tried again: cpu.max: EINVAL"));
  clock_.Advance(absl::Seconds(3));
  EXPECT_EQ(Keep(), BackOff::kFirst - absl::Seconds(3));
  EXPECT_EQ(Updates(), 1) << "not before the pause has passed";
  clock_.Advance(BackOff::kFirst);
  EXPECT_EQ(Keep(), absl::InfiniteDuration());
  EXPECT_EQ(keeper_.failure(), "");
  EXPECT_EQ(Quota(), 20'000);
}

TEST_F(ResizeKeeperTest, AnotherChangeDoesNotWaitForTheFailuresOfTheOneBefore) {
  Want("200m");
  cri_.script().Fail("UpdateContainerResources", grpc::StatusCode::UNIMPLEMENTED, "");
  Keep();
  EXPECT_EQ(keeper_.failure(), "UNIMPLEMENTED") << "an answer without words";
  keeper_.Forget();
  EXPECT_EQ(keeper_.failure(), "");
  Want("300m");
  EXPECT_EQ(Keep(), absl::InfiniteDuration());
  EXPECT_EQ(Quota(), 30'000);
}

TEST_F(ResizeKeeperTest, ARuntimeThatIsAwayIsAskedAgainSoonWithoutAWord) {
  Want("200m");
  cri_.script().Fail("UpdateContainerResources", grpc::StatusCode::UNAVAILABLE, "Socket closed");
  EXPECT_EQ(Keep(), absl::Seconds(1));
  EXPECT_EQ(keeper_.failure(), "");
  EXPECT_EQ(EventOf("web", "ResizeError"), "");
  EXPECT_FALSE(record_.actuated.is_null());
  EXPECT_EQ(Keep(), absl::InfiniteDuration());
}

TEST_F(ResizeKeeperTest, AFullDiskLeavesTheChangeForTheNextTry) {
  Want("200m");
  kept_ = absl::ResourceExhaustedError("the disk is full");
  EXPECT_EQ(Keep(), BackOff::kFirst);
  EXPECT_EQ(keeper_.failure(), "the disk is full");
  EXPECT_EQ(Quota(), 20'000) << "it is in force";
  EXPECT_FALSE(record_.actuated.is_null());
  kept_ = absl::OkStatus();
  clock_.Advance(BackOff::kFirst);
  EXPECT_EQ(Keep(), absl::InfiniteDuration());
  EXPECT_EQ(Updates(), 1) << "nothing is done twice";
  EXPECT_TRUE(record_.actuated.is_null());
}

TEST_F(ResizeKeeperTest, AChangeThatComesMeanwhileIsTheNextOnesWork) {
  Want("200m");
  const auto keep = change_;
  change_ = [&](absl::FunctionRef<void(PodRecord&)> change) {
    Want("300m");
    return keep(change);
  };
  Keep();
  change_ = keep;
  EXPECT_EQ(Quota(), 20'000);
  EXPECT_EQ(record_.actuated, ObjectOfCpu("200m")) << "what is in force now";
  EXPECT_EQ(Keep(), absl::InfiniteDuration());
  EXPECT_EQ(Quota(), 30'000);
  EXPECT_TRUE(record_.actuated.is_null());
}

}  // namespace
}  // namespace plimsoll::agent
