#include "runtime/oci/exec/run.h"

#include <signal.h>

#include <thread>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/fault_injection.h"
#include "base/programs/cancellation.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/oci/machine_for_test.h"

namespace plimsoll::runtime {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

class ExecTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (const auto lacks = TestMachine::Lacks()) GTEST_SKIP() << *lacks;
    machine_ = std::make_unique<TestMachine>();
    const auto created = machine_->runtime().Create(machine_->Request("a", "sleep 1000"));
    ASSERT_TRUE(created.ok()) << created.status();
    ASSERT_TRUE(machine_->runtime().Start("a").ok());
  }

  absl::StatusOr<ExecResult> Exec(const std::string& script,
                                  absl::Duration timeout = absl::ZeroDuration(),
                                  size_t max_output_bytes = 1 << 20) {
    return machine_->runtime().Exec("a", machine_->group("a"),
                                    {.argv = {"/bin/sh", "-c", script},
                                     .timeout = timeout,
                                     .max_output_bytes = max_output_bytes});
  }

  // Number of processes in the container.
  size_t Processes() {
    const auto pids = machine_->cgroups().Processes(machine_->group("a"), /*recursive=*/true);
    return pids.ok() ? pids->size() : 0;
  }

  std::unique_ptr<TestMachine> machine_;
};

TEST_F(ExecTest, OutputAndExitCode) {
  for (const absl::Duration timeout : {absl::ZeroDuration(), absl::Seconds(60)}) {
    const auto result = Exec("echo out; echo err >&2; exit 9", timeout);
    ASSERT_TRUE(result.ok()) << result.status();
    EXPECT_EQ(result->exit_code, 9);
    EXPECT_EQ(result->out, "out\n");
    EXPECT_EQ(result->err, "err\n");
  }
}

TEST_F(ExecTest, ADamagedRecordOfTheRuntimesIsNamed) {
  constexpr char kStatus[] = "run/oci/crun/a/status";
  const FsRoot& root = machine_->dir().root();
  const auto before = root.Read(kStatus);
  ASSERT_TRUE(before.ok()) << before.status();
  for (const char* damage : {"", "{\"pid\":"}) {
    ASSERT_TRUE(root.ReplaceFile(kStatus, damage).ok());
    const absl::Status refused = Exec("true").status();
    EXPECT_TRUE(absl::IsFailedPrecondition(refused)) << refused;
    EXPECT_THAT(refused.message(), HasSubstr("/a/status is empty or damaged"));
  }
  ASSERT_TRUE(root.ReplaceFile(kStatus, *before).ok());
  EXPECT_TRUE(Exec("true").ok());
}

// crun ends with 255 and no message when its own part of an exec is killed with the container.
TEST_F(ExecTest, SilentFailureInAContainerThatEndedIsAnError) {
  EXPECT_EQ(Exec("exit 255")->exit_code, 255) << "a living container's command may say so";
  // In the host's PID namespace a command can outlive its container.
  machine_->spec().security.namespaces.pid = NamespaceMode::kNode;
  const auto created = machine_->runtime().Create(machine_->Request("b", "sleep 1000"));
  ASSERT_TRUE(created.ok()) << created.status();
  ASSERT_TRUE(machine_->runtime().Start("b").ok());
  const auto exec = [&](const std::string& end) {
    const std::string wait =
        absl::StrCat("while kill -0 ", created->init.pid, " 2>/dev/null; do sleep 0.01; done; ");
    return machine_->runtime().Exec("b", machine_->group("b"),
                                    {.argv = {"/bin/sh", "-c", wait + end}});
  };
  absl::StatusOr<ExecResult> spoken;
  std::thread speaker([&] { spoken = exec("echo word; exit 255"); });
  absl::StatusOr<ExecResult> silent;
  std::thread waiter([&] { silent = exec("exit 255"); });
  EXPECT_TRUE(WaitUntil([&] {
    const auto pids = machine_->cgroups().Processes(machine_->group("b"), /*recursive=*/true);
    if (!pids.ok()) return false;
    // The entering OCI runtime has those words too, and so has a shell's child until it is `sleep`.
    const auto runs = [&](const std::string& end) {
      return absl::c_any_of(*pids, [&](pid_t pid) {
        const auto words = machine_->host().Read(absl::StrCat("proc/", pid, "/cmdline"));
        return words.ok() && absl::StartsWith(*words, "/bin/sh") &&
               absl::StrContains(*words, "; done; " + end);
      });
    };
    return runs("echo word") && runs("exit 255");
  }));
  EXPECT_TRUE(linux::KillProcess(machine_->host(), created->init).ok());
  speaker.join();
  waiter.join();
  EXPECT_TRUE(absl::IsFailedPrecondition(silent.status())) << silent.status();
  EXPECT_THAT(silent.status().message(), HasSubstr("the container ended at that moment"));
  ASSERT_TRUE(spoken.ok()) << spoken.status();
  EXPECT_EQ(spoken->exit_code, 255);
}

