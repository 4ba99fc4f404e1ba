#include "pictures/cpus.h"

#include <algorithm>

#include "absl/strings/str_split.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace plimsoll::pictures {
namespace {

using ::testing::HasSubstr;

resources::CpuSet List(const char* list) {
  return *resources::CpuSet::Parse(list);
}

// Two packages with a NUMA node each, two cores of two threads: CPU n and n + 4 are siblings.
CpuPicture Small() {
  CpuPicture picture;
  for (uint32_t cpu = 0; cpu < 8; ++cpu) {
    picture.cpus.push_back({cpu, cpu % 4, cpu % 4 / 2, cpu % 4 / 2});
  }
  picture.reserved = List("0");
  picture.shared = List("0,3-4,6-7");
  picture.holders = {{"default/web nginx", List("1,5")}, {"default/db", List("2")}};
  return picture;
}

TEST(CpusText, MarksEachCpuWithItsHolder) {
  EXPECT_EQ(CpusText(Small(), /*colour=*/false),
            "package 0  NUMA node 0  [0# 4.] [1A 5A]\n"
            "package 1  NUMA node 1  [2B 6.] [3. 7.]\n"
            "A  default/web nginx  1,5\n"
            "B  default/db  2\n"
            ".  shared  0,3-4,6-7\n"
            "#  reserved  0\n");
}

TEST(CpusText, ColoursAreForHoldersAlone) {
  const std::string text = CpusText(Small(), /*colour=*/true);
  EXPECT_THAT(text, HasSubstr("[0# 4.] [\x1b[36m1A\x1b[0m \x1b[36m5A\x1b[0m]"));
  EXPECT_THAT(text, HasSubstr("\x1b[33mB\x1b[0m  default/db  2\n"));
}

TEST(CpusText, OfAContainerAndItsPodTheContainerIsShown) {
  CpuPicture picture = Small();
  picture.holders = {{"pod", List("1-3")}, {"its container", List("2")}};
  EXPECT_THAT(CpusText(picture, false), HasSubstr("[1A 5 ]"));
  EXPECT_THAT(CpusText(picture, false), HasSubstr("[2B 6.]"));
}

TEST(CpusText, LongLinesBreakWhateverTheirColours) {
  CpuPicture picture;
  for (uint32_t cpu = 0; cpu < 512; ++cpu) picture.cpus.push_back({cpu, cpu % 256, 0, 0});
  for (uint32_t i = 0; i < 30; ++i) picture.holders.push_back({"p", List("0")});
  picture.holders.push_back({"last", List("0-511")});
  const std::string plain = CpusText(picture, false);
  EXPECT_THAT(plain, HasSubstr("[0AE 256AE]"));
  const std::vector<std::string> lines = absl::StrSplit(plain, '\n');
  EXPECT_TRUE(std::all_of(lines.begin(), lines.end(),
                          [](const std::string& line) { return line.size() <= 100; }));
  const std::string coloured = CpusText(picture, true);
  EXPECT_EQ(std::count(coloured.begin(), coloured.end(), '\n'),
            std::count(plain.begin(), plain.end(), '\n'));
}

TEST(CpusText, NamesChangeNoTerminal) {
  CpuPicture picture = Small();
  picture.holders = {{"a\x1b[2J", List("1")}};
  EXPECT_THAT(CpusText(picture, false), HasSubstr("A  a\\x1b[2J  1\n"));
}

TEST(CpusText, NothingIsDrawnOfNothing) {
  EXPECT_EQ(CpusText({}, true), "");
}

}  // namespace
}  // namespace plimsoll::pictures
