#include "yaml/documents.h"

#include <time.h>

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace plimsoll {
namespace {

using ::testing::HasSubstr;

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

std::string MessageOf(const std::string& text) {
  try {
    LoadYamlDocuments(text);
  } catch (const YAML::Exception& error) {
    return error.what();
  }
  return "no error";
}

TEST(YamlDocuments, ATextHasABoundedNumberOfDocuments) {
  std::string text;
  for (int i = 0; i < 10'000; ++i) text += "---\n[]\n";
  EXPECT_EQ(LoadYamlDocuments(text).size(), 10'000u);
  for (int i = 0; i < 390'000; ++i) text += "---\n[]\n";
  EXPECT_EQ(MessageOf(text), "yaml-cpp: error at line 20001, column 1: more than 10000 documents");
}

std::string Times(int count, const std::string& text) {
  std::string all;
  for (int i = 0; i < count; ++i) all += text;
  return all;
}

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr double kMostSeconds = 4;
#else
constexpr double kMostSeconds = 1;
#endif

double CpuSeconds() {
  timespec now = {};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) / 1e9;
}

// 4 MiB, as the agent's API takes. yaml-cpp took up to 30 seconds, and a gigabyte, for one of
// these.
TEST(YamlDocuments, TooManyValuesAreFoundWhileReading) {
  constexpr size_t kBytes = size_t{4} << 20;
  const auto filled = [](const std::string& begin, const std::string& item) {
    return begin + Times(static_cast<int>(kBytes / item.size()), item);
  };
  for (const std::string& text :
       {filled("a: [", "x,") + "x]", filled("a:\n", "- x\n"), filled("[", "{},") + "{}]",
        filled(Times(400, "["), "x,"), filled("[", "\"a\" : \"b\",") + "1]",
        filled("", "---\n- [x,x,x,x,x,x,x,x,x,x,x,x,x,x,x,x,x,x,x,x,x,x,x,x,x,x,x,x,x,x]\n"),
        filled("- &a x\n", "- *a\n")}) {
    const double begin = CpuSeconds();
    EXPECT_THAT(MessageOf(text), HasSubstr("more than 100000 values")) << text.substr(0, 30);
    EXPECT_LT(CpuSeconds() - begin, kMostSeconds) << text.substr(0, 30);
  }
}

TEST(YamlDocuments, ValuesAreCountedAndKeysAreNot) {
  const auto list = [](int count) { return "[" + Times(count, "{k: v},") + "]"; };
  // The list, and for each item the mapping and its value.
  EXPECT_EQ(MessageOf(list(49'999)), "no error");
  EXPECT_THAT(MessageOf(list(50'000)), HasSubstr("more than 100000 values"));
  EXPECT_EQ(MessageOf("[" + Times(99'998, "\"a\",") + "\"a\"]"), "no error") << "as JSON has it";
}

TEST(YamlDocuments, AliasesCountAsOftenAsTheyAreUsed) {
  std::string text = "- &a0 [x, x, x, x, x, x, x, x, x, x]\n";
  for (int i = 1; i < 5; ++i) {
    const std::string alias = "*a" + std::to_string(i - 1) + ", ";
    text += "- &a" + std::to_string(i) + " [" + Times(10, alias) + "]\n";
  }
  EXPECT_THAT(MessageOf(text), HasSubstr("line 5, column"));
  EXPECT_THAT(MessageOf(text), HasSubstr("more than 100000 values, aliases followed"));
  // Few values, and more text than a machine has memory.
  const std::string megabyte(size_t{1} << 20, 'x');
  const auto aliases = [&](int count) {
    return "a: &a " + megabyte + "\nb: [" + Times(count, "*a, ") + "]";
  };
  EXPECT_EQ(MessageOf(aliases(16)), "no error");
  EXPECT_THAT(MessageOf(aliases(17)), HasSubstr("aliases of more than 16 MiB of text"));
  // An anchor is of its document.
  EXPECT_EQ(MessageOf("a: &a [1]\nb: *a\n---\na: &a 2\nb: [*a, *a]"), "no error");
  for (const char* cycle : {"a: &a {x: *a}", "&a [*a]", "a: &a [[1, *a]]"}) {
    EXPECT_THAT(MessageOf(cycle), HasSubstr("an alias of what it is part of")) << cycle;
  }
}

TEST(YamlDocuments, BracketsHaveABoundedDepth) {
  bool more = false;
  EXPECT_EQ(MessageOf("a: 1\nx: " + Times(2'000'000, "{")),
            "yaml-cpp: error at line 2, column 1004: nested deeper than 1000 levels");
  for (const std::string& text :
       {Times(2000, "["), Times(2000, "{a: \n"), Times(2000, "{\"a}\": "),
        Times(2000, "{'it''s }': "), "a: it's\nb: " + Times(2000, "[\"\\\"]\", "),
        "a: |\n  text\nb: " + Times(2000, "[")}) {
    EXPECT_NE(MessageOf(text).find("nested deeper than 1000 levels"), std::string::npos)
        << text.substr(0, 30);
    EXPECT_THROW(LoadFirstYamlDocument(text, &more), YAML::Exception) << text.substr(0, 30);
  }
}

TEST(YamlDocuments, BracketsInTextAreNotNested) {
  const std::string many = Times(2000, "[");
  for (const std::string& text :
       {"a: '" + many + "'", "a: \"\\\"" + many + "\"", "a: 1 # " + many, "#" + many + "\na: 1",
        "a: |\n  " + many + "\n\n  " + many + "\nb: 1", "- a: >-\r\n    " + many + "\r\n  b: 1",
        "a: ''\nb: '" + many + "'", "[" + Times(2000, "{a: [b]}, ") + "]",
        Times(2000, "---\na: b[\n")}) {
    EXPECT_EQ(MessageOf(text), "no error") << text.substr(0, 30);
  }
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
