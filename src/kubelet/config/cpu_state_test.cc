#include "kubelet/config/cpu_state.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace plimsoll::kubelet {
namespace {

TEST(CpuStateTest, ReadsSharedAndExclusiveCpus) {
  const auto state = ReadCpuState(R"({"policyName": "static", "defaultCpuSet": "2-4,7",
      "entries": {"3f2a": {"web": "5-6"}, "77b0": {"db": "1"}}, "checksum": 12345})");
  ASSERT_TRUE(state.ok()) << state.status();
  EXPECT_EQ(state->policy, "static");
  EXPECT_EQ(state->shared.ToString(), "2-4,7");
  ASSERT_EQ(state->exclusive.size(), 2u);
  EXPECT_EQ(state->exclusive[0].holder, "container web of pod 3f2a");
  EXPECT_EQ(state->exclusive[0].cpus.ToString(), "5-6");
}

TEST(CpuStateTest, PolicyNoneHasNoCpus) {
  const auto state =
      ReadCpuState(R"({"policyName":"none","defaultCpuSet":"","checksum":1353318690})");
  ASSERT_TRUE(state.ok()) << state.status();
  EXPECT_EQ(state->policy, "none");
  EXPECT_TRUE(state->shared.Empty());
}

TEST(CpuStateTest, AnythingElseIsRefused) {
  for (const char* text : {"", "[]", "{}", "{\"policyName\": 3}", "{\"policyName\": \"static\"",
                           R"({"policyName": "static", "defaultCpuSet": "0-"})",
                           R"({"policyName": "static", "defaultCpuSet": 3})",
                           R"({"policyName": "static", "entries": []})",
                           R"({"policyName": "static", "entries": {"a": "0"}})",
                           R"({"policyName": "static", "entries": {"a": {"b": 0}}})",
                           R"({"policyName": "static", "entries": {"a": {"b": "x"}}})"}) {
    EXPECT_TRUE(absl::IsInvalidArgument(ReadCpuState(text).status())) << text;
  }
}

}  // namespace
}  // namespace plimsoll::kubelet