TEST_F(ExecTest, GroupThatCanNotBeMadeFailsTheExec) {
  SetFaultHook([](absl::string_view verb, absl::string_view object) {
    return verb == "make" && absl::StrContains(object, "/exec-") ? absl::InternalError("injected")
                                                                 : absl::OkStatus();
  });
  // An exec has a group of its own only with a time limit.
  const auto result = Exec("echo out", absl::Seconds(60));
  SetFaultHook(nullptr);
  EXPECT_THAT(std::string(result.status().message()), HasSubstr("injected"));
  EXPECT_EQ(Exec("echo out", absl::Seconds(60))->out, "out\n");
}

TEST_F(ExecTest, RunsInTheContainersGroups) {
  const auto init = machine_->host().Read(absl::StrCat(
      "proc/", machine_->cgroups().Processes(machine_->group("a"), false)->at(0), "/cgroup"));
  ASSERT_TRUE(init.ok()) << init.status();
  if (machine_->cgroups().layout() == linux::CgroupLayout::kV2) {
    // Inside a cgroup namespace, whose root is the container's group.
    EXPECT_THAT(*init, HasSubstr(absl::StrCat(machine_->group("a"), "\n")));
    EXPECT_EQ(Exec("cat /proc/self/cgroup")->out, "0::/\n");
    EXPECT_THAT(Exec("cat /proc/self/cgroup", absl::Seconds(60))->out, StartsWith("0::/exec-"));
    return;
  }
  EXPECT_EQ(Exec("cat /proc/self/cgroup")->out, *init);
  // With a timeout: a group of its own in one hierarchy that limits nothing.
  const auto timed = Exec("cat /proc/self/cgroup", absl::Seconds(60));
  ASSERT_TRUE(timed.ok()) << timed.status();
  EXPECT_THAT(timed->out, HasSubstr("/exec-"));
  EXPECT_THAT(timed->out, HasSubstr(absl::StrCat("memory:", machine_->group("a"), "\n")));
}

TEST_F(ExecTest, TheCommandIsWhoTheContainersProcessIs) {
  machine_->spec().security.run_as_username = "web";
  machine_->spec().security.supplemental_groups = {77};
  machine_->spec().security.no_new_privs = true;
  const auto created = machine_->runtime().Create(machine_->Request("b", "sleep 1000"));
  ASSERT_TRUE(created.ok()) << created.status();
  ASSERT_TRUE(machine_->runtime().Start("b").ok());
  const std::vector<std::string> show = {
      "/bin/grep", "-E", "^(Uid|Gid|Groups|NoNewPrivs|Cap...):", "/proc/self/status"};
  const auto result = machine_->runtime().Exec("b", machine_->group("b"), {.argv = show});
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->exit_code, 0) << result->err;
  EXPECT_THAT(result->out, HasSubstr("Uid:\t33\t"));
  EXPECT_THAT(result->out, HasSubstr("Gid:\t34\t"));
  EXPECT_THAT(result->out, HasSubstr("Groups:\t34 35 77"));
  EXPECT_THAT(result->out, HasSubstr("NoNewPrivs:\t1"));
  // Everything else is equal, too.
  const auto init = machine_->runtime().Exec(
      "b", machine_->group("b"), {.argv = {show[0], show[1], show[2], "/proc/1/status"}});
  ASSERT_TRUE(init.ok()) << init.status();
  EXPECT_EQ(result->out, init->out);
}

