#include "kube/driver/pool_devices.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kube/driver/node_for_test.h"

namespace plimsoll::kube {
namespace {

using Json = nlohmann::json;

std::vector<std::string> NamesOf(const std::vector<PoolDevice>& devices) {
  std::vector<std::string> names;
  for (const PoolDevice& each : devices) names.push_back(each.name);
  return names;
}

TEST(PoolDevicesTest, AClassIsADevice) {
  const auto devices = PoolDevicesOf(ReportForTest());
  EXPECT_THAT(NamesOf(devices),
              testing::ElementsAre("pod-lane-fast", "pod-lane-slow", "rdt-bronze", "rdt-gold"));
  EXPECT_EQ(devices[3].object, Json::parse(R"({
      "name": "rdt-gold", "allowMultipleAllocations": true,
      "attributes": {
        "type": {"string": "rdt"}, "class": {"string": "gold"}, "device": {"string": "rdt-gold"},
        "level": {"string": "container"}, "immutable": {"bool": false}, "default": {"bool": false},
        "meaning": {"string": "L3 0=0xff0"}},
      "capacity": {"holders": {"value": "2", "requestPolicy":
        {"default": "1", "validRange": {"min": "1", "max": "1"}}}}})"));
  EXPECT_EQ(devices[2].object["attributes"]["default"]["bool"], true);
  EXPECT_FALSE(devices[2].object.contains("capacity")) << "any number may hold it";
  EXPECT_EQ(devices[0].object["attributes"]["level"]["string"], "pod");
  EXPECT_EQ(devices[0].object["attributes"]["immutable"]["bool"], true);
  EXPECT_FALSE(devices[0].object["attributes"].contains("meaning"));
}

TEST(PoolDevicesTest, ATypeThatTheMachineLacksHasNone) {
  NodeReport report = ReportForTest();
  report.types[0].unavailable = "no resctrl";
  EXPECT_THAT(NamesOf(PoolDevicesOf(report)),
              testing::ElementsAre("pod-lane-fast", "pod-lane-slow"));
}

TEST(PoolDevicesTest, AClassThatIsNamedTwiceIsOneDevice) {
  NodeReport report = ReportForTest();
  report.types[0].classes.push_back(report.types[0].classes[0]);
  EXPECT_EQ(PoolDevicesOf(report).size(), 4u);
}

TEST(PoolDevicesTest, DriftIsOneLine) {
  NodeReport report = ReportForTest();
  report.types[0].classes[0].drift = {"a is in no group", "b is in no group"};
  EXPECT_EQ(PoolDevicesOf(report)[3].drift, "a is in no group; b is in no group");
}

TEST(PoolDevicesTest, LongTextsAreCutBetweenCharacters) {
  EXPECT_EQ(AttributeText(std::string(64, 'a')), std::string(64, 'a'));
  EXPECT_EQ(AttributeText(std::string(65, 'a')), std::string(61, 'a') + "...");
  const std::string umlauts = AttributeText(std::string(60, 'a') + "\u00e4\u00e4\u00e4");
  EXPECT_EQ(umlauts, std::string(60, 'a') + "...");
  EXPECT_EQ(AttributeText("two\nlines \xff"), "two\\nlines \\xff");
}

}  // namespace
}  // namespace plimsoll::kube
