#include "agent/api/parameters.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace plimsoll::agent {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(ParametersTest, ValuesAreRead) {
  const Parameters given({{"a", "true"},
                          {"b", ""},
                          {"c", "0"},
                          {"n", "7"},
                          {"w", "x"},
                          {"w", "y"},
                          {"fieldSelector", "metadata.name==web"}});
  EXPECT_TRUE(*given.Flag("a"));
  EXPECT_TRUE(*given.Flag("b"));
  EXPECT_FALSE(*given.Flag("c"));
  EXPECT_FALSE(*given.Flag("none"));
  EXPECT_EQ(*given.Number("n"), 7);
  EXPECT_EQ(*given.Number("none"), std::nullopt);
  EXPECT_THAT(given.All("w"), ElementsAre("x", "y"));
  EXPECT_EQ(*given.Text("none"), "");
  EXPECT_EQ(*given.Selected("metadata.name"), "web");
}

TEST(ParametersTest, FaultsAreNamed) {
  const Parameters given({{"flag", "yes"}, {"n", "-1"}, {"w", "x"}, {"w", "y"}});
  EXPECT_THAT(given.Flag("flag").status().message(), HasSubstr("flag is \"yes\""));
  EXPECT_THAT(given.Number("n").status().message(), HasSubstr("0 or more"));
  EXPECT_THAT(given.Text("w").status().message(), HasSubstr("given twice"));
  EXPECT_THAT(given.CheckNames({"flag", "n"}).message(),
              HasSubstr("unknown parameter \"w\": this request takes flag, n"));
  EXPECT_TRUE(given.CheckNames({"flag", "n", "w"}).ok());
  EXPECT_THAT(given.CheckNames({}).message(), HasSubstr("takes none"));
}

TEST(ParametersTest, OtherSelectorsAreRefused) {
  for (const char* selector : {"metadata.name", "metadata.name=", "metadata.namespace=a",
                               "metadata.name=a,spec.nodeName=b", "metadata.name!=a"}) {
    const std::vector<std::pair<std::string, std::string>> query = {{"fieldSelector", selector}};
    const Parameters given(query);
    EXPECT_TRUE(absl::IsInvalidArgument(given.Selected("metadata.name").status())) << selector;
  }
}

}  // namespace
}  // namespace plimsoll::agent
