#include "runtime/requests/linux_holds.h"

#include "gmock/gmock.h"
#include "runtime/requests/picture_parts.h"

namespace plimsoll::runtime {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

KubernetesResources Wished() {
  return {.requests = {{"cpu", "0.50"}, {"memory", "1024Mi"}},
          .limits = {{"cpu", "2000m"}, {"memory", "2Gi"}, {"vendor.com/gpu", "1"}}};
}

TEST(LinuxHoldsTest, WhatAgreesStaysByteForByte) {
  KubernetesResources told = Wished();
  const linux::CgroupSettings settings = {.cpu_shares = 512,
                                          .cpu_quota_us = 200000,
                                          .cpu_period_us = 100000,
                                          .memory_limit_bytes = int64_t{2} << 30};
  EXPECT_THAT(LetLinuxHold(settings, {}, &told), IsEmpty());
  EXPECT_EQ(told, Wished());
  EXPECT_THAT(LetLinuxHold({}, {}, &told), IsEmpty()) << "a setting that isn't there";
  EXPECT_EQ(told, Wished());
}

TEST(LinuxHoldsTest, LinuxReplacesWhatContradictsIt) {
  KubernetesResources told = Wished();
  const linux::CgroupSettings settings = {.cpu_shares = 1024,
                                          .cpu_quota_us = 150000,
                                          .cpu_period_us = 100000,
                                          .memory_limit_bytes = 512 << 20};
  EXPECT_THAT(LetLinuxHold(settings, {}, &told),
              ElementsAre("limits[cpu]", "limits[memory]", "requests[cpu]", "requests[memory]"));
  EXPECT_EQ(told.requests, (std::map<std::string, std::string>{{"cpu", "1"}, {"memory", "512Mi"}}))
      << "a request stays within its limit";
  EXPECT_EQ(told.limits, (std::map<std::string, std::string>{
                             {"cpu", "1500m"}, {"memory", "512Mi"}, {"vendor.com/gpu", "1"}}));
}

TEST(LinuxHoldsTest, ALimitThatLinuxLacksIsLifted) {
  KubernetesResources told = {.requests = {}, .limits = {{"cpu", "1500m"}, {"memory", "1Gi"}}};
  EXPECT_THAT(LetLinuxHold({.cpu_quota_us = -1, .memory_limit_bytes = -1}, {}, &told),
              ElementsAre("limits[cpu]", "limits[memory]"));
  EXPECT_THAT(told.limits, IsEmpty());
  EXPECT_EQ(told.requests,
            (std::map<std::string, std::string>{{"cpu", "1500m"}, {"memory", "1Gi"}}))
      << "what the limit stood for";
}

TEST(LinuxHoldsTest, NoQuotaOfExclusiveCpusIsNoContradiction) {
  KubernetesResources told = {.requests = {}, .limits = {{"cpu", "2"}, {"memory", "1Gi"}}};
  EXPECT_THAT(LetLinuxHold({.cpu_quota_us = -1}, {}, &told), IsEmpty());
}

TEST(LinuxHoldsTest, HugePagesAreRequestAndLimitAtOnce) {
  linux::CgroupSettings settings;
  settings.hugetlb_limits = {{"2MB", 4 << 20}, {"1GB", 0}};
  KubernetesResources told = {.requests = {}, .limits = {{"hugepages-2Mi", "8Mi"}}};
  EXPECT_THAT(LetLinuxHold(settings, {}, &told),
              ElementsAre("limits[hugepages-2Mi]", "requests[hugepages-2Mi]"));
  EXPECT_EQ(told.limits.at("hugepages-2Mi"), "4Mi");
  EXPECT_TRUE(ParseResources(told).ok());
}

TEST(LinuxHoldsTest, AnUnreadableWordIsLeftAlone) {
  KubernetesResources told = {.requests = {}, .limits = {{"cpu", "two"}}};
  EXPECT_THAT(LetLinuxHold({.cpu_quota_us = 100000}, {}, &told), IsEmpty());
  EXPECT_EQ(told.limits.at("cpu"), "two");
}

// A container without a limit adds nothing to its pod's total.
TEST(LinuxHoldsTest, APodsRequestMayStayAboveItsLimit) {
  resources::Requirements total;
  total.requests.emplace("cpu", *resources::Quantity::Parse("3"));
  total.limits.emplace("cpu", *resources::Quantity::Parse("2"));
  EXPECT_THAT(LetLinuxHold({.cpu_quota_us = 100000, .cpu_period_us = 100000}, {}, &total),
              ElementsAre("limits[cpu]"));
  EXPECT_EQ(total.requests.at("cpu").Canonical(), "3");
  EXPECT_EQ(total.limits.at("cpu").Canonical(), "1");
}

}  // namespace
}  // namespace plimsoll::runtime
