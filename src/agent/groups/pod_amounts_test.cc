#include "agent/groups/pod_amounts.h"

#include <map>
#include <string>
#include <utility>

#include "agent/groups/groups_for_test.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace plimsoll::agent {
namespace {

using resources::ContainerRequirements;
using resources::QosClass;
using resources::Quantity;
using resources::Requirements;
using resources::ResourceList;
using Role = ContainerRequirements::Role;
using Texts = std::map<std::string, std::string>;

ResourceList List(const Texts& texts) {
  ResourceList list;
  for (const auto& [name, text] : texts) list[name] = *Quantity::Parse(text);
  return list;
}
Requirements Needs(const Texts& requests, const Texts& limits) {
  return resources::WithDefaults({List(requests), List(limits)});
}
ContainerRequirements Container(const Texts& requests, const Texts& limits,
                                Role role = Role::kContainer) {
  return {role, Needs(requests, limits)};
}
PodAmounts Of(const PodResources& pod, const CpuQuotaPolicy& policy = {}) {
  const auto amounts = AmountsOf(pod, policy);
  EXPECT_TRUE(amounts.ok()) << amounts.status();
  return amounts.value_or(PodAmounts());
}

TEST(PodAmountsTest, BestEffortHasTheLeastSharesAndNoLimit) {
  const PodAmounts amounts = Of({.containers = {Container({}, {})}, .pod = {}, .overhead = {}});
  EXPECT_EQ(amounts.qos, QosClass::kBestEffort);
  EXPECT_EQ(amounts.settings.cpu_shares, 2u);
  EXPECT_EQ(amounts.settings.cpu_quota_us, -1);
  EXPECT_EQ(amounts.settings.memory_limit_bytes, -1);
  EXPECT_EQ(amounts.cpu_request_milli, 0);
}

TEST(PodAmountsTest, GuaranteedIsTheSumOfItsContainers) {
  const Texts needs = {{"cpu", "250m"}, {"memory", "64Mi"}};
  const PodAmounts amounts = Of({.containers = {Container(needs, needs), Container(needs, needs)},
                                 .pod = {},
                                 .overhead = {}});
  EXPECT_EQ(amounts.qos, QosClass::kGuaranteed);
  EXPECT_EQ(amounts.cpu_request_milli, 500);
  EXPECT_EQ(amounts.settings.cpu_shares, 512u);
  EXPECT_EQ(amounts.settings.cpu_quota_us, 50000);
  EXPECT_EQ(amounts.settings.cpu_period_us, 100000u);
  EXPECT_EQ(amounts.settings.memory_limit_bytes, 128 * kMi);
}

// One container without a limit may use anything, and so may the pod.
TEST(PodAmountsTest, ALimitBoundsThePodOnlyIfAllContainersHaveOne) {
  PodResources pod = {.containers = {Container({}, {{"cpu", "1"}, {"memory", "64Mi"}}),
                                     Container({{"cpu", "100m"}}, {{"memory", "32Mi"}})},
                      .pod = {},
                      .overhead = {}};
  const PodAmounts amounts = Of(pod);
  EXPECT_EQ(amounts.qos, QosClass::kBurstable);
  EXPECT_EQ(amounts.cpu_request_milli, 1100);
  EXPECT_EQ(amounts.settings.cpu_quota_us, -1);
  EXPECT_EQ(amounts.settings.memory_limit_bytes, 96 * kMi);
  pod.containers.push_back(Container({}, {}, Role::kInit));
  EXPECT_EQ(Of(pod).settings.memory_limit_bytes, -1);
}

// Seen with kubelet 1.36.2. The order counts: before the sidecar an init container needs its own.
TEST(PodAmountsTest, ALimitedSidecarIsEnoughForInitContainersAfterIt) {
  const Texts limits = {{"cpu", "100m"}, {"memory", "30Mi"}};
  PodResources pod = {
      .containers = {Container({}, limits, Role::kSidecar), Container({}, {}, Role::kInit),
                     Container({{"cpu", "20m"}}, {{"cpu", "200m"}, {"memory", "40Mi"}})},
      .pod = {},
      .overhead = {}};
  EXPECT_EQ(Of(pod).settings.cpu_quota_us, 30000);
  EXPECT_EQ(Of(pod).settings.memory_limit_bytes, 70 * kMi);
  std::swap(pod.containers[0], pod.containers[1]);
  EXPECT_EQ(Of(pod).settings.cpu_quota_us, -1);
  EXPECT_EQ(Of(pod).settings.memory_limit_bytes, -1);
}

TEST(PodAmountsTest, AnInitContainerMayNeedMoreThanTheRest) {
  const PodAmounts amounts =
      Of({.containers = {Container({}, {{"cpu", "1"}, {"memory", "10Mi"}}, Role::kSidecar),
                         Container({}, {{"cpu", "3"}, {"memory", "90Mi"}}, Role::kInit),
                         Container({}, {{"cpu", "2"}, {"memory", "30Mi"}})},
          .pod = {},
          .overhead = {}});
  EXPECT_EQ(amounts.cpu_request_milli, 4000);
  EXPECT_EQ(amounts.settings.cpu_quota_us, 400000);
  EXPECT_EQ(amounts.settings.memory_limit_bytes, 100 * kMi);
}

TEST(PodAmountsTest, OverheadIsAddedToWhatIsLimited) {
  PodResources pod = {.containers = {Container({{"cpu", "1"}}, {{"memory", "64Mi"}})},
                      .pod = {},
                      .overhead = List({{"cpu", "250m"}, {"memory", "16Mi"}})};
  const PodAmounts amounts = Of(pod);
  EXPECT_EQ(amounts.cpu_request_milli, 1250);
  EXPECT_EQ(amounts.settings.cpu_shares, 1280u);
  EXPECT_EQ(amounts.settings.cpu_quota_us, -1);
  EXPECT_EQ(amounts.settings.memory_limit_bytes, 80 * kMi);
  pod.containers = {Container({}, {})};
  EXPECT_EQ(Of(pod).settings.cpu_shares, 2u);
}

TEST(PodAmountsTest, ThePodsOwnLimitsBoundContainersWithoutOne) {
  const PodAmounts amounts =
      Of({.containers = {Container({{"cpu", "300m"}}, {}), Container({}, {})},
          .pod = {List({{"cpu", "1"}}), List({{"cpu", "2"}, {"memory", "128Mi"}})},
          .overhead = {}});
  EXPECT_EQ(amounts.qos, QosClass::kBurstable);
  EXPECT_EQ(amounts.cpu_request_milli, 1000);
  EXPECT_EQ(amounts.settings.cpu_quota_us, 200000);
  EXPECT_EQ(amounts.settings.memory_limit_bytes, 128 * kMi);
}

TEST(PodAmountsTest, QuotaCanBeTurnedOffAndHasAPeriod) {
  const Texts needs = {{"cpu", "500m"}, {"memory", "64Mi"}};
  const PodResources pod = {.containers = {Container(needs, needs)}, .pod = {}, .overhead = {}};
  EXPECT_EQ(Of(pod, {.enforced = false}).settings.cpu_quota_us, -1);
  const PodAmounts amounts = Of(pod, {.enforced = true, .period_us = 10000});
  EXPECT_EQ(amounts.settings.cpu_quota_us, 5000);
  EXPECT_EQ(amounts.settings.cpu_period_us, 10000u);
}

TEST(PodAmountsTest, HugePagesAreLimitedInEveryClass) {
  const Texts pages = {{"cpu", "1"}, {"hugepages-2Mi", "64Mi"}};
  const PodResources pod = {
      .containers = {Container(pages, pages), Container(pages, pages)}, .pod = {}, .overhead = {}};
  EXPECT_EQ(Of(pod).settings.hugetlb_limits,
            (std::map<std::string, uint64_t>{{"2MB", 128u << 20}}));
  const Texts wrong = {{"hugepages-3Mi", "3Mi"}};
  const auto refused =
      AmountsOf({.containers = {Container(wrong, wrong)}, .pod = {}, .overhead = {}}, {});
  EXPECT_TRUE(absl::IsInvalidArgument(refused.status())) << refused.status();
}

}  // namespace
}  // namespace plimsoll::agent
