#include "pod_runner/user_ids.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace plimsoll::pod {
namespace {

using ::testing::HasSubstr;

TEST(UserIds, TheFirstThatNoOtherHas) {
  EXPECT_EQ(*FreeIds({}, 0), kFirstPodId);
  EXPECT_EQ(*FreeIds({}, 2), kFirstPodId + 2 * kIdsOfAPod);
  EXPECT_EQ(*FreeIds({{kFirstPodId, kIdsOfAPod}}, 0), kFirstPodId + kIdsOfAPod);
  // An overlap of one id is enough.
  EXPECT_EQ(*FreeIds({{kFirstPodId + kIdsOfAPod - 1, 1}}, 0), kFirstPodId + kIdsOfAPod);
  EXPECT_EQ(*FreeIds({{0, kFirstPodId}}, 0), kFirstPodId);
  EXPECT_EQ(*FreeIds({{0, kFirstPodId + 1}}, 0), kFirstPodId + kIdsOfAPod);
}

TEST(UserIds, AfterTheLastComesTheFirst) {
  constexpr uint32_t kLast = kFirstPodId + (kPodIdRanges - 1) * kIdsOfAPod;
  EXPECT_EQ(uint64_t{kLast} + kIdsOfAPod, uint64_t{1} << 31);
  EXPECT_EQ(*FreeIds({}, kPodIdRanges - 1), kLast);
  EXPECT_EQ(*FreeIds({{kLast, kIdsOfAPod}}, kPodIdRanges - 1), kFirstPodId);
}

TEST(UserIds, WithoutOneThatIsSaid) {
  const auto none = FreeIds({{kFirstPodId, uint64_t{1} << 31}}, 7);
  EXPECT_TRUE(absl::IsResourceExhausted(none.status())) << none.status();
  EXPECT_THAT(none.status().message(), HasSubstr("remove ended pods"));
}

}  // namespace
}  // namespace plimsoll::pod
