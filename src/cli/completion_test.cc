// Completion by the shells themselves: zsh and bash on a terminal.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <CLI/CLI.hpp>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/dir_for_test.h"
#include "base/programs/subprocess.h"
#include "cli/command/command.h"
#include "cli/command_tree.h"
#include "cli/program.h"

namespace plimsoll::cli {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::IsEmpty;
using ::testing::IsSupersetOf;
using ::testing::Not;
using ::testing::UnorderedElementsAre;

// Stands in for `plimsoll` with two pods and three images, and records its other calls.
constexpr absl::string_view kProgram = R"(#!/bin/sh
case " $* " in
  *" __complete "*) ;;
  *) for word; do printf '<%s>' "$word"; done >"$HOME/ran"; exit ;;
esac
for word; do
  case $word in
    --root=* | --address=*) echo "$word" >"$HOME/asked" ;;
    pods) printf '%s\n' web db ;;
    containers) printf '%s\n' web/app db/sql db/ended ;;
    running) printf '%s\n' web/app db/sql ;;
    classes) printf '%s\n' rdt=gold rdt=bronze ;;
    places) printf '%s\n' web/app: db/sql: ;;
    images)
      printf '%s\n' docker.io/library/busybox:1.36 docker.io/library/busybox:2.0 localhost:5000/a:7
      ;;
  esac
done
)";

// Types a line and Tab at a shell's prompt, runs the resulting line, and exits.
//   zsh -f type SHELL_COMMAND FIRST_LINE LINE
constexpr absl::string_view kTypist = R"(zmodload zsh/zpty
zpty shell $1
zpty -w shell "$2; echo REA''DY"
zpty -r shell seen '*READY*'
zpty -w -n shell $3$'\t\n'
zpty -w shell ' exit'
while zpty -r shell seen; do print -r -- $seen; done
zpty -d shell
)";

// Records all candidates.
constexpr absl::string_view kZshStart = R"(PROMPT= RPROMPT=
autoload -Uz compinit
compinit -u -D
compadd() {
  local -a offered
  builtin compadd -O offered "$@"
  print -rl -- $offered >>$HOME/offered
  builtin compadd "$@"
}
)";

class CompletionShells : public testing::Test {
 protected:
  void SetUp() override {
    CommandContext context;
    CLI::App app("", "plimsoll");
    BuildApp(app, context);
    const CommandInfo tree = DescribeCommands(app);
    Write("bash", CompletionScript(tree, "bash"));
    Write("zsh", absl::StrCat(kZshStart, CompletionScript(tree, "zsh")));
    Write("_plimsoll", CompletionScript(tree, "zsh"));
    Write("fish", CompletionScript(tree, "fish"));
    Write("type", kTypist);
    Write("plimsoll", kProgram);
    ASSERT_EQ(chmod((dir_.path() + "/plimsoll").c_str(), 0755), 0);
    ASSERT_EQ(mkdir((dir_.path() + "/into").c_str(), 0755), 0);
  }

  void Write(const std::string& name, absl::string_view text) {
    ASSERT_TRUE(dir_.root().ReplaceFile(name, text).ok()) << name;
  }

  std::string Run(std::vector<std::string> argv) {
    Command shell;
    shell.argv = std::move(argv);
    shell.environment = {"PATH=" + dir_.path() + ":/usr/bin:/bin", "HOME=" + dir_.path(),
                         "TERM=dumb", "LC_ALL=C.UTF-8"};
    shell.working_directory = dir_.path();
    const auto printed = RunChecked(shell);
    EXPECT_TRUE(printed.ok()) << printed.status();
    return printed.value_or("");
  }

  // The arguments of `plimsoll` after Tab and Enter, as "<image><rm>".
  std::string Typed(const std::string& shell, const std::string& first, const std::string& line) {
    dir_.root().RemoveFile("ran").IgnoreError();
    dir_.root().RemoveFile("offered").IgnoreError();
    screen_ = Run({"/usr/bin/zsh", "-f", "type", shell, first, line});
    return dir_.root().Read("ran").value_or("nothing was run");
  }
  std::string TypedAtBash(const std::string& line) {
    return Typed("bash --norc --noprofile -i", "source ./bash", line);
  }
  std::string TypedAtZsh(const std::string& line) {
    return Typed("zsh -f -i", "source ./zsh", line);
  }

