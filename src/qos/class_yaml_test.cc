#include "qos/class_yaml.h"

#include <utility>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace plimsoll::qos {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ScalarKind = ClassScalar::Kind;

ClassScalar Scalar(const std::string& text) {
  return ScalarOf(YAML::Load("- " + text)[0]);
}

TEST(ClassYamlTest, NumbersAreAsGoPrintsThem) {
  const std::pair<const char*, const char*> cases[] = {
      {"0", "0"},
      {"00", "0"},
      {"-0", "0"},
      {"010", "8"},
      {"08", "8"},
      {"0x1F", "31"},
      {"0X1f", "31"},
      {"-0x10", "-16"},
      {"0b101", "5"},
      {"0o17", "15"},
      {"1_000", "1000"},
      {"+5", "5"},
      {"1e3", "1000"},
      {"1.50", "1.5"},
      {".5", "0.5"},
      {"4.", "4"},
      {"1e6", "1e+06"},
      {"123456.0", "123456"},
      {"1e-5", "1e-05"},
      {"0.0001", "0.0001"},
      {"1e30", "1e+30"},
      {"16777217.0", "1.6777216e+07"},
      {"18446744073709551615", "18446744073709551615"},
      {"18446744073709551616", "1.8446744e+19"},
      {".inf", "+Inf"},
      {"!!int 3", "3"},
  };
  for (const auto& [text, expected] : cases) {
    EXPECT_EQ(Scalar(text).text, expected) << text;
    EXPECT_EQ(Scalar(text).kind, ScalarKind::kNumber) << text;
  }
  for (const char* text : {"0x", "0xg", "1-2", "50%", "2001-01-01", "1:30", "1,2", "+", ".", "1e",
                           "1e500", "..5", "5k"}) {
    EXPECT_EQ(Scalar(text).text, text);
    EXPECT_EQ(Scalar(text).kind, ScalarKind::kText) << text;
  }
  for (const char* text : {"\"0x3\"", "'yes'", "!!str 3"}) {
    EXPECT_EQ(Scalar(text).kind, ScalarKind::kText) << text;
  }
  EXPECT_EQ(Scalar("~").kind, ScalarKind::kNull);
  EXPECT_EQ(Scalar("Off").text, "false");
  EXPECT_EQ(Scalar("oFF").kind, ScalarKind::kText);
}

TEST(ClassYamlTest, FieldsAreFoundInAnyCase) {
  YamlReader reader("f");
  const YAML::Node node = YAML::Load("{Weight: 1, weight: 2, devices: , Other: 3}");
  ClassFields fields(reader, node, "top");
  EXPECT_EQ(fields.Get("Weight")->Scalar(), "2") << "the last in the order of bytes";
  EXPECT_FALSE(fields.Get("Devices").has_value());
  EXPECT_TRUE(fields.GetOrNull("Devices")->IsNull());
  EXPECT_FALSE(fields.GetOrNull("None").has_value());
  EXPECT_THAT(reader.notes(), Contains(HasSubstr("\"Weight\" and \"weight\" are all the key")));
  fields.PassOverUnknown();
  EXPECT_THAT(reader.notes(), Contains(HasSubstr("unknown field \"Other\" is passed over")));
  EXPECT_THAT(reader.errors(), IsEmpty());
  fields.Finish();
  EXPECT_THAT(reader.errors(),
              ElementsAre(HasSubstr("top: unknown field \"Other\"; known here: ")));
}

TEST(ClassYamlTest, MergeKeysBringKeysIn) {
  const auto keys = [](const std::string& text, std::vector<std::string>* errors) {
    YamlReader reader("f");
    std::vector<std::string> names;
    for (const ClassItem& item : ItemsOf(reader, YAML::Load(text), "top", KeyReading::kValue)) {
      names.push_back(item.key);
    }
    *errors = reader.errors();
    return names;
  };
  std::vector<std::string> errors;
  EXPECT_THAT(keys("{a: 1, <<: [{b: 2}, {<<: {c: 3}}], d: 4}", &errors),
              ElementsAre("a", "b", "c", "d"));
  EXPECT_THAT(errors, IsEmpty());
  EXPECT_THAT(keys("{\"<<\": 1}", &errors), ElementsAre("<<"));
  keys("{a: 1, <<: {a: 2}}", &errors);
  EXPECT_THAT(errors, ElementsAre("f:1:13: top: \"a\" is there twice; the first: f:1:2"));
  keys("[1]", &errors);
  EXPECT_THAT(errors, ElementsAre(HasSubstr("must be a mapping")));
}

TEST(ClassYamlTest, ANameIsWhatIsWritten) {
  YamlReader reader("f");
  const YAML::Node node = YAML::Load("{off: 1, \"on\": 2, 0x10: 3}");
  const auto keys = [&](KeyReading reading) {
    std::vector<std::string> names;
    for (const ClassItem& item : ItemsOf(reader, node, "top", reading)) names.push_back(item.key);
    return names;
  };
  EXPECT_THAT(keys(KeyReading::kName), ElementsAre("off", "on", "0x10"));
  EXPECT_THAT(keys(KeyReading::kValue), ElementsAre("false", "on", "16"));
  EXPECT_THAT(reader.notes(), Contains(HasSubstr("read the name off as \"false\"")));
  EXPECT_THAT(reader.notes(), Contains(HasSubstr("the key 0x10 is read as \"16\"")));
}

// Each level names the one before it ten times: read to the end that is 10^9 keys.
std::string Multiplied(const std::string& innermost) {
  std::string text = "a0: &a0 " + innermost + "\n";
  for (int i = 1; i < 10; ++i) {
    const std::string n = std::to_string(i);
    const std::string before = "*a" + std::to_string(i - 1);
    text += "a" + n + ": &a" + n + " {<<: [" + before;
    for (int k = 0; k < 9; ++k) text += ", " + before;
    text += "]}\n";
  }
  return text;
}

TEST(ClassYamlTest, MergeKeysDoNotMultiply) {
  for (const char* innermost : {"{k: 1}", "{}"}) {
    YamlReader reader("f");
    ItemsOf(reader, YAML::Load(Multiplied(innermost))["a9"], "top", KeyReading::kValue);
    EXPECT_EQ(reader.errors().size(), 1u) << innermost;
  }
}

}  // namespace
}  // namespace plimsoll::qos
