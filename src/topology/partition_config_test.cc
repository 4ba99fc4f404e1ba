#include "topology/partition_config.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace plimsoll::topology {
namespace {

using resources::CpuSet;
using resources::Quantity;
using ::testing::HasSubstr;

absl::Status Read(const std::string& text, NodeResourcesConfig* out) {
  YamlReader reader("a.yaml");
  ReadNodeResources(reader, YAML::Load(text), "nodeResources", out);
  return reader.status();
}
std::string WhyNoPartition(const std::string& text) {
  NodeResourcesConfig config;
  return std::string(Read(text, &config).message());
}

TEST(PartitionConfigTest, ReadsEverything) {
  NodeResourcesConfig config;
  const absl::Status status = Read(R"(
cpus: {reserved: 0-1}
memory: {numa-0: 75%, numa-1: 16Gi}
hugepages-2Mi: {numa-0: 0}
show:
  hide: [Core, CacheGroup]
  hideSiblings: true
  cores: 6
  attributes: {numa-1: {tier: slow}}
outsidePartition: refuse
pollInterval: 500ms
source: {file: /etc/t.yaml, ids: source}
)",
                                   &config);
  ASSERT_TRUE(status.ok()) << status;
  NodeResourcesConfig expected;
  expected.partition.cpus.reserved = *CpuSet::Parse("0-1");
  expected.partition.memory["memory"] = {{"numa-0", {.percent = 75}},
                                         {"numa-1", {.quantity = *Quantity::Parse("16Gi")}}};
  expected.partition.memory["hugepages-2Mi"] = {{"numa-0", {.quantity = Quantity()}}};
  expected.partition.show = {.hidden_types = {"Core", "CacheGroup"},
                             .hide_siblings = true,
                             .cores = 6,
                             .attributes = {{"numa-1", {{"tier", "slow"}}}}};
  expected.outside = OutsidePartition::kRefuse;
  expected.poll_interval = absl::Milliseconds(500);
  expected.source.file = "/etc/t.yaml";
  expected.source.own_ids = true;
  EXPECT_EQ(config, expected);
}

TEST(PartitionConfigTest, AProviderNeedsNothing) {
  NodeResourcesConfig config;
  ASSERT_TRUE(Read("source: {provider: {}}", &config).ok());
  EXPECT_EQ(config.source.provider, ProviderConfig());
  ASSERT_TRUE(Read("source: {provider: {socket: /run/t, group: ops, hold: 0}}", &config).ok());
  EXPECT_EQ(config.source.provider, (ProviderConfig{"/run/t", "ops", absl::ZeroDuration()}));
}

TEST(PartitionConfigTest, NothingIsTheWholeMachine) {
  NodeResourcesConfig config;
  ASSERT_TRUE(Read("{}", &config).ok());
  EXPECT_EQ(config, NodeResourcesConfig());
  ASSERT_TRUE(Read("source: kernel", &config).ok());
  EXPECT_EQ(config, NodeResourcesConfig());
}

TEST(PartitionConfigTest, ACpuMayBeANumber) {
  NodeResourcesConfig config;
  ASSERT_TRUE(Read("cpus: {list: 3}", &config).ok());
  EXPECT_EQ(config.partition.cpus.list->ToString(), "3");
}

TEST(PartitionConfigTest, SaysWhatIsWrong) {
  EXPECT_THAT(WhyNoPartition("cpus: {list: 1-}"),
              HasSubstr("a.yaml:1:14: nodeResources.cpus.list: "));
  EXPECT_THAT(WhyNoPartition("cpus: {list: ''}"), HasSubstr("expected CPUs, as in 2-7,10"));
  EXPECT_THAT(WhyNoPartition("cpus: {list: 1, count: 2}"),
              HasSubstr("expected one of list, count"));
  EXPECT_THAT(WhyNoPartition("cpus: {count: 0}"), HasSubstr("nodeResources.cpus.count"));
  EXPECT_THAT(WhyNoPartition("cpus: {cores: 1}"), HasSubstr("cores"));
  EXPECT_THAT(WhyNoPartition("memory: {numa-0: 101%}"), HasSubstr("from 0% to 100%"));
  EXPECT_THAT(WhyNoPartition("memory: {numa-0: lots}"),
              HasSubstr("\"lots\": expected a quantity (16Gi)"));
  EXPECT_THAT(WhyNoPartition("memory: {numa-0: -1Gi}"), HasSubstr("expected a quantity"));
  EXPECT_THAT(WhyNoPartition("swap: {root: 1Gi}"),
              HasSubstr("nodeResources.swap: swap can't be divided"));
  EXPECT_THAT(WhyNoPartition("memory: 5Gi"), HasSubstr("nodeResources.memory: expected a mapping"));
  EXPECT_THAT(WhyNoPartition("memory: {numa-0: 1Gi, numa-0: 2Gi}"), HasSubstr("is there twice"));
  EXPECT_THAT(WhyNoPartition("show: {hide: [Machine]}"),
              HasSubstr("\"Machine\": expected Package, NUMANode"));
  EXPECT_THAT(WhyNoPartition("show: {attributes: {root: {boot-id: x}}}"),
              HasSubstr("boot-id can't be set"));
  EXPECT_THAT(WhyNoPartition("show: {attributes: {numa-0: {id: x}}}"),
              HasSubstr("id can't be set"));
  EXPECT_THAT(WhyNoPartition("source: {file: /t, ids: mine}"),
              HasSubstr("nodeResources.source.ids"));
  EXPECT_THAT(WhyNoPartition("outsidePartition: warn"), HasSubstr("outsidePartition"));
  EXPECT_THAT(WhyNoPartition("pollInterval: 1ms"),
              HasSubstr("expected a duration from 100ms to 1h, with its unit, as in 5s"));
  EXPECT_THAT(WhyNoPartition("source: hwloc"),
              HasSubstr("nodeResources.source: expected kernel, or"));
  EXPECT_THAT(WhyNoPartition("source: {file: t.yaml}"),
              HasSubstr("expected the absolute path of a file"));
  EXPECT_THAT(WhyNoPartition("source: {file: /t, provider: {}}"), HasSubstr("not both"));
  EXPECT_THAT(WhyNoPartition("source: {provider: {hold: ages}}"),
              HasSubstr("a duration from 0 to 1000h"));
  EXPECT_THAT(WhyNoPartition("source: {url: /t}"), HasSubstr("url"));
  EXPECT_THAT(WhyNoPartition("partition: {}"), HasSubstr("partition"));
}

}  // namespace
}  // namespace plimsoll::topology
