#include "kubelet/config/reservation.h"

#include <nlohmann/json.hpp>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "kubelet/config/check.h"
#include "kubelet/config/configuration.h"
#include "kubelet/config/machines_for_test.h"

namespace plimsoll::kubelet {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::Pair;

constexpr char kEndpoint[] = "unix:///run/plimsoll/plimsoll.sock";

// kubelet's defaults: 100 MiB for eviction, nothing for itself.
ReservationOptions Defaults() {
  return {.endpoint = kEndpoint, .eviction_bytes = 100 * kMi};
}

Reservation Made(const KubeletShare& share, const ReservationOptions& options) {
  const auto made = Reserve(share, options);
  EXPECT_TRUE(made.ok()) << made.status();
  return made.value_or(Reservation());
}

TEST(ReservationTest, OneNode) {
  const Reservation made = Made(SmallShare(), Defaults());
  EXPECT_EQ(made.cpus, "0-1");
  EXPECT_EQ(made.system_bytes, 4 * kGi - 100 * kMi);
  EXPECT_THAT(made.node_bytes, IsEmpty());
  EXPECT_THAT(made.notes, IsEmpty());
}

TEST(ReservationTest, KubeletsOwnShareCounts) {
  ReservationOptions options = Defaults();
  options.kube_bytes = kGi;
  EXPECT_EQ(Made(SmallShare(), options).system_bytes, 3 * kGi - 100 * kMi);
}

// Node 0: 8 GiB less 1 GiB of pages is 7, of which 6 are told. Node 1: all.
TEST(ReservationTest, TwoNodesByNode) {
  ReservationOptions options = Defaults();
  options.static_cpus = true;
  options.static_memory = true;
  const Reservation made = Made(TwoNodesShare(), options);
  EXPECT_EQ(made.cpus, "0");
  EXPECT_THAT(made.node_bytes, ElementsAre(Pair(0, kGi)));
  EXPECT_EQ(made.system_bytes, kGi - 100 * kMi);
  EXPECT_THAT(made.notes, ElementsAre(AllOf(HasSubstr("hugepages-2Mi"), HasSubstr("1 GiB"))));
}

TEST(ReservationTest, EvictionBeyondWhatIsLeftOutIsTheLargestNodes) {
  const KubeletShare whole =
      ShareOfZones({ZoneOf(0, "1-3", {{"memory", "2Gi"}}), ZoneOf(1, "4-7", {{"memory", "8Gi"}})},
                   MachineOf({NodeOf(0, "0-3", 2 * kGi), NodeOf(1, "4-7", 8 * kGi)}));
  ReservationOptions options = Defaults();
  options.static_memory = true;
  const Reservation made = Made(whole, options);
  EXPECT_EQ(made.system_bytes, 0u);
  EXPECT_THAT(made.node_bytes, ElementsAre(Pair(1, 100 * kMi)));
  EXPECT_THAT(made.notes, ElementsAre(HasSubstr("100 MiB more than plimsolld leaves out")));
}

TEST(ReservationTest, ANodeLeftOutIsReservedWhole) {
  const KubeletShare share =
      ShareOfZones({ZoneOf(1, "4-7", {{"memory", "8Gi"}})},
                   MachineOf({NodeOf(0, "0-3", 8 * kGi, 512), NodeOf(1, "4-7", 8 * kGi)}));
  ReservationOptions options = Defaults();
  options.static_memory = true;
  const Reservation made = Made(share, options);
  EXPECT_EQ(made.cpus, "0-3");
  EXPECT_THAT(made.node_bytes, ElementsAre(Pair(0, 7 * kGi)));
}

// A share in percent is whole pages, not whole MiB: what is printed is exact.
TEST(ReservationTest, AmountsAreExact) {
  const KubeletShare share = ShareOfZones({ZoneOf(0, "1-3", {{"memory", "12058624Ki"}})},
                                          MachineOf({NodeOf(0, "0-3", 16078164 * 1024ull)}));
  const Reservation made = Made(share, Defaults());
  EXPECT_EQ(made.system_bytes, (16078164 - 12058624) * 1024ull - 100 * kMi);
  EXPECT_THAT(ToDropIn(made), HasSubstr("memory: \"3917140Ki\"\n"));
}

TEST(ReservationTest, StaticCpusNeedAReservedOne) {
  const KubeletShare whole =
      ShareOfZones({ZoneOf(0, "0-3", {{"memory", "1Gi"}})}, MachineOf({NodeOf(0, "0-3", kGi)}));
  ReservationOptions options = Defaults();
  EXPECT_EQ(Made(whole, options).cpus, "");
  options.static_cpus = true;
  const auto refused = Reserve(whole, options).status();
  EXPECT_TRUE(absl::IsFailedPrecondition(refused)) << refused;
  EXPECT_THAT(refused.message(), HasSubstr("leaves none out"));
}

TEST(ReservationTest, StaticMemoryNeedsNodesAndSomeMemory) {
  topology::Zone package = ZoneOf(0, "0-3", {{"memory", "1Gi"}});
  package.type = topology::kPackage;
  const topology::Machine machine = MachineOf({NodeOf(0, "0-3", kGi)});
  ReservationOptions options = Defaults();
  options.static_memory = true;
  EXPECT_THAT(Reserve(ShareOfZones({package}, machine), options).status().message(),
              HasSubstr("outside of NUMA nodes"));
  options.eviction_bytes = 0;
  const KubeletShare whole = ShareOfZones({ZoneOf(0, "0-3", {{"memory", "1Gi"}})}, machine);
  EXPECT_THAT(Reserve(whole, options).status().message(), HasSubstr("nothing is"));
}

// A kernel whose node files leave out memory that came later.
TEST(ReservationTest, NodeFilesThatCountLessAreNamed) {
  KubeletShare share = SmallShare();
  share.nodes[0].file_memory = 10 * kGi;
  ReservationOptions options = Defaults();
  EXPECT_THAT(Made(share, options).notes, IsEmpty()) << "they matter to static memory alone";
  options.static_memory = true;
  const Reservation made = Made(share, options);
  EXPECT_THAT(made.node_bytes, ElementsAre(Pair(0, 4 * kGi)));
  EXPECT_THAT(made.notes, ElementsAre(AllOf(HasSubstr("10 GiB"), HasSubstr("16 GiB"))));
  share.nodes[0].file_memory = 3 * kGi;
  EXPECT_THAT(Reserve(share, options).status().message(), HasSubstr("policy None"));
}

TEST(ReservationTest, CpusWithoutNumbersAreReservedByCount) {
  topology::Zone zone = ZoneOf(0, "0-2", {{"memory", "1Gi"}});
  zone.attributes.clear();
  const Reservation made =
      Made(ShareOfZones({zone}, MachineOf({NodeOf(0, "0-3", kGi)})), Defaults());
  EXPECT_EQ(made.cpus, "");
  EXPECT_EQ(made.cpu_count, 1u);
  EXPECT_THAT(ToDropIn(made), HasSubstr("  cpu: \"1\"\n"));
}

TEST(ReservationTest, SwapIsNotReserved) {
  topology::Machine machine = MachineOf({NodeOf(0, "0-3", kGi)});
  machine.swap_bytes = 2 * kGi;
  const KubeletShare share = ShareOfZones({ZoneOf(0, "1-3", {{"memory", "512Mi"}})}, machine);
  EXPECT_THAT(Made(share, Defaults()).notes, Contains(HasSubstr("swap")));
}

TEST(ReservationTest, ADropInWithoutStaticPoliciesChoosesNone) {
  const std::string text = ToDropIn(Made(SmallShare(), Defaults()));
  EXPECT_THAT(text, AllOf(HasSubstr("apiVersion: kubelet.config.k8s.io/v1beta1\n"
                                    "kind: KubeletConfiguration\n"
                                    "containerRuntimeEndpoint: \"unix:///run/plimsoll/"
                                    "plimsoll.sock\"\n"),
                          HasSubstr("\nreservedSystemCPUs: \"0-1\"\n"),
                          HasSubstr("\nsystemReserved:\n  memory: \"3996Mi\"\n")));
  EXPECT_THAT(text, Not(HasSubstr("Policy")));
  EXPECT_THAT(text, Not(HasSubstr("\nreservedMemory")));
}

TEST(ReservationTest, AsJson) {
  ReservationOptions options = Defaults();
  options.static_cpus = true;
  options.static_memory = true;
  const auto document = nlohmann::json::parse(ToJson(Made(TwoNodesShare(), options)));
  EXPECT_EQ(document, nlohmann::json::parse(R"({
    "apiVersion": "kubelet.config.k8s.io/v1beta1", "kind": "KubeletConfiguration",
    "containerRuntimeEndpoint": "unix:///run/plimsoll/plimsoll.sock",
    "reservedSystemCPUs": "0", "cpuManagerPolicy": "static",
    "cpuManagerPolicyOptions": {"strict-cpu-reservation": "true"},
    "systemReserved": {"memory": "924Mi"}, "memoryManagerPolicy": "Static",
    "reservedMemory": [{"numaNode": 0, "limits": {"memory": "1Gi"}}]})"));
}

// The printed configuration passes the check, in both forms.
TEST(ReservationTest, WhatIsPrintedHasNoConflict) {
  for (const KubeletShare& share : {SmallShare(), TwoNodesShare()}) {
    for (const bool is_static : {false, true}) {
      ReservationOptions options = Defaults();
      options.static_cpus = is_static;
      options.static_memory = is_static;
      const Reservation made = Made(share, options);
      for (const std::string& text : {ToDropIn(made), ToJson(made)}) {
        Configuration configuration;
        const absl::Status read = Overlay(text, "drop-in", &configuration);
        ASSERT_TRUE(read.ok()) << read;
        for (const KubeletFinding& finding : CheckConfiguration(configuration, share, kEndpoint)) {
          EXPECT_FALSE(finding.is_conflict) << finding.field << ": " << finding.message;
          EXPECT_EQ(finding.field, "hugepages-2Mi") << finding.message;
        }
      }
    }
  }
}

}  // namespace
}  // namespace plimsoll::kubelet
