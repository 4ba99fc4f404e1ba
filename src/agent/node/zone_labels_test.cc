#include "agent/node/zone_labels.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace plimsoll::agent {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;
using topology::Zone;

TEST(ZoneLabelsTest, AreTheAttributesThatHoldForTheWholeNode) {
  const topology::Topology topology = {
      {Zone{.name = "root", .attributes = {{"machine-id", "m"}, {"architecture", "x86_64"}}},
       Zone{.name = "p0",
            .attributes = {{"id", "0"}, {"cpu-model", "Xeon(R) 6"}, {"accelerator", "qat"}}},
       Zone{.name = "p1",
            .attributes = {{"id", "0"}, {"cpu-model", "Xeon(R) 6"}, {"example.com/rack", "r 7"}}},
       Zone{.name = "c0", .attributes = {{"cpu-ids", "0"}, {"core-type", "IntelAtom"}}},
       Zone{.name = "c1", .attributes = {{"cpu-ids", "0"}, {"core-type", "IntelCore"}}},
       Zone{.name = "c2", .attributes = {{"core-type", "IntelAtom"}}}}};
  EXPECT_THAT(LabelsOf(topology), ElementsAre(Pair("example.com/rack", "r_7"),
                                              Pair("zone.plimsoll.dev/accelerator", "qat"),
                                              Pair("zone.plimsoll.dev/architecture", "x86_64"),
                                              Pair("zone.plimsoll.dev/cpu-model", "Xeon_R__6")));
}

TEST(ZoneLabelsTest, KubernetesOwnAndImpossibleOnesAreLeftOut) {
  const topology::Topology topology = {
      {Zone{.name = "root",
            .attributes = {{"kubernetes.io/hostname", "other"},
                           {"node.k8s.io/a", "b"},
                           {"two words", "a"},
                           {"empty", ""},
                           {"cpu-features", std::string(100, 'x')}}}}};
  EXPECT_THAT(LabelsOf(topology), IsEmpty());
}

}  // namespace
}  // namespace plimsoll::agent
