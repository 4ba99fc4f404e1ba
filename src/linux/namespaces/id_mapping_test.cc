#include "linux/namespaces/id_mapping.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace plimsoll::linux {
namespace {

using ::testing::HasSubstr;

TEST(IdMapping, TextIsAsTheKernelTakesIt) {
  EXPECT_EQ(IdMapText({{.host_id = 100000, .container_id = 0, .length = 65536},
                       {.host_id = 7, .container_id = 70000, .length = 1}}),
            "0 100000 65536\n70000 7 1\n");
}

TEST(IdMapping, GivesTheIdOnTheHost) {
  const std::vector<IdMapping> mappings = {{.host_id = 100000, .container_id = 0, .length = 10},
                                           {.host_id = 5, .container_id = 4294967290, .length = 5}};
  EXPECT_EQ(HostIdOf(mappings, 0), 100000u);
  EXPECT_EQ(HostIdOf(mappings, 9), 100009u);
  EXPECT_EQ(HostIdOf(mappings, 10), UINT32_MAX);
  EXPECT_EQ(HostIdOf(mappings, 4294967294), 9u);
}

TEST(IdMapping, TakesWhatTheKernelTakes) {
  EXPECT_TRUE(CheckIdMappings("uids", {{100000, 0, 65536}}).ok());
  EXPECT_TRUE(CheckIdMappings("uids", {{100000, 0, 65536}, {165536, 65536, 1}}).ok());
  EXPECT_TRUE(CheckIdMappings("uids", {{0, 0, 4294967295}}).ok());
}

TEST(IdMapping, RefusesByName) {
  const struct {
    std::vector<IdMapping> mappings;
    const char* why;
  } cases[] = {
      {{}, "uids has 0 mappings"},
      {std::vector<IdMapping>(341, IdMapping{0, 0, 1}), "uids has 341 mappings"},
      {{{100000, 0, 0}}, "uids[0].length is 0"},
      {{{4294967000, 0, 65536}}, "uids[0] maps ids past the last one"},
      {{{1, 4294967295, 1}}, "uids[0] maps ids past the last one"},
      {{{100000, 0, 10}, {100009, 20, 1}}, "uids[1] maps ids that uids[0] maps too"},
      {{{100000, 5, 10}, {200000, 0, 6}}, "uids[1] maps ids that uids[0] maps too"},
  };
  for (const auto& test : cases) {
    const absl::Status status = CheckIdMappings("uids", test.mappings);
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << test.why;
    EXPECT_THAT(std::string(status.message()), HasSubstr(test.why));
  }
}

}  // namespace
}  // namespace plimsoll::linux
