#include "nri/adjust/owners.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace plimsoll::nri {
namespace {

TEST(OwnersTest, KeysForMessagesAreShortAndPrintable) {
  EXPECT_EQ(FieldText("args", ""), "args");
  EXPECT_EQ(FieldText("env", "A\n\x1b"), "env \"A\\n\\x1b\"");
  EXPECT_EQ(FieldText("env", std::string(200, 'x')), "env \"" + std::string(80, 'x') + "...\"");
}

TEST(OwnersTest, PluginsBelowAPath) {
  Owners owners;
  EXPECT_EQ(owners.PluginsBelow("linux.resources"), "");
  ASSERT_EQ(owners.Claim("20-b", "linux.resources.cpu.cpus", ""), absl::OkStatus());
  ASSERT_EQ(owners.Claim("10-a", "linux.resources.pids", ""), absl::OkStatus());
  ASSERT_EQ(owners.Claim("30-c", "linux.rdt.clos_id", ""), absl::OkStatus());
  EXPECT_EQ(owners.PluginsBelow("linux.resources"), "10-a and 20-b");
  EXPECT_EQ(owners.PluginsBelow("linux.resources.cpu"), "20-b");
  EXPECT_EQ(owners.PluginsBelow("linux.res"), "");
  EXPECT_EQ(owners.PluginsBelow("linux.rdt.clos_id"), "30-c");
  EXPECT_EQ(owners.PluginOf("linux.resources.pids", ""), "10-a");
  EXPECT_EQ(owners.PluginOf("linux.resources.pids", "x"), "");
}

TEST(OwnersTest, ARemovalByTheSamePluginIsNoConflict) {
  Owners owners;
  owners.Remove("10-a", "env", "A");
  EXPECT_EQ(owners.Claim("10-a", "env", "A"), absl::OkStatus());
  owners.Remove("20-b", "env", "A");
  EXPECT_EQ(owners.ToMessage().compound().at(api::Env).owners().at("A"), "-20-b");
  EXPECT_EQ(owners.Claim("10-a", "env", "A").code(), absl::StatusCode::kAlreadyExists);
}

}  // namespace
}  // namespace plimsoll::nri
