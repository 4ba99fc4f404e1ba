#include "qos/rdt/config.h"

#include "base/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "qos/rdt/values.h"

namespace plimsoll::qos {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Kind = RdtCacheShare::Kind;

RdtConfig Parsed(const std::string& text) {
  auto config = ParseRdtConfig("rdt.yaml", text);
  EXPECT_TRUE(config.ok()) << config.status();
  return config.ok() ? *std::move(config) : RdtConfig();
}

std::string ErrorOf(const std::string& text) {
  const auto config = ParseRdtConfig("rdt.yaml", text);
  EXPECT_EQ(config.status().code(), absl::StatusCode::kInvalidArgument) << config.status();
  return std::string(config.status().message());
}

TEST(RdtConfigTest, ReadsTheWholeLanguage) {
  const RdtConfig config = Parsed(R"(
options:
  l2: {optional: true}
  l3:
    optional: false
  mb: {optional: true}
partitions:
  exclusive:
    l2Allocation: 40%
    l3Allocation:
      all: 60%
      0-1: "0x3f"
      "4,6-7":
        unified: 50%
        code: "0-3"
        data: 0xf0
    mbAllocation: [80%, 1000MBps]
    classes:
      gold:
        l3Allocation:
          all: 50-100%
        mbAllocation:
          all: [100%]
          1: [50%, 2000MBps]
        kubernetes:
          denyPodAnnotation: true
          denyContainerAnnotation: false
      silver:
  rest:
    classes:
      system/default: {mbAllocation: 30%}
)");
  EXPECT_TRUE(config.l2_optional);
  EXPECT_FALSE(config.l3_optional);
  EXPECT_TRUE(config.mb_optional);
  ASSERT_EQ(config.partitions.size(), 2u);

  const RdtPartitionConfig& exclusive = config.partitions.at("exclusive");
  EXPECT_EQ(exclusive.allocations.l2->all->unified.high_percent, 40u);
  const RdtCacheAllocations& l3 = *exclusive.allocations.l3;
  EXPECT_EQ(l3.all->unified.kind, Kind::kPercent);
  EXPECT_EQ(l3.by_id.size(), 5u);
  EXPECT_EQ(l3.by_id.at(1).unified.mask, 0x3fu);
  EXPECT_EQ(l3.by_id.at(6).code->mask, 0xfu);
  EXPECT_EQ(l3.by_id.at(7).data->mask, 0xf0u);
  EXPECT_EQ(exclusive.allocations.mb->all->percent, 80u);
  EXPECT_EQ(exclusive.allocations.mb->all->mbps, 1000u);

  const RdtClassConfig& gold = exclusive.classes.at("gold");
  EXPECT_EQ(gold.allocations.l3->all->unified.kind, Kind::kPercentRange);
  EXPECT_EQ(gold.allocations.l3->all->unified.low_percent, 50u);
  EXPECT_EQ(gold.allocations.l3->all->unified.high_percent, 100u);
  EXPECT_EQ(gold.allocations.mb->by_id.at(1).mbps, 2000u);
  EXPECT_TRUE(gold.deny_pod_annotation);
  EXPECT_FALSE(gold.deny_container_annotation);
  EXPECT_FALSE(exclusive.classes.at("silver").allocations.l3);
  EXPECT_EQ(config.partitions.at("rest").classes.at(kRdtRootClass).allocations.mb->all->percent,
            30u);
}

TEST(RdtConfigTest, ReadsJson) {
  const RdtConfig config = Parsed(
      R"({"partitions": {"p": {"l3Allocation": {"all": {"unified": "70%"}},
          "mbAllocation": {"all": ["40%"]}, "classes": {"": {}}}}})");
  EXPECT_EQ(config.partitions.at("p").allocations.l3->all->unified.high_percent, 70u);
  EXPECT_EQ(config.partitions.at("p").classes.count(kRdtRootClass), 1u);
}

TEST(RdtConfigTest, NothingIsNoPartitions) {
  EXPECT_TRUE(Parsed("").partitions.empty());
  EXPECT_TRUE(Parsed("# comment\n").partitions.empty());
  EXPECT_TRUE(Parsed("partitions:\n  spare:\n").partitions.at("spare").classes.empty());
}

