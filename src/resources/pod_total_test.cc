#include "resources/pod_total.h"

#include <string>

#include "gmock/gmock.h"

namespace plimsoll::resources {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;
using Role = ContainerRequirements::Role;
using Texts = std::map<std::string, std::string>;

ResourceList AmountsOf(const std::map<std::string, std::string>& amounts) {
  ResourceList list;
  for (const auto& [name, text] : amounts) list[name] = *Quantity::Parse(text);
  return list;
}

ContainerRequirements Asking(Role role, const std::map<std::string, std::string>& requests,
                             const std::map<std::string, std::string>& limits = {}) {
  return {role, WithDefaults({AmountsOf(requests), AmountsOf(limits)})};
}

std::map<std::string, std::string> CanonicalTotal(const ResourceList& list) {
  std::map<std::string, std::string> texts;
  for (const auto& [name, amount] : list) texts[name] = amount.Canonical();
  return texts;
}

std::map<std::string, std::string> Requests(const std::vector<ContainerRequirements>& containers,
                                            const Requirements& pod = {},
                                            const ResourceList& overhead = {}) {
  return CanonicalTotal(PodTotal(containers, pod, overhead).requests);
}

std::map<std::string, std::string> Limits(const std::vector<ContainerRequirements>& containers,
                                          const Requirements& pod = {},
                                          const ResourceList& overhead = {}) {
  return CanonicalTotal(PodTotal(containers, pod, overhead).limits);
}

TEST(PodTotalTest, NobodyNeedsNothing) {
  EXPECT_THAT(Requests({}), IsEmpty());
  EXPECT_THAT(Limits({Asking(Role::kContainer, {})}), IsEmpty());
}

TEST(PodTotalTest, ContainersAreAddedUp) {
  const std::vector<ContainerRequirements> pod = {
      Asking(Role::kContainer, {{"cpu", "500m"}, {"memory", "1Gi"}}, {{"memory", "2Gi"}}),
      Asking(Role::kContainer, {{"cpu", "1"}, {"example.com/gpu", "1"}})};
  EXPECT_THAT(Requests(pod), ElementsAre(Pair("cpu", "1500m"), Pair("example.com/gpu", "1"),
                                         Pair("memory", "1Gi")));
  EXPECT_THAT(Limits(pod), ElementsAre(Pair("memory", "2Gi")));
}

TEST(PodTotalTest, InitContainersCountByTheLargest) {
  const ContainerRequirements web = Asking(Role::kContainer, {{"cpu", "1"}, {"memory", "1Gi"}});
  EXPECT_THAT(
      Requests({Asking(Role::kInit, {{"cpu", "3"}}), Asking(Role::kInit, {{"cpu", "2"}}), web}),
      ElementsAre(Pair("cpu", "3"), Pair("memory", "1Gi")));
  EXPECT_THAT(Requests({Asking(Role::kInit, {{"cpu", "500m"}}), web}),
              ElementsAre(Pair("cpu", "1"), Pair("memory", "1Gi")));
}

// An init container after a sidecar runs beside it; one before it does not.
TEST(PodTotalTest, SidecarsCountFromTheirStart) {
  const ContainerRequirements web = Asking(Role::kContainer, {{"cpu", "1"}});
  const ContainerRequirements sidecar = Asking(Role::kSidecar, {{"cpu", "2"}});
  const ContainerRequirements init = Asking(Role::kInit, {{"cpu", "4"}});
  EXPECT_THAT(Requests({sidecar, init, web}), ElementsAre(Pair("cpu", "6")));
  EXPECT_THAT(Requests({init, sidecar, web}), ElementsAre(Pair("cpu", "4")));
  EXPECT_THAT(Requests({sidecar, sidecar, web}), ElementsAre(Pair("cpu", "5")));
}

TEST(PodTotalTest, ThePodsOwnStandInPlaceOfTheContainers) {
  const std::vector<ContainerRequirements> containers = {
      Asking(Role::kContainer, {{"cpu", "1"}, {"example.com/gpu", "1"}}, {{"cpu", "2"}})};
  const Requirements pod = {AmountsOf({{"cpu", "3"}}),
                            AmountsOf({{"cpu", "4"}, {"memory", "1Gi"}})};
  EXPECT_THAT(Requests(containers, pod),
              ElementsAre(Pair("cpu", "3"), Pair("example.com/gpu", "1"), Pair("memory", "1Gi")));
  EXPECT_THAT(Limits(containers, pod), ElementsAre(Pair("cpu", "4"), Pair("memory", "1Gi")));
  // Other resources come from the containers alone.
  EXPECT_THAT(Requests(containers, {AmountsOf({{"example.com/gpu", "9"}}), {}}),
              ElementsAre(Pair("cpu", "1"), Pair("example.com/gpu", "1")));
}

TEST(PodTotalTest, OverheadComesOnTopOfRequestsAndOfLimitsThatAreThere) {
  const std::vector<ContainerRequirements> containers = {
      Asking(Role::kContainer, {{"cpu", "1"}}, {{"memory", "1Gi"}})};
  const ResourceList overhead = AmountsOf({{"cpu", "250m"}, {"memory", "120Mi"}});
  EXPECT_THAT(Requests(containers, {}, overhead),
              ElementsAre(Pair("cpu", "1250m"), Pair("memory", "1144Mi")));
  EXPECT_THAT(Limits(containers, {}, overhead), ElementsAre(Pair("memory", "1144Mi")));
}

TEST(PodTotalTest, ALimitBoundsThePodIfItIsItsOwnOrEachContainers) {
  const ContainerRequirements none = Asking(Role::kContainer, {});
  const ContainerRequirements web = Asking(Role::kContainer, {}, {{"cpu", "1"}});
  const ContainerRequirements sidecar = Asking(Role::kSidecar, {}, {{"cpu", "1"}});
  const ContainerRequirements init = Asking(Role::kInit, {});
  EXPECT_TRUE(IsBounded({web, web}, {}, "cpu"));
  EXPECT_FALSE(IsBounded({web, web}, {}, "memory"));
  EXPECT_FALSE(IsBounded({web, none}, {}, "cpu"));
  EXPECT_FALSE(IsBounded({web, Asking(Role::kContainer, {}, {{"cpu", "0"}})}, {}, "cpu"));
  EXPECT_TRUE(IsBounded({web, none}, {{}, AmountsOf({{"cpu", "2"}})}, "cpu"));
  EXPECT_TRUE(IsBounded({sidecar, init, web}, {}, "cpu"));
  EXPECT_FALSE(IsBounded({init, sidecar, web}, {}, "cpu"));
}

TEST(PodTotalTest, ThePodsOwnAmountsDecideItsClass) {
  const Texts all = {{"cpu", "2"}, {"memory", "128Mi"}};
  const ContainerRequirements plain = Asking(Role::kContainer, {});
  const ContainerRequirements full = Asking(Role::kContainer, all, all);
  const auto qos = [](const ContainerRequirements& container, const Texts& requests,
                      const Texts& limits) {
    return PodQosClass({container}, {AmountsOf(requests), AmountsOf(limits)});
  };
  EXPECT_EQ(qos(plain, all, all), QosClass::kGuaranteed);
  EXPECT_EQ(qos(plain, {}, all), QosClass::kGuaranteed);
  EXPECT_EQ(qos(full, {{"cpu", "2"}}, {{"cpu", "2"}}), QosClass::kBurstable);
  EXPECT_EQ(qos(Asking(Role::kContainer, {{"cpu", "1"}}), {}, all), QosClass::kBurstable);
  EXPECT_EQ(qos(plain, {{"cpu", "1"}}, {}), QosClass::kBurstable);
  EXPECT_EQ(qos(full, {}, {}), QosClass::kGuaranteed);
  EXPECT_EQ(qos(plain, {{"cpu", "0"}}, {}), QosClass::kBestEffort);
}

}  // namespace
}  // namespace plimsoll::resources
