#include "agent/pods/resizing/resize_status.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "resources/pages.h"

namespace plimsoll::agent {
namespace {

using Json = nlohmann::json;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

pod::ContainerManifest Allocated(const std::string& resources) {
  const auto pods = pod::ParseManifests(
      absl::StrCat("{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {containers: [{name: a, "
                   "image: i, resources: ",
                   resources, "}]}}"),
      "p.yaml");
  EXPECT_TRUE(pods.ok()) << pods.status();
  return pods->front().containers.front();
}

Json StatusOf(const std::string& allocated, const std::optional<ReportedResources>& reported,
              const ResourceTraits& traits = {}) {
  ObservedContainer run;
  run.resources = reported;
  Json status;
  AddResources(Allocated(allocated), run, traits, status);
  return status;
}

TEST(ResizeStatusTest, AmountsInForceAreSpelledAsWritten) {
  const Json status =
      StatusOf("{requests: {cpu: 0.10, memory: 1e6}, limits: {cpu: 500m, memory: 64Mi}}",
               ReportedResources{.cpu_shares = 102,
                                 .cpu_quota_us = 50'000,
                                 .cpu_period_us = 100'000,
                                 .memory_limit_bytes = 64 << 20,
                                 .written = std::nullopt});
  EXPECT_EQ(status["resources"]["requests"], (Json{{"cpu", "0.10"}, {"memory", "1e6"}}));
  EXPECT_EQ(status["resources"]["limits"], (Json{{"cpu", "500m"}, {"memory", "64Mi"}}));
  EXPECT_EQ(status["allocatedResources"], (Json{{"cpu", "0.10"}, {"memory", "1e6"}}));
}

TEST(ResizeStatusTest, TheRuntimesAmountsStandBeforeThoseAskedFor) {
  resources::Requirements written;
  written.requests["memory"] = *resources::Quantity::Parse("2M");
  written.limits["memory"] = *resources::Quantity::Parse("64Mi");
  const Json status = StatusOf("{requests: {cpu: 2, memory: 1M}, limits: {cpu: 2, memory: 64Mi}}",
                               ReportedResources{.cpu_shares = 1024,
                                                 .cpu_quota_us = 100'000,
                                                 .cpu_period_us = 100'000,
                                                 .memory_limit_bytes = 32 << 20,
                                                 .written = written});
  EXPECT_EQ(status["resources"]["requests"], (Json{{"cpu", "1"}, {"memory", "2M"}}));
  EXPECT_EQ(status["resources"]["limits"], (Json{{"cpu", "1"}, {"memory", "32Mi"}}));
}

TEST(ResizeStatusTest, WithoutAReportNothingIsClaimed) {
  const Json status = StatusOf("{requests: {cpu: 1}}", std::nullopt);
  EXPECT_FALSE(status.contains("resources"));
  EXPECT_EQ(status["allocatedResources"], (Json{{"cpu", "1"}}));
  EXPECT_EQ(StatusOf("{}", ReportedResources{})["resources"], Json::object());
}

// A runtime such as containerd, which gives back no amounts as written.
TEST(ResizeStatusTest, AmountsThatNobodyTellsAreThoseGiven) {
  const Json status = StatusOf(
      "{requests: {cpu: 10m, memory: 20Mi, ephemeral-storage: 1Gi, example.com/nic: 1}, limits: "
      "{memory: 64Mi, ephemeral-storage: 2Gi, example.com/nic: 1}}",
      ReportedResources{.cpu_shares = 10, .memory_limit_bytes = 64 << 20, .written = std::nullopt});
  EXPECT_EQ(status["resources"]["requests"], (Json{{"cpu", "10m"},
                                                   {"memory", "20Mi"},
                                                   {"ephemeral-storage", "1Gi"},
                                                   {"example.com/nic", "1"}}));
  EXPECT_EQ(status["resources"]["limits"],
            (Json{{"memory", "64Mi"}, {"ephemeral-storage", "2Gi"}, {"example.com/nic", "1"}}));
  // cgroup v2's least weight is read back as the least shares.
  for (const int64_t shares : {0, 2, 25}) {
    const ReportedResources told{.cpu_shares = shares, .written = std::nullopt};
    EXPECT_EQ(StatusOf("{requests: {cpu: 25m}}", told)["resources"]["requests"],
              (Json{{"cpu", "25m"}}))
        << shares;
  }
  // By the linear formula alone it has the same weight.
  const ReportedResources other{.cpu_shares = 10, .written = std::nullopt};
  EXPECT_EQ(StatusOf("{requests: {cpu: 25m}}", other)["resources"]["requests"],
            (Json{{"cpu", "10m"}}));
}

TEST(ResizeStatusTest, TheNearestThatTheKernelHoldsIsTheAmountWritten) {
  const auto limits = [](const std::string& written, int64_t quota, int64_t bytes) {
    return StatusOf(absl::StrCat("{limits: ", written, "}"),
                    ReportedResources{.cpu_shares = 2,
                                      .cpu_quota_us = quota,
                                      .cpu_period_us = 100'000,
                                      .memory_limit_bytes = bytes,
                                      .written = std::nullopt})["resources"]["limits"];
  };
  const int64_t page = resources::PageBytes();
  const int64_t held = resources::WholePages(200'000'000, page);
  EXPECT_LT(held, 200'000'000);
  EXPECT_EQ(limits("{memory: 200M}", 0, held), (Json{{"memory", "200M"}}));
  EXPECT_EQ(limits("{memory: 200M}", 0, 200'000'000), (Json{{"memory", "200M"}}));
  EXPECT_NE(limits("{memory: 200M}", 0, held - page), (Json{{"memory", "200M"}}));
  EXPECT_NE(limits("{memory: 200M}", 0, held + page), (Json{{"memory", "200M"}}));
  EXPECT_EQ(limits("{cpu: 20.5m}", 2100, 0), (Json{{"cpu", "20.5m"}}))
      << "a thousandth is the least that is written";
  EXPECT_EQ(limits("{cpu: 20.5m}", 2200, 0), (Json{{"cpu", "22m"}}));
}

// arm64 may have pages of 64 KiB: 200,000,000 is 3,051.76 of them.
TEST(ResizeStatusTest, TheAmountWrittenIsToldOnLargePagesToo) {
  constexpr int64_t kPage = 64 << 10;
  const auto limits = [](int64_t bytes) {
    const ReportedResources reported{.memory_limit_bytes = bytes, .written = std::nullopt};
    return StatusOf("{limits: {memory: 200M}}", reported,
                    {.page_bytes = kPage})["resources"]["limits"];
  };
  EXPECT_EQ(limits(3051 * kPage), (Json{{"memory", "200M"}}));
  EXPECT_NE(limits(3050 * kPage), (Json{{"memory", "200M"}}));
  EXPECT_NE(limits(3052 * kPage), (Json{{"memory", "200M"}}));
}

// Seen with kubelet 1.36.2: the kernel's least amounts stand for all that are smaller.
TEST(ResizeStatusTest, AmountsBelowTheKernelsLeastAreThoseWritten) {
  const ReportedResources least = {
      .cpu_shares = 2, .cpu_quota_us = 1000, .cpu_period_us = 100'000, .written = std::nullopt};
  const Json small = StatusOf("{requests: {cpu: 1m}, limits: {cpu: 5m}}", least);
  EXPECT_EQ(small["resources"]["requests"], (Json{{"cpu", "1m"}}));
  EXPECT_EQ(small["resources"]["limits"], (Json{{"cpu", "5m"}}));
  const Json larger = StatusOf("{requests: {cpu: 100m}, limits: {cpu: 200m}}", least);
  EXPECT_FALSE(larger["resources"].contains("requests"));
  EXPECT_EQ(larger["resources"]["limits"], (Json{{"cpu", "10m"}}));
  EXPECT_EQ(StatusOf("{}", least)["resources"], (Json{{"limits", {{"cpu", "10m"}}}}));
}

TEST(ResizeStatusTest, ThePodsLimitsAreNotTheContainers) {
  const ReportedResources of_pod = {.cpu_shares = 307,
                                    .cpu_quota_us = 30'000,
                                    .cpu_period_us = 100'000,
                                    .memory_limit_bytes = 64 << 20,
                                    .written = std::nullopt};
  EXPECT_EQ(StatusOf("{}", of_pod, {.pod_has_its_own = true})["resources"], Json::object());
  EXPECT_EQ(StatusOf("{requests: {cpu: 300m}}", of_pod, {.pod_has_its_own = true})["resources"],
            (Json{{"requests", {{"cpu", "300m"}}}}));
}

TEST(ResizeStatusTest, ConditionsTellWhatAResizeWaitsFor) {
  PodRecord record;
  EXPECT_THAT(ResizeConditions(record, "", {}), IsEmpty());
  record.generation = 3;
  record.allocated_generation = 2;
  record.actuated = {{"kind", "Pod"}};
  record.pending = PodVerdict{"Deferred", "no room"};
  const auto both = ResizeConditions(record, "the runtime says no", {});
  ASSERT_THAT(both, SizeIs(2));
  EXPECT_EQ(both[0], (Json{{"type", "PodResizePending"},
                           {"status", "True"},
                           {"observedGeneration", 3},
                           {"reason", "Deferred"},
                           {"message", "no room"}}));
  EXPECT_EQ(both[1], (Json{{"type", "PodResizeInProgress"},
                           {"status", "True"},
                           {"observedGeneration", 2},
                           {"reason", "Error"},
                           {"message", "the runtime says no"}}));
  record.pending.reset();
  EXPECT_FALSE(ResizeConditions(record, "", {}).front().contains("reason"));
}

TEST(ResizeStatusTest, AResizeThatNobodyReportsOnIsUnverified) {
  const auto conditions = ResizeConditions({}, "", {"main"});
  ASSERT_THAT(conditions, SizeIs(1));
  EXPECT_EQ(conditions[0]["type"], "PodResizeInProgress");
  EXPECT_THAT(conditions[0]["message"].get<std::string>(), HasSubstr("unverified"));
  EXPECT_THAT(conditions[0]["message"].get<std::string>(), HasSubstr("container main"));
}

TEST(ResizeStatusTest, AChangeShowsAtOnce) {
  const Json shown = {{"metadata", {{"name", "p"}, {"generation", 1}}},
                      {"spec", {{"old", true}, {"nodeName", "n"}}},
                      {"status",
                       {{"conditions",
                         {{{"type", "Ready"}, {"status", "True"}},
                          {{"type", "PodResizePending"}, {"status", "True"}}}}}}};
  PodRecord record;
  record.object = {{"spec", {{"new", true}}}};
  record.generation = 2;
  record.actuated = {{"kind", "Pod"}};
  const Json next = WithChange(shown, record, "now");
  EXPECT_EQ(next["spec"], (Json{{"new", true}, {"nodeName", "n"}}));
  EXPECT_EQ(next["metadata"]["generation"], 2);
  ASSERT_THAT(next["status"]["conditions"], SizeIs(2));
  EXPECT_EQ(next["status"]["conditions"][1]["type"], "PodResizeInProgress");
  EXPECT_EQ(next["status"]["conditions"][1]["lastTransitionTime"], "now");
}

}  // namespace
}  // namespace plimsoll::agent
