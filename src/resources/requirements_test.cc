#include "resources/requirements.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

namespace plimsoll::resources {
namespace {

using ::testing::HasSubstr;
using Role = ContainerRequirements::Role;

ResourceList List(std::initializer_list<std::pair<const char*, const char*>> items) {
  ResourceList list;
  for (const auto& [name, text] : items) list[name] = *Quantity::Parse(text);
  return list;
}

ContainerRequirements Container(ResourceList requests, ResourceList limits,
                                Role role = Role::kContainer) {
  return {role, WithDefaults({std::move(requests), std::move(limits)})};
}

TEST(Cpu, SharesAsKubeletComputesThem) {
  EXPECT_EQ(MilliCpuToShares(0), 2);
  EXPECT_EQ(MilliCpuToShares(1), 2);
  EXPECT_EQ(MilliCpuToShares(100), 102);
  EXPECT_EQ(MilliCpuToShares(1000), 1024);
  EXPECT_EQ(MilliCpuToShares(256000), 262144);
  EXPECT_EQ(MilliCpuToShares(std::numeric_limits<int64_t>::max()), 262144);
}

TEST(Cpu, QuotaHasAMinimum) {
  EXPECT_EQ(MilliCpuToQuota(0), std::nullopt);
  EXPECT_EQ(MilliCpuToQuota(1), 1000);
  EXPECT_EQ(MilliCpuToQuota(10), 1000);
  EXPECT_EQ(MilliCpuToQuota(11), 1100);
  EXPECT_EQ(MilliCpuToQuota(1500), 150000);
  EXPECT_EQ(MilliCpuToQuota(1500, 10000), 15000);
  EXPECT_EQ(MilliCpuToQuota(std::numeric_limits<int64_t>::max()),
            std::numeric_limits<int64_t>::max());
}

TEST(Cpu, BackAgain) {
  for (int64_t milli = 2; milli <= 256000; milli += 7) {
    const uint64_t shares = MilliCpuToShares(milli);
    EXPECT_EQ(MilliCpuToShares(SharesToMilliCpu(shares)), shares) << milli;
    EXPECT_LE(SharesToMilliCpu(shares), milli) << milli;
    if (milli >= 10) {
      EXPECT_EQ(QuotaToMilliCpu(*MilliCpuToQuota(milli), 100000), milli);
    }
  }
  EXPECT_EQ(SharesToMilliCpu(0), 0);
  EXPECT_EQ(SharesToMilliCpu(2), 2);
  EXPECT_EQ(QuotaToMilliCpu(-1, 100000), 0);
  EXPECT_EQ(QuotaToMilliCpu(50000, 0), 0);
}

TEST(CgroupSettings, FromRequestsAndLimits) {
  const auto settings = ToCgroupSettings({.requests = List({{"cpu", "250m"}, {"memory", "32Mi"}}),
                                          .limits = List({{"cpu", "1.5"},
                                                          {"memory", "64Mi"},
                                                          {"hugepages-2Mi", "4Mi"},
                                                          {"hugepages-1Gi", "1Gi"},
                                                          {"example.com/thing", "3"}})});
  ASSERT_TRUE(settings.ok()) << settings.status();
  EXPECT_EQ(settings->cpu_shares, 256);
  EXPECT_EQ(settings->cpu_quota_us, 150000);
  EXPECT_EQ(settings->cpu_period_us, 100000);
  EXPECT_EQ(settings->memory_limit_bytes, 64 << 20);
  EXPECT_EQ(settings->hugetlb_limits,
            (std::map<std::string, uint64_t>{{"2MB", 4 << 20}, {"1GB", 1 << 30}}));
}

TEST(CgroupSettings, ALimitWithoutRequestGivesTheShares) {
  EXPECT_EQ(ToCgroupSettings({.limits = List({{"cpu", "2"}})})->cpu_shares, 2048);
  EXPECT_EQ(ToCgroupSettings({.requests = List({{"cpu", "0"}}), .limits = List({{"cpu", "2"}})})
                ->cpu_shares,
            2);
}

TEST(CgroupSettings, NothingAskedIsNoLimit) {
  const auto settings = ToCgroupSettings({});
  EXPECT_EQ(settings->cpu_shares, 2);
  EXPECT_FALSE(settings->cpu_quota_us || settings->cpu_period_us || settings->memory_limit_bytes);
  EXPECT_EQ(ToCgroupSettings({.limits = List({{"cpu", "0"}})})->cpu_period_us, std::nullopt);
}

TEST(Hugepages, SizesAsTheKernelSpellsThem) {
  EXPECT_EQ(*HugepageSizeName("hugepages-64Ki"), "64KB");
  EXPECT_EQ(*HugepageSizeName("hugepages-2Mi"), "2MB");
  EXPECT_EQ(*HugepageSizeName("hugepages-2048Ki"), "2MB");
  EXPECT_EQ(*HugepageSizeName("hugepages-1Gi"), "1GB");
  EXPECT_EQ(*HugepageSizeName("hugepages-16Gi"), "16GB");
  for (const char* bad : {"hugepages-", "hugepages-3Mi", "hugepages-2M", "hugepages-x", "memory",
                          "hugepages--2Mi", "hugepages-1"}) {
    EXPECT_FALSE(HugepageSizeName(bad).ok()) << bad;
  }
}

TEST(Validate, NamesResourceAndAmounts) {
  EXPECT_TRUE(Validate({List({{"cpu", "1"}}), List({{"cpu", "1000m"}})}).ok());
  const struct {
    Requirements requirements;
    const char* message;
  } cases[] = {
      {{List({{"cpu", "2"}}), List({{"cpu", "1"}})}, "cpu: the request 2 is above the limit 1"},
      {{List({{"memory", "-1"}}), {}}, "memory: the request -1 is negative"},
      {{{}, List({{"memory", "-1"}})}, "memory: the limit -1 is negative"},
      {{List({{"hugepages-2Mi", "2Mi"}}), {}}, "needs the same limit"},
      {{List({{"hugepages-2Mi", "2Mi"}}), List({{"hugepages-2Mi", "4Mi"}})}, "must equal"},
      {{{}, List({{"hugepages-2Mi", "3Mi"}})}, "no multiple of the page size"},
      {{{}, List({{"hugepages-5Mi", "5Mi"}})}, "power of two"},
  };
  for (const auto& [requirements, message] : cases) {
    EXPECT_THAT(std::string(Validate(requirements).message()), HasSubstr(message));
  }
}

TEST(Qos, Classes) {
  const ResourceList both = List({{"cpu", "1"}, {"memory", "1Gi"}});
  EXPECT_EQ(ComputeQosClass({Container({}, {})}), QosClass::kBestEffort);
  EXPECT_EQ(ComputeQosClass({Container(List({{"cpu", "0"}}), {})}), QosClass::kBestEffort);
  EXPECT_EQ(ComputeQosClass({Container(List({{"example.com/x", "1"}}), {})}),
            QosClass::kBestEffort);
  EXPECT_EQ(ComputeQosClass({Container({}, both)}), QosClass::kGuaranteed);
  EXPECT_EQ(ComputeQosClass({Container(both, both)}), QosClass::kGuaranteed);
  EXPECT_EQ(ComputeQosClass({Container(both, {})}), QosClass::kBurstable);
  EXPECT_EQ(ComputeQosClass({Container({}, List({{"cpu", "1"}}))}), QosClass::kBurstable);
  EXPECT_EQ(ComputeQosClass({Container(List({{"cpu", "500m"}}), both)}), QosClass::kBurstable);
  EXPECT_EQ(ComputeQosClass({Container({}, both), Container({}, {})}), QosClass::kBurstable);
  EXPECT_EQ(ComputeQosClass({Container({}, both), Container({}, {}, Role::kInit)}),
            QosClass::kBurstable);
  EXPECT_STREQ(QosClassName(QosClass::kBestEffort), "BestEffort");
}

TEST(OomScore, ByClass) {
  constexpr int64_t kCapacity = int64_t{4} << 30;
  const auto burstable = [](const char* request) {
    return std::vector{Container(List({{"memory", request}}), {})};
  };
  EXPECT_EQ(OomScoreAdj({Container({}, {})}, 0, kCapacity), 1000);
  EXPECT_EQ(OomScoreAdj({Container({}, List({{"cpu", "1"}, {"memory", "1Gi"}}))}, 0, kCapacity),
            -997);
  EXPECT_EQ(OomScoreAdj(burstable("1Gi"), 0, kCapacity), 750);
  EXPECT_EQ(OomScoreAdj(burstable("4Gi"), 0, kCapacity), 3);
  EXPECT_EQ(OomScoreAdj(burstable("8Gi"), 0, kCapacity), 3);
  EXPECT_EQ(OomScoreAdj(burstable("1Ki"), 0, kCapacity), 999);
  EXPECT_EQ(OomScoreAdj(burstable("7Ei"), 0, kCapacity), 3);
}

TEST(OomScore, ASidecarOutlivesWhatItServes) {
  const std::vector<ContainerRequirements> pod = {
      Container(List({{"memory", "128Mi"}}), {}, Role::kSidecar),
      Container(List({{"memory", "3Gi"}}), {}), Container(List({{"memory", "2Gi"}}), {})};
  EXPECT_EQ(OomScoreAdj(pod, 0, int64_t{4} << 30), 500);
  EXPECT_EQ(OomScoreAdj(pod, 1, int64_t{4} << 30), 250);
}

TEST(Swap, LimitedSwapIsAShareOfTheMachine) {
  constexpr int64_t kGiB = int64_t{1} << 30;
  const Requirements asks{List({{"memory", "1Gi"}}), {}};
  EXPECT_EQ(LimitedSwapBytes(asks, QosClass::kBurstable, 8 * kGiB, 4 * kGiB), kGiB / 2);
  EXPECT_EQ(LimitedSwapBytes(asks, QosClass::kGuaranteed, 8 * kGiB, 4 * kGiB), 0);
  EXPECT_EQ(LimitedSwapBytes(asks, QosClass::kBestEffort, 8 * kGiB, 4 * kGiB), 0);
  EXPECT_EQ(LimitedSwapBytes({}, QosClass::kBurstable, 8 * kGiB, 4 * kGiB), 0);
  EXPECT_EQ(LimitedSwapBytes(WithDefaults({{}, List({{"memory", "1Gi"}})}), QosClass::kBurstable,
                             8 * kGiB, 4 * kGiB),
            0);
  EXPECT_EQ(
      LimitedSwapBytes({List({{"memory", "64Gi"}}), {}}, QosClass::kBurstable, 8 * kGiB, 4 * kGiB),
      0);
  EXPECT_EQ(LimitedSwapBytes(asks, QosClass::kBurstable, 0, 4 * kGiB), 0);
  // A tenth and three tenths have no binary fraction: kubelet's result is below the exact one.
  EXPECT_EQ(LimitedSwapBytes({List({{"memory", "29"}}), {}}, QosClass::kBurstable, 100, 100), 28);
}

TEST(RequirementsTest, MoreThanTheKernelCanHoldIsRefusedInItsOwnWords) {
  const auto limited = [](const char* name, const char* amount) {
    Requirements requirements;
    requirements.limits[name] = *Quantity::Parse(amount);
    return Validate(requirements);
  };
  EXPECT_TRUE(limited("memory", "7Ei").ok());
  EXPECT_TRUE(limited("cpu", "100000").ok());
  EXPECT_TRUE(limited("example.com/thing", "1e30").ok());
  for (const auto& [name, amount] :
       {std::pair("memory", "99999999Ei"), {"memory", "8Ei"}, {"cpu", "1e9"}}) {
    const absl::Status status = limited(name, amount);
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
    EXPECT_NE(status.message().find(amount), absl::string_view::npos) << status;
    EXPECT_NE(
        status.message().find("at most 175921860 CPUs") != absl::string_view::npos,
        status.message().find("at most 9223372036854775806 bytes") != absl::string_view::npos);
  }
}

// KEP-4112: no control file holds them.
TEST(RequirementsTest, AmountsThatOnlyInformMayBeOfAnySize) {
  for (const auto& [name, amount] : {std::pair("memory", "9223372036854775807"),
                                     {"memory", "8Ei"},
                                     {"memory", "1e30"},
                                     {"cpu", "175921861"},
                                     {"cpu", "1e30"}}) {
    Requirements requirements;
    requirements.limits[name] = *Quantity::Parse(amount);
    EXPECT_TRUE(ValidateWritten(requirements).ok()) << ValidateWritten(requirements);
    requirements.requests[name] = *Quantity::Parse(amount);
    EXPECT_TRUE(ValidateWritten(requirements).ok()) << ValidateWritten(requirements);
    EXPECT_TRUE(absl::IsInvalidArgument(Validate(requirements))) << name << " " << amount;
    requirements.limits[name] = *Quantity::Parse("1");
    EXPECT_TRUE(absl::IsInvalidArgument(ValidateWritten(requirements))) << "above its limit";
  }
}

}  // namespace
}  // namespace plimsoll::resources
