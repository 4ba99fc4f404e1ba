#include "runtime/oci/apparmor.h"

#include "base/dir_for_test.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace plimsoll::runtime {
namespace {

using ::testing::HasSubstr;
using Type = SecurityProfile::Type;

TEST(AppArmorTest, WithoutItOnlyUnconfinedCanBeHad) {
  TestDir dir;
  AppArmor none(dir.root(), false);
  EXPECT_EQ(*none.Profile({Type::kUnconfined, ""}), "");
  for (const SecurityProfile& asked :
       {SecurityProfile{Type::kRuntimeDefault, ""}, SecurityProfile{Type::kLocalhost, "mine"}}) {
    const absl::Status status = none.Profile(asked).status();
    EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr("no AppArmor"));
  }
}

TEST(AppArmorTest, ProfilesMustBeLoaded) {
  TestDir dir;
  ASSERT_TRUE(dir.root().MakeDirs("sys/kernel/security/apparmor").ok());
  ASSERT_TRUE(dir.root()
                  .ReplaceFile("sys/kernel/security/apparmor/profiles",
                               "plimsoll-default (enforce)\nmine (complain)\n")
                  .ok());
  AppArmor some(dir.root(), true);
  EXPECT_EQ(*some.Profile({Type::kUnconfined, ""}), "");
  EXPECT_EQ(*some.Profile({Type::kRuntimeDefault, ""}), "plimsoll-default");
  EXPECT_EQ(*some.Profile({Type::kLocalhost, "mine"}), "mine");
  const absl::Status missing = some.Profile({Type::kLocalhost, "other"}).status();
  EXPECT_TRUE(absl::IsNotFound(missing)) << missing;
  EXPECT_THAT(std::string(missing.message()), HasSubstr("\"other\""));
}

}  // namespace
}  // namespace plimsoll::runtime
