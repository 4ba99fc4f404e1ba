#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "cli/command_tree.h"
#include "cli/main_for_test.h"

namespace plimsoll::cli {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(ManPage, HasEveryCommandAndOption) {
  const std::string page = ManPage(Tree(), "1.2.3");
  for (const CommandInfo& command : Tree().commands) {
    if (command.runs_alone) {
      const std::string name = absl::StrReplaceAll(command.name, {{"-", "\\-"}});
      EXPECT_THAT(page, HasSubstr(absl::StrCat(".SS plimsoll ", name, "\n")));
    }
    EXPECT_FALSE(command.description.empty()) << command.name;
    for (const OptionInfo& option : command.options) {
      EXPECT_FALSE(option.description.empty()) << command.name << " " << option.names[0];
    }
  }
  EXPECT_THAT(page, HasSubstr("\\fB\\-\\-show\\-resources\\fR"));
  EXPECT_THAT(page, AllOf(HasSubstr(".SS plimsoll classes\n"),
                          HasSubstr(".SS plimsoll classes explain\n")));
  EXPECT_THAT(page, Not(HasSubstr(".SS plimsoll image\n"))) << "it does nothing by itself";
  EXPECT_THAT(page, HasSubstr(".SH EXIT STATUS"));
  EXPECT_THAT(page, HasSubstr("\\fIbash|zsh|fish\\fR"));
}

}  // namespace
}  // namespace plimsoll::cli
