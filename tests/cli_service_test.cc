// The command line with a plimsolld that is already running.
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "base/dir_for_test.h"
#include "base/programs/subprocess.h"
#include "gmock/gmock.h"
#include "harness/kernel.h"
#include "harness/metrics.h"
#include "harness/node.h"
#include "harness/watched_program.h"

namespace plimsoll::testing {
namespace {

using ::testing::HasSubstr;

class CliServiceTest : public NodeTest {
 protected:
  explicit CliServiceTest(const std::string& config = "") : NodeTest(config) {}

  Command PlimsollCommand(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), {ProgramPath("plimsoll"), "--address", node_.address()});
    return {.argv = std::move(arguments)};
  }
  std::string Output(std::vector<std::string> arguments) {
    const auto result = RunChecked(PlimsollCommand(std::move(arguments)));
    EXPECT_TRUE(result.ok()) << result.status();
    return result.value_or("");
  }

  TestDir files_;
};

// A slow daemon counts as running, even for a new command.
TEST_F(CliServiceTest, ACommandWaitsForADaemonThatDoesNotAnswerYet) {
  ASSERT_EQ(kill(node_.daemon_pid(), SIGSTOP), 0);
  const std::string errors = files_.path() + "/errors";
  const UniqueFd error_file = *Host().OpenFile(errors, O_WRONLY | O_CREAT, 0600);
  Command command = PlimsollCommand({"ps"});
  command.descriptors = {{error_file.get(), 2}};
  auto child = Spawn(command);
  EXPECT_TRUE(Eventually([&] {
    return absl::StrContains(Host().Read(errors).value_or(""), "the daemon does not answer");
  })) << Host().Read(errors).value_or("");
  EXPECT_EQ(kill(node_.daemon_pid(), SIGCONT), 0);
  ASSERT_TRUE(child.ok()) << child.status();
  const auto exit = child->Wait(absl::Now() + Patience(absl::Seconds(60)));
  ASSERT_TRUE(exit.ok()) << exit.status();
  EXPECT_EQ(exit->code, 0) << Host().Read(errors).value_or("");
}

TEST_F(CliServiceTest, AContainerWithoutALogDoesNotHideTheOthersLogs) {
  const std::string pod = RunPod();
  cri::ContainerConfig silent = Shell("echo unseen");
  silent.clear_log_path();
  AwaitExit(Start(pod, silent));
  const RunResult none = *RunProgram(PlimsollCommand({"logs", pod}));
  EXPECT_EQ(none.exit.code, 1) << none.out << none.err;
  EXPECT_THAT(none.err, HasSubstr(silent.metadata().name() + " keeps no log"));
  AwaitExit(Start(pod, Shell("echo seen")));
  const RunResult some = *RunProgram(PlimsollCommand({"logs", pod}));
  EXPECT_EQ(some.exit.code, 0) << some.err;
  EXPECT_THAT(some.out, HasSubstr("seen\n"));
  EXPECT_THAT(some.err, HasSubstr(silent.metadata().name() + " keeps no log"));
}

TEST_F(CliServiceTest, EventsSinceATimeAreAllSinceThen) {
  RunPod();
  const std::string all = Output({"events"});
  EXPECT_THAT(all, HasSubstr("SandboxStarted"));
  EXPECT_EQ(Output({"events", "--since", "10m"}), all);
  EXPECT_EQ(Output({"events", "--since", "2026-01-02T03:04:05Z"}), all);
  EXPECT_EQ(Output({"events", "--since", "1"}), all.substr(all.find('\n') + 1));
}

TEST_F(CliServiceTest, EventsForProgramsAreADocumentAndAStreamIsLines) {
  RunPod();
  const auto all = nlohmann::json::parse(Output({"events", "-o", "json"}), nullptr, false);
  ASSERT_TRUE(all.is_object() && all["events"].is_array()) << all;
  EXPECT_EQ(all["events"].back()["type"], "SandboxStarted");
  const auto none = nlohmann::json::parse(Output({"events", "-o", "json", "--since", "99999"}));
  EXPECT_EQ(none["events"].size(), 0u);
  const RunResult late = *RunProgram(PlimsollCommand({"events", "--since", "99999"}));
  EXPECT_THAT(late.err, HasSubstr("No events since 99999"));

  Ends ends = OpenPipe();
  WatchedProgram follower(PlimsollCommand({"events", "-f", "-o", "json"}).argv, std::move(ends));
  // Up to the end of a line, of which a pipe may give a part.
  ASSERT_TRUE(follower.Await([](const std::string& printed) {
    return absl::StrContains(printed, "SandboxStarted") && absl::EndsWith(printed, "\n");
  }));
  for (absl::string_view line : absl::StrSplit(follower.printed(), '\n', absl::SkipEmpty())) {
    EXPECT_TRUE(nlohmann::json::parse(line, nullptr, false).is_object()) << line;
  }
}

