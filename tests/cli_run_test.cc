// `plimsoll run` as people use it: its output, its ends, its errors.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "base/programs/subprocess.h"
#include "cli_fixture.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "harness/kernel.h"

namespace plimsoll::testing {
namespace {

using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

// The daemon that a command in `directory` has started; 0: there is none. Its child looks the same
// until it executes a program.
pid_t DaemonIn(const std::string& directory) {
  std::vector<std::string> found;
  EXPECT_TRUE(Eventually([&] {
    found = ProcessesWith("plimsolld --standalone");
    std::erase_if(found, [&](const std::string& line) {
      return !absl::StrContains(line, absl::StrCat(directory, "/"));
    });
    return found.size() == 1;
  })) << ::testing::PrintToString(found);
  return found.size() == 1 ? std::stoi(found[0]) : 0;
}

TEST_F(CliTest, RunShowsOutputWithPrefixesAndLeavesNothing) {
  const RunResult result = Plimsoll(
      {"run",
       Manifest("hello", absl::StrCat("  initContainers:\n", ContainerOf("first", "echo one"),
                                      "  containers:\n", ContainerOf("a", "echo two"),
                                      ContainerOf("b", "echo three")))});
  EXPECT_EQ(result.exit.code, 0) << result.err;
  EXPECT_THAT(result.out, AllOf(HasSubstr("one"), HasSubstr("two"), HasSubstr("three")));
  EXPECT_LT(result.out.find("one"), result.out.find("two"));
  EXPECT_THAT(Plimsoll({"pods", "-o", "json"}).out, Not(HasSubstr("hello")));
}

TEST_F(CliTest, RunFailsWhenAContainerFails) {
  const RunResult result = Plimsoll(
      {"run", Manifest("bad", absl::StrCat("  containers:\n", ContainerOf("a", "exit 3")))});
  EXPECT_NE(result.exit.code, 0);
}

TEST_F(CliTest, AFailedInitContainerStopsThePod) {
  const RunResult result = Plimsoll(
      {"run", Manifest("bad", absl::StrCat("  initContainers:\n", ContainerOf("i", "exit 1"),
                                           "  containers:\n", ContainerOf("a", "echo never")))});
  EXPECT_NE(result.exit.code, 0);
  EXPECT_THAT(result.out, Not(HasSubstr("never")));
}

TEST_F(CliTest, AProgramThatIsNotThereEndsThePodAsItsContainersFault) {
  const RunResult result = Plimsoll({"run", Manifest("typo",
                                                     "  containers:\n  - name: a\n    image: "
                                                     "busybox\n    command: [/bin/no-such]\n")});
  EXPECT_EQ(result.exit.code, 128) << result.err;
  EXPECT_THAT(result.err, AllOf(HasSubstr("command \"/bin/no-such\" is not in the image"),
                                HasSubstr("did not start"), ContainsRegex("StartError +128")));
  EXPECT_THAT(Plimsoll({"pods", "-o", "json"}).out, Not(HasSubstr("typo")));
}

TEST_F(CliTest, ASubPathOfAFreshEmptyDirIsMade) {
  const RunResult result = Plimsoll(
      {"run", Manifest("parts",
                       absl::StrCat(
                           "  securityContext: {runAsUser: 1000, runAsGroup: 1000}\n"
                           "  volumes: [{name: data, emptyDir: {}}]\n  containers:\n",
                           ContainerOf("a", "echo x > /data/f; stat -c mode=%a /data"),
                           "    volumeMounts: [{name: data, mountPath: /data, subPath: b/c}]\n"))});
  EXPECT_EQ(result.exit.code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("mode=777"));
}

TEST_F(CliTest, ASidecarThatIgnoresTheStopSignalIsNamedAndCtrlCKillsIt) {
  const std::string manifest = Manifest(
      "patient",
      absl::StrCat("  terminationGracePeriodSeconds: 600\n  initContainers:\n",
                   ContainerOf("deaf", "trap '' TERM; echo deaf; while :; do sleep 1; done"),
                   "    restartPolicy: Always\n  containers:\n", ContainerOf("a", "sleep 1")));
  const std::string errors = dir_.path() + "/errors";
  const UniqueFd stderr_file = *Host().OpenFile(errors, O_WRONLY | O_CREAT, 0600);
  Command command = PlimsollCommand({"run", manifest});
  command.descriptors = {{stderr_file.get(), 2}};
  auto child = Spawn(command);
  ASSERT_TRUE(child.ok()) << child.status();
  EXPECT_TRUE(Eventually([&] {
    return absl::StrContains(Host().Read(errors).value_or(""),
                             "pod patient: waiting up to 600s for container deaf to end after the "
                             "stop signal; Ctrl-C kills at once");
  })) << Host().Read(errors).value_or("");
  ASSERT_TRUE(child->Signal(SIGINT).ok());
  const auto exit = child->Wait(absl::Now() + Patience(absl::Seconds(60)));
  ASSERT_TRUE(exit.ok()) << exit.status();
  EXPECT_EQ(exit->code, 0) << "what was to be done was done";
  EXPECT_THAT(Plimsoll({"pods", "-o", "json"}).out, Not(HasSubstr("patient")));
}

TEST_F(CliTest, SidecarsDoNotWaitForAnInitContainerThatIgnoresTheStopSignal) {
  const std::string shared = dir_.path() + "/shared";
  ASSERT_TRUE(Host().MakeDirs(shared, 0777).ok());
  const char* const mount = "    volumeMounts: [{name: v, mountPath: /v}]\n";
  const std::string loop = "while :; do sleep 0.05; done";
  const std::string manifest = Manifest(
      "stuck",
      absl::StrCat(
          "  terminationGracePeriodSeconds: 600\n  volumes: [{name: v, hostPath: {path: ", shared,
          "}}]\n  initContainers:\n",
          ContainerOf("side", "trap 'touch /v/ended; exit 0' TERM; touch /v/side; " + loop),
          "    restartPolicy: Always\n", mount,
          ContainerOf("init", "trap '' TERM; touch /v/init; " + loop), mount, "  containers:\n",
          ContainerOf("a", "sleep 1000")));
  auto child = Spawn(PlimsollCommand({"run", manifest}));
  ASSERT_TRUE(child.ok()) << child.status();
  for (const char* name : {"side", "init"}) {
    EXPECT_TRUE(Eventually([&] { return Host().Exists(shared + "/" + name); })) << name;
  }
  ASSERT_TRUE(child->Signal(SIGINT).ok());
  EXPECT_TRUE(Eventually([&] { return Host().Exists(shared + "/ended"); }));
  ASSERT_TRUE(child->Signal(SIGINT).ok());
  const auto exit = child->Wait(absl::Now() + Patience(absl::Seconds(60)));
  ASSERT_TRUE(exit.ok()) << exit.status();
  EXPECT_EQ(exit->code, 130);
  EXPECT_THAT(Plimsoll({"pods", "-o", "json"}).out, Not(HasSubstr("stuck")));
}

TEST_F(CliTest, WithoutTheHostsUsersAPodHasIdsOfItsOwn) {
  ASSERT_EQ(chmod(dir_.path().c_str(), 0711), 0);  // the way to the run directory
  const std::string script =
      "tr -s ' ' < /proc/self/uid_map; touch /data/made; stat -c owner=%u /data/made";
  const RunResult result = Plimsoll(
      {"run",
       Manifest("mapped", absl::StrCat("  hostUsers: false\n"
                                       "  volumes: [{name: data, emptyDir: {}}]\n"
                                       "  containers:\n",
                                       ContainerOf("a", script),
                                       "    volumeMounts: [{name: data, mountPath: /data}]\n"))});
  if (absl::StrContains(result.err, "a user namespace of its own can't be had here")) {
    GTEST_SKIP() << "this machine has no user namespaces for pods: " << result.err;
  }
  EXPECT_EQ(result.exit.code, 0) << result.err;
  EXPECT_THAT(result.out, ContainsRegex("0 (18|19|20|21)[0-9]{8} 65536"));
  EXPECT_THAT(result.out, HasSubstr("owner=0"));
}

TEST_F(CliTest, ADetachedRunPrintsIdsAlone) {
  const std::string spec =
      absl::StrCat("  initContainers:\n", ContainerOf("first", "echo made ready"),
                   "  containers:\n", ContainerOf("a", "sleep 1000"));
  const RunResult started =
      Plimsoll({"run", "-d", "--show-resources", Manifest("one", spec), Manifest("two", spec)});
  ASSERT_EQ(started.exit.code, 0) << started.err;
  EXPECT_THAT(started.err, HasSubstr("made ready")) << "nothing is lost";
  EXPECT_THAT(started.err, HasSubstr("KERNEL HOLDS"));
  const std::vector<std::string> ids = absl::StrSplit(started.out, '\n', absl::SkipWhitespace());
  ASSERT_THAT(ids, SizeIs(2)) << started.out;
  EXPECT_EQ(started.out, absl::StrCat(ids[0], "\n", ids[1], "\n"));
  for (const std::string& id : ids) {
    const RunResult removed = Plimsoll({"rm", "--force", id});
    EXPECT_EQ(removed.exit.code, 0) << id << ": " << removed.err;
  }
}

TEST_F(CliTest, CtrlCStopsThePodAndCleansUp) {
  int fds[2];
  ASSERT_EQ(pipe2(fds, O_CLOEXEC), 0);
  UniqueFd reader(fds[0]);
  UniqueFd writer(fds[1]);
  Command command = PlimsollCommand(
      {"run", Manifest("long", absl::StrCat("  terminationGracePeriodSeconds: 1\n  containers:\n",
                                            ContainerOf("a", "echo started; sleep 1000")))});
  command.descriptors = {{writer.get(), 1}};
  auto child = Spawn(command);
  ASSERT_TRUE(child.ok()) << child.status();
  writer.Reset();
  char buffer[256];
  ASSERT_GT(read(reader.get(), buffer, sizeof(buffer)), 0);  // "started" has come
  ASSERT_TRUE(child->Signal(SIGINT).ok());
  const auto exit = child->Wait(absl::Now() + absl::Seconds(60));
  ASSERT_TRUE(exit.ok()) << exit.status();
  EXPECT_NE(exit->code, 0);
  EXPECT_THAT(Plimsoll({"pods", "-o", "json"}).out, Not(HasSubstr("long")));
}

// A stopped process is as silent as a hanging one.
TEST_F(CliTest, CtrlCEndsARunWhoseDaemonDoesNotAnswer) {
  const std::string manifest =
      Manifest("stuck", absl::StrCat("  terminationGracePeriodSeconds: 1\n  containers:\n",
                                     ContainerOf("a", "echo started; sleep 1000")));
  int fds[2];
  ASSERT_EQ(pipe2(fds, O_CLOEXEC), 0);
  UniqueFd reader(fds[0]);
  UniqueFd writer(fds[1]);
  const std::string pods = dir_.path() + "/r/state/pods";
  ASSERT_TRUE(Host().MakeDirs(pods, 0700).ok());
  // The lock of a process that was killed.
  ASSERT_TRUE(Host().ReplaceFile(pods + "/name-0123456789abcdef.lock", "").ok());
  const std::string errors = dir_.path() + "/errors";
  const UniqueFd stderr_file = *Host().OpenFile(errors, O_WRONLY | O_CREAT, 0600);
  Command command = PlimsollCommand({"run", manifest});
  command.descriptors = {{writer.get(), 1}, {stderr_file.get(), 2}};
  auto child = Spawn(command);
  ASSERT_TRUE(child.ok()) << child.status();
  writer.Reset();
  char buffer[256];
  ASSERT_GT(read(reader.get(), buffer, sizeof(buffer)), 0);  // "started" has come
  const pid_t daemon = DaemonIn(dir_.path());
  ASSERT_GT(daemon, 0);
  ASSERT_EQ(kill(daemon, SIGSTOP), 0);
  EXPECT_TRUE(Eventually([&] {
    return absl::StrContains(Host().Read(errors).value_or(""), "the daemon does not answer");
  })) << Host().Read(errors).value_or("");
  ASSERT_TRUE(child->Signal(SIGINT).ok());
  const auto exit = child->Wait(absl::Now() + Patience(absl::Seconds(60)));
  EXPECT_EQ(kill(daemon, SIGCONT), 0);
  ASSERT_TRUE(exit.ok()) << exit.status();
  EXPECT_EQ(exit->code, 130);
  EXPECT_THAT(Host().Read(errors).value_or(""), HasSubstr("plimsoll rm --force stuck"));
  const RunResult removed = Plimsoll({"rm", "--force", "stuck"});
  EXPECT_EQ(removed.exit.code, 0) << removed.err;
  EXPECT_THAT(*Host().List(pods), IsEmpty());
}

TEST_F(CliTest, ARunSurvivesItsDaemon) {
  const std::string manifest =
      Manifest("lasting",
               absl::StrCat("  containers:\n", ContainerOf("a",
                                                           "echo started; "
                                                           "while ! test -e /tmp/go; do sleep 0.1; "
                                                           "done; echo finished; exit 7")));
  const std::string out = dir_.path() + "/out";
  const std::string errors = dir_.path() + "/errors";
  const UniqueFd out_file = *Host().OpenFile(out, O_WRONLY | O_CREAT, 0600);
  const UniqueFd error_file = *Host().OpenFile(errors, O_WRONLY | O_CREAT, 0600);
  Command command = PlimsollCommand({"run", manifest});
  command.descriptors = {{out_file.get(), 1}, {error_file.get(), 2}};
  auto child = Spawn(command);
  ASSERT_TRUE(child.ok()) << child.status();
  EXPECT_TRUE(
      Eventually([&] { return absl::StrContains(Host().Read(out).value_or(""), "started"); }));
  const pid_t daemon = DaemonIn(dir_.path());
  ASSERT_GT(daemon, 0);
  EXPECT_EQ(kill(daemon, SIGKILL), 0);
  EXPECT_TRUE(Eventually([&] {
    return absl::StrContains(Host().Read(errors).value_or(""), "the daemon is back");
  })) << Host().Read(errors).value_or("");
  const RunResult go = Plimsoll({"exec", "lasting", "--", "/bin/sh", "-c", ": > /tmp/go"});
  EXPECT_EQ(go.exit.code, 0) << go.err;
  const auto exit = child->Wait(absl::Now() + Patience(absl::Seconds(60)));
  ASSERT_TRUE(exit.ok()) << exit.status();
  EXPECT_EQ(exit->code, 7) << Host().Read(errors).value_or("");
  EXPECT_THAT(Host().Read(out).value_or(""), HasSubstr("finished"));
}

TEST_F(CliTest, ShowResourcesHoldsRequestBesideKernel) {
  const RunResult result = Plimsoll(
      {"run", "--show-resources",
       Manifest("limits", absl::StrCat("  containers:\n", ContainerOf("a", "sleep 1"),
                                       "    resources: {limits: {memory: 32Mi, cpu: 250m}}\n"))});
  EXPECT_EQ(result.exit.code, 0) << result.err;
  EXPECT_THAT(absl::StrCat(result.out, result.err), AllOf(HasSubstr("32Mi"), HasSubstr("250m")));
}

TEST_F(CliTest, AManifestsMistakeHasLineAndColumn) {
  const RunResult result = Plimsoll({"run", Manifest("typo", "  contaners: []\n")});
  EXPECT_NE(result.exit.code, 0);
  EXPECT_THAT(result.err, AllOf(HasSubstr("typo.yaml:7"), HasSubstr("containers")));
}

TEST_F(CliTest, AMissingImageSaysWhatToDo) {
  const std::string path = Manifest(
      "missing", "  containers:\n  - {name: a, image: nowhere.test/x:1, imagePullPolicy: Never}\n");
  const RunResult result = Plimsoll({"run", path});
  EXPECT_NE(result.exit.code, 0);
  EXPECT_THAT(result.err, AllOf(HasSubstr("nowhere.test/x:1"), HasSubstr("plimsoll image")));
}

TEST_F(CliTest, AProgramThatCannotBeExecutedIsSaidToBe) {
  for (const auto& [program, why] :
       {std::pair("/no/such/program", "command \"/no/such/program\" is not in the image"),
        std::pair("/etc/passwd", "can't be executed")}) {
    const std::string path =
        Manifest("lost", absl::StrCat("  containers:\n  - {name: app, image: busybox, ",
                                      "imagePullPolicy: Never, command: [", program, "]}\n"));
    const RunResult result = Plimsoll({"run", path});
    EXPECT_NE(result.exit.code, 0);
    EXPECT_THAT(result.err, AllOf(HasSubstr("container \"app\""), HasSubstr(why)));
    EXPECT_THAT(Plimsoll({"pods", "-o", "json"}).out, Not(HasSubstr("lost"))) << "nothing is left";
  }
}

TEST_F(CliTest, RunPrintsADocumentForPrograms) {
  const std::string spec = absl::StrCat("  containers:\n", ContainerOf("a", "echo hello; exit 3"));
  const RunResult ended = Plimsoll({"run", "-o", "json", Manifest("ended", spec)});
  EXPECT_EQ(ended.exit.code, 3);
  EXPECT_THAT(ended.err, HasSubstr("hello")) << "what containers print goes aside";
  auto document = nlohmann::json::parse(ended.out, nullptr, /*allow_exceptions=*/false);
  ASSERT_FALSE(document.is_discarded()) << ended.out;
  EXPECT_EQ(document["exitCode"], 3);
  EXPECT_EQ(document["pods"][0]["name"], "ended");
  EXPECT_EQ(document["pods"][0]["containers"][0]["exitCode"], 3);
  EXPECT_EQ(document["pods"][0]["containers"][0]["state"], "exited");

  const std::string runs = absl::StrCat("  containers:\n", ContainerOf("a", "sleep 1000"));
  const RunResult detached = Plimsoll({"run", "-o", "json", "--detach", Manifest("runs", runs)});
  EXPECT_EQ(detached.exit.code, 0) << detached.err;
  document = nlohmann::json::parse(detached.out, nullptr, /*allow_exceptions=*/false);
  ASSERT_FALSE(document.is_discarded()) << detached.out;
  EXPECT_EQ(document["pods"][0]["containers"][0]["state"], "running");
  const std::string id = document["pods"][0]["sandboxId"];
  EXPECT_THAT(Plimsoll({"inspect", "runs"}).out, HasSubstr(id));
  EXPECT_EQ(Plimsoll({"rm", "--force", id}).exit.code, 0);
}

TEST_F(CliTest, ManyRunsOfOneManifestMakeOnePod) {
  const std::string path =
      Manifest("same", absl::StrCat("  containers:\n", ContainerOf("a", "sleep 1000")));
  std::vector<Child> runs;
  for (int i = 0; i < 5; ++i) {
    auto child = Spawn(PlimsollCommand({"run", "--detach", "--quiet", path}));
    ASSERT_TRUE(child.ok()) << child.status();
    runs.push_back(*std::move(child));
  }
  int made = 0;
  for (Child& run : runs) {
    const auto exit = run.Wait(absl::Now() + Patience(absl::Seconds(90)));
    ASSERT_TRUE(exit.ok()) << exit.status();
    EXPECT_TRUE(exit->code == 0 || exit->code == 125) << exit->ToString();
    if (exit->code == 0) ++made;
  }
  EXPECT_EQ(made, 1);
  const RunResult pods = Plimsoll({"pods", "-o", "json"});
  const auto document = nlohmann::json::parse(pods.out, nullptr, /*allow_exceptions=*/false);
  ASSERT_FALSE(document.is_discarded()) << pods.out;
  EXPECT_EQ(document["items"].size(), 1) << pods.out;
  const RunResult again = Plimsoll({"run", path});
  EXPECT_EQ(again.exit.code, 125);
  EXPECT_THAT(again.err, AllOf(HasSubstr("pod default/same is running already"),
                               HasSubstr("plimsoll rm --force")));
  EXPECT_EQ(Plimsoll({"rm", "--force", "same"}).exit.code, 0);
}

TEST_F(CliTest, TwoRunsAtOnceShareTheDaemon) {
  const std::string spec = absl::StrCat("  containers:\n", ContainerOf("a", "sleep 2"));
  auto first = Spawn(PlimsollCommand({"run", Manifest("one", spec)}));
  auto second = Spawn(PlimsollCommand({"run", Manifest("two", spec)}));
  ASSERT_TRUE(first.ok() && second.ok());
  EXPECT_EQ(first->Wait(absl::Now() + absl::Seconds(60))->code, 0);
  EXPECT_EQ(second->Wait(absl::Now() + absl::Seconds(60))->code, 0);
}

}  // namespace
}  // namespace plimsoll::testing
