#include "linux/cgroup/files.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace plimsoll::linux {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(ParseLimit, KnowsEverySpellingOfNone) {
  EXPECT_EQ(*ParseLimit("max\n"), -1);
  EXPECT_EQ(*ParseLimit("-1\n"), -1);
  EXPECT_EQ(*ParseLimit("9223372036854771712\n"), -1);   // 4 KiB pages
  EXPECT_EQ(*ParseLimit("9223372036854710272\n"), -1);   // 64 KiB pages
  EXPECT_EQ(*ParseLimit("9223372036853727232\n"), -1);   // hugetlb, 2 MB
  EXPECT_EQ(*ParseLimit("9223372035781033984\n"), -1);   // hugetlb, 1 GB
  EXPECT_EQ(*ParseLimit("18446744073709551615\n"), -1);  // kernels before 3.19
}

TEST(ParseLimit, KeepsNumbers) {
  EXPECT_EQ(*ParseLimit("0"), 0);
  EXPECT_EQ(*ParseLimit("104857600\n"), 104857600);
  EXPECT_EQ(*ParseLimit("1152921504606846976"), 1152921504606846976);  // 1 EiB
  for (const char* text : {"", "x", "1 2", "12k", "maximum"}) {
    EXPECT_FALSE(ParseLimit(text).ok()) << text;
  }
  EXPECT_EQ(FormatLimit(-1), "max");
  EXPECT_EQ(FormatLimit(7), "7");
}

TEST(ParseCpuMax, ReadsBothWords) {
  EXPECT_EQ(ParseCpuMax("50000 100000\n")->quota_us, 50000);
  EXPECT_EQ(ParseCpuMax("50000 200000\n")->period_us, 200000u);
  EXPECT_EQ(ParseCpuMax("max 100000\n")->quota_us, -1);
  for (const char* text : {"", "max", "1 2 3", "max max"}) {
    EXPECT_FALSE(ParseCpuMax(text).ok()) << text;
  }
}

TEST(FindKey, MatchesWholeKeys) {
  const char text[] = "oom 1\noom_kill 12\noom_group_kill 3\n";
  EXPECT_EQ(FindKey(text, "oom_kill"), 12u);
  EXPECT_EQ(FindKey(text, "oom"), 1u);
  EXPECT_EQ(FindKey(text, "kill"), std::nullopt);
  EXPECT_EQ(FindKey("", "oom"), std::nullopt);
  EXPECT_EQ(FindKey("oom x\n", "oom"), std::nullopt);
}

TEST(ParseProcesses, LeavesOutTheInvisible) {
  EXPECT_THAT(*ParseProcesses("1\n0\n4711\n"), ElementsAre(1, 4711));
  EXPECT_THAT(*ParseProcesses(""), IsEmpty());
  EXPECT_FALSE(ParseProcesses("-1\n").ok());
  EXPECT_FALSE(ParseProcesses("1\nx\n").ok());
}

TEST(ParsePressure, BothLinesOrOne) {
  const auto both = ParsePressure(
      "some avg10=75.28 avg60=86.72 avg300=80.14 total=38603052001\n"
      "full avg10=1.00 avg60=0.00 avg300=0.50 total=7\n");
  ASSERT_TRUE(both.ok()) << both.status();
  EXPECT_EQ(both->some, (PressureLine{75.28, 86.72, 80.14, 38603052001}));
  EXPECT_EQ(both->full, (PressureLine{1, 0, 0.5, 7}));
  const auto some = ParsePressure("some avg10=0.00 avg60=0.00 avg300=0.00 total=3\n");
  ASSERT_TRUE(some.ok()) << some.status();
  EXPECT_EQ(some->some.total_us, 3u);
  EXPECT_EQ(some->full, PressureLine());
}

TEST(ParsePressure, RefusesWhatItDoesNotUnderstand) {
  for (const char* text :
       {"", "\n", "some\n", "some avg10=1 avg60=1 avg300=1\n",
        "any avg10=1 avg60=1 avg300=1 total=1\n", "some avg10=x avg60=1 avg300=1 total=1\n",
        "some avg60=1 avg10=1 avg300=1 total=1\n", "some avg10=1 avg60=1 avg300=1 total=-1\n"}) {
    EXPECT_FALSE(ParsePressure(text).ok()) << text;
  }
}

TEST(ParseOwnGroup, FindsTheHierarchy) {
  const char text[] = "9:name=systemd:/\n4:cpu,cpuacct:/a:b/c\n3:cpuset:/x\n0::/user.slice\n";
  EXPECT_EQ(*ParseOwnGroup(text, "cpuacct"), "/a:b/c");
  EXPECT_EQ(*ParseOwnGroup(text, "cpuset"), "/x");
  EXPECT_EQ(*ParseOwnGroup(text, ""), "/user.slice");
  EXPECT_TRUE(absl::IsNotFound(ParseOwnGroup(text, "cp").status()));
  EXPECT_TRUE(absl::IsNotFound(ParseOwnGroup("", "").status()));
}

TEST(ParseWords, SkipsBlanks) {
  EXPECT_THAT(ParseWords("cpu io  memory\n"), ElementsAre("cpu", "io", "memory"));
  EXPECT_THAT(ParseWords("\n"), IsEmpty());
}

TEST(HugetlbPageSize, IsBetweenPrefixAndSuffix) {
  EXPECT_EQ(HugetlbPageSize("hugetlb.2MB.limit_in_bytes", ".limit_in_bytes"), "2MB");
  EXPECT_EQ(HugetlbPageSize("hugetlb.1GB.max", ".max"), "1GB");
  EXPECT_EQ(HugetlbPageSize("hugetlb.2MB.rsvd.max", ".max"), std::nullopt);
  EXPECT_EQ(HugetlbPageSize("hugetlb.2MB.current", ".max"), std::nullopt);
  EXPECT_EQ(HugetlbPageSize("memory.max", ".max"), std::nullopt);
}

}  // namespace
}  // namespace plimsoll::linux
