#include "cli/program.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/dir_for_test.h"
#include "cli/main_for_test.h"

namespace plimsoll::cli {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(Command, UsageErrorsSuggest) {
  const Printed unknown = RunMain({"pss"});
  EXPECT_EQ(unknown.code, kExitUsage);
  EXPECT_THAT(unknown.err, HasSubstr("does not know pss"));
  EXPECT_THAT(unknown.err, HasSubstr("Did you mean `ps`?"));
  EXPECT_THAT(RunMain({"classes", "assign", "web", "rdt=gold"}).err,
              HasSubstr("Did you mean `plimsoll assign`?"));
  const Printed option = RunMain({"run", "x.yaml", "--detahc"});
  EXPECT_EQ(option.code, kExitUsage);
  EXPECT_THAT(option.err,
              AllOf(HasSubstr("plimsoll run has no option --detahc"), HasSubstr("`--detach`")));
  const Printed value = RunMain({"exec", "--timeout", "soon", "x", "--", "true"});
  EXPECT_EQ(value.code, kExitUsage);
  EXPECT_THAT(value.err,
              AllOf(HasSubstr("timeout"), HasSubstr("soon"), Not(HasSubstr("no option"))));
  EXPECT_EQ(RunMain({}).code, kExitUsage);
  EXPECT_EQ(RunMain({"ps", "-o", "xml"}).code, kExitUsage);
  const Printed spelling = RunMain({"ps", "-o", "josn"});
  EXPECT_EQ(spelling.code, kExitUsage);
  EXPECT_THAT(spelling.err, HasSubstr("Did you mean `json`? See"));
  EXPECT_EQ(RunMain({"--address", "unix:///a", "--root", "/b", "ps"}).code, kExitUsage);
}

TEST(Command, AMissingCommandOfExecIsToldAsThat) {
  const Printed bare = RunMain({"exec", "web", "--"});
  EXPECT_EQ(bare.code, kExitUsage);
  EXPECT_THAT(bare.err, AllOf(HasSubstr("command is required"), Not(HasSubstr("no option"))));
}

TEST(Command, WhatIsMissingIsAskedFor) {
  for (const char* command : {"inspect", "wait", "assign"}) {
    const Printed said = RunMain({command});
    EXPECT_EQ(said.code, kExitUsage);
    EXPECT_THAT(said.err, HasSubstr(absl::StrCat("plimsoll ", command, ": which pod")));
  }
  EXPECT_THAT(RunMain({"assign", "x"}).err, HasSubstr("plimsoll assign: classes is required"));
  EXPECT_THAT(RunMain({"image"}).err,
              AllOf(HasSubstr("plimsoll: plimsoll image: which command?\n  There are: "),
                    HasSubstr("list"), HasSubstr("import")));
  EXPECT_THAT(RunMain({"-o", "json"}).err,
              HasSubstr("plimsoll: which command?\n  There are: run, "));
}

TEST(Command, AMissingRootOfSeccompProfilesIsToldBeforeAnythingIsMade) {
  TestDir dir;
  ASSERT_TRUE(dir.root()
                  .ReplaceFile("pod.yaml",
                               "apiVersion: v1\nkind: Pod\nmetadata: {name: web}\nspec:\n"
                               "  containers: [{name: a, image: busybox}]\n")
                  .ok());
  const Printed said = RunMain({"--address", "unix:///nowhere.sock", "run",
                                "--seccomp-profile-root", "not-here", dir.path() + "/pod.yaml"});
  EXPECT_EQ(said.code, kExitOwnFailure);
  EXPECT_THAT(said.err, AllOf(HasSubstr("--seccomp-profile-root: open directory /"),
                              HasSubstr("/not-here: No such file or directory")));
}

TEST(Command, RunTakesManifestsAndNotImages) {
  const Printed image = RunMain({"run", "busybox"});
  EXPECT_EQ(image.code, kExitOwnFailure);
  EXPECT_THAT(image.err, HasSubstr("not images"));
  for (const char* option : {"-it", "--rm", "-f"}) {
    EXPECT_THAT(RunMain({"run", option, "busybox"}).err, HasSubstr("plimsoll run pod.yaml"));
  }
}

TEST(Command, AnAddressIsAbsolute) {
  EXPECT_THAT(RunMain({"ps", "--address", "unix://tmp/x"}).err,
              AllOf(HasSubstr("is not absolute"), HasSubstr("unix:///tmp/x")));
}

TEST(Command, FormsOfOutputAreTakenAndRefused) {
  const std::string nowhere = "unix:///nowhere/plimsoll.sock";
  EXPECT_EQ(RunMain({"--address", nowhere, "ps", "-o=json"}).code, kExitError) << "no daemon";
  EXPECT_THAT(RunMain({"ps", "--json"}).err, HasSubstr("`-o json`"));
  EXPECT_THAT(RunMain({"ps", "-o=xml"}).err, HasSubstr("xml not in"));
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"logs", "web", "-o", "json"},
        {"exec", "-o", "json", "web", "--", "true"},
        {"completion", "bash", "-o", "yaml"},
        {"help", "-o", "json"},
        {"topology", "-o", "json", "--svg", "/nowhere/x"}}) {
    const Printed said = RunMain(words);
    EXPECT_EQ(said.code, kExitUsage) << words[0];
    EXPECT_EQ(said.out, "");
    EXPECT_THAT(said.err, HasSubstr("-o "));
  }
  EXPECT_THAT(RunMain({"logs", "--help"}).out, Not(HasSubstr("--output")));
}

