#include "linux/memory_policy.h"

#include "base/dir_for_test.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace plimsoll::linux {
namespace {

using ::testing::HasSubstr;

class MemoryPolicyTest : public ::testing::Test {
 protected:
  void HasNodes(const std::string& list) {
    ASSERT_TRUE(dir_.root().MakeDirs("sys/devices/system/node").ok());
    ASSERT_TRUE(dir_.root().ReplaceFile("sys/devices/system/node/has_memory", list + "\n").ok());
  }
  absl::StatusOr<std::string> Encode(const std::string& mode, const std::string& nodes,
                                     const std::vector<std::string>& flags = {}) {
    return EncodeMemoryPolicy(dir_.root(), mode, nodes, flags);
  }
  std::string Mistake(const std::string& mode, const std::string& nodes,
                      const std::vector<std::string>& flags = {}) {
    const auto encoded = Encode(mode, nodes, flags);
    EXPECT_TRUE(absl::IsInvalidArgument(encoded.status())) << encoded.status();
    return std::string(encoded.status().message());
  }

  TestDir dir_;
};

constexpr int kStatic = 1 << 15;
constexpr int kRelative = 1 << 14;

TEST_F(MemoryPolicyTest, NodesAreTheOnesNamed) {
  HasNodes("0-1,64");
  EXPECT_EQ(*Encode("MPOL_BIND", "0-1"), std::to_string(2 | kStatic) + ":3");
  EXPECT_EQ(*Encode("MPOL_INTERLEAVE", "1,64"), std::to_string(3 | kStatic) + ":2,1");
  EXPECT_EQ(*Encode("MPOL_PREFERRED", ""), "1");
  EXPECT_EQ(*Encode("MPOL_LOCAL", ""), "4");
  EXPECT_EQ(*Encode("MPOL_BIND", "1", {"MPOL_F_NUMA_BALANCING"}),
            std::to_string(2 | kStatic | 1 << 13) + ":2");
}

TEST_F(MemoryPolicyTest, RelativeNodesNeedNotBeThere) {
  HasNodes("0");
  EXPECT_EQ(*Encode("MPOL_BIND", "3", {"MPOL_F_RELATIVE_NODES"}),
            std::to_string(2 | kRelative) + ":8");
}

TEST_F(MemoryPolicyTest, NodesMustBeThere) {
  EXPECT_THAT(Encode("MPOL_BIND", "0").status().message(), HasSubstr("no NUMA"));
  HasNodes("0-1");
  const auto missing = Encode("MPOL_BIND", "1-2");
  EXPECT_TRUE(absl::IsFailedPrecondition(missing.status())) << missing.status();
  EXPECT_THAT(missing.status().message(), HasSubstr("no node 2 with memory; it has 0-1"));
}

TEST_F(MemoryPolicyTest, NamesMistakes) {
  HasNodes("0");
  EXPECT_THAT(Mistake("BIND", "0"), HasSubstr("mode \"BIND\""));
  EXPECT_THAT(Mistake("MPOL_BIND", ""), HasSubstr("needs nodes"));
  EXPECT_THAT(Mistake("MPOL_LOCAL", "0"), HasSubstr("takes no nodes"));
  EXPECT_THAT(Mistake("MPOL_DEFAULT", "", {"MPOL_F_STATIC_NODES"}), HasSubstr("need nodes"));
  EXPECT_THAT(Mistake("MPOL_BIND", "0", {"X"}), HasSubstr("flag \"X\""));
  EXPECT_THAT(Mistake("MPOL_BIND", "0", {"MPOL_F_STATIC_NODES", "MPOL_F_RELATIVE_NODES"}),
              HasSubstr("exclude"));
  for (const char* nodes : {"a", "1-0", "0-1-2", "-1", "4000000", "1024"}) {
    EXPECT_THAT(Mistake("MPOL_BIND", nodes), HasSubstr("must be a list")) << nodes;
  }
}

}  // namespace
}  // namespace plimsoll::linux
