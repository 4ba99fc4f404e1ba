#include "resources/contradictions.h"

#include "gmock/gmock.h"

namespace plimsoll::resources {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

ResourceList Amounts(const std::map<std::string, std::string>& amounts) {
  ResourceList list;
  for (const auto& [name, text] : amounts) list[name] = *Quantity::Parse(text);
  return list;
}

Requirements Written(const std::map<std::string, std::string>& requests,
                     const std::map<std::string, std::string>& limits) {
  return {Amounts(requests), Amounts(limits)};
}

TEST(ContradictionsTest, WhatKubeletMakesOfThemAgrees) {
  for (const Requirements& written :
       {Requirements(), Written({{"cpu", "100m"}, {"memory", "1Gi"}}, {}),
        Written({{"cpu", "0.0001"}}, {{"cpu", "0.0001"}}),  // rounded up to a thousandth
        Written({{"cpu", "333m"}}, {{"cpu", "1500m"}, {"memory", "1.5"}}),
        Written({}, {{"cpu", "2"}, {"memory", "64Mi"}, {"hugepages-2Mi", "4Mi"}}),
        Written({{"cpu", "1"}, {"memory", "1G"}, {"example.com/resource", "1"}},
                {{"cpu", "2"}, {"memory", "2G"}, {"example.com/resource", "1"}}),
        Written({{"cpu", "400"}}, {{"cpu", "5m"}}), Written({}, {{"cpu", "0"}})}) {
    EXPECT_THAT(ContradictionsOf(written, {}, *ToCgroupSettings(written)), IsEmpty());
  }
}

TEST(ContradictionsTest, WhatLinuxIsNotToldIsNone) {
  EXPECT_THAT(ContradictionsOf(Written({{"cpu", "1"}}, {{"memory", "1Gi"}}), {}, {}), IsEmpty());
  // kubelet with cpu-cfs-quota off.
  EXPECT_THAT(ContradictionsOf(Written({}, {{"cpu", "1"}}), {}, {.cpu_shares = 1024}), IsEmpty());
}

TEST(ContradictionsTest, EachIsNamedWithBothValues) {
  const Requirements written =
      Written({{"cpu", "500m"}}, {{"cpu", "1"}, {"memory", "2Gi"}, {"hugepages-2Mi", "4Mi"}});
  EXPECT_THAT(
      ContradictionsOf(written, {},
                       {.cpu_shares = 1024,
                        .cpu_quota_us = 150000,
                        .memory_limit_bytes = 1 << 30,
                        .hugetlb_limits = {{"1GB", 1 << 30}, {"2MB", 2 << 20}}}),
      ElementsAre("the request of cpu is 500m, linux has 1024 shares (1000m)",
                  "the limit of cpu is 1, linux has a quota of 150000 in 100000 "
                  "microseconds (1500m)",
                  "the limit of memory is 2Gi, linux has 1 GiB (1073741824 bytes)",
                  "no limit of huge pages of 1GB is written, linux has 1 GiB (1073741824 bytes)",
                  "the limit of hugepages-2Mi is 4Mi, linux has 2 MiB (2097152 bytes)"));
  EXPECT_THAT(ContradictionsOf(written, {}, {.cpu_quota_us = -1, .memory_limit_bytes = -1}),
              ElementsAre("the limit of cpu is 1, linux has no CPU quota",
                          "the limit of memory is 2Gi, linux has no memory limit"));
}

TEST(ContradictionsTest, WhatNobodyWroteIsNamed) {
  EXPECT_THAT(ContradictionsOf(
                  {}, {}, {.cpu_shares = 512, .cpu_quota_us = 50000, .memory_limit_bytes = 4096}),
              ElementsAre("no request of cpu is written, linux has 512 shares (500m)",
                          "no limit of cpu is written, linux has a quota of 50000 in 100000 "
                          "microseconds (500m)",
                          "no limit of memory is written, linux has 4 KiB (4096 bytes)"));
  EXPECT_THAT(ContradictionsOf({}, {},
                               {.cpu_shares = 2,
                                .cpu_quota_us = -1,
                                .memory_limit_bytes = -1,
                                .hugetlb_limits = {{"2MB", 0}}}),
              IsEmpty());
}

TEST(ContradictionsTest, OtherPeriodsAndRoundingsAreTheSame) {
  const Requirements written = Written({}, {{"cpu", "333m"}});
  EXPECT_THAT(ContradictionsOf(written, {}, {.cpu_quota_us = 16650, .cpu_period_us = 50000}),
              IsEmpty());
  EXPECT_THAT(ContradictionsOf(written, {}, {.cpu_quota_us = 3330, .cpu_period_us = 10000}),
              IsEmpty());
  EXPECT_THAT(ContradictionsOf(written, {}, {.cpu_shares = 340}), IsEmpty());
  EXPECT_THAT(ContradictionsOf(written, {}, {.cpu_shares = 341}),
              ElementsAre("the limit of cpu is 333m, linux has 341 shares (334m)"));
  // The kernel takes no quota below a hundredth of a CPU.
  EXPECT_THAT(ContradictionsOf(Written({}, {{"cpu", "5m"}}), {}, {.cpu_quota_us = 1000}),
              IsEmpty());
}

// kubelet's CPU manager, static policy.
TEST(ContradictionsTest, CpusOfItsOwnNeedNoQuota) {
  EXPECT_THAT(ContradictionsOf(Written({{"cpu", "2"}}, {{"cpu", "2000m"}}), {},
                               {.cpu_shares = 2048, .cpu_quota_us = -1}),
              IsEmpty());
  EXPECT_THAT(ContradictionsOf(Written({}, {{"cpu", "2"}}), {}, {.cpu_quota_us = -1}), IsEmpty());
  for (const Requirements& shared :
       {Written({{"cpu", "1"}}, {{"cpu", "2"}}), Written({}, {{"cpu", "1500m"}})}) {
    EXPECT_THAT(ContradictionsOf(shared, {}, {.cpu_quota_us = -1}), ::testing::SizeIs(1));
  }
}

// KEP-2837: a container without a limit has its pod's.
TEST(ContradictionsTest, AContainerWithoutLimitsMayHaveItsPods) {
  const Requirements pod =
      Written({{"cpu", "1"}}, {{"cpu", "2"}, {"memory", "1Gi"}, {"hugepages-2Mi", "2Mi"}});
  const linux::CgroupSettings as_the_pod = {.cpu_shares = 2048,
                                            .cpu_quota_us = 200000,
                                            .memory_limit_bytes = 1 << 30,
                                            .hugetlb_limits = {{"2MB", 2 << 20}}};
  EXPECT_THAT(ContradictionsOf({}, pod, as_the_pod), IsEmpty());
  EXPECT_THAT(ContradictionsOf(Written({}, {{"memory", "1Mi"}}), pod, as_the_pod),
              ElementsAre("the limit of memory is 1Mi, linux has 1 GiB (1073741824 bytes)"));
}

}  // namespace
}  // namespace plimsoll::resources
