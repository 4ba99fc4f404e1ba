#include "agent/cpu_manager/static_cpu_policy.h"

#include "agent/cpu_manager/machine_for_test.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace plimsoll::agent {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

CpuReservation Milli(int64_t milli) {
  return {.cpus = std::nullopt, .milli = milli};
}
CpuReservation List(absl::string_view cpus) {
  return {.cpus = Cpus(cpus)};
}

class StaticCpuPolicyTest : public ::testing::Test {
 protected:
  static StaticCpuPolicy Policy(const MachineShape& shape, const CpuReservation& reservation,
                                const CpuOptions& options = {}) {
    auto policy = StaticCpuPolicy::Make(MakeMachine(shape), reservation, options,
                                        TopologyPolicy::kBestEffort);
    EXPECT_TRUE(policy.ok()) << policy.status();
    return *std::move(policy);
  }
  static std::string Reserved(const MachineShape& shape, const CpuReservation& reservation,
                              const CpuOptions& options = {}) {
    return Policy(shape, reservation, options).reserved().ToString();
  }
  static std::string WhyNoPolicy(const MachineShape& shape, const CpuReservation& reservation,
                                 const CpuOptions& options = {},
                                 TopologyPolicy topology = TopologyPolicy::kNone) {
    const auto policy = StaticCpuPolicy::Make(MakeMachine(shape), reservation, options, topology);
    EXPECT_TRUE(absl::IsFailedPrecondition(policy.status())) << policy.status();
    return std::string(policy.status().message());
  }
  static std::string Text(const absl::StatusOr<resources::CpuSet>& cpus) {
    return cpus.ok() ? cpus->ToString() : std::string(cpus.status().message());
  }

  // Cores 0,4 to 3,7.
  const MachineShape laptop_{.cores_per_cache = 4, .threads = 2};
  // 0-3 with 8-11, 4-7 with 12-15.
  const MachineShape two_packages_{.packages = 2, .cores_per_cache = 4, .threads = 2};
  // Like two_packages_, with nodes 0-1,8-9 and 2-3,10-11 and so on.
  const MachineShape sub_numa_{
      .packages = 2, .nodes_per_package = 2, .cores_per_cache = 2, .threads = 2};
};

// "Reserved CPUs are taken in ascending order of physical core ids".
TEST_F(StaticCpuPolicyTest, ReservesFromTheLowestCoreOn) {
  EXPECT_EQ(Reserved(laptop_, Milli(1000)), "0");
  EXPECT_EQ(Reserved(laptop_, Milli(1001)), "0,4");
  EXPECT_EQ(Reserved(laptop_, Milli(1)), "0");
  EXPECT_EQ(Reserved(laptop_, Milli(3000)), "0-1,4");
  EXPECT_EQ(Reserved(laptop_, Milli(8000)), "0-7");
}

TEST_F(StaticCpuPolicyTest, ReservesAsTheOptionsSay) {
  EXPECT_EQ(Reserved(laptop_, Milli(2000), {.distribute_cpus_across_cores = true}), "0-1");
  EXPECT_EQ(Reserved(two_packages_, Milli(10000), {.distribute_cpus_across_numa = true}),
            "0-2,4-6,8-9,12-13");
}

TEST_F(StaticCpuPolicyTest, ReservesTheListIfThereIsOne) {
  EXPECT_EQ(Reserved(laptop_, {.cpus = Cpus("3,6"), .milli = 5000}), "3,6");
  EXPECT_EQ(Reserved(laptop_, {.cpus = resources::CpuSet(), .milli = 1000}), "0");
}

TEST_F(StaticCpuPolicyTest, SaysWhichCpusAreForWhom) {
  const StaticCpuPolicy policy = Policy(laptop_, List("0,4"));
  EXPECT_EQ(policy.all().ToString(), "0-7");
  EXPECT_EQ(policy.exclusive().ToString(), "1-3,5-7");
  EXPECT_EQ(policy.SharedBeside({}).ToString(), "0-7");
  EXPECT_EQ(policy.SharedBeside(Cpus("1,5")).ToString(), "0,2-4,6-7");
  const StaticCpuPolicy strict = Policy(laptop_, List("0,4"), {.strict_cpu_reservation = true});
  EXPECT_EQ(strict.SharedBeside({}).ToString(), "1-3,5-7");
  EXPECT_EQ(strict.SharedBeside(Cpus("1,5")).ToString(), "2-3,6-7");
  EXPECT_EQ(strict.SharedBeside(Cpus("1-3,5-7")).ToString(), "0,4") << "never all CPUs, nor none";
}