  std::vector<std::string> OfferedByZsh(const std::string& line) {
    TypedAtZsh(line);
    return absl::StrSplit(dir_.root().Read("offered").value_or(""), '\n', absl::SkipEmpty());
  }

  std::vector<std::string> OfferedByFish(const std::string& line) {
    const std::string lines =
        Run({"/usr/bin/fish", "--no-config", "-c",
             absl::StrCat("source ./fish; complete -C '", line, "' | cut -f 1")});
    return absl::StrSplit(lines, '\n', absl::SkipEmpty());
  }

  TestDir dir_;
  std::string screen_;  // the terminal's last text
};

TEST_F(CompletionShells, BashCompletesNamesWithColons) {
  EXPECT_EQ(TypedAtBash("plimsoll image rm docker.io/library/busybox:1"),
            "<image><rm><docker.io/library/busybox:1.36>")
      << screen_;
  EXPECT_EQ(TypedAtBash("plimsoll rmi localhost:"), "<rmi><localhost:5000/a:7>") << screen_;
  EXPECT_EQ(TypedAtBash("plimsoll rmi l"), "<rmi><localhost:5000/a:7>") << screen_;
  EXPECT_EQ(TypedAtBash("plimsoll rmi localhost:5000/a:7 docker.io/library/busybox:2"),
            "<rmi><localhost:5000/a:7><docker.io/library/busybox:2.0>")
      << screen_;
  EXPECT_EQ(
      Typed("bash --norc --noprofile -i", "source ./bash; COMP_WORDBREAKS=${COMP_WORDBREAKS//:}",
            "plimsoll rmi localhost:5"),
      "<rmi><localhost:5000/a:7>")
      << screen_;
}

TEST_F(CompletionShells, BashCompletesTheValueOfAnOption) {
  EXPECT_EQ(TypedAtBash("plimsoll ps --output=js"), "<ps><--output=json>") << screen_;
  EXPECT_EQ(TypedAtBash("plimsoll image import a.tar --name=localhost:"),
            "<image><import><a.tar><--name=localhost:5000/a:7>")
      << screen_;
  EXPECT_EQ(TypedAtBash("plimsoll --root=in"), "<--root=into/>") << screen_;
  Write("a file:1.tar", "");
  EXPECT_EQ(TypedAtBash("plimsoll image import a"), "<image><import><a file:1.tar>") << screen_;
}

TEST_F(CompletionShells, BashCompletesLaterCommands) {
  EXPECT_EQ(TypedAtBash("plimsoll wait web/"), "<wait><web/app>") << screen_;
  EXPECT_EQ(TypedAtBash("plimsoll help image imp"), "<help><image><import>") << screen_;
  EXPECT_EQ(TypedAtBash("plimsoll logs --sin"), "<logs><--since>") << screen_;
}

TEST_F(CompletionShells, AContainersPathFollowsItsNameAtOnce) {
  const std::string line = "plimsoll cp web/\t/etc/x d";
  EXPECT_EQ(TypedAtBash(line), "<cp><web/app:/etc/x><db/sql:>") << screen_;
  EXPECT_EQ(TypedAtBash("plimsoll cp in"), "<cp><into/>") << screen_;
  EXPECT_EQ(TypedAtZsh(line), "<cp><web/app:/etc/x><db/sql:>") << screen_;
  EXPECT_THAT(OfferedByZsh("plimsoll cp in"), Contains("into"));
  EXPECT_THAT(OfferedByFish("plimsoll cp w"), UnorderedElementsAre("web/app:"));
  EXPECT_THAT(OfferedByFish("plimsoll cp in"), UnorderedElementsAre("into/"));
}

TEST_F(CompletionShells, ZshCompletesAtThePrompt) {
  EXPECT_EQ(TypedAtZsh("plimsoll image imp"), "<image><import>") << screen_;
  EXPECT_EQ(TypedAtZsh("plimsoll image rm docker.io/library/busybox:1"),
            "<image><rm><docker.io/library/busybox:1.36>")
      << screen_;
  EXPECT_EQ(TypedAtZsh("plimsoll attach d"), "<attach><db/sql>") << screen_;
  EXPECT_EQ(TypedAtZsh("plimsoll ps --output=js"), "<ps><--output=json>") << screen_;
  EXPECT_EQ(TypedAtZsh("plimsoll --root=in"), "<--root=into>") << screen_;
}

