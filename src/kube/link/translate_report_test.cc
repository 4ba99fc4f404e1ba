#include "kube/link/translate_report.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace plimsoll::kube {
namespace {

namespace wire = ::plimsoll::v1;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

wire::NodeReport FullReport() {
  wire::NodeReport message;
  message.set_version("1.2.3");
  wire::NodeClassType* type = message.add_types();
  type->set_name("rdt");
  type->set_level("container");
  type->set_immutable(true);
  type->set_default_class("bronze");
  wire::NodeClass* gold = type->add_classes();
  gold->set_name("gold");
  gold->set_capacity(3);
  gold->set_holders(2);
  gold->set_meaning("L3 0=0xff0");
  gold->add_drift("thread 4711 is in resctrl group /silver");
  type = message.add_types();
  type->set_name("example.com/lane");
  type->set_level("pod");
  type->set_unavailable("the kernel has no lanes");
  wire::Trouble* trouble = message.add_troubles();
  trouble->set_reason("PartitionLost");
  trouble->set_message("NUMA node 1 is gone");
  message.set_topology_edition(7);
  return message;
}

TEST(TranslateReportTest, TellsClassesAndTroubles) {
  const NodeReport report = ReportFrom(FullReport());
  EXPECT_EQ(report.runtime_version, "1.2.3");
  EXPECT_THAT(
      report.types,
      ElementsAre(NodeClassType{.name = "rdt",
                                .level = qos::Level::kContainer,
                                .immutable = true,
                                .default_class = "bronze",
                                .classes = {{.name = "gold",
                                             .capacity = 3,
                                             .holders = 2,
                                             .meaning = "L3 0=0xff0",
                                             .drift = {"thread 4711 is in resctrl group /silver"}}},
                                .unavailable = ""},
                  NodeClassType{.name = "example.com/lane",
                                .level = qos::Level::kPod,
                                .immutable = false,
                                .default_class = "",
                                .classes = {},
                                .unavailable = "the kernel has no lanes"}));
  EXPECT_THAT(report.troubles, ElementsAre(Trouble{"PartitionLost", "NUMA node 1 is gone"}));
  EXPECT_EQ(report.topology_edition, 7u);
  EXPECT_FALSE(report.topology.has_value());
  EXPECT_FALSE(report.exclusive.has_value());
}

TEST(TranslateReportTest, TellsTopologyAndExclusiveResources) {
  wire::NodeReport message;
  auto* zone = message.mutable_topology()->add_zones();
  zone->set_name("numa-0");
  zone->set_type("NUMANode");
  auto* memory = zone->add_resources();
  memory->set_name("memory");
  memory->mutable_capacity()->set_string("1024Mi");
  message.mutable_exclusive()->set_cpus("2-3");
  auto* pinned = message.mutable_exclusive()->add_memory();
  pinned->set_resource("hugepages-2Mi");
  pinned->add_numa_nodes(0);
  pinned->add_numa_nodes(1);
  pinned->set_bytes(4194304);
  auto* taken = message.mutable_exclusive()->add_devices();
  taken->set_resource("vendor.com/nic");
  taken->add_numa_nodes(1);
  taken->set_count(2);
  auto* all = message.mutable_exclusive()->add_device_totals();
  *all = *taken;
  all->set_count(5);

  const NodeReport report = ReportFrom(message);
  ASSERT_TRUE(report.topology.has_value());
  ASSERT_EQ(report.topology->zones.size(), 1u);
  EXPECT_EQ(report.topology->zones[0].resources.at(0).capacity.text(), "1Gi");
  ASSERT_TRUE(report.exclusive.has_value());
  EXPECT_EQ(report.exclusive->cpus, "2-3");
  EXPECT_THAT(report.exclusive->memory, ElementsAre(Taken{"hugepages-2Mi", {0, 1}, 4194304}));
  EXPECT_THAT(report.exclusive->devices, ElementsAre(Taken{"vendor.com/nic", {1}, 2}));
  EXPECT_THAT(report.exclusive->device_totals, ElementsAre(Taken{"vendor.com/nic", {1}, 5}));
}

TEST(TranslateReportTest, LeavesOutAnUnknownLevel) {
  wire::NodeReport message = FullReport();
  message.mutable_types(0)->set_level("planet");
  const NodeReport report = ReportFrom(message);
  ASSERT_EQ(report.types.size(), 1u);
  EXPECT_EQ(report.types[0].name, "example.com/lane");
}

TEST(TranslateReportTest, ATopologyThatIsNoneIsATrouble) {
  wire::NodeReport message;
  auto* zone = message.mutable_topology()->add_zones();
  zone->set_name("numa\n0");
  auto* memory = zone->add_resources();
  memory->set_name("memory");
  memory->mutable_capacity()->set_string("much");
  const NodeReport report = ReportFrom(message);
  EXPECT_FALSE(report.topology.has_value());
  ASSERT_EQ(report.troubles.size(), 1u);
  EXPECT_EQ(report.troubles[0].reason, "TopologyUnknown");
  EXPECT_THAT(report.troubles[0].message, HasSubstr("zone \"numa\\n0\", resource \"memory\""));
}

TEST(TranslateReportTest, AnEmptyReportIsEmpty) {
  EXPECT_EQ(ReportFrom(wire::NodeReport()), NodeReport());
  EXPECT_THAT(ReportFrom(wire::NodeReport()).types, IsEmpty());
}

TEST(TranslateReportTest, PodClassesGoBothWays) {
  const PodClasses pod{
      .pod_uid = "pod-1", .claim_uid = "claim-1", .classes = {{"rdt", "gold"}, {"lane", "1"}}};
  wire::SetPodClassesRequest message;
  FillPodClasses(pod, &message);
  EXPECT_EQ(PodClassesFrom(message), pod);
}

}  // namespace
}  // namespace plimsoll::kube
