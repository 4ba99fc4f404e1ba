#include "linux/apparmor.h"

#include "base/dir_for_test.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace plimsoll::linux {
namespace {

TEST(AppArmor, IsThereWhenItIsSwitchedOn) {
  TestDir dir;
  EXPECT_FALSE(HasAppArmor(dir.root()));
  ASSERT_TRUE(dir.root().MakeDirs("sys/module/apparmor/parameters").ok());
  ASSERT_TRUE(dir.root().ReplaceFile("sys/module/apparmor/parameters/enabled", "N\n").ok());
  EXPECT_FALSE(HasAppArmor(dir.root()));
  ASSERT_TRUE(dir.root().ReplaceFile("sys/module/apparmor/parameters/enabled", "Y\n").ok());
  EXPECT_TRUE(HasAppArmor(dir.root()));
}

TEST(AppArmor, KnowsWhatIsLoaded) {
  TestDir dir;
  EXPECT_TRUE(absl::IsFailedPrecondition(IsProfileLoaded(dir.root(), "a").status()));
  ASSERT_TRUE(dir.root().MakeDirs("sys/kernel/security/apparmor").ok());
  ASSERT_TRUE(dir.root()
                  .ReplaceFile("sys/kernel/security/apparmor/profiles",
                               "/usr/bin/man (enforce)\nmy own (one) (complain)\n")
                  .ok());
  EXPECT_TRUE(*IsProfileLoaded(dir.root(), "/usr/bin/man"));
  EXPECT_TRUE(*IsProfileLoaded(dir.root(), "my own (one)"));
  EXPECT_FALSE(*IsProfileLoaded(dir.root(), "/usr/bin"));
  EXPECT_FALSE(*IsProfileLoaded(dir.root(), ""));
}

}  // namespace
}  // namespace plimsoll::linux