TEST_F(CompletionShells, ZshOffersWhatMayFollow) {
  EXPECT_THAT(OfferedByZsh("plimsoll "),
              AllOf(IsSupersetOf({"run", "wait", "prune", "images", "pull", "rmi", "help"}),
                    Not(Contains("web")), Not(Contains("__complete"))));
  EXPECT_THAT(OfferedByZsh("plimsoll stop "),
              AllOf(IsSupersetOf({"web", "db", "web/app", "db/sql"}), Not(Contains("run"))));
  EXPECT_THAT(OfferedByZsh("plimsoll ps --st"), UnorderedElementsAre("--state"));
  EXPECT_THAT(OfferedByZsh("plimsoll ps --state "), IsSupersetOf({"running", "exited"}));
  EXPECT_THAT(OfferedByZsh("plimsoll help im"), UnorderedElementsAre("image", "images"));
  EXPECT_THAT(OfferedByZsh("plimsoll exec web/app -- in"), Contains("into"));
  EXPECT_THAT(OfferedByZsh("plimsoll --root ~/into exec w"),
              UnorderedElementsAre("web", "web/app"));
  EXPECT_EQ(dir_.root().Read("asked").value_or(""),
            absl::StrCat("--root=", dir_.path(), "/into\n"));
}

TEST_F(CompletionShells, ZshCompletesFromTheFirstTabWhenAutoloaded) {
  EXPECT_EQ(Typed("zsh -f -i", "fpath=($PWD $fpath); autoload -Uz compinit; compinit -u -D",
                  "plimsoll image imp"),
            "<image><import>")
      << screen_;
}

TEST_F(CompletionShells, FishOffersWhatMayFollow) {
  EXPECT_THAT(OfferedByFish("plimsoll "),
              AllOf(IsSupersetOf({"run", "wait", "prune", "images", "pull", "rmi", "help"}),
                    Not(Contains("web")), Not(Contains("import")), Not(Contains("__complete"))));
  EXPECT_THAT(OfferedByFish("plimsoll im"), UnorderedElementsAre("image", "images"));
  EXPECT_THAT(OfferedByFish("plimsoll stop "),
              UnorderedElementsAre("web", "db", "web/app", "db/sql"));
  EXPECT_THAT(OfferedByFish("plimsoll ps --st"), UnorderedElementsAre("--state"));
  EXPECT_THAT(OfferedByFish("plimsoll ps --state "), IsSupersetOf({"running", "exited"}));
  EXPECT_THAT(OfferedByFish("plimsoll ps --output=js"), UnorderedElementsAre("--output=json"));
  EXPECT_THAT(OfferedByFish("plimsoll help image imp"), UnorderedElementsAre("import"));
  EXPECT_THAT(OfferedByFish("plimsoll logs --sinc"), UnorderedElementsAre("--since"));
  EXPECT_THAT(OfferedByFish("plimsoll topology capture in"), UnorderedElementsAre("into/"));
}

TEST_F(CompletionShells, FishCompletesAliasesAndNames) {
  const auto images = UnorderedElementsAre("docker.io/library/busybox:1.36",
                                           "docker.io/library/busybox:2.0", "localhost:5000/a:7");
  EXPECT_THAT(OfferedByFish("plimsoll image remove "), images);
  EXPECT_THAT(OfferedByFish("plimsoll image rm "), images);
  EXPECT_THAT(OfferedByFish("plimsoll rmi "), images);
  EXPECT_THAT(OfferedByFish("plimsoll rmi docker.io/library/busybox:1"),
              UnorderedElementsAre("docker.io/library/busybox:1.36"));
}

TEST_F(CompletionShells, FishTakesNoValueForACommand) {
  EXPECT_THAT(OfferedByFish("plimsoll --root image stop "),
              UnorderedElementsAre("web", "db", "web/app", "db/sql"));
  EXPECT_EQ(dir_.root().Read("asked").value_or(""), "--root=image\n");
  EXPECT_THAT(OfferedByFish("plimsoll stop image "),
              UnorderedElementsAre("web", "db", "web/app", "db/sql"));
  EXPECT_THAT(OfferedByFish("plimsoll exec web/app -- in"), UnorderedElementsAre("into/"));
  EXPECT_THAT(OfferedByFish("plimsoll exec web/app -- --he"), IsEmpty());
}

}  // namespace
}  // namespace plimsoll::cli
