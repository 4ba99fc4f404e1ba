#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "image/image_content.h"
#include "image/manifest.h"

namespace plimsoll::image {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

Descriptor For(const std::string& os, const std::string& architecture,
               const std::string& variant = "") {
  Descriptor descriptor;
  descriptor.digest = absl::StrCat(os, "/", architecture, "/", variant);  // distinguishes them
  descriptor.platform = {os, architecture, variant};
  return descriptor;
}

std::string Chosen(const std::vector<Descriptor>& index, const Platform& host,
                   const std::vector<std::string>& variants) {
  const auto chosen = SelectPlatform(index, "x", host, variants);
  return chosen.ok() ? chosen->digest : std::string(chosen.status().message());
}

const Platform kAmd = {"linux", "amd64", ""};
const Platform kArm = {"linux", "arm", ""};

TEST(SelectPlatformTest, TheNewestVariantThatTheMachineRuns) {
  const std::vector<Descriptor> index = {For("linux", "amd64", "v4"), For("linux", "amd64"),
                                         For("linux", "amd64", "v2"), For("linux", "arm64")};
  EXPECT_EQ(Chosen(index, kAmd, {"v3", "v2", "v1", ""}), "linux/amd64/v2");
  EXPECT_EQ(Chosen(index, kAmd, {"v4", "v3", "v2", "v1", ""}), "linux/amd64/v4");
  EXPECT_EQ(Chosen(index, kAmd, {"v1", ""}), "linux/amd64/");
  const std::vector<Descriptor> arms = {For("linux", "arm", "v5"), For("linux", "arm", "v7"),
                                        For("linux", "arm", "v6")};
  EXPECT_EQ(Chosen(arms, kArm, {"v6", "v5", ""}), "linux/arm/v6");
}

TEST(SelectPlatformTest, TheFirstOfEquals) {
  std::vector<Descriptor> index = {For("linux", "amd64"), For("linux", "amd64")};
  index[0].digest = "first";
  EXPECT_EQ(Chosen(index, kAmd, {"v1", ""}), "first");
}

TEST(SelectPlatformTest, OneThatIsTooNewIsNone) {
  EXPECT_THAT(Chosen({For("linux", "amd64", "v4"), For("windows", "amd64")}, kAmd, {"v1", ""}),
              AllOf(HasSubstr("x has no image for linux/amd64"),
                    HasSubstr("there are: linux/amd64/v4, windows/amd64")));
}

TEST(SelectPlatformTest, WithoutAnyPlatformItMayBeOurs) {
  EXPECT_EQ(Chosen({For("unknown", "unknown"), For("", "")}, kAmd, {""}), "//");
}

TEST(SelectPlatformTest, ThisMachineRunsItsOwnArchitecture) {
  const std::vector<std::string> variants = HostVariants();
  ASSERT_FALSE(variants.empty());
  EXPECT_EQ(variants.back(), "") << "an image that doesn't say which";
}

}  // namespace
}  // namespace plimsoll::image
