#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "base/dir_for_test.h"
#include "base/programs/subprocess.h"
#include "cli/command/lookup.h"
#include "cli/command_tree.h"
#include "cli/main_for_test.h"

namespace plimsoll::cli {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(Completion, BashKnowsCommandsAndOptions) {
  TestDir dir;
  ASSERT_TRUE(dir.root().ReplaceFile("c.bash", CompletionScript(Tree(), "bash")).ok());
  const auto complete = [&](const std::string& words, int index) {
    Command bash;
    bash.argv = {"/bin/bash", "-c",
                 absl::StrCat("source ", dir.path(), "/c.bash; COMP_WORDS=(", words,
                              "); COMP_CWORD=", index, "; _plimsoll; echo \"${COMPREPLY[@]}\"")};
    const auto result = RunChecked(bash);
    EXPECT_TRUE(result.ok()) << result.status();
    return absl::StrCat(" ", result.value_or(""));
  };
  EXPECT_THAT(complete("plimsoll ''", 1),
              AllOf(HasSubstr("run"), HasSubstr("image"), Not(HasSubstr("__complete"))));
  EXPECT_THAT(complete("plimsoll ve", 1), HasSubstr("version"));
  EXPECT_THAT(complete("plimsoll image ''", 2), AllOf(HasSubstr("import"), HasSubstr("pull")));
  EXPECT_THAT(complete("plimsoll run --de", 2), HasSubstr("--detach"));
  EXPECT_THAT(complete("plimsoll ps -o ''", 3), AllOf(HasSubstr("yaml"), Not(HasSubstr("--all"))));
  EXPECT_THAT(complete("plimsoll image rm --fo", 3), HasSubstr("--force"));
  EXPECT_THAT(complete("plimsoll exec web -- --he", 4), Not(HasSubstr("--help")));
  EXPECT_THAT(complete("plimsoll exec -", 2),
              AllOf(HasSubstr("--root"), HasSubstr("-i"), Not(HasSubstr("-o")),
                    Not(HasSubstr("--output"))));
  EXPECT_THAT(complete("plimsoll ps -", 2), HasSubstr("--output"));
  EXPECT_THAT(complete("plimsoll completion ''", 2), HasSubstr("zsh"));
}

// Runs the command by which the script's functions get names.
TEST(Completion, BashAsksTheDaemonThatTheLineMeans) {
  TestDir dir;
  ASSERT_TRUE(dir.root().ReplaceFile("c.bash", CompletionScript(Tree(), "bash")).ok());
  const auto asked = [&](const std::string& words, int index) {
    Command bash;
    bash.argv = {"/bin/bash", "-c",
                 absl::StrCat("source ", dir.path(),
                              "/c.bash; HOME=/h; plimsoll() { echo \"$*\" >&3; }; COMP_WORDS=(",
                              words, "); COMP_CWORD=", index, "; _plimsoll 3>&1")};
    const auto result = RunChecked(bash);
    EXPECT_TRUE(result.ok()) << result.status();
    return result.value_or("");
  };
  EXPECT_EQ(asked("plimsoll attach ''", 2), "__complete running\n");
  EXPECT_EQ(asked("plimsoll --root /r attach ''", 4), "--root=/r __complete running\n");
  EXPECT_EQ(asked("plimsoll attach --root '~/r' ''", 4), "--root=/h/r __complete running\n");
  // bash splits --address=unix:///run/a.sock at = and :.
  EXPECT_EQ(asked("plimsoll attach --address = unix : ///run/a.sock ''", 7),
            "--address=unix:///run/a.sock __complete running\n");
  EXPECT_EQ(asked("plimsoll --address unix : ///a image rm ''", 7),
            "--address=unix:///a __complete images\n");
  EXPECT_EQ(asked("plimsoll update ''", 2), "__complete running\n__complete pods\n");
  EXPECT_EQ(asked("plimsoll logs ''", 2), "__complete pods\n__complete containers\n");
  EXPECT_EQ(asked("plimsoll exec ''", 2), "__complete pods\n__complete running\n");
  EXPECT_EQ(asked("plimsoll exec web -c ''", 4), "__complete running-names\n");
  EXPECT_EQ(asked("plimsoll logs web --container = ''", 5), "__complete container-names\n");
  EXPECT_EQ(asked("plimsoll resize pod ''", 3),
            "__complete agent-pods\n__complete agent-containers\n");
  EXPECT_EQ(asked("plimsoll resize pod web -c ''", 5), "__complete agent-container-names\n");
  // Classes follow the name.
  EXPECT_EQ(asked("plimsoll assign ''", 2), "__complete running\n__complete pods\n");
  EXPECT_EQ(asked("plimsoll assign --pod ''", 3), "__complete running\n__complete pods\n");
  EXPECT_EQ(asked("plimsoll assign web ''", 3), "__complete classes\n");
  EXPECT_EQ(asked("plimsoll assign web rdt = ''", 5), "__complete classes\n");
  // A value is no command: this completes the arguments of `stop`.
  EXPECT_EQ(asked("plimsoll --root image stop ''", 4),
            "--root=image __complete pods\n--root=image __complete running\n");
}

TEST(Completion, BashOffersDirectoriesWhereOneIsMeant) {
  TestDir dir;
  ASSERT_TRUE(dir.root().ReplaceFile("c.bash", CompletionScript(Tree(), "bash")).ok());
  ASSERT_EQ(mkdir((dir.path() + "/into").c_str(), 0755), 0);
  const auto complete = [&](const std::string& words, int index) {
    Command bash;
    bash.argv = {"/bin/bash", "-c",
                 absl::StrCat("cd ", dir.path(), "; source ./c.bash; COMP_WORDS=(", words,
                              "); COMP_CWORD=", index, "; _plimsoll; echo \"${COMPREPLY[@]}\"")};
    const auto result = RunChecked(bash);
    EXPECT_TRUE(result.ok()) << result.status();
    return absl::StrCat(" ", result.value_or(""));
  };
  EXPECT_THAT(complete("plimsoll topology capture ''", 3),
              AllOf(HasSubstr(" into"), Not(HasSubstr("c.bash"))));
  EXPECT_THAT(complete("plimsoll topology check ''", 3),
              AllOf(HasSubstr(" into"), HasSubstr("c.bash")));
  EXPECT_EQ(complete("plimsoll --root ''", 2), " into\n");
}

TEST(Completion, EveryShellOfTheList) {
  for (const char* shell : {"bash", "zsh", "fish"}) {
    const std::string script = CompletionScript(Tree(), shell);
    EXPECT_THAT(script, HasSubstr("__complete")) << shell;
    EXPECT_THAT(script, HasSubstr("show-resources")) << shell;
    EXPECT_THAT(script, HasSubstr("--address=")) << shell;
  }
  EXPECT_EQ(CompletionScript(Tree(), "csh"), "");
}

TEST(Completion, NamesThatAShellWouldExpandAreLeftOut) {
  EXPECT_EQ(CompletionNames({}), "");
  EXPECT_EQ(CompletionNames({"web", "web/app", "docker.io/library/a:1", "$(touch x)", "`id`", "a b",
                             "a\nb", "~root", "a;b", "*", "it's", "$HOME", "a\\b", ""}),
            "docker.io/library/a:1\nweb\nweb/app\n");
}

}  // namespace
}  // namespace plimsoll::cli