TEST(Command, OnlyRunAndExecHaveACodeForFailuresOfPlimsollItself) {
  const std::string nowhere = "unix:///nowhere/plimsoll.sock";
  EXPECT_EQ(RunMain({"--address", nowhere, "exec", "web", "--", "true"}).code, kExitOwnFailure);
  EXPECT_EQ(RunMain({"--address", nowhere, "attach", "web"}).code, kExitError);
  EXPECT_EQ(RunMain({"--address", nowhere, "logs", "web"}).code, kExitError);
  EXPECT_EQ(RunMain({"--address", nowhere, "port-forward", "web", "80"}).code, kExitError);
  EXPECT_EQ(RunMain({"port-forward", "web", "abc"}).code, kExitUsage);
  EXPECT_EQ(RunMain({"exec", "-i", "--timeout", "3", "a", "--", "sh"}).code, kExitUsage);
}

TEST(Command, StatesAndTimesAreTakenAsTheyAreShown) {
  const std::string nowhere = "unix:///nowhere/plimsoll.sock";
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"ps", "--state", "Running"},
        {"stop", "-t", "5s", "web"},
        {"wait", "--timeout", "1m30s", "web"}}) {
    std::vector<std::string> all = {"--address", nowhere};
    all.insert(all.end(), words.begin(), words.end());
    EXPECT_THAT(RunMain(all).err, HasSubstr("no daemon at")) << words[0];
  }
  EXPECT_EQ(RunMain({"stop", "-t", "soon", "web"}).code, kExitUsage);
}

// While an object lives, the process isn't root.
class Nobody {
 public:
  Nobody() { EXPECT_EQ(seteuid(65534), 0); }
  ~Nobody() { EXPECT_EQ(seteuid(0), 0); }
};

TEST(Command, WhoIsNotRootIsToldSo) {
  const TestDir dir;
  ASSERT_EQ(chmod(dir.path().c_str(), 0777), 0);
  ASSERT_TRUE(dir.root()
                  .ReplaceFile("pod.yaml",
                               "apiVersion: v1\nkind: Pod\nmetadata: {name: web}\nspec:\n"
                               "  containers: [{name: a, image: busybox}]\n")
                  .ok());
  ASSERT_EQ(chmod((dir.path() + "/pod.yaml").c_str(), 0644), 0);
  ASSERT_EQ(mkdir((dir.path() + "/closed").c_str(), 0700), 0);
  {
    const Nobody nobody;
    const Printed ps = RunMain({"--address", dir.path() + "/closed/plimsoll.sock", "ps"});
    EXPECT_THAT(ps.err, AllOf(HasSubstr("no permission for the daemon at"), HasSubstr("as root")));
    const Printed run = RunMain({"--root", dir.path() + "/r", "run", dir.path() + "/pod.yaml"});
    EXPECT_EQ(run.code, kExitOwnFailure);
    EXPECT_THAT(run.err, HasSubstr("needs root"));
    const Printed doctor = RunMain({"--root", dir.path() + "/r", "doctor"});
    EXPECT_THAT(doctor.err, HasSubstr("root"));
  }
  EXPECT_FALSE(dir.root().Exists("r"));
}

