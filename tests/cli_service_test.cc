// The command line beside a plimsolld that somebody else runs.
#include <fcntl.h>
#include <signal.h>

#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "base/subprocess.h"
#include "base/test_dir.h"
#include "gmock/gmock.h"
#include "harness/kernel.h"
#include "harness/node.h"
#include "harness/watched_program.h"

namespace plimsoll::testing {
namespace {

using ::testing::HasSubstr;

class CliServiceTest : public NodeTest {
 protected:
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

// A daemon that takes its time is there all the same, also for a command that is new.
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
  ASSERT_TRUE(follower.Await(
      [](const std::string& printed) { return absl::StrContains(printed, "SandboxStarted"); }));
  for (absl::string_view line : absl::StrSplit(follower.printed(), '\n', absl::SkipEmpty())) {
    EXPECT_TRUE(nlohmann::json::parse(line, nullptr, false).is_object()) << line;
  }
}

TEST_F(CliServiceTest, AnInterruptedStopSaysThatTheDaemonGoesOn) {
  const std::string container = Start(RunPod(), Shell("trap '' TERM; echo up; sleep 1000"));
  ASSERT_TRUE(Eventually([&] { return absl::StrContains(Output({"logs", container}), "up"); }));
  WatchedProgram stop(PlimsollCommand({"stop", "-t", "5s", container}).argv, OpenPipe());
  absl::SleepFor(absl::Seconds(1));  // by then the daemon has been asked
  EXPECT_EQ(stop.Interrupt(), 130);
  EXPECT_THAT(stop.printed(), HasSubstr("the daemon goes on"));
  EXPECT_THAT(stop.printed(), ::testing::Not(HasSubstr("plimsoll stop")));
  WatchedProgram of_pod(PlimsollCommand({"stop", "-t", "60s", pod}).argv, OpenPipe());
  absl::SleepFor(absl::Seconds(1));
  EXPECT_EQ(of_pod.Interrupt(), 130);
  EXPECT_THAT(of_pod.printed(), HasSubstr("plimsoll stop " + pod));
  EXPECT_TRUE(StopContainer(container, 0).ok());
  EXPECT_EQ(AwaitExit(container).exit_code(), 137);
}

TEST_F(CliServiceTest, APulledNameHasNoTransport) {
  const RunResult pull = *RunProgram(PlimsollCommand({"pull", "docker://example.invalid/x"}));
  EXPECT_EQ(pull.exit.code, 2);
  EXPECT_THAT(pull.err, HasSubstr("plimsoll pull example.invalid/x"));
  EXPECT_THAT(pull.err, ::testing::Not(HasSubstr("image import")));
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

TEST_F(CliServiceTest, CompletionKnowsTheNamesOfWhatIsThere) {
  const cri::PodSandboxConfig pod = PodConfig();
  const cri::ContainerConfig container = Shell("sleep 100");
  const std::string id = RunPod(pod);
  Start(id, container);
  const std::string name = pod.metadata().name();
  EXPECT_EQ(Output({"__complete", "pods"}), name + "\n");
  EXPECT_EQ(Output({"__complete", "containers"}), name + "/" + container.metadata().name() + "\n");
  EXPECT_THAT(Output({"__complete", "images"}), HasSubstr("library/busybox:latest\n"));
}

}  // namespace
}  // namespace plimsoll::testing
