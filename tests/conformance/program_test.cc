// cri_conformance as a program: its errors when it can't run, and no leftovers after Ctrl-C.
#include <unistd.h>

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/programs/subprocess.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "harness/kernel.h"
#include "harness/node.h"
#include "harness/watched_program.h"
#include "linux/namespaces/mounts.h"

namespace plimsoll::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

std::vector<std::string> Argv(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), ProgramPath("cri_conformance"));
  return arguments;
}

RunResult RunSuite(std::vector<std::string> arguments) {
  auto result =
      RunProgram({.argv = Argv(std::move(arguments))}, {.timeout = Patience(absl::Seconds(60))});
  EXPECT_TRUE(result.ok()) << result.status();
  return result.ok() ? *result : RunResult{.exit = {.code = -1}};
}

// The text between two others in `text`; empty if they aren't there.
std::string Between(const std::string& text, const std::string& before, const std::string& after) {
  const size_t begin = text.find(before);
  const size_t end = begin == std::string::npos ? begin : text.find(after, begin + before.size());
  if (end == std::string::npos) return "";
  return text.substr(begin + before.size(), end - begin - before.size());
}

// True if a container of the run writes a log.
bool Works(const std::string& directory) {
  const auto pods = Host().List(directory + "/logs");
  if (!pods.ok()) return false;
  return std::any_of(pods->begin(), pods->end(), [&](const std::string& pod) {
    const auto logs = Host().List(absl::StrCat(directory, "/logs/", pod));
    return logs.ok() && !logs->empty();
  });
}

TEST(ConformanceProgramTest, SaysWhereNobodyListens) {
  const RunResult result = RunSuite({"--endpoint", "unix:///no/such/cri.sock"});
  EXPECT_EQ(result.exit.code, 2);
  EXPECT_THAT(result.err, HasSubstr("nobody serves the CRI at unix:///no/such/cri.sock"));
}

TEST(ConformanceProgramTest, AFilterThatFitsNothingIsAnError) {
  if (geteuid() != 0) GTEST_SKIP() << "containers need root";
  const RunResult result = RunSuite({"--gtest_filter=NoSuchTest.*"});
  EXPECT_EQ(result.exit.code, 2);
  EXPECT_THAT(result.err, HasSubstr("--list"));
}

TEST(ConformanceProgramTest, ACertificateNeedsItsKey) {
  const RunResult result = RunSuite({"--tls-registry", "127.0.0.1:5443"});
  EXPECT_EQ(result.exit.code, 2);
  EXPECT_THAT(result.err, HasSubstr("--tls-key"));
}

TEST(ConformanceProgramTest, EveryTestHasItsPromise) {
  const RunResult result = RunSuite({"--list"});
  EXPECT_EQ(result.exit.code, 0);
  const std::vector<std::string> lines = absl::StrSplit(result.out, '\n', absl::SkipEmpty());
  ASSERT_GT(lines.size(), 400u);
  for (size_t i = 0; i + 1 < lines.size(); i += 2) {
    EXPECT_THAT(lines[i], Not(StartsWith(" ")));
    EXPECT_THAT(lines[i + 1], StartsWith("    "));
    EXPECT_GT(lines[i + 1].size(), 20u) << lines[i];
  }
}

TEST(ConformanceProgramTest, CtrlCLeavesNothing) {
  if (geteuid() != 0) GTEST_SKIP() << "containers need root";
  if (!FindProgram("docker-registry").ok()) {
    GTEST_SKIP() << "no docker-registry here: apt-get install docker-registry";
  }
  WatchedProgram suite(
      Argv({"--gtest_filter=LogTest.RotationLosesNothingUnderLoad", "--gtest_repeat=1000"}),
      OpenPipe());
  ASSERT_TRUE(suite.Await([](const std::string& printed) {
    return absl::StrContains(printed, "plimsoll.sock\n");
  })) << suite.printed();
  const std::string run = Between(suite.printed(), "run ", " of ");
  const std::string node = Between(suite.printed(), "unix://", "/run/plimsoll.sock\n");
  ASSERT_THAT(run, Not(IsEmpty())) << suite.printed();
  ASSERT_THAT(node, Not(IsEmpty())) << suite.printed();
  const std::string directory = absl::StrCat("/tmp/plimsoll-conformance-", run);
  ASSERT_TRUE(Eventually([&] { return Works(directory); })) << suite.printed();
  EXPECT_EQ(suite.Interrupt(), 130) << suite.printed();
  EXPECT_THAT(suite.printed(), Not(HasSubstr("something is left")));
  EXPECT_THAT(MountsBelow(directory), IsEmpty());
  EXPECT_THAT(MountsBelow(node), IsEmpty());
  EXPECT_FALSE(Host().Exists(directory));
  EXPECT_FALSE(Host().Exists(node));
  EXPECT_TRUE(
      Eventually([&] { return ProcessesWith(directory).empty() && ProcessesWith(node).empty(); }));
}

TEST(ConformanceProgramTest, KilledItTakesItsDaemonAndRegistriesAlong) {
  if (geteuid() != 0) GTEST_SKIP() << "containers need root";
  if (!FindProgram("docker-registry").ok()) {
    GTEST_SKIP() << "no docker-registry here: apt-get install docker-registry";
  }
  WatchedProgram suite(
      Argv({"--gtest_filter=ImageTest.APulledOneIsNotPinned", "--gtest_repeat=1000"}), OpenPipe());
  ASSERT_TRUE(suite.Await([](const std::string& printed) {
    return absl::StrContains(printed, "plimsoll.sock\n");
  })) << suite.printed();
  const std::string run = Between(suite.printed(), "run ", " of ");
  const std::string node = Between(suite.printed(), "unix://", "/run/plimsoll.sock\n");
  ASSERT_THAT(run, Not(IsEmpty())) << suite.printed();
  ASSERT_THAT(node, Not(IsEmpty())) << suite.printed();
  const std::string directory = absl::StrCat("/tmp/plimsoll-conformance-", run);
  EXPECT_TRUE(Eventually([&] { return !ProcessesWith(directory + "/registry").empty(); }))
      << suite.printed();
  EXPECT_THAT(ProcessesWith(node), Not(IsEmpty()));
  const std::string group = absl::StrCat("/plimsoll-test-", suite.pid());
  suite.Kill();
  EXPECT_TRUE(Eventually([&] {
    return ProcessesWith(directory).empty() && ProcessesWith(node).empty();
  })) << ::testing::PrintToString(ProcessesWith(node));
  // Files and mounts go with no process. When a process is killed, one of its threads may still
  // make a mount or a file after the first has ended.
  for (const std::string& left : {node, directory}) {
    EXPECT_TRUE(Eventually([&] {
      linux::UnmountBelow(Host(), node).IgnoreError();
      return Host().RemoveTree(left).ok();
    })) << Host().RemoveTree(left);
  }
  EXPECT_TRUE(Eventually([&] {
    Cgroups().Remove(group).IgnoreError();
    return !Cgroups().Exists(group).value_or(true);
  })) << group;
}

}  // namespace
}  // namespace plimsoll::testing
