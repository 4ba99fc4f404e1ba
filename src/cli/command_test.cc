#include "cli/command.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

#include <nlohmann/json.hpp>
#include <thread>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "base/dir_for_test.h"
#include "base/subprocess.h"
#include "base/unique_fd.h"
#include "cli/command_tree.h"
#include "cli/images.h"
#include "cli/lookup.h"
#include "cli/standalone.h"
#include "topology/hwloc_reader.h"
#include "topology/topology_file.h"
#include "topology/zone_tree.h"

namespace plimsoll::cli {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

CommandInfo Tree() {
  CommandContext context;
  CLI::App app("", "plimsoll");
  BuildApp(app, context);
  return DescribeCommands(app);
}

struct Printed {
  int code;
  std::string out;
  std::string err;
};

Printed RunMain(std::vector<std::string> words) {
  words.insert(words.begin(), "plimsoll");
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  const int code = RunProgramMain(static_cast<int>(words.size()), argv.data());
  std::string out = testing::internal::GetCapturedStdout();
  return {code, std::move(out), testing::internal::GetCapturedStderr()};
}

TEST(Command, ATopologyIsCheckedFromWhereTheUserIs) {
  const TestDir dir;
  ASSERT_TRUE(dir.root().ReplaceFile("good.yaml", "zones: [{name: a, type: Core}]\n").ok());
  ASSERT_TRUE(dir.root().ReplaceFile("bad.yaml", "zones: [{name: a, parent: a}]\n").ok());
  const std::string way = absl::StrCat("../../../../../../../../../../../../../..", dir.path());
  const Printed good = RunMain({"topology", "check", way + "/good.yaml"});
  EXPECT_EQ(good.code, kExitOk) << good.err;
  EXPECT_THAT(good.out, HasSubstr("a valid topology of 1 zones"));
  EXPECT_EQ(good.err, "");
  const Printed bad = RunMain({"topology", "check", way + "/bad.yaml"});
  EXPECT_EQ(bad.code, kExitError);
  EXPECT_THAT(bad.err, HasSubstr("zone \"a\" is its own parent"));
}

TEST(Command, TheCommandLineStandsBeforeTheEnvironment) {
  const TestDir dir;
  const std::string socket = dir.path() + "/none";
  setenv("PLIMSOLL_ROOT", dir.path().c_str(), 1);
  EXPECT_THAT(RunMain({"--address", socket, "ps"}).err, HasSubstr("no daemon at unix://" + socket));
  setenv("PLIMSOLL_ADDRESS", socket.c_str(), 1);
  EXPECT_THAT(RunMain({"ps"}).err, HasSubstr("contradict"));
  unsetenv("PLIMSOLL_ROOT");
  EXPECT_THAT(RunMain({"ps"}).err, HasSubstr("no daemon at unix://" + socket));
  unsetenv("PLIMSOLL_ADDRESS");
}

TEST(Command, ATopologysFaultsAreAllTold) {
  const TestDir dir;
  ASSERT_TRUE(dir.root().ReplaceFile("t", "zones: [{name: a, parent: b}, {name: a}]\n").ok());
  const Printed bad = RunMain({"topology", "check", dir.path() + "/t"});
  EXPECT_EQ(bad.code, kExitError);
  EXPECT_THAT(bad.err, AllOf(HasSubstr("but there is no such zone"), HasSubstr("is there twice")));
  ASSERT_TRUE(dir.root().ReplaceFile("t", "zones: []\n").ok());
  EXPECT_EQ(RunMain({"topology", "check", dir.path() + "/t"}).code, kExitError);
}

// A static CPU policy could not use it; all else can.
TEST(Command, ATopologyWithoutCpuNumbersIsValidWithANote) {
  const TestDir dir;
  ASSERT_TRUE(dir.root()
                  .ReplaceFile("t", "zones: [{name: a, resources: [{name: cpu, capacity: 2}]}]\n")
                  .ok());
  const Printed good = RunMain({"topology", "check", dir.path() + "/t"});
  EXPECT_EQ(good.code, kExitOk);
  EXPECT_THAT(good.err, HasSubstr("note: zone \"a\" has CPUs and no attribute \"cpu-ids\""));
  ASSERT_TRUE(dir.root().ReplaceFile("t", "zones: [{name: a, type: numa}]\n").ok());
  const Printed bad = RunMain({"topology", "check", dir.path() + "/t"});
  EXPECT_EQ(bad.code, kExitError);
  EXPECT_THAT(bad.err, HasSubstr("zone \"a\" is a NUMA node"));
}

TEST(Command, ACheckedTopologyIsToldToPrograms) {
  const TestDir dir;
  const std::string file = dir.path() + "/t";
  const std::string two =
      "zones: [{name: a, resources: [{name: cpu, capacity: 2}]},"
      " {name: b, resources: [{name: cpu, capacity: 500m}]}]\n";
  ASSERT_TRUE(dir.root().ReplaceFile("t", two).ok());
  const Printed good = RunMain({"topology", "check", file, "-o", "json"});
  EXPECT_EQ(good.code, kExitOk) << good.err;
  EXPECT_EQ(nlohmann::json::parse(good.out), nlohmann::json({{"file", file},
                                                             {"faults", nlohmann::json::array()},
                                                             {"zones", 2},
                                                             {"capacity", {{"cpu", "2500m"}}}}));
  ASSERT_TRUE(dir.root().ReplaceFile("t", "zones: [{name: a, parent: b}, {name: a}]\n").ok());
  const Printed bad = RunMain({"topology", "check", file, "-o", "json"});
  EXPECT_EQ(bad.code, kExitError);
  const auto told = nlohmann::json::parse(bad.out);
  EXPECT_EQ(told["faults"].size(), 2u) << bad.out;
  EXPECT_EQ(told["capacity"], nlohmann::json::object());
  EXPECT_THAT(RunMain({"topology", "check", file, "-o", "yaml"}).out, HasSubstr("faults:\n"));
}

// The kernel alone can follow the links of `<(...)` and /dev/stdin.
TEST(Command, ATopologyMayComeThroughAPipe) {
  int ends[2];
  ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
  const UniqueFd reader(ends[0]);
  UniqueFd writer(ends[1]);
  const std::string text = "zones: [{name: a}]\n";
  ASSERT_EQ(write(writer.get(), text.data(), text.size()), static_cast<ssize_t>(text.size()));
  writer.Reset();
  const Printed good =
      RunMain({"topology", "check", absl::StrCat("/dev/fd/", reader.get()), "--any-machine"});
  EXPECT_EQ(good.code, kExitOk) << good.err;
}

TEST(Command, APipeIsReadUntilItsWriterHasGone) {
  int ends[2];
  ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
  const UniqueFd reader(ends[0]);
  UniqueFd writer(ends[1]);
  std::thread shell([&writer] {
    absl::SleepFor(absl::Milliseconds(50));  // a reader that doesn't wait finds nothing
    const std::string text = "zones: [{name: a}]\n";
    EXPECT_EQ(write(writer.get(), text.data(), text.size()), static_cast<ssize_t>(text.size()));
    writer.Reset();
  });
  const Printed good =
      RunMain({"topology", "check", absl::StrCat("/dev/fd/", reader.get()), "--any-machine"});
  shell.join();
  EXPECT_EQ(good.code, kExitOk) << good.err;
}

// A FIFO may never get a writer.
TEST(Command, ATopologyIsNotAwaitedFromAFifo) {
  const TestDir dir;
  const std::string fifo = dir.path() + "/fifo";
  ASSERT_EQ(mkfifo(fifo.c_str(), 0600), 0);
  for (const auto& words : std::vector<std::vector<std::string>>{{"topology", "check", fifo},
                                                                 {"topology", "--machine", fifo}}) {
    const Printed refused = RunMain(words);
    EXPECT_EQ(refused.code, kExitError);
    EXPECT_THAT(refused.err, HasSubstr(fifo + ": is a FIFO, not a regular file"));
  }
  EXPECT_THAT(RunMain({"topology", "check", "/dev/zero"}).err,
              HasSubstr("/dev/zero: is a character device, not a regular file"));
}

TEST(Command, ACapturedMachineCanBeLookedAt) {
  const TestDir dir;
  const std::string machine = dir.path() + "/machine";
  const Printed captured = RunMain({"topology", "capture", machine});
  ASSERT_EQ(captured.code, kExitOk) << captured.err;
  const Printed again = RunMain({"topology", "capture", machine});
  EXPECT_EQ(again.code, kExitError);
  EXPECT_THAT(again.err, HasSubstr("is not empty"));
  const Printed shown = RunMain({"topology", "--machine", machine});
  EXPECT_EQ(shown.code, kExitOk) << shown.err;
  EXPECT_THAT(shown.out, AllOf(HasSubstr("root Machine"), HasSubstr("cpu-ids=")));
  ASSERT_EQ(RunMain({"topology", "--machine", machine, "--svg", machine + "/t.svg"}).code, kExitOk);
  EXPECT_THAT(*dir.root().Read("machine/t.svg"), HasSubstr("</svg>"));
}

TEST(Command, AMachineMayBeXmlOfHwlocs) {
  const TestDir dir;
  const auto xml = topology::ExportHwlocXml();
  ASSERT_TRUE(xml.ok()) << xml.status();
  ASSERT_TRUE(dir.root().ReplaceFile("machine.xml", *xml).ok());
  const std::string file = dir.path() + "/machine.xml";
  EXPECT_THAT(RunMain({"topology", "--machine", file}).out, HasSubstr("root Machine"));
  const Printed shown = RunMain({"-o", "yaml", "topology", "--machine", file});
  ASSERT_EQ(shown.code, kExitOk) << shown.err;
  const auto told = topology::ParseTopology(shown.out, "printed");
  ASSERT_TRUE(told.ok()) << told.status();
  const auto tree = topology::ZoneTree::Build(*told);
  ASSERT_TRUE(tree.ok()) << tree.status();
  EXPECT_EQ(tree->Cpus(), topology::ReadWithHwloc()->cpus);
  // Names as the daemon lists them.
  for (const topology::Zone& zone : told->zones) {
    const bool has_id = zone.type == topology::kPackage || zone.type == topology::kNumaNode;
    EXPECT_EQ(zone.attributes.contains(topology::kId), has_id) << zone.name;
  }
  ASSERT_TRUE(dir.root().ReplaceFile("machine.xml", "zones: []\n").ok());
  const Printed none = RunMain({"topology", "--machine", file});
  EXPECT_EQ(none.code, kExitError);
  EXPECT_THAT(none.err, AllOf(HasSubstr(file), HasSubstr("not an XML topology of hwloc 2")));
}

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
  EXPECT_THAT(RunMain({"image"}).err, AllOf(HasSubstr("list"), HasSubstr("import")));
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
  EXPECT_EQ(asked("plimsoll exec ''", 2), "__complete containers\n");
  EXPECT_EQ(asked("plimsoll --root /r exec ''", 4), "--root=/r __complete containers\n");
  EXPECT_EQ(asked("plimsoll exec --root '~/r' ''", 4), "--root=/h/r __complete containers\n");
  // bash splits --address=unix:///run/a.sock at = and :.
  EXPECT_EQ(asked("plimsoll exec --address = unix : ///run/a.sock ''", 7),
            "--address=unix:///run/a.sock __complete containers\n");
  EXPECT_EQ(asked("plimsoll --address unix : ///a image rm ''", 7),
            "--address=unix:///a __complete images\n");
  EXPECT_EQ(asked("plimsoll update ''", 2), "__complete containers\n__complete pods\n");
  // A value is no command: this completes the arguments of `stop`.
  EXPECT_EQ(asked("plimsoll --root image stop ''", 4),
            "--root=image __complete pods\n--root=image __complete containers\n");
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

cri::PodSandbox Pod(const std::string& id, const std::string& name) {
  cri::PodSandbox pod;
  pod.set_id(id);
  pod.mutable_metadata()->set_name(name);
  pod.mutable_metadata()->set_namespace_("default");
  return pod;
}

cri::Container Container(const std::string& id, const std::string& pod, const std::string& name,
                         uint32_t attempt = 0) {
  cri::Container container;
  container.set_id(id);
  container.set_pod_sandbox_id(pod);
  container.mutable_metadata()->set_name(name);
  container.mutable_metadata()->set_attempt(attempt);
  return container;
}

TEST(Errors, TheVerbIsSaidOnce) {
  EXPECT_EQ(AnnotateOnce(absl::NotFoundError("pull docker.io/a:b: none"), "pull", "a").message(),
            "pull docker.io/a:b: none");
  EXPECT_EQ(AnnotateOnce(absl::NotFoundError("none"), "pull", "a").message(), "pull a: none");
  EXPECT_TRUE(AnnotateOnce(absl::OkStatus(), "pull", "a").ok());
}

TEST(Errors, APullIsNotBlamedOnTheNameAlone) {
  EXPECT_THAT(PullHint(absl::StatusCode::kNotFound, "a"), HasSubstr("Check the name, or bring"));
  EXPECT_THAT(PullHint(absl::StatusCode::kUnavailable, "a b"),
              AllOf(HasSubstr("way from here to the registry"), Not(HasSubstr("Check the name")),
                    HasSubstr("--name 'a b'")));
  EXPECT_EQ(PullHint(absl::StatusCode::kResourceExhausted, "a"), "");
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

TEST(Lookup, NamesAndPrefixes) {
  const std::vector<cri::PodSandbox> pods = {Pod("aa11", "web"), Pod("bb22", "db")};
  const std::vector<cri::Container> containers = {
      Container("cc1", "aa11", "app"), Container("cc2", "aa11", "app", 1),
      Container("dd1", "bb22", "app"), Container("ee1", "bb22", "backup")};
  EXPECT_EQ(FindPod(pods, "web")->id(), "aa11");
  EXPECT_EQ(FindPod(pods, "default/db")->id(), "bb22");
  EXPECT_EQ(FindPod(pods, "bb")->id(), "bb22");
  EXPECT_EQ(FindContainer(containers, pods, "web/app")->id(), "cc2") << "the newest attempt";
  EXPECT_EQ(FindContainer(containers, pods, "backup")->id(), "ee1");
  EXPECT_EQ(FindContainer(containers, pods, "cc1")->id(), "cc1");
  const absl::Status ambiguous = FindContainer(containers, pods, "app").status();
  EXPECT_THAT(std::string(ambiguous.message()), AllOf(HasSubstr("web/app"), HasSubstr("db/app")));
  EXPECT_TRUE(absl::IsInvalidArgument(FindContainer(containers, pods, "cc").status()));
  const absl::Status missing = FindPod(pods, "wb").status();
  EXPECT_TRUE(absl::IsNotFound(missing));
  EXPECT_THAT(HintOf(FindContainer(containers, pods, "bakcup").status()),
              HasSubstr("Did you mean \"backup\"?"));
  EXPECT_THAT(HintOf(FindPodOrContainer(pods, containers, "bac").status()),
              HasSubstr("Did you mean \"backup\"?"));
  const absl::Status none = FindPodOrContainer(pods, containers, "db/nosuch").status();
  EXPECT_THAT(std::string(none.message()), HasSubstr("pod db has no container \"nosuch\""));
  EXPECT_THAT(HintOf(none), HasSubstr("app, backup"));
  const absl::Status a_pod = FindContainer(containers, pods, "db").status();
  EXPECT_THAT(std::string(a_pod.message()), HasSubstr("\"db\" is a pod"));
  EXPECT_THAT(HintOf(a_pod), HasSubstr("db/app, db/backup"));
  EXPECT_EQ(FindContainer(containers, pods, "web")->id(), "cc2") << "the only one of its pod";
}

TEST(Lookup, ANameWinsOverTheBeginningOfAnId) {
  const std::vector<cri::PodSandbox> pods = {Pod("db11", "web"), Pod("db22", "api"),
                                             Pod("ca33", "ee")};
  const std::vector<cri::Container> containers = {Container("cc1", "db11", "db"),
                                                  Container("cc2", "db11", "ca"),
                                                  Container("ee1", "db22", "app")};
  const auto id_of = [&](const char* text) {
    const auto found = FindPodOrContainer(pods, containers, text);
    if (!found.ok()) return std::string(found.status().message());
    return std::visit([](const auto& item) { return item.id(); }, *found);
  };
  EXPECT_EQ(id_of("db"), "cc1");
  EXPECT_EQ(id_of("ca"), "cc2");
  EXPECT_EQ(id_of("ca3"), "ca33");
  EXPECT_EQ(id_of("ee"), "ca33");
  EXPECT_EQ(id_of("ee1"), "ee1");
  EXPECT_THAT(id_of("nope"), HasSubstr("no pod or container \"nope\""));
  const std::vector<cri::PodSandbox> namesakes = {Pod("aa11", "web"), Pod("bb22", "web")};
  EXPECT_TRUE(absl::IsInvalidArgument(FindPodOrContainer(namesakes, {}, "web").status()));
}

TEST(Output, MapsAreSortedAndTheRestIsInItsOrder) {
  cri::ContainerStatus status;
  for (const char* key : {"b", "e", "a", "d", "c"}) (*status.mutable_labels())[key] = "x";
  (*status.mutable_kubernetes_resources()->mutable_limits())["m"].set_string("1");
  (*status.mutable_kubernetes_resources()->mutable_limits())["c"].set_string("2");
  const std::string json = *ToJson(status);
  EXPECT_THAT(json, HasSubstr("\"labels\": {\n  \"a\": \"x\",\n  \"b\": \"x\",\n  \"c\""));
  EXPECT_LT(json.find("\"c\": {"), json.find("\"m\": {"));
  EXPECT_LT(json.find("\"id\""), json.find("\"createdAt\"")) << "as the message has them";
}

TEST(Output, JsonAndYamlSayTheSame) {
  cri::ListPodSandboxResponse response;
  *response.add_items() = Pod("0123", "true");
  const auto json = ToJson(response);
  ASSERT_TRUE(json.ok()) << json.status();
  EXPECT_THAT(*json, HasSubstr("\"createdAt\": null"));
  const auto yaml = JsonToYaml(*json);
  ASSERT_TRUE(yaml.ok()) << yaml.status();
  // A string that looks like another type keeps its quotes.
  EXPECT_THAT(*yaml, AllOf(HasSubstr("id: \"0123\""), HasSubstr("name: \"true\""),
                           HasSubstr("namespace: default"), HasSubstr("labels: {}")));
  EXPECT_EQ(*JsonToYaml("{\"a\": null, \"b\": \"null\", \"c\": true}"),
            "a: ~\nb: \"null\"\nc: true\n");
  EXPECT_FALSE(JsonToYaml("{").ok());
}

TEST(Standalone, TheDaemonsOwnWordsAreShown) {
  TestDir dir;
  ASSERT_TRUE(
      dir.root()
          .ReplaceFile("daemon", "#!/bin/sh\necho 'plimsolld: no crun found' >&2\nexit 1\n", 0755)
          .ok());
  const auto joined = Standalone::Join(
      {.dirs = StandaloneDirs::Below(dir.path()), .daemon = dir.path() + "/daemon"});
  EXPECT_THAT(std::string(joined.status().message()),
              AllOf(HasSubstr("plimsolld did not start (exit code 1)"),
                    HasSubstr("plimsolld: no crun found")));
}

TEST(Standalone, WaitsForReadinessAndHoldsTheLock) {
  TestDir dir;
  ASSERT_TRUE(
      dir.root()
          .ReplaceFile("daemon", "#!/bin/sh\necho \"$@\" > \"$7/arguments\"\nprintf R >&3\n", 0755)
          .ok());
  auto joined = Standalone::Join(
      {.dirs = StandaloneDirs::Below(dir.path()), .daemon = dir.path() + "/daemon"});
  ASSERT_TRUE(joined.ok()) << joined.status();
  EXPECT_TRUE(joined->started());
  EXPECT_THAT(*dir.root().Read("run/arguments"), HasSubstr("--standalone"));
  Command try_lock;
  try_lock.argv = {*FindProgram("flock"), "-xn", dir.path() + "/run/clients.lock", "true"};
  EXPECT_FALSE(RunProgram(try_lock)->exit.success());
  joined->Leave(absl::Milliseconds(100));
  EXPECT_TRUE(RunProgram(try_lock)->exit.success());
}

TEST(Standalone, RootsAndDefaults) {
  EXPECT_EQ(StandaloneDirs::Below("/x/").state, "/x/state");
  EXPECT_EQ(StandaloneDirs::Below("/x").socket(), "/x/run/plimsoll.sock");
  EXPECT_EQ(StandaloneDirs::Below("").run, "/run/plimsoll/standalone");
}

TEST(Standalone, RootsAreMadeAbsolute) {
  TestDir dir;
  char here[PATH_MAX];
  ASSERT_NE(getcwd(here, sizeof(here)), nullptr);
  EXPECT_EQ(StandaloneDirs::Below("not-there/a").run, absl::StrCat(here, "/not-there/a/run"));
  EXPECT_EQ(StandaloneDirs::Below("/").state, "/state");
  EXPECT_EQ(StandaloneDirs::Below(".").state, absl::StrCat(here, "/state"));
  const std::string crooked =
      absl::StrCat(dir.path(), "/../", dir.path().substr(dir.path().rfind('/') + 1), "/b");
  EXPECT_EQ(StandaloneDirs::Below(crooked).run, dir.path() + "/b/run");
}

}  // namespace
}  // namespace plimsoll::cli