TEST_F(StaticCpuPolicyTest, NeedsAReservationThatTheMachineHas) {
  EXPECT_THAT(WhyNoPolicy(laptop_, {}), HasSubstr("no CPU is reserved"));
  EXPECT_THAT(WhyNoPolicy(laptop_, Milli(-5)), HasSubstr("no CPU is reserved"));
  EXPECT_EQ(WhyNoPolicy(laptop_, Milli(8001)), "can't reserve 9 CPUs: the machine has 8");
  EXPECT_EQ(WhyNoPolicy(laptop_, List("6-9")),
            "reserved CPUs 6-9: the machine has no CPU 8-9; it has 0-7");
  EXPECT_THAT(WhyNoPolicy(laptop_, List("0-7"), {.strict_cpu_reservation = true}),
              HasSubstr("\"strict-cpu-reservation\" leaves no CPU for pods"));
  EXPECT_EQ(Reserved(laptop_, List("0-7")), "0-7") << "without it pods share them";
}

// Under plimsolld's nodeResources.cpus.reserved the topology has only the pods' CPUs.
TEST_F(StaticCpuPolicyTest, NeedsNoReservationWhereTheSystemHasOtherCpus) {
  const StaticCpuPolicy policy = Policy(laptop_, {.milli = 0, .has_others = true});
  EXPECT_EQ(policy.reserved().ToString(), "");
  EXPECT_EQ(policy.exclusive().ToString(), "0-7");
  EXPECT_EQ(Text(policy.Allocate(7, std::nullopt, Cpus("0-7"), {})), "0-6");
  // Containers that share would run on those of others, or nowhere.
  EXPECT_THAT(Text(policy.Allocate(8, std::nullopt, Cpus("0-7"), {})),
              HasSubstr("requested=8, available=7: the last one stays for containers without"));
  EXPECT_THAT(Text(policy.Allocate(1, std::nullopt, Cpus("3"), {})), HasSubstr("available=0"));
  EXPECT_EQ(Text(policy.Allocate(2, std::nullopt, Cpus("3"), Cpus("0,4"))), "0,4");
  EXPECT_EQ(Reserved(laptop_, {.milli = 1000, .has_others = true}), "0") << "as it is asked for";
}

TEST_F(StaticCpuPolicyTest, NeedsTheNumbersOfAllCpus) {
  auto maps = std::make_shared<topology::MachineMaps>(*MakeMachine(laptop_));
  maps->zone_without_cpu_ids = "core-9";
  const auto policy = StaticCpuPolicy::Make(maps, Milli(1000), {}, TopologyPolicy::kNone);
  EXPECT_TRUE(absl::IsFailedPrecondition(policy.status()));
  EXPECT_THAT(policy.status().message(), HasSubstr("\"core-9\""));
}

TEST_F(StaticCpuPolicyTest, AlignBySocketNeedsANodePerSocketAndAnotherTopologyPolicy) {
  const CpuOptions options{.align_by_socket = true};
  EXPECT_THAT(
      WhyNoPolicy(two_packages_, Milli(1000), options, TopologyPolicy::kSingleNumaNode),
      HasSubstr("\"align-by-socket\" and topology manager policy \"single-numa-node\" exclude"));
  EXPECT_THAT(WhyNoPolicy({.packages = 4, .packages_per_node = 2}, Milli(1000), options),
              HasSubstr("the machine has 4 sockets and 2 NUMA nodes with CPUs"));
  EXPECT_EQ(Reserved(two_packages_, Milli(1000), options), "0");
  EXPECT_EQ(Reserved(sub_numa_, Milli(1000), options), "0");
}

TEST_F(StaticCpuPolicyTest, AllocatesFreeCpusButReservedOnes) {
  const StaticCpuPolicy policy = Policy(laptop_, Milli(1000));
  EXPECT_EQ(Text(policy.Allocate(2, std::nullopt, Cpus("0-7"), {})), "1,5");
  EXPECT_EQ(Text(policy.Allocate(1, std::nullopt, Cpus("0-7"), {})), "4");
  EXPECT_EQ(Text(policy.Allocate(7, std::nullopt, Cpus("0-7"), {})), "1-7");
  EXPECT_EQ(Text(policy.Allocate(8, std::nullopt, Cpus("0-7"), {})),
            "not enough cpus available to satisfy request: requested=8, available=7");
}

TEST_F(StaticCpuPolicyTest, ReusableCpusAreAsGoodAsFreeOnes) {
  const StaticCpuPolicy policy = Policy(laptop_, Milli(1000));
  EXPECT_EQ(Text(policy.Allocate(4, std::nullopt, Cpus("0,3,7"), Cpus("1,5"))), "1,3,5,7");
  EXPECT_EQ(Text(policy.Allocate(2, std::nullopt, Cpus("0,3"), Cpus("1,5"))), "1,5");
}

TEST_F(StaticCpuPolicyTest, AllocatesOfTheHintsNodesFirst) {
  const StaticCpuPolicy policy = Policy(two_packages_, Milli(1000));
  EXPECT_EQ(Text(policy.Allocate(2, NodeMask::Of(1), Cpus("0-15"), {})), "4,12");
  EXPECT_EQ(Text(policy.Allocate(10, NodeMask::Of(1), Cpus("0-15"), {})), "1,4-7,9,12-15");
  EXPECT_EQ(Text(policy.Allocate(4, NodeMask::Of(1), Cpus("1-3,7,9-11,15"), {})), "1,7,9,15");
  EXPECT_EQ(Text(policy.Allocate(2, NodeMask::Of(9), Cpus("0-15"), {})), "1,9");
  EXPECT_EQ(Text(policy.Allocate(9, NodeMask::Of(1), Cpus("1-5"), {})),
            "not enough cpus available to satisfy request: requested=7, available=3");
}