TEST_F(CliServiceTest, AnInterruptedStopSaysThatTheDaemonGoesOn) {
  // Stops a container, then a pod, each interrupted once the container has the signal.
  for (const bool whole_pod : {false, true}) {
    const std::string pod = RunPod();
    const std::string container =
        Start(pod, Shell("trap 'echo asked' TERM; echo up; while :; do sleep 0.1; done"));
    ASSERT_TRUE(Eventually([&] { return absl::StrContains(Output({"logs", container}), "up"); }));
    const std::string& name = whole_pod ? pod : container;
    WatchedProgram stop(PlimsollCommand({"stop", "-t", "60s", name}).argv, OpenPipe());
    ASSERT_TRUE(Eventually([&] {
      return absl::StrContains(Output({"logs", container}), "asked");
    }));
    EXPECT_EQ(stop.Interrupt(), 130);
    EXPECT_THAT(stop.printed(), HasSubstr("the daemon finishes the stops"));
    EXPECT_EQ(absl::StrContains(stop.printed(), "plimsoll stop " + pod), whole_pod);
    EXPECT_TRUE(StopContainer(container, 0).ok());
    EXPECT_EQ(AwaitExit(container).exit_code(), 137);
  }
}

// Whenever the signal comes, even before the daemon was asked.
TEST_F(CliServiceTest, AStopIsInterruptedAtAnyTime) {
  const std::string pod = RunPod();
  Start(pod, Shell("trap '' TERM; sleep 1000"));
  for (int milliseconds = 0; milliseconds < 60; milliseconds += 4) {
    SCOPED_TRACE(milliseconds);
    WatchedProgram stop(PlimsollCommand({"stop", "-t", "60s", pod}).argv, OpenPipe());
    absl::SleepFor(absl::Milliseconds(milliseconds));
    EXPECT_EQ(stop.Interrupt(), 130);
    EXPECT_THAT(stop.printed(), ::testing::AnyOf("", HasSubstr("plimsoll: interrupted")));
  }
}

TEST_F(CliServiceTest, HelpFitsTheTerminal) {
  constexpr size_t kColumns = 60;
  WatchedProgram help({ProgramPath("plimsoll"), "logs", "--help"}, OpenTerminal(kColumns));
  EXPECT_EQ(help.AwaitEnd(), 0);
  EXPECT_THAT(help.printed(), HasSubstr("--since"));
  for (absl::string_view line : absl::StrSplit(help.printed(), absl::ByAnyChar("\r\n"))) {
    EXPECT_LE(line.size(), kColumns) << line;
  }
}

TEST_F(CliServiceTest, APulledNameHasNoTransport) {
  const RunResult pull = *RunProgram(PlimsollCommand({"pull", "docker://example.invalid/x"}));
  EXPECT_EQ(pull.exit.code, 2);
  EXPECT_THAT(pull.err, HasSubstr("plimsoll pull example.invalid/x"));
  EXPECT_THAT(pull.err, ::testing::Not(HasSubstr("image import")));
  const RunResult url =
      *RunProgram(PlimsollCommand({"pull", "https://me:password@example.invalid/x"}));
  EXPECT_THAT(url.err, HasSubstr("plimsoll pull example.invalid/x"));
  EXPECT_THAT(url.err, ::testing::Not(HasSubstr("password")));
}

TEST_F(CliServiceTest, EventsNamePodAndContainerAlsoWhenTheyAreGone) {
  const std::string pod = RunPod();
  const cri::ContainerConfig config = Shell("exit 3");
  AwaitExit(Start(pod, config));
  const std::string name = absl::StrCat("/", config.metadata().name());
  const auto told = [&](const std::string& events, const std::string& type) {
    for (absl::string_view line : absl::StrSplit(events, '\n')) {
      if (absl::StrContains(line, type) && absl::StrContains(line, name)) return true;
    }
    return false;
  };
  EXPECT_TRUE(told(Output({"events"}), "ContainerStopped")) << Output({"events"});
  Output({"rm", "--force", pod});
  EXPECT_TRUE(told(Output({"events"}), "ContainerStopped")) << Output({"events"});
}

// With a log longer than the memory that the command may use.
TEST_F(CliServiceTest, TheTailOfAHugeLogIsRead) {
  const std::string container = Start(RunPod(), Shell("echo one; echo two; echo three"));
  const std::string log = AwaitExit(container).log_path();
  const auto lines = Host().Read(log);
  ASSERT_TRUE(lines.ok()) << lines.status();
  const UniqueFd file = *Host().OpenFile(log, O_WRONLY | O_TRUNC);
  constexpr off_t kHole = off_t{3} << 30;
  const std::string end = absl::StrCat("\n", *lines);
  ASSERT_EQ(pwrite(file.get(), end.data(), end.size(), kHole), static_cast<ssize_t>(end.size()));
  Command command = PlimsollCommand({"logs", "--tail", "2", container});
  command.argv.insert(command.argv.begin(),
                      {"/bin/sh", "-c", "ulimit -v 2000000 && exec \"$@\"", "sh"});
  const auto tail = RunProgram(command, {.timeout = Patience(absl::Seconds(60))});
  ASSERT_TRUE(tail.ok()) << tail.status();
  EXPECT_EQ(tail->out, "two\nthree\n") << tail->err;
  EXPECT_EQ(tail->exit.code, 0) << tail->err;
}

