#include "agent/managers/nearest_cpus.h"

#include <gtest/gtest.h>

#include "agent/managers/managers_for_test.h"

namespace plimsoll::agent {
namespace {

// Node n has cores 2n and 2n + 1, of CPUs n and n + 8; two nodes are a package.
std::string Nearest(absl::string_view near, absl::string_view pool, int64_t count) {
  const topology::MachineMaps maps = MapsOf({.packages = 2, .nodes = 2, .cores = 2, .threads = 2});
  return NearestCpus(maps, CpusOfText(near), CpusOfText(pool), count).ToString();
}

TEST(NearestCpusTest, TheCoreComesBeforeNodeAndPackage) {
  EXPECT_EQ(Nearest("0", "1-15", 1), "8");
  EXPECT_EQ(Nearest("0", "1-7,9-15", 1), "1");
  EXPECT_EQ(Nearest("0", "2-7,10-15", 1), "2");
  EXPECT_EQ(Nearest("6", "0,4", 1), "4");
  EXPECT_EQ(Nearest("0", "4", 1), "4");
}

TEST(NearestCpusTest, WholeCoresAreTakenAndNoneIsBrokenForLess) {
  EXPECT_EQ(Nearest("", "0-2,9-10", 2), "1,9");
  EXPECT_EQ(Nearest("", "0-2,9-10", 1), "0");
  EXPECT_EQ(Nearest("", "0-2,9-10", 3), "0-1,9");
}

TEST(NearestCpusTest, APoolThatIsTooSmallIsTakenWhole) {
  EXPECT_EQ(Nearest("0", "1,3", 7), "1,3");
  EXPECT_EQ(Nearest("0", "", 7), "");
  EXPECT_EQ(Nearest("0", "100", 1), "") << "the machine has no such CPU";
}

}  // namespace
}  // namespace plimsoll::agent
