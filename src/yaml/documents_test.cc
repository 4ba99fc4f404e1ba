#include "yaml/documents.h"

#include <string>

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

TEST(YamlDocuments, GivesTheFirstAlone) {
  bool more = true;
  EXPECT_EQ(LoadFirstYamlDocument("a: 1\n", &more)["a"].as<int>(), 1);
  EXPECT_FALSE(more);
  EXPECT_TRUE(LoadFirstYamlDocument("# nothing\n", &more).IsNull());
  EXPECT_FALSE(more);
  EXPECT_TRUE(LoadFirstYamlDocument("---\n---\na: 1\n", &more).IsNull());
  EXPECT_TRUE(more);
  for (const char* text :
       {"a: 1\n---\nb: 2\n", "a: 1\n---\n[\n", "a: 1\n...\n---\n\"\xff\"\n", "a: 1\n---\n]\n"}) {
    EXPECT_EQ(LoadFirstYamlDocument(text, &more)["a"].as<int>(), 1) << text;
    EXPECT_TRUE(more) << text;
  }
  EXPECT_FALSE((LoadFirstYamlDocument("a: 1\n...\n", &more), more));
  for (const char* text :
       {"a: [", "\"\xff\"", "}", "a: 1\n}\n", "{a: 1}}", "---\na: 1\n]\n---\n"}) {
    EXPECT_THROW(LoadFirstYamlDocument(text, &more), YAML::Exception) << text;
  }
}

// Found by the fuzzer: yaml-cpp made documents of such a text until memory ran out.
TEST(YamlDocuments, ABracketThatClosesNothingIsAnError) {
  for (const char* text : {"}", "]", "{a: 1}}", "{\"a\":[{\"n}]}}", "a: 1\n---\n]"}) {
    EXPECT_THROW(LoadYamlDocuments(text), YAML::Exception) << text;
  }
}

// Found by the fuzzer: such a text was read, and other bytes were written.
TEST(YamlDocuments, BytesThatAreNoTextAreAnError) {
  for (const char* value :
       {"\xff", "a\x8c", "\xc3", "\xc0\xaf", "\xc1\xbf", "\xe0\x80\xaf", "\xe2\x82", "\xed\xa0\x80",
        "\xf0\x8f\xbf\xbf", "\xf4\x90\x80\x80", "\xf8\x88\x80\x80", "\xef\xbf\xbe",
        "\xf0\x9f\xbf\xbf", "\xef\xb7\x90", "\\uFFFF", "\\U0001FFFE"}) {
    const std::string quoted = std::string("\"") + value + "\"";
    EXPECT_THROW(LoadYamlDocuments("a: " + quoted), YAML::Exception) << value;
    EXPECT_THROW(LoadYamlDocuments("{" + quoted + ": 1}"), YAML::Exception) << value;
    EXPECT_THROW(LoadYamlDocuments("a: 1\n---\n- [" + quoted + "]"), YAML::Exception) << value;
  }
}

std::string Keys(int count, const std::string& before) {
  std::string text;
  for (int i = 0; i < count; ++i) text += before + "k" + std::to_string(i) + ": 1\n";
  return text;
}

TEST(YamlDocuments, AMappingHasABoundedNumberOfKeys) {
  EXPECT_EQ(LoadYamlDocuments(Keys(2000, "")).front().size(), 2000u);
  for (const std::string& text :
       {Keys(2001, ""), "a:\n" + Keys(2001, " "), "- a: 1\n- " + Keys(2001, "  ").substr(2),
        "[" + std::string(1, '{') +
            [] {
              std::string flow;
              for (int i = 0; i <= 2000; ++i) flow += std::to_string(i) + ": [1, {a: 2}], ";
              return flow;
            }() +
            "}]",
        Keys(100'000, "")}) {
    try {
      LoadYamlDocuments(text);
      ADD_FAILURE() << text.substr(0, 20) << " was read";
    } catch (const YAML::Exception& error) {
      EXPECT_NE(std::string(error.what()).find("a mapping of more than 2000 keys"),
                std::string::npos)
          << error.what();
    }
  }
  // Several mappings with fewer keys each, and a list.
  std::string list;
  for (int i = 0; i < 3000; ++i) list += "- {a: 1, b: {c: 2}}\n";
  EXPECT_EQ(LoadYamlDocuments(list).front().size(), 3000u);
}

TEST(YamlDocuments, TextOfEveryLengthIsRead) {
  for (const char* value :
       {"", "plain", "\xc2\x80", "\xdf\xbf", "\xe0\xa0\x80", "\xed\x9f\xbf", "\xee\x80\x80",
        "\xef\xbf\xbd", "\xf0\x90\x80\x80", "\xf4\x8f\xbf\xbd", "10\xc2\xb5s"}) {
    const auto documents = LoadYamlDocuments(std::string("\"") + value + "\"");
    ASSERT_EQ(documents.size(), 1u) << value;
    EXPECT_EQ(documents[0].Scalar(), value);
  }
}

}  // namespace
}  // namespace plimsoll