TEST_F(ExecTest, SignalIsAnExitCode) {
  const auto result = Exec("kill -TERM $$");
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->exit_code, 143);
}

TEST_F(ExecTest, CommandThatIsNotThere) {
  auto result = machine_->runtime().Exec("a", machine_->group("a"), {.argv = {"no-such-command"}});
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->exit_code, 127);
  EXPECT_THAT(result->err, HasSubstr("no-such-command: not found"));
  result = machine_->runtime().Exec("a", machine_->group("a"), {.argv = {"/no/such/command"}});
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->exit_code, 127);
}

TEST_F(ExecTest, CommandThatIsNoProgram) {
  const auto result =
      machine_->runtime().Exec("a", machine_->group("a"), {.argv = {"/etc/passwd"}});
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->exit_code, 126);
}

TEST_F(ExecTest, ArgumentsThatLookLikeOptions) {
  const auto result =
      machine_->runtime().Exec("a", machine_->group("a"), {.argv = {"echo", "--cwd=/", "-t"}});
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->out, "--cwd=/ -t\n");
}

TEST_F(ExecTest, LongOutputIsCutWithAMark) {
  const auto result = Exec("head -c 3000000 /dev/zero; echo short >&2", absl::ZeroDuration(), 1000);
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->exit_code, 0);
  // Both streams are 1000 bytes.
  EXPECT_EQ(result->out.substr(0, 994), std::string(994, '\0'));
  EXPECT_EQ(result->out.substr(994), "\n[plimsoll: output truncated after 994 bytes]\n");
  EXPECT_EQ(result->err, "short\n");
}

TEST_F(ExecTest, BackgroundProcessDoesNotHoldTheCall) {
  const absl::Time before = absl::Now();
  const auto result = Exec("sleep 500 & yes & echo done");
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_THAT(result->out, HasSubstr("done\n"));
  EXPECT_LT(absl::Now() - before, absl::Seconds(60));
}

TEST_F(ExecTest, TimeoutKillsWhatForkedTwiceIntoSessionsOfItsOwn) {
  ASSERT_TRUE(WaitUntil([&] { return Processes() == 1; }));
  const auto result = Exec(
      "(setsid sh -c '(setsid sleep 600 </dev/null >/dev/null 2>&1 &) ; sleep 600' & ) ; "
      "trap '' TERM HUP; sleep 600",
      absl::Seconds(2));
  EXPECT_TRUE(absl::IsDeadlineExceeded(result.status())) << result.status();
  // Only the container's own process is left, and it lives.
  EXPECT_TRUE(WaitUntil([&] { return Processes() == 1; })) << Processes();
  EXPECT_EQ(Exec("echo alive")->out, "alive\n");
}

TEST_F(ExecTest, TimeoutKillsForkBomb) {
  machine_->spec().resources.pids_limit = 200;
  ASSERT_TRUE(machine_->runtime().Create(machine_->Request("b", "sleep 1000")).ok());
  ASSERT_TRUE(machine_->runtime().Start("b").ok());
  const auto result = machine_->runtime().Exec(
      "b", machine_->group("b"),
      {.argv = {"/bin/sh", "-c", "b() { (b &); (b &); }; b 2>/dev/null; sleep 600"},
       .timeout = absl::Seconds(2)});
  EXPECT_TRUE(absl::IsDeadlineExceeded(result.status())) << result.status();
  EXPECT_TRUE(WaitUntil([&] {
    const auto pids = machine_->cgroups().Processes(machine_->group("b"), true);
    return pids.ok() && pids->size() == 1;
  }));
}