TEST(RdtConfigTest, ErrorsSayWhereAndWhatWouldBeRight) {
  const std::string partition = "partitions:\n  p:\n    ";
  const std::pair<std::string, std::string> cases[] = {
      {"partition: {}", "rdt.yaml:1:1: unknown field \"partition\"; did you mean \"partitions\"?"},
      {"options: {l4: {}}", "rdt.yaml:1:11: options: unknown field \"l4\""},
      {"options: {l3: {optional: maybe}}", "options.l3.optional: must be true or false"},
      {partition + "l3Allocation: 64", "\"64\" is not a share of a cache"},
      {partition + "l3Allocation: 101%",
       "rdt.yaml:3:19: partitions.p.l3Allocation: \"101%\" is not a percentage (\"60%\") or a "
       "range of them (\"50-60%\") up to 100"},
      {partition + "l3Allocation: 0x0", "has no bit set"},
      {partition + "l3Allocation: 0xfg", "is not a hexadecimal mask"},
      {partition + "l3Allocation: [60%]", "must be a mapping"},
      {partition + "l3Allocation: {every: 60%}", "\"every\" is not a list of cache ids"},
      {partition + "l3Allocation: {1-0: 60%}", "\"1-0\" is not a list of cache ids"},
      {partition + "l3Allocation: {0-4294967295: 60%}", "is not a list of cache ids"},
      {partition + "l3Allocation: {all: {code: 1%, data: 1%}}", "\"unified\" is missing"},
      {partition + "l3Allocation: {all: {unified: 1%, code: 1%}}",
       "\"data\" is missing: \"code\" and \"data\" come together or not at all"},
      {partition + "l3Allocation: {all: {unified: 1%, data: 1%}}", "\"code\" is missing"},
      {partition + "mbAllocation: [50]", "\"50\" is not a memory bandwidth"},
      {partition + "mbAllocation: [101%]", "from 0 to 100"},
      {partition + "mbAllocation: [99999999999MBps]", "from 0 to 4294967295"},
      {partition + "mbAllocation: []", "is empty; write [50%]"},
      {partition + "classes: {a/b: {}}", "no \"/\""},
      {partition + "classes: {mon_groups: {}}", "a name of the kernel's own"},
      {partition + "classes: {\"a\\tb\": {}}", "class names become directories: no"},
      {partition + "classes: {" + std::string(256, 'x') + ": {}}",
       "a class name has 1 to 255 characters"},
      {"partitions: {[a]: {}}", "rdt.yaml:1:14: partitions: keys must be plain words"},
      {"partitions: {p: , p: }", "rdt.yaml:1:19: partitions: \"p\" is there twice"},
      {partition + "classes: {a: {l3Allocation: 50-40%}}", "\"50-40%\""},
      {partition + "classes: {a: {kubernetes: {denyAnnotation: true}}}", "did you mean"},
      {partition + "classes: {a: {}}\n  q:\n    classes: {a: {}}",
       "class \"a\" is there twice; names are unique in the file, whatever the partition. The "
       "first: rdt.yaml:3:15"},
      {partition + "classes: {\"\": {}, system/default: {}}", "is there twice"},
      {"a: b\n}", "rdt.yaml:2:1: "},
      {"a: [", "not valid YAML"},
      {"- a", "must be a mapping"},
  };
  for (const auto& [text, expected] : cases) EXPECT_THAT(ErrorOf(text), HasSubstr(expected));
}

TEST(RdtConfigTest, BoundsOfValues) {
  EXPECT_THAT(*ParseRdtCacheIds("0,2-4,3"), ElementsAre(0, 2, 3, 4));
  for (const char* text : {"", ",", "-1", "1-", "+1", "0x1", "4294967296"}) {
    EXPECT_FALSE(ParseRdtCacheIds(text).ok()) << text;
  }
  EXPECT_EQ(ParseRdtCacheShare("63")->mask, uint64_t{1} << 63);
  EXPECT_EQ(ParseRdtCacheShare("100%")->high_percent, 100u);
  EXPECT_EQ(ParseRdtCacheShare("0-100%")->low_percent, 0u);
  for (const char* text : {"", "%", "-%", "-5%", "5-%", "0x", "0x10000000000000000", "1 %"}) {
    EXPECT_FALSE(ParseRdtCacheShare(text).ok()) << text;
  }
}

}  // namespace
}  // namespace plimsoll::qos