constexpr char kStatusCalls[] =
    "plimsoll_rpc_total{code=\"OK\",method=\"ContainerStatus\",service=\"RuntimeService\"}";
constexpr char kListCalls[] =
    "plimsoll_rpc_total{code=\"OK\",method=\"ListContainers\",service=\"RuntimeService\"}";

class CliEventsTest : public CliServiceTest {
 protected:
  CliEventsTest() : CliServiceTest(MetricsConfig()) {}

  // Calls of a method made while the command runs.
  double CallsDuring(const char* method, std::vector<std::string> arguments) {
    const double before = std::max(0.0, MetricValue(method));
    out_ = Output(std::move(arguments));
    return MetricValue(method) - before;
  }

  std::string out_;
};

TEST_F(CliEventsTest, WhoWaitsFollowsEventsInsteadOfAsking) {
  const std::string pod = RunPod();
  EXPECT_LE(CallsDuring(kStatusCalls, {"wait", Start(pod, Shell("sleep 3; exit 7"))}), 8);
  EXPECT_EQ(out_, "7\n");
  EXPECT_LE(CallsDuring(kStatusCalls, {"logs", "-f", Start(pod, Shell("sleep 3; echo end"))}), 8);
  EXPECT_EQ(out_, "end\n");
}

TEST_F(CliEventsTest, ARunFollowsEventsInsteadOfAsking) {
  const std::string manifest = files_.path() + "/pod.yaml";
  ASSERT_TRUE(Host()
                  .ReplaceFile(manifest,
                               "apiVersion: v1\nkind: Pod\nmetadata: {name: patient}\nspec:\n"
                               "  restartPolicy: Never\n  containers:\n  - name: a\n"
                               "    image: busybox\n    imagePullPolicy: Never\n"
                               "    command: [/bin/sh, -c, sleep 3; echo end]\n")
                  .ok());
  EXPECT_LE(CallsDuring(kListCalls, {"run", "-q", manifest}), 12);
}

TEST_F(CliEventsTest, AWaitSurvivesItsDaemon) {
  const std::string pod = RunPod();
  const std::string first = Start(pod, Shell("sleep 4.321; exit 4"));
  const std::string second = Start(pod, Shell("sleep 1000"));
  const double before = std::max(0.0, MetricValue(kStatusCalls));
  WatchedProgram wait(PlimsollCommand({"wait", first, second}).argv, OpenPipe());
  ASSERT_TRUE(Eventually([&] { return MetricValue(kStatusCalls) > before; }));
  node_.KillDaemon();
  EXPECT_TRUE(wait.Await([](const std::string& printed) {
    return absl::StrContains(printed, "the daemon has ended");
  })) << wait.printed();
  // No daemon reports its end.
  ASSERT_TRUE(Eventually([] { return ProcessesWith("sleep 4.321").empty(); }));
  ASSERT_TRUE(node_.StartDaemon().ok());
  EXPECT_TRUE(wait.Await([](const std::string& printed) {
    return absl::StrContains(printed, "\n4  ");
  })) << wait.printed();
  ASSERT_TRUE(StopContainer(second, 0).ok());
  EXPECT_EQ(wait.AwaitEnd(), 0);
  EXPECT_THAT(wait.printed(), HasSubstr("\n137  "));
}

TEST_F(CliServiceTest, CompletionKnowsTheNamesOfWhatIsThere) {
  const cri::PodSandboxConfig pod = PodConfig();
  const cri::ContainerConfig container = Shell("sleep 100");
  const std::string id = RunPod(pod);
  const std::string started = Start(id, container);
  const std::string name = pod.metadata().name();
  EXPECT_EQ(Output({"__complete", "pods"}), name + "\n");
  EXPECT_EQ(Output({"__complete", "containers"}), name + "/" + container.metadata().name() + "\n");
  EXPECT_EQ(Output({"__complete", "running"}), name + "/" + container.metadata().name() + "\n");
  EXPECT_EQ(Output({"__complete", "running-names"}), container.metadata().name() + "\n");
  EXPECT_THAT(Output({"__complete", "images"}), HasSubstr("library/busybox:latest\n"));
  ASSERT_TRUE(StopContainer(started, 0).ok());
  EXPECT_EQ(Output({"__complete", "running"}), "");
  EXPECT_EQ(Output({"__complete", "classes"}), "") << "the kind is known";
}

}  // namespace
}  // namespace plimsoll::testing
