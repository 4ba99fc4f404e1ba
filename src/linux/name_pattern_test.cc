#include "linux/name_pattern.h"

#include <fnmatch.h>

#include <string>
#include <vector>

#include "absl/time/clock.h"
#include "gtest/gtest.h"

namespace plimsoll::linux {
namespace {

// Malformed patterns match nothing.
bool MatchesName(const std::string& pattern, const std::string& name) {
  const auto parsed = NamePattern::Parse(pattern);
  return parsed.ok() && parsed->Matches(name);
}

// Every word of these characters with at most `length` of them.
std::vector<std::string> Words(const std::string& characters, size_t length) {
  std::vector<std::string> words = {""};
  for (size_t begin = 0; length > 0; --length) {
    const size_t end = words.size();
    for (; begin < end; ++begin) {
      for (const char c : characters) words.push_back(words[begin] + c);
    }
  }
  return words;
}

TEST(NamePatternTest, MatchesWhatTheCLibraryDoes) {
  const std::vector<std::string> names = Words("ab.", 4);
  for (const std::string& pattern : Words("ab.*?", 4)) {
    for (const std::string& name : names) {
      ASSERT_EQ(MatchesName(pattern, name), fnmatch(pattern.c_str(), name.c_str(), 0) == 0)
          << pattern << " " << name;
    }
  }
}

TEST(NamePatternTest, BracketsAndBackslashesToo) {
  for (const std::string pattern : {"[ab]*", "[^a]*b", "a[a-b]*", "\\*", "\\a*", "*[b]", "[a\\]b]",
                                    "[.]*", "sd[a-z]", "sd[^b-z]*", "[b^]a", "[c-a]", "[\\^a]b"}) {
    for (const std::string name : {"a", "b", "ab", "ba", "aab", "]", "[a", "[", "*", ".", ".a",
                                   "sda", "sdb1", "[]", "]b", "^a", "^b"}) {
      EXPECT_EQ(MatchesName(pattern, name), fnmatch(pattern.c_str(), name.c_str(), 0) == 0)
          << pattern << " " << name;
    }
  }
}

// A class file for containerd or CRI-O selects the same devices here: the cases below are those of
// Go's filepath.Match.
TEST(NamePatternTest, AnExclamationMarkDoesNotNegate) {
  EXPECT_TRUE(MatchesName("sd[!0-3]", "sd2"));
  EXPECT_TRUE(MatchesName("sd[!0-3]", "sd!"));
  EXPECT_FALSE(MatchesName("sd[!0-3]", "sd4"));
  EXPECT_TRUE(MatchesName("sd[^0-3]", "sd4"));
  EXPECT_TRUE(MatchesName("[!]a]", "!a]"));
}

TEST(NamePatternTest, WildcardsMatchALeadingDot) {
  for (const char* pattern : {"*hidden", "?hidden", "[.]hidden", "[^a]hidden", "*"}) {
    EXPECT_TRUE(MatchesName(pattern, ".hidden")) << pattern;
  }
}

TEST(NamePatternTest, NamedClassesAreListsOfCharacters) {
  EXPECT_FALSE(MatchesName("sd[[:alpha:]]", "sda"));
  EXPECT_FALSE(MatchesName("sd[[:alpha:]]", "sdz]"));
  EXPECT_TRUE(MatchesName("sd[[:alpha:]]", "sda]"));
  EXPECT_TRUE(MatchesName("sd[[:alpha:]]", "sd:]"));
}

TEST(NamePatternTest, CharactersAreOfUtf8) {
  EXPECT_TRUE(MatchesName("a?c", "a\u00e9c"));
  EXPECT_TRUE(MatchesName("[\u00e0-\u00ef]", "\u00e9"));
  EXPECT_FALSE(MatchesName("[\u00e0-\u00e8]", "\u00e9"));
  EXPECT_FALSE(MatchesName("??", "\u00e9"));
  EXPECT_TRUE(MatchesName("??", "\xff\xfe"));
}

TEST(NamePatternTest, MalformedPatternsAreRefused) {
  for (const std::string pattern : {"[", "[]", "[^]", "[a", "[]a]", "[^]a]", "[a-]", "[-a]",
                                    "[a-b-c]", "[a-", "[\\", "[\\]", "sda\\", "[a]["}) {
    EXPECT_TRUE(absl::IsInvalidArgument(NamePattern::Parse(pattern).status())) << pattern;
  }
  EXPECT_EQ(
      NamePattern::Parse("sd[a").status().message(),
      "\"sd[a\" is no valid pattern: a bracket is not closed, or '-' or ']' in it has no '\\' "
      "before it");
}

TEST(NamePatternTest, ManyStarsTakeNoLonger) {
  std::string pattern;
  for (int i = 0; i < 100; ++i) pattern += "*a";
  const absl::Time before = absl::Now();
  EXPECT_FALSE(MatchesName(pattern + "*b", std::string(255, 'a')));
  EXPECT_TRUE(MatchesName(pattern, std::string(255, 'a')));
  EXPECT_LT(absl::Now() - before, absl::Seconds(2));
}

}  // namespace
}  // namespace plimsoll::linux