TEST_F(StaticCpuPolicyTest, AlignBySocketTakesOfTheWholeSocketFirst) {
  const std::string free = "0-4,8-12";  // package 0, and one core of package 1
  EXPECT_EQ(Text(Policy(sub_numa_, List("15")).Allocate(6, NodeMask::Of(0), Cpus(free), {})),
            "0-1,4,8-9,12");
  EXPECT_EQ(Text(Policy(sub_numa_, List("15"), {.align_by_socket = true})
                     .Allocate(6, NodeMask::Of(0), Cpus(free), {})),
            "0-2,8-10");
}

TEST_F(StaticCpuPolicyTest, FullPcpusOnlyGivesWholeCoresOrNone) {
  const StaticCpuPolicy policy = Policy(laptop_, List("0"), {.full_pcpus_only = true});
  EXPECT_EQ(Text(policy.Allocate(6, std::nullopt, Cpus("0-7"), {})), "1-3,5-7");
  const auto odd = policy.Allocate(3, std::nullopt, Cpus("0-7"), {});
  EXPECT_EQ(Text(odd), "SMT Alignment Error: requested 3 cpus not multiple cpus per core = 2");
  EXPECT_TRUE(StaticCpuPolicy::IsSmtAlignmentError(odd.status()));
  // CPU 4 is free, but its core has a reserved one.
  const auto many = policy.Allocate(8, std::nullopt, Cpus("0-7"), {});
  EXPECT_EQ(Text(many),
            "SMT Alignment Error: not enough free physical CPUs: available physical CPUs = 6, "
            "requested CPUs = 8, CPUs per core = 2");
  EXPECT_TRUE(StaticCpuPolicy::IsSmtAlignmentError(many.status()));
  // Kubelet's rule: reusable CPUs don't count for this.
  EXPECT_TRUE(StaticCpuPolicy::IsSmtAlignmentError(
      policy.Allocate(2, std::nullopt, Cpus("0"), Cpus("1,5")).status()));
}

TEST_F(StaticCpuPolicyTest, OnlyFullPcpusOnlyMakesSmtAlignmentErrors) {
  const auto few = Policy(laptop_, Milli(1000)).Allocate(9, std::nullopt, Cpus("0-7"), {});
  EXPECT_TRUE(absl::IsFailedPrecondition(few.status()));
  EXPECT_FALSE(StaticCpuPolicy::IsSmtAlignmentError(few.status()));
  EXPECT_FALSE(StaticCpuPolicy::IsSmtAlignmentError(absl::OkStatus()));
}

TEST_F(StaticCpuPolicyTest, FullPcpusOnlyDistributesWholeCores) {
  const StaticCpuPolicy policy = Policy(
      two_packages_, List("3,11"), {.full_pcpus_only = true, .distribute_cpus_across_numa = true});
  EXPECT_EQ(Text(policy.Allocate(10, std::nullopt, Cpus("0-15"), {})), "0-1,4-6,8-9,12-14");
}

TEST_F(StaticCpuPolicyTest, CachesAreAlignedWithinTheHintsNodes) {
  // Caches 0-1,8-9 and 2-3,10-11 in node 0, and so on.
  const StaticCpuPolicy policy =
      Policy({.packages = 2, .caches_per_node = 2, .cores_per_cache = 2, .threads = 2}, Milli(1000),
             {.prefer_align_cpus_by_uncorecache = true});
  EXPECT_EQ(Text(policy.Allocate(4, NodeMask::Of(0), Cpus("0-15"), {})), "2-3,10-11");
  // The first cache's lowest core has a reserved CPU and can't give two; the cache is passed over.
  EXPECT_EQ(Text(policy.Allocate(2, NodeMask::Of(0), Cpus("0-15"), {})), "2,10");
}

TEST_F(StaticCpuPolicyTest, TakesPartsOfAPodsCpus) {
  const StaticCpuPolicy policy = Policy(laptop_, Milli(1000), {.full_pcpus_only = true});
  EXPECT_EQ(Text(policy.TakeFrom(Cpus("1-2,5-6"), 1)), "1");
  EXPECT_EQ(Text(policy.TakeFrom(Cpus("2,5-6"), 1)), "5");
  EXPECT_EQ(Text(policy.TakeFrom(Cpus("1-2,5-6"), 5)),
            "not enough cpus available to satisfy request: requested=5, available=4");
}

TEST_F(StaticCpuPolicyTest, HintsIgnoreReservedCpus) {
  const StaticCpuPolicy policy = Policy(two_packages_, Milli(1000));
  EXPECT_THAT(policy.Hints(8, Cpus("0-15"), {}),
              ElementsAre(Hint{NodeMask::Of(1), true}, Hint{NodeMask::FromBits(3), false}));
}

}  // namespace
}  // namespace plimsoll::agent
