#include "yaml/json.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "yaml/documents.h"
#include "yaml/reader.h"

namespace plimsoll {
namespace {

using ::testing::HasSubstr;

nlohmann::json JsonOfText(const std::string& text) {
  return JsonOfYaml(LoadYamlDocuments(text).at(0));
}

std::string FaultOf(const nlohmann::json& value) {
  try {
    YamlOfJson(value);
    return "";
  } catch (const YAML::Exception& error) {
    return YamlFault(error);
  }
}

TEST(YamlJsonTest, TypesAreThoseOfTheCoreSchema) {
  EXPECT_EQ(
      JsonOfText("a: 1\nb: '1'\nc: true\nd: 0.5\ne: 1e3\nf: null\ng: text\nh: [1, x]\ni: 'true'\n"),
      nlohmann::json::parse(R"({"a":1,"b":"1","c":true,"d":"0.5","e":"1e3","f":null,"g":"text",
                                "h":[1,"x"],"i":"true"})"));
}

// 0400 is a mode in octal. What was read as a number is read so from its record too.
TEST(YamlJsonTest, WholeNumbersKeepTheirSpelling) {
  const nlohmann::json list = JsonOfText("[0400, +5, -0, 80]");
  EXPECT_EQ(list, nlohmann::json::parse(R"(["0400", "+5", "-0", 80])"));
  const YAML::Node tree = YamlOfJson(list);
  YamlReader on_record("pod web", /*on_record=*/true), user("f");
  EXPECT_EQ(on_record.AsInt(tree[1], "n"), 5);
  EXPECT_EQ(user.AsInt(tree[1], "n"), std::nullopt) << "a user's string is no number";
}

TEST(YamlJsonTest, AKeyThatIsNoScalarIsRefused) {
  EXPECT_THROW(JsonOfText("? [a]\n: b"), YAML::Exception);
}

TEST(YamlJsonTest, ATreeGivesItsObjectBack) {
  const nlohmann::json object = nlohmann::json::parse(
      R"({"a":1,"b":"1","c":true,"d":"true","e":[],"f":{},"g":null,"h":[{"x":[-7,"~",""]}],
          "i":"1e3","\u00e4":"\u20ac\n"})");
  EXPECT_EQ(JsonOfYaml(YamlOfJson(object)), object);
  EXPECT_EQ(JsonOfYaml(YamlOfJson({{"cpu", 0.5}})), nlohmann::json({{"cpu", "0.5"}}))
      << "a quantity keeps its spelling";
}

TEST(YamlJsonTest, AMissingKeyIsMissedInATreeToo) {
  YamlReader reader("pod web");
  YamlMapping mapping(reader, YamlOfJson({{"a", {{"b", 1}}}}), "");
  std::string name;
  mapping.Required("name", name);
  EXPECT_EQ(reader.status().message(), "pod web: \"name\" is missing");
}

TEST(YamlJsonTest, ATreeReadsLikeItsText) {
  const nlohmann::json object = {{"name", "1"}, {"count", 2}, {"on", true}, {"size", 1.5}};
  const YAML::Node tree = YamlOfJson(object);
  YamlReader reader("pod web");
  EXPECT_EQ(reader.AsString(tree["name"], "name"), "1");
  EXPECT_EQ(reader.AsInt(tree["count"], "count"), 2);
  EXPECT_EQ(reader.AsBool(tree["on"], "on"), true);
  EXPECT_EQ(reader.AsText(tree["size"], "size"), "1.5");
  EXPECT_TRUE(reader.errors().empty());
  reader.AsString(tree["count"], "count");
  EXPECT_EQ(reader.status().message(), "pod web: count: must be a string; write \"2\" with quotes")
      << "a tree has no lines";
}

TEST(YamlJsonTest, BoundsAreThoseOfATextAndTheDepthToo) {
  nlohmann::json wide = nlohmann::json::object(), deep = 1;
  for (int i = 0; i < 2000; ++i) wide[std::to_string(i)] = 1;
  EXPECT_EQ(FaultOf(wide), "");
  wide["more"] = 1;
  EXPECT_EQ(FaultOf(wide), "too large: a mapping of more than 2000 keys");
  for (int i = 0; i < 1000; ++i) deep = nlohmann::json::array({deep});
  EXPECT_EQ(FaultOf(deep), "");
  EXPECT_THAT(FaultOf(nlohmann::json::array({deep})), HasSubstr("nested deeper than 1000 levels"));
  EXPECT_EQ(FaultOf(nlohmann::json(std::vector<int>(99'999))), "") << "the list is a value too";
  EXPECT_THAT(FaultOf(nlohmann::json(std::vector<int>(100'000))),
              HasSubstr("more than 100000 values"));
  EXPECT_THAT(FaultOf({{"a", "\xef\xbf\xbe"}}), HasSubstr("a code point that is no character"));
  EXPECT_THAT(FaultOf({{"a", "\xff"}}), HasSubstr("text that is not UTF-8"));
}

}  // namespace
}  // namespace plimsoll