TEST(Command, WordsOfOtherToolsAreAnswered) {
  for (const auto& [word, advice] : {std::pair("start", "plimsoll run MANIFEST"),
                                     {"restart", "plimsoll rm --force POD"},
                                     {"kill", "plimsoll stop --time 0"},
                                     {"load", "plimsoll image import"}}) {
    const Printed said = RunMain({word, "web"});
    EXPECT_EQ(said.code, kExitUsage);
    EXPECT_THAT(said.err, AllOf(HasSubstr("does not know"), HasSubstr(advice)));
    const Printed asked = RunMain({word, "--help"});
    EXPECT_EQ(asked.code, kExitUsage);
    EXPECT_THAT(asked.err, HasSubstr(advice));
  }
}

TEST(Command, WithoutAWordItShowsItsHelpAndIsNoSuccess) {
  const Printed bare = RunMain({});
  EXPECT_EQ(bare.code, kExitUsage);
  EXPECT_EQ(bare.out, "");
  EXPECT_THAT(bare.err, AllOf(HasSubstr("run"), HasSubstr("--root"), HasSubstr("images")));
}

TEST(Command, HelpIsACommandToo) {
  EXPECT_EQ(RunMain({"help"}).out, RunMain({"--help"}).out);
  EXPECT_EQ(RunMain({"help", "image", "pull"}).out, RunMain({"image", "pull", "--help"}).out);
  EXPECT_EQ(RunMain({"help", "image", "rm"}).out, RunMain({"image", "remove", "--help"}).out);
  const Printed unknown = RunMain({"help", "pss"});
  EXPECT_EQ(unknown.code, kExitUsage);
  EXPECT_THAT(unknown.err, HasSubstr("Did you mean `ps`?"));
}

TEST(Command, WhatOnlyLooksMakesNoRoot) {
  const TestDir dir;
  const std::string root = dir.path() + "/r";
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"ps"}, {"images"}, {"inspect", "x"}, {"stop", "--all"}}) {
    std::vector<std::string> all = {"--root", root};
    all.insert(all.end(), words.begin(), words.end());
    const Printed said = RunMain(all);
    EXPECT_EQ(said.code, kExitError);
    EXPECT_THAT(said.err, AllOf(HasSubstr(root), HasSubstr("image import")));
    EXPECT_FALSE(dir.root().Exists("r"));
  }
}

TEST(Command, WhichPodsToStopOrRemoveIsSaid) {
  for (const char* command : {"stop", "rm"}) {
    EXPECT_EQ(RunMain({command}).code, kExitUsage);
    EXPECT_THAT(RunMain({command}).err, HasSubstr("--all"));
    EXPECT_EQ(RunMain({command, "--all", "web"}).code, kExitUsage);
  }
}

TEST(Command, HelpIsForTheCommandAndOnStandardOutput) {
  EXPECT_THAT(RunMain({"--help"}).out,
              AllOf(HasSubstr("Usage: plimsoll [OPTIONS]"), HasSubstr("PLIMSOLL_ROOT")));
  const Printed help = RunMain({"image", "import", "--help"});
  EXPECT_EQ(help.code, 0);
  EXPECT_THAT(help.out, HasSubstr("--name"));
  EXPECT_THAT(help.out, HasSubstr("OCI layout"));
  EXPECT_EQ(help.err, "");
}

TEST(Command, EveryHelpHasTheGlobalOptions) {
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"run", "--help"}, {"classes", "explain", "--help"}}) {
    const std::string help = RunMain(words).out;
    const size_t global = help.find("Global options:");
    ASSERT_NE(global, std::string::npos) << help;
    EXPECT_THAT(help.substr(global),
                AllOf(HasSubstr("-o,--output"), HasSubstr("--address"), HasSubstr("--root"),
                      Not(HasSubstr("--version")), Not(HasSubstr("--help"))));
  }
  EXPECT_THAT(RunMain({"--help"}).out, Not(HasSubstr("Global options")));
}

