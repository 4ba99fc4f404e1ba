#include "yaml/documents.h"

#include "gtest/gtest.h"

namespace plimsoll {
namespace {

TEST(YamlDocuments, GivesEachDocument) {
  EXPECT_EQ(LoadYamlDocuments("").size(), 0u);
  EXPECT_EQ(LoadYamlDocuments("# nothing\n").size(), 0u);
  EXPECT_EQ(LoadYamlDocuments("a: 1\n").size(), 1u);
  const auto two = LoadYamlDocuments("a: 1\n---\n{b: [2]}\n");
  ASSERT_EQ(two.size(), 2u);
  EXPECT_EQ(two[1]["b"][0].as<int>(), 2);
}

// Found by the fuzzer: yaml-cpp made documents of it until there was no memory left.
TEST(YamlDocuments, ABracketThatClosesNothingIsAnError) {
  for (const char* text : {"}", "]", "{a: 1}}", "{\"a\":[{\"n}]}}", "a: 1\n---\n]"}) {
    EXPECT_THROW(LoadYamlDocuments(text), YAML::Exception) << text;
  }
}

}  // namespace
}  // namespace plimsoll