TEST_F(ExecTest, TimeoutBeforeCrunIsInTheContainer) {
  for (int i = 0; i < 20; ++i) {
    const auto result = Exec("sleep 600", absl::Microseconds(i * 300 + 1));
    EXPECT_TRUE(absl::IsDeadlineExceeded(result.status())) << result.status();
  }
  EXPECT_TRUE(WaitUntil([&] { return Processes() == 1; })) << Processes();
}

TEST_F(ExecTest, OutputWithoutEndDoesNotPutTheTimeoutOff) {
  const auto result = Exec("yes", absl::Seconds(1), 1000);
  EXPECT_TRUE(absl::IsDeadlineExceeded(result.status())) << result.status();
}

// On v1 a frozen process can't be killed: SIGKILL is pending, and nobody waits for its end.
TEST_F(ExecTest, ACallEndsAlsoWhileItsCommandIsFrozen) {
  const bool is_v2 = machine_->cgroups().layout() == linux::CgroupLayout::kV2;
  if (!is_v2 && !absl::c_linear_search(machine_->cgroups().Controllers(), "freezer")) {
    GTEST_SKIP() << "no freezer controller";
  }
  Cancellation cancellation;
  absl::StatusOr<ExecResult> result;
  std::thread call([&] {
    result = machine_->runtime().Exec("a", machine_->group("a"),
                                      {.argv = {"/bin/sh", "-c", "exec sleep 601"},
                                       .timeout = absl::Hours(1),
                                       .cancellation = &cancellation});
  });
  EXPECT_TRUE(WaitUntil([&] {
    const auto pids = machine_->cgroups().Processes(machine_->group("a"), /*recursive=*/true);
    return pids.ok() && absl::c_any_of(*pids, [&](pid_t pid) {
             const auto words = machine_->host().Read(absl::StrCat("proc/", pid, "/cmdline"));
             return words.ok() && absl::StrContains(*words, "601") &&
                    absl::StartsWith(*words, "sleep");
           });
  }));
  const auto frozen =
      machine_->cgroups().Freeze(machine_->group("a"), absl::Now() + absl::Seconds(20));
  EXPECT_TRUE(frozen.ok()) << frozen.status();
  cancellation.Cancel();
  call.join();
  EXPECT_TRUE(absl::IsCancelled(result.status())) << result.status();
  EXPECT_THAT(std::string(result.status().message()),
              is_v2 ? EndsWith(", killed")
                    : EndsWith("are still there after SIGKILL; the container is frozen, and "
                               "they end once it is thawed"));
  if (frozen.ok()) {
    EXPECT_TRUE(machine_->cgroups().Thaw(machine_->group("a")).ok());
  }
  EXPECT_TRUE(WaitUntil([&] { return Processes() == 1; })) << Processes();
}

TEST_F(ExecTest, ContainerThatDoesNotRun) {
  ASSERT_TRUE(machine_->runtime().Create(machine_->Request("b", "true")).ok());
  ASSERT_TRUE(machine_->runtime().Start("b").ok());
  ASSERT_TRUE(machine_->WaitForExit("b").has_value());
  for (const absl::Duration timeout : {absl::ZeroDuration(), absl::Seconds(60)}) {
    const auto result =
        machine_->runtime().Exec("b", machine_->group("b"), {.argv = {"true"}, .timeout = timeout});
    EXPECT_TRUE(absl::IsFailedPrecondition(result.status())) << result.status();
  }
  EXPECT_TRUE(absl::IsInvalidArgument(Exec("", absl::ZeroDuration()).status()) ||
              Exec("").ok());  // an empty script is a command all the same
  EXPECT_TRUE(
      absl::IsInvalidArgument(machine_->runtime().Exec("a", machine_->group("a"), {}).status()));
}

}  // namespace
}  // namespace plimsoll::runtime
