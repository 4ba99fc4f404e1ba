#include "daemon/class_warnings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace plimsoll::daemon {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(ClassWarningsTest, EachSentenceIsToldOnceUntilForgotten) {
  std::vector<std::string> lines;
  Log log(LogFormat::kText, LogLevel::kInfo,
          [&](LogLevel, const std::string& line) { lines.push_back(line); });
  ClassWarnings warnings(&log);
  warnings.Tell("rdt", "13% is 8% here");
  warnings.Tell({{.name = "rdt", .warnings = {"13% is 8% here", "web is not monitored"}},
                 {.name = "oom", .warnings = {"13% is 8% here"}}});
  EXPECT_THAT(
      lines, ElementsAre(AllOf(HasSubstr("warning"), HasSubstr("rdt"), HasSubstr("13% is 8% here")),
                         HasSubstr("web is not monitored"),
                         AllOf(HasSubstr("oom"), HasSubstr("13% is 8% here"))));
  warnings.Forget();
  warnings.Tell("rdt", "13% is 8% here");
  EXPECT_EQ(lines.size(), 4u);
}

}  // namespace
}  // namespace plimsoll::daemon
