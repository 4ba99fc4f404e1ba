// plimsoll top and the CRI's statistics, on this machine's kernel.
#include <fcntl.h>
#include <termios.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/programs/subprocess.h"
#include "harness/kernel.h"
#include "harness/node.h"
#include "harness/watched_program.h"

namespace plimsoll::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

size_t Count(const std::string& text, const std::string& word) {
  size_t count = 0;
  for (size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) ++count;
  return count;
}

class TopTest : public NodeTest {
 protected:
  // Requests a tenth of a CPU, and would use all of it.
  cri::ContainerConfig Busy() {
    cri::ContainerConfig config = Shell("while :; do :; done");
    cri::LinuxContainerResources* linux = config.mutable_linux()->mutable_resources();
    linux->set_cpu_quota(10000);
    linux->set_cpu_period(100000);
    linux->set_cpu_shares(51);
    linux->set_memory_limit_in_bytes(64 * kMiB);
    cri::KubernetesResources* asked = config.mutable_kubernetes_resources();
    (*asked->mutable_requests())["cpu"].set_string("50m");
    (*asked->mutable_limits())["cpu"].set_string("0.1");
    (*asked->mutable_limits())["memory"].set_string("64Mi");
    return config;
  }
  std::vector<std::string> Argv(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(),
                     {ProgramPath("plimsoll"), "--address", node_.address(), "top"});
    return arguments;
  }
  RunResult Top(std::vector<std::string> arguments) {
    auto result =
        RunProgram({.argv = Argv(std::move(arguments))}, {.timeout = Patience(absl::Seconds(60))});
    EXPECT_TRUE(result.ok()) << result.status();
    return result.ok() ? *result : RunResult{.exit = {.code = -1}};
  }
  RunResult Update(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(),
                     {ProgramPath("plimsoll"), "--address", node_.address(), "update"});
    auto result =
        RunProgram({.argv = std::move(arguments)}, {.timeout = Patience(absl::Seconds(60))});
    EXPECT_TRUE(result.ok()) << result.status();
    return result.ok() ? *result : RunResult{.exit = {.code = -1}};
  }
  std::unique_ptr<WatchedProgram> Piped(std::vector<std::string> arguments) {
    return std::make_unique<WatchedProgram>(Argv(std::move(arguments)), OpenPipe());
  }
  // A container in the table of --once -o json.
  static nlohmann::json Find(const std::string& text, const std::string& id) {
    const nlohmann::json document = nlohmann::json::parse(text, nullptr, false);
    if (!document.contains("containers")) return {};
    for (const auto& container : document["containers"]) {
      if (container["id"] == id) return container;
    }
    return {};
  }
};

TEST_F(TopTest, OneDocumentFromRequestToUse) {
  const std::string pod = RunPod();
  const std::string id = Start(pod, Busy());
  nlohmann::json container;
  // The machine's load decides how much of its tenth it gets; throttling comes with it.
  ASSERT_TRUE(Eventually(
      [&] {
        container = Find(Top({"--once", "-o", "json"}).out, id);
        return container.is_object() && container["used"]["cpuMillis"].is_number() &&
               container["used"]["cpuMillis"] > 0 && container["throttledPercent"] > 0;
      },
      absl::Seconds(60)))
      << container;
  EXPECT_EQ(container["podSandboxId"], pod);
  EXPECT_EQ(container["asked"]["requests"]["cpu"], "50m");
  EXPECT_EQ(container["asked"]["limits"]["memory"], "64Mi");
  EXPECT_EQ(container["allotted"]["cpuMillis"], 100);
  EXPECT_EQ(container["allotted"]["memoryBytes"], 64 * kMiB);
  EXPECT_GE(container["used"]["processes"], 1);
  EXPECT_GT(container["used"]["memoryBytes"], 0);
  EXPECT_LE(container["throttledPercent"], 100);
  if (Cgroups().layout() == linux::CgroupLayout::kV2 && Host().Exists("proc/pressure/cpu")) {
    EXPECT_TRUE(container["pressure"]["cpu"]["someAvg10"].is_number()) << container;
  }
  // The next reading shows the change.
  const RunResult updated = Update({id, "--cpu", "200m", "--memory", "96Mi"});
  ASSERT_EQ(updated.exit.code, 0) << updated.err;
  container = Find(Top({"--once", "-o", "json"}).out, id);
  EXPECT_EQ(container["allotted"]["cpuMillis"], 200);
  EXPECT_EQ(container["allotted"]["memoryBytes"], 96 * kMiB);
  EXPECT_EQ(container["asked"]["limits"]["cpu"], "200m");
  EXPECT_EQ(container["asked"]["requests"]["cpu"], "50m");
  // Below the request: the request stays, and is reported unchanged.
  ASSERT_EQ(Update({id, "--cpu", "20m"}).exit.code, 0);
  container = Find(Top({"--once", "-o", "json"}).out, id);
  EXPECT_EQ(container["allotted"]["cpuMillis"], 20);
  EXPECT_EQ(container["asked"]["limits"]["cpu"], "200m");
}

