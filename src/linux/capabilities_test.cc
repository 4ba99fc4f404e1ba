#include "linux/capabilities.h"

#include "base/dir_for_test.h"
#include "gtest/gtest.h"

namespace plimsoll::linux {
namespace {

class OwnCapabilitiesTest : public ::testing::Test {
 protected:
  void Put(absl::string_view status) {
    ASSERT_TRUE(dir_.root().MakeDirs("proc/self").ok());
    ASSERT_TRUE(dir_.root().ReplaceFile("proc/self/status", status).ok());
  }

  TestDir dir_;
};

TEST_F(OwnCapabilitiesTest, EachSetHasItsLine) {
  Put("Name:\tx\nCapEff:\t000001fffeffffff\nCapBnd:\t000001ffffffff0f\n");
  const auto own = ReadOwnCapabilities(dir_.root());
  ASSERT_TRUE(own.ok()) << own.status();
  EXPECT_EQ(own->effective, 0x1fffeffffffu);
  EXPECT_EQ(own->bounding, 0x1ffffffff0fu);
  EXPECT_FALSE(*HasCapability(dir_.root(), 24));
  EXPECT_TRUE(*HasCapability(dir_.root(), 21));
  EXPECT_FALSE(*HasCapability(dir_.root(), 63));
  EXPECT_TRUE(absl::IsInvalidArgument(HasCapability(dir_.root(), 64).status()));
}

TEST_F(OwnCapabilitiesTest, AMissingLineIsDataLoss) {
  for (const char* status : {"Name:\tx\n", "CapEff:\t1\n", "CapEff:\t?\nCapBnd:\t1\n"}) {
    Put(status);
    EXPECT_TRUE(absl::IsDataLoss(ReadOwnCapabilities(dir_.root()).status())) << status;
  }
}

}  // namespace
}  // namespace plimsoll::linux