TEST(Command, AnOptionOfWhatExecRunsComesAfterDashes) {
  const Printed exec = RunMain({"exec", "web", "ls", "-l"});
  EXPECT_EQ(exec.code, kExitUsage);
  EXPECT_THAT(exec.err, AllOf(HasSubstr("plimsoll exec has no option -l"),
                              HasSubstr("`plimsoll exec NAME -- ls -l`")));
}

TEST(Command, AContainerOfAPodIsNamedWithIt) {
  const Printed attach = RunMain({"attach", "web", "-c", "app"});
  EXPECT_EQ(attach.code, kExitUsage);
  EXPECT_THAT(attach.err, AllOf(HasSubstr("plimsoll attach has no option -c"),
                                HasSubstr("Name a container of a pod as POD/CONTAINER.")));
  EXPECT_THAT(RunMain({"update", "web", "--container", "app"}).err, HasSubstr("POD/CONTAINER"));
  EXPECT_THAT(RunMain({"pods", "-c", "app"}).err, Not(HasSubstr("POD/CONTAINER")));
}

TEST(Command, BothSpellingsOfAContainerAreInTheHelp) {
  for (const std::vector<std::string>& words : {std::vector<std::string>{"exec", "--help"},
                                                {"logs", "--help"},
                                                {"resize", "pod", "--help"}}) {
    EXPECT_THAT(RunMain(words).out,
                AllOf(HasSubstr("POD/CONTAINER"), HasSubstr("-c,--container CONTAINER-NAME")))
        << words[0];
  }
}

TEST(Command, NumbersOutOfRangeAreNamedShortly) {
  const Printed tail = RunMain({"logs", "x", "--tail", "-1"});
  EXPECT_EQ(tail.code, kExitUsage);
  EXPECT_THAT(tail.err, HasSubstr("--tail: \"-1\" is no number of 0 or more\n"));
}

TEST(Command, VersionAsAFlagNeedsNoDaemon) {
  const Printed version = RunMain({"--version"});
  EXPECT_EQ(version.code, 0);
  EXPECT_THAT(version.out, HasSubstr("plimsoll "));
  EXPECT_EQ(RunMain({"-v"}).out, version.out);
}

TEST(Command, WithoutADaemonAtAnAddress) {
  TestDir dir;
  const std::string address = absl::StrCat("unix://", dir.path(), "/none.sock");
  const Printed ps = RunMain({"ps", "--address", address});
  EXPECT_EQ(ps.code, kExitError);
  EXPECT_THAT(ps.err, AllOf(HasSubstr("no daemon at unix://"), HasSubstr("leave --address out")));
  const Printed exec = RunMain({"--address", address, "exec", "a", "--", "ls", "-l"});
  EXPECT_EQ(exec.code, kExitOwnFailure);
  EXPECT_THAT(RunMain({"ps", "--address", "tcp://1.2.3.4:5"}).err, HasSubstr("is no unix socket"));
  const Printed status = RunMain({"daemon", "status", "--address", address});
  EXPECT_EQ(status.code, kExitError) << "one that was named is not replaced by another";
}

TEST(Command, ASubcommandIsMeantAndNotItsParent) {
  TestDir dir;
  const std::string address = absl::StrCat("unix://", dir.path(), "/none.sock");
  EXPECT_THAT(RunMain({"classes", "--address", address}).err, HasSubstr("no daemon at"));
  const Printed explain = RunMain({"classes", "explain", "/nonexistent", "--address", address});
  EXPECT_EQ(explain.code, kExitError);
  EXPECT_THAT(explain.err, HasSubstr("/nonexistent"));
}

TEST(Command, VersionWithoutADaemon) {
  TestDir dir;
  const std::string root = dir.path() + "/r";
  const Printed json = RunMain({"version", "-o", "json", "--root", root});
  EXPECT_EQ(json.code, kExitOk) << json.err;
  const auto document = nlohmann::json::parse(json.out);
  EXPECT_FALSE(document["client"]["version"].get<std::string>().empty());
  EXPECT_TRUE(document["server"].is_null());
  EXPECT_THAT(document["serverError"].get<std::string>(), HasSubstr("no daemon runs in"));
  EXPECT_EQ(json.err, "");
  const Printed text = RunMain({"version", "--root", root});
  EXPECT_EQ(text.code, kExitOk);
  EXPECT_THAT(text.out, HasSubstr("plimsolld  not running"));
  // The user named this daemon, so it should be there.
  const Printed named =
      RunMain({"version", "-o", "json", "--address", absl::StrCat("unix://", root, "/none.sock")});
  EXPECT_EQ(named.code, kExitError);
  EXPECT_THAT(named.out, HasSubstr("\"server\": null"));
  EXPECT_THAT(named.err, HasSubstr("no daemon at unix://"));
}