TEST_F(TopTest, APodAsAWholeIsUpdated) {
  const std::string pod = RunPod();
  const RunResult updated = Update({"--pod", pod, "--cpu", "300m", "--memory", "128Mi"});
  ASSERT_EQ(updated.exit.code, 0) << updated.err;
  EXPECT_THAT(updated.out, HasSubstr("BEFORE"));
  EXPECT_THAT(updated.out, HasSubstr("128 MiB"));
  const auto held = Cgroups().Read(absl::StrCat(node_.cgroup_parent(), "/", pod));
  ASSERT_TRUE(held.ok()) << held.status();
  EXPECT_EQ(held->memory_limit_bytes, 128 * kMiB);
  EXPECT_EQ(held->cpu_quota_us, 30000);
  ASSERT_TRUE(StopPod(pod).ok());
  const RunResult refused = Update({"--pod", pod, "--memory", "256Mi"});
  EXPECT_NE(refused.exit.code, 0);
  EXPECT_THAT(refused.err, HasSubstr("is as before: sandbox "));
  EXPECT_THAT(refused.err, HasSubstr("plimsoll inspect "));
}

TEST_F(TopTest, PipedItPrintsTableAfterTable) {
  Start(RunPod(), Busy());
  const auto top = Piped({"--interval", "0.1"});
  EXPECT_TRUE(top->Await([](const std::string& text) { return Count(text, "CPU ASKED") >= 3; }))
      << top->printed();
  EXPECT_EQ(top->Interrupt(), 0);
  EXPECT_THAT(top->printed(), AllOf(HasSubstr("50m/0.1"), HasSubstr("64 MiB"), HasSubstr("\n\n"),
                                    Not(HasSubstr("\x1b"))));
}

TEST_F(TopTest, ATerminalIsDrawnOverAndLeftAsItWas) {
  Start(RunPod(), Busy());
  Ends terminal = OpenTerminal(40);
  const UniqueFd kept(fcntl(terminal.there.get(), F_DUPFD_CLOEXEC, 0));
  termios before = {};
  ASSERT_EQ(tcgetattr(kept.get(), &before), 0);
  WatchedProgram top(Argv({"--interval", "0.1"}), std::move(terminal));
  ASSERT_TRUE(top.Await([](const std::string& text) { return Count(text, "CPU ASKED") >= 3; }))
      << top.printed();
  EXPECT_EQ(top.Interrupt(), 0);
  const std::string& text = top.printed();
  EXPECT_TRUE(absl::StartsWith(text, "\x1b[?1049h")) << "a screen of its own";
  EXPECT_TRUE(absl::EndsWith(text, "\x1b[?25h\x1b[?1049l")) << "the one of before";
  EXPECT_EQ(Count(text, "\x1b[?25l"), 1u);
  EXPECT_GE(Count(text, "\x1b[H"), 3u) << "each from the upper left corner";
  EXPECT_THAT(text, Not(HasSubstr("PRESSURE"))) << "cut to 40 columns";
  termios after = {};
  ASSERT_EQ(tcgetattr(kept.get(), &after), 0);
  EXPECT_EQ(before.c_lflag, after.c_lflag);
  EXPECT_EQ(before.c_oflag, after.c_oflag);
  EXPECT_EQ(before.c_iflag, after.c_iflag);
}

