#include "resources/cpu_set.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <random>
#include <set>

#include "absl/strings/str_cat.h"

namespace plimsoll::resources {
namespace {

using ::testing::ElementsAre;
using ::testing::ElementsAreArray;

CpuSet C(absl::string_view text) {
  absl::StatusOr<CpuSet> set = CpuSet::Parse(text);
  EXPECT_TRUE(set.ok()) << set.status();
  return set.value_or(CpuSet());
}

TEST(CpuSet, ParsesAndPrintsTheKernelsFormat) {
  EXPECT_EQ(C("").ToString(), "");
  EXPECT_EQ(C("\n").ToString(), "");
  EXPECT_EQ(C("0").ToString(), "0");
  EXPECT_EQ(C("0-3,8\n").ToString(), "0-3,8");
  EXPECT_EQ(C("8,0-3,2-5").ToString(), "0-5,8");
  EXPECT_EQ(C("0,1").ToString(), "0-1");
  EXPECT_EQ(C("63-64").ToString(), "63-64");
  EXPECT_EQ(C("007").ToString(), "7");
  EXPECT_EQ(C("65535").ToString(), "65535");
}

TEST(CpuSet, Strides) {
  EXPECT_THAT(C("0-10:2/4").ToVector(), ElementsAre(0, 1, 4, 5, 8, 9));
  EXPECT_THAT(C("1-7:1/2,0").ToVector(), ElementsAre(0, 1, 3, 5, 7));
  EXPECT_EQ(C("4-9:3/3").ToString(), "4-9");
  EXPECT_EQ(C("0-3:1/99999").ToString(), "0");
}

TEST(CpuSet, RefusesEverythingElse) {
  for (const char* text : {",",
                           "0,",
                           ",0",
                           "0,,1",
                           "a",
                           "0-",
                           "-1",
                           "3-1",
                           "0--3",
                           "0-3-5",
                           "1.5",
                           "0x1",
                           "0 1",
                           "0, 1",
                           "65536",
                           "0-65536",
                           "99999999999999999999",
                           "0-3:",
                           "0-3:1",
                           "0-3:1/",
                           "0-3:0/2",
                           "0-3:3/2",
                           "0-3:1/0",
                           "5:1/2",
                           "0-3:1/2/3",
                           "all",
                           "0-N"}) {
    const absl::StatusOr<CpuSet> set = CpuSet::Parse(text);
    EXPECT_FALSE(set.ok()) << text;
    EXPECT_EQ(set.status().code(), absl::StatusCode::kInvalidArgument) << text;
  }
}

TEST(CpuSet, SetOperations) {
  EXPECT_EQ(C("0-3").Union(C("2-5,200")), C("0-5,200"));
  EXPECT_EQ(C("0-3,200").Intersection(C("2-5")), C("2-3"));
  EXPECT_EQ(C("0-3,200").Difference(C("200,1")), C("0,2-3"));
  EXPECT_TRUE(C("1,3").IsSubsetOf(C("0-3")));
  EXPECT_FALSE(C("1,300").IsSubsetOf(C("0-3")));
  EXPECT_TRUE(C("").IsSubsetOf(C("")));
  EXPECT_EQ(C("0-63,100").Size(), 65);
  CpuSet set = C("100");
  set.Remove(100);
  set.Remove(5000);
  EXPECT_TRUE(set.Empty());
  EXPECT_EQ(set, CpuSet());
  set.Add(CpuSet::kMaxCpus);
  EXPECT_TRUE(set.Empty());
}

TEST(CpuSetProperty, AgreesWithStdSet) {
  std::mt19937 random(5224);
  for (int round = 0; round < 500; ++round) {
    std::set<uint32_t> a, b, united, common, rest;
    CpuSet x, y;
    for (uint32_t i = random() % 60; i > 0; --i) {
      const uint32_t cpu = random() % 300;
      a.insert(cpu);
      x.Add(cpu);
    }
    for (uint32_t i = random() % 60; i > 0; --i) {
      const uint32_t cpu = random() % 300;
      b.insert(cpu);
      y.Add(cpu);
    }
    std::set_union(a.begin(), a.end(), b.begin(), b.end(), std::inserter(united, united.end()));
    std::set_intersection(a.begin(), a.end(), b.begin(), b.end(),
                          std::inserter(common, common.end()));
    std::set_difference(a.begin(), a.end(), b.begin(), b.end(), std::inserter(rest, rest.end()));
    ASSERT_THAT(x.ToVector(), ElementsAreArray(a));
    ASSERT_THAT(x.Union(y).ToVector(), ElementsAreArray(united));
    ASSERT_THAT(x.Intersection(y).ToVector(), ElementsAreArray(common));
    ASSERT_THAT(x.Difference(y).ToVector(), ElementsAreArray(rest));
    ASSERT_EQ(x.Size(), a.size());
    ASSERT_EQ(C(x.ToString()), x);
    ASSERT_TRUE(common.empty() || x.Intersection(y).IsSubsetOf(x));
  }
}

TEST(CpuSetProperty, AnyTextParsesOrIsRefused) {
  std::mt19937 random(1287);
  const std::string alphabet = "0123456789,,--:/ ";
  for (int round = 0; round < 20000; ++round) {
    std::string text;
    for (uint32_t i = random() % 10; i > 0; --i) text += alphabet[random() % alphabet.size()];
    const absl::StatusOr<CpuSet> set = CpuSet::Parse(text);
    if (set.ok()) {
      ASSERT_EQ(C(set->ToString()), *set) << text;
    }
  }
}

}  // namespace
}  // namespace plimsoll::resources
