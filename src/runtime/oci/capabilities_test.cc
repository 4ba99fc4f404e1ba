#include "runtime/oci/capabilities.h"

#include "base/dir_for_test.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace plimsoll::runtime {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

constexpr CapabilityMask kAll = (CapabilityMask{1} << 41) - 1;

CapabilityMask Bit(const char* name) {
  return *CapabilityBit(name);
}

TEST(CapabilitiesTest, NamesInEverySpelling) {
  EXPECT_EQ(*CapabilityBit("CAP_CHOWN"), 1u);
  EXPECT_EQ(*CapabilityBit("net_admin"), uint64_t{1} << 12);
  EXPECT_EQ(*CapabilityBit("CHECKPOINT_RESTORE"), uint64_t{1} << 40);
  EXPECT_THAT(CapabilityNames(3), ElementsAre("CAP_CHOWN", "CAP_DAC_OVERRIDE"));
  const auto unknown = CapabilityBit("CAP_FLY");
  EXPECT_TRUE(absl::IsInvalidArgument(unknown.status()));
  EXPECT_THAT(unknown.status().message(), HasSubstr("CAP_FLY"));
}

TEST(CapabilitiesTest, DefaultIsTheFieldsSet) {
  EXPECT_EQ(DefaultCapabilities(), 0xa80425fbu);
  EXPECT_THAT(CapabilityNames(DefaultCapabilities()), SizeIs(14));
}

TEST(CapabilitiesTest, AddAndDrop) {
  SecurityContext security;
  security.capabilities.add = {"NET_ADMIN", "SYS_TIME"};
  security.capabilities.drop = {"CAP_CHOWN", "SYS_TIME"};
  const auto result = ResolveCapabilities(security, kAll);
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->granted, (DefaultCapabilities() | Bit("NET_ADMIN")) & ~Bit("CHOWN"));
  EXPECT_EQ(result->ambient, 0u);
}

TEST(CapabilitiesTest, All) {
  SecurityContext security;
  security.capabilities.drop = {"ALL"};
  security.capabilities.add = {"KILL"};
  EXPECT_EQ(ResolveCapabilities(security, kAll)->granted, Bit("KILL"));
  security.capabilities.add = {"all"};
  security.capabilities.drop = {"SYS_ADMIN"};
  EXPECT_EQ(ResolveCapabilities(security, kAll)->granted, kAll & ~Bit("SYS_ADMIN"));
  security.capabilities.add = {"ALL", "KILL"};
  security.capabilities.drop = {"ALL"};
  EXPECT_EQ(ResolveCapabilities(security, kAll)->granted, Bit("KILL")) << "what is taken is taken";
}

TEST(CapabilitiesTest, AmbientOnesAreGrantedToo) {
  SecurityContext security;
  security.capabilities.drop = {"ALL"};
  security.capabilities.add_ambient = {"NET_BIND_SERVICE"};
  const auto result = ResolveCapabilities(security, kAll);
  EXPECT_EQ(result->granted, Bit("NET_BIND_SERVICE"));
  EXPECT_EQ(result->ambient, Bit("NET_BIND_SERVICE"));
}

TEST(CapabilitiesTest, NoMoreThanThisProcessHas) {
  SecurityContext security;
  security.privileged = true;
  security.capabilities.drop = {"ALL"};  // no effect on a privileged container
  const CapabilityMask own = kAll & ~Bit("SYS_RESOURCE");
  const auto result = ResolveCapabilities(security, own);
  EXPECT_EQ(result->granted, own);
  EXPECT_EQ(result->refused, Bit("SYS_RESOURCE"));
}

TEST(CapabilitiesTest, UnknownNameSaysInWhichList) {
  SecurityContext security;
  security.capabilities.drop = {"CAP_FLY"};
  EXPECT_THAT(ResolveCapabilities(security, kAll).status().message(),
              HasSubstr("capabilities.drop"));
}

TEST(CapabilitiesTest, OwnComesFromProc) {
  TestDir dir;
  ASSERT_TRUE(dir.root().MakeDirs("proc/self").ok());
  ASSERT_TRUE(dir.root()
                  .ReplaceFile("proc/self/status",
                               "Name:\tx\nCapEff:\t000001fffeffffff\nCapBnd:\t000001ffffffff0f\n")
                  .ok());
  EXPECT_EQ(*OwnCapabilities(dir.root()), 0x1fffeffff0fu);
  ASSERT_TRUE(dir.root().ReplaceFile("proc/self/status", "Name:\tx\n").ok());
  EXPECT_TRUE(absl::IsDataLoss(OwnCapabilities(dir.root()).status()));
}

}  // namespace
}  // namespace plimsoll::runtime