TEST(Command, EventsStartNoDaemonToSayThatThereAreNone) {
  TestDir dir;
  const std::string root = dir.path() + "/r";
  const Printed events = RunMain({"events", "--root", root});
  EXPECT_EQ(events.code, kExitError);
  EXPECT_EQ(events.out, "");
  EXPECT_THAT(events.err,
              AllOf(HasSubstr("no daemon runs in"), HasSubstr("no events"), HasSubstr("--follow")));
  EXPECT_FALSE(dir.root().Exists("r")) << "none was started";
}

TEST(Command, RunRefusesABadManifestBeforeAnythingElse) {
  const Printed run = RunMain({"run", "/nonexistent.yaml"});
  EXPECT_EQ(run.code, kExitOwnFailure);
  EXPECT_THAT(run.err, HasSubstr("open /nonexistent.yaml: No such file or directory"));
  EXPECT_THAT(RunMain({"exec", "-it", "--timeout", "3", "a", "--", "sh"}).err,
              HasSubstr("--timeout can't be given"));
  EXPECT_THAT(RunMain({"port-forward", "a", "http"}).err, HasSubstr("no pair of ports"));
  EXPECT_THAT(RunMain({"update", "a"}).err, HasSubstr("nothing to update"));
  EXPECT_THAT(RunMain({"update", "a", "--memory", "5Q"}).err, HasSubstr("--memory: quantity"));
}

TEST(Top, WhatCannotBeIsAUsageError) {
  for (const std::vector<std::string>& arguments :
       {std::vector<std::string>{"top", "--interval", "0"},
        {"top", "--interval", "soon"},
        {"top", "--interval", "nan"},
        {"top", "--interval", "25h"},
        {"top", "--sort", "size"}}) {
    EXPECT_EQ(RunMain(arguments).code, kExitUsage) << arguments.back();
  }
}

TEST(Assign, WhatNamesNoClassIsAUsageError) {
  for (const auto& [words, message] : {
           std::pair<std::vector<std::string>, std::string>{
               {"gold"}, "\"gold\" is not TYPE=CLASS, as in rdt=gold"},
           {{"=gold"}, "\"=gold\" is not TYPE=CLASS, as in rdt=gold"},
           {{"rdt=gold", "rdt="}, "class type rdt is named twice"},
       }) {
    std::vector<std::string> arguments = {"assign", "web"};
    arguments.insert(arguments.end(), words.begin(), words.end());
    const Printed refused = RunMain(arguments);
    EXPECT_EQ(refused.code, kExitUsage);
    EXPECT_THAT(refused.err, HasSubstr(message));
  }
}

TEST(Update, AmountsThatCannotBeAreUsageErrors) {
  for (const std::vector<std::string>& arguments :
       {std::vector<std::string>{"update", "x", "--memory", "12XB"},
        {"update", "x", "--cpus", "-1"},
        {"update", "x", "--cpu", "0"},
        {"update", "x", "--cpu-request", "256001m"},
        {"update", "--pod", "x"},
        {"update", "x", "--cpuset-cpus", "3-1"},
        {"update", "x"}}) {
    EXPECT_EQ(RunMain(arguments).code, kExitUsage) << arguments.back();
  }
}

TEST(Update, ARequestThatSharesCannotSayIsRefused) {
  EXPECT_THAT(RunMain({"update", "x", "--cpu-request", "100000"}).err,
              HasSubstr("--cpu-request: 100000 is above 256, whose 262144 shares are the most"));
  const TestDir dir;
  const Printed most =
      RunMain({"--address", dir.path() + "/none", "update", "x", "--cpu-request", "256"});
  EXPECT_THAT(most.err, HasSubstr("no daemon at"));
}

}  // namespace
}  // namespace plimsoll::cli