TEST_F(TopTest, TheKeyQEndsItAndTheTerminalIsLeftAsItWas) {
  Ends terminal = OpenTerminal(80);
  const UniqueFd kept(fcntl(terminal.there.get(), F_DUPFD_CLOEXEC, 0));
  termios before = {};
  ASSERT_EQ(tcgetattr(kept.get(), &before), 0);
  WatchedProgram top(Argv({"--interval", "1m"}), std::move(terminal));
  ASSERT_TRUE(top.Await([](const std::string& text) { return Count(text, "CPU ASKED") >= 1; }))
      << top.printed();
  termios meanwhile = {};
  ASSERT_EQ(tcgetattr(kept.get(), &meanwhile), 0);
  EXPECT_EQ(meanwhile.c_lflag & (ICANON | ECHO), 0u);
  EXPECT_NE(meanwhile.c_lflag & ISIG, 0u) << "Ctrl-C is a signal";
  top.Type("xq");
  EXPECT_EQ(top.AwaitEnd(), 0);
  EXPECT_TRUE(absl::EndsWith(top.printed(), "\x1b[?25h\x1b[?1049l")) << top.printed();
  termios after = {};
  ASSERT_EQ(tcgetattr(kept.get(), &after), 0);
  EXPECT_EQ(before.c_lflag, after.c_lflag);
  EXPECT_EQ(before.c_iflag, after.c_iflag);
}

TEST_F(TopTest, ItOutlivesTheDaemon) {
  const std::string id = Start(RunPod(), Busy());
  const auto top = Piped({"--interval", "0.1", "-o", "json"});
  ASSERT_TRUE(top->Await([&](const std::string& text) { return absl::StrContains(text, id); }));
  node_.KillDaemon();
  ASSERT_TRUE(top->Await(
      [](const std::string& text) { return absl::StrContains(text, "the daemon has ended"); }));
  top->Forget();
  ASSERT_TRUE(node_.StartDaemon().ok());
  EXPECT_TRUE(top->Await([&](const std::string& text) { return absl::StrContains(text, id); }))
      << top->printed();
  EXPECT_EQ(top->Interrupt(), 0);
}

TEST_F(TopTest, WithoutContainersTheTableIsEmpty) {
  const RunResult top = Top({"--once", "--interval", "100ms"});
  EXPECT_EQ(top.exit.code, 0) << top.err;
  EXPECT_EQ(Count(top.out, "\n"), 1u) << top.out;
  EXPECT_EQ(nlohmann::json::parse(Top({"--once", "-o", "json"}).out)["containers"].size(), 0u);
}

TEST_F(TopTest, StatisticsFollowTheWorkload) {
  const std::string pod = RunPod();
  const std::string id = Start(pod, Busy());
  const std::string idle = Start(pod, Shell("sleep 1000"));
  cri::ListContainerStatsRequest request;
  request.mutable_filter()->set_pod_sandbox_id(pod);
  cri::ListContainerStatsResponse listed;
  const auto list = [&] {
    grpc::ClientContext context;
    return node_.runtime().ListContainerStats(&context, request, &listed);
  };
  const auto cpu = [&]() -> const cri::CpuUsage& {
    return std::find_if(listed.stats().begin(), listed.stats().end(),
                        [&](const auto& each) { return each.attributes().id() == id; })
        ->cpu();
  };
  ASSERT_TRUE(list().ok());
  ASSERT_EQ(listed.stats_size(), 2);
  const uint64_t before = cpu().usage_core_nano_seconds().value();
  EXPECT_TRUE(Eventually([&] {
    return list().ok() && cpu().usage_core_nano_seconds().value() > before &&
           cpu().usage_nano_cores().value() > 0;
  }));

  cri::PodSandboxStatsRequest of_pod;
  of_pod.set_pod_sandbox_id(pod);
  cri::PodSandboxStatsResponse whole;
  grpc::ClientContext context;
  const grpc::Status status = node_.runtime().PodSandboxStats(&context, of_pod, &whole);
  ASSERT_TRUE(status.ok()) << status.error_message();
  const cri::LinuxPodSandboxStats& stats = whole.stats().linux();
  EXPECT_GE(stats.cpu().usage_core_nano_seconds().value(), cpu().usage_core_nano_seconds().value());
  EXPECT_GE(stats.process().process_count().value(), 2u);
  EXPECT_EQ(stats.containers_size(), 2);

  ASSERT_TRUE(StopContainer(idle, 0).ok());
  ASSERT_TRUE(list().ok());
  EXPECT_EQ(listed.stats_size(), 1);
  cri::ContainerStatsRequest ended;
  ended.set_container_id(idle);
  cri::ContainerStatsResponse response;
  grpc::ClientContext another;
  EXPECT_EQ(node_.runtime().ContainerStats(&another, ended, &response).error_code(),
            grpc::StatusCode::FAILED_PRECONDITION);
}

}  // namespace
}  // namespace plimsoll::testing
