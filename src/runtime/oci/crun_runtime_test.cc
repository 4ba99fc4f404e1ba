// Containers on the real kernel with the real crun and plimsoll-monitor.
#include "runtime/oci/crun_runtime.h"

#include <signal.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/oci/machine_for_test.h"

namespace plimsoll::runtime {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

class CrunRuntimeTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (const auto lacks = TestMachine::Lacks()) GTEST_SKIP() << *lacks;
    machine_ = std::make_unique<TestMachine>();
  }

  // Creates and starts a container.
  Created Run(const std::string& id, const std::string& script) {
    const auto created = machine_->runtime().Create(machine_->Request(id, script));
    EXPECT_TRUE(created.ok()) << created.status();
    if (!created.ok()) return {};
    const absl::Status started = machine_->runtime().Start(id);
    EXPECT_TRUE(started.ok()) << started;
    return *created;
  }

  // Runs a container to its end and returns the log. The container stays.
  std::string RunToEnd(const std::string& id, const std::string& script) {
    if (Run(id, script).init.pid == 0) return "";
    EXPECT_TRUE(machine_->WaitForExit(id).has_value());
    return machine_->Log(id);
  }

  // The error of a failed create, which leaves nothing.
  absl::Status FailToCreate(const CreateRequest& request) {
    const auto created = machine_->runtime().Create(request);
    EXPECT_FALSE(created.ok());
    EXPECT_THAT(machine_->Leftovers(request.id), IsEmpty());
    return created.status();
  }

  // The refusal of a container that is made without a process and leaves nothing.
  std::string Refusal(const CreateRequest& request) {
    const auto created = machine_->runtime().Create(request);
    EXPECT_TRUE(created.ok()) << created.status();
    if (!created.ok() || !created->refusal.has_value()) return "";
    EXPECT_EQ(created->monitor.pid, 0);
    EXPECT_EQ(created->init.pid, 0);
    EXPECT_THAT(machine_->Leftovers(request.id), IsEmpty());
    return *created->refusal;
  }

  // The start error in the exit of a container whose `program` the kernel refuses to execute.
  std::string StartError(const std::string& id, const std::string& program) {
    spec().command = {program};
    CreateRequest request = machine_->Request(id, "");
    spec().args.clear();
    const auto created = machine_->runtime().Create(request);
    EXPECT_TRUE(created.ok()) << created.status();
    EXPECT_FALSE(created.ok() && created->refusal.has_value()) << *created->refusal;
    EXPECT_TRUE(machine_->runtime().Start(id).ok());
    const auto exit = machine_->WaitForExit(id);
    EXPECT_TRUE(exit.has_value() && exit->start_error.has_value());
    return exit.has_value() ? exit->start_error.value_or("") : "";
  }

  ContainerSpec& spec() { return machine_->spec(); }
  ContainerRuntime& runtime() { return machine_->runtime(); }

  std::unique_ptr<TestMachine> machine_;
};

TEST_F(CrunRuntimeTest, RunsAndRecordsExitAndLog) {
  const int64_t before = absl::GetCurrentTimeNanos();
  const Created created = Run("a", "echo out; echo err >&2; exit 3");
  EXPECT_GT(created.init.pid, 0);
  EXPECT_GT(created.monitor.start_time_ticks, 0u);
  EXPECT_EQ(created.stop_signal, SIGTERM);
  const auto exit = machine_->WaitForExit("a");
  ASSERT_TRUE(exit.has_value());
  EXPECT_EQ(exit->code, 3);
  EXPECT_GT(exit->finished_unix_nanos, before - 2'000'000'000);
  EXPECT_LT(exit->finished_unix_nanos, absl::GetCurrentTimeNanos() + 1'000'000'000);
  EXPECT_THAT(machine_->Log("a"), HasSubstr(" stdout F out\n"));
  EXPECT_THAT(machine_->Log("a"), HasSubstr(" stderr F err\n"));
  ASSERT_TRUE(runtime().Delete("a", machine_->group("a")).ok());
  EXPECT_THAT(machine_->Leftovers("a"), IsEmpty());
}

TEST_F(CrunRuntimeTest, NothingRunsBeforeStart) {
  ASSERT_TRUE(runtime().Create(machine_->Request("a", "echo hello")).ok());
  const auto exit = runtime().ReadExit("a");
  ASSERT_TRUE(exit.ok()) << exit.status();
  EXPECT_FALSE(exit->has_value());
  EXPECT_EQ(machine_->Log("a"), "");
  ASSERT_TRUE(runtime().Start("a").ok());
  EXPECT_TRUE(machine_->WaitForExit("a").has_value());
  EXPECT_TRUE(absl::IsFailedPrecondition(runtime().Start("a")));
}

TEST_F(CrunRuntimeTest, HostNeverSeesTheRootFilesystemMount) {
  Run("a", "echo x > /written; sleep 100");
  const auto mounts = machine_->host().Read("proc/self/mountinfo");
  ASSERT_TRUE(mounts.ok());
  EXPECT_THAT(*mounts, Not(HasSubstr("containers/a/rootfs")));
  EXPECT_TRUE(
      WaitUntil([&] { return machine_->dir().root().Exists("state/containers/a/upper/written"); }));
  EXPECT_FALSE(machine_->layer().Exists("written"));
}

TEST_F(CrunRuntimeTest, StacksManyLayers) {
  CreateRequest request = machine_->Request("a", "cat /number /lowest; ls / | grep -c layer-");
  request.lower_directories.clear();
  for (int i = 0; i < 90; ++i) {
    const std::string layer = absl::StrCat("layers/", std::string(64, 'a'), i);
    ASSERT_TRUE(machine_->dir().root().MakeDirs(layer, 0755).ok());
    ASSERT_TRUE(machine_->dir().root().ReplaceFile(layer + "/number", absl::StrCat(i, "\n")).ok());
    ASSERT_TRUE(machine_->dir().root().ReplaceFile(absl::StrCat(layer, "/layer-", i), "").ok());
    request.lower_directories.push_back(machine_->dir().root().PathOf(layer));
  }
  ASSERT_TRUE(machine_->layer().ReplaceFile("lowest", "bottom\n").ok());
  request.lower_directories.push_back(machine_->dir().path() + "/layer");
  const auto created = runtime().Create(request);
  ASSERT_TRUE(created.ok()) << created.status();
  ASSERT_TRUE(runtime().Start("a").ok());
  ASSERT_TRUE(machine_->WaitForExit("a").has_value());
  EXPECT_THAT(machine_->Log("a"), HasSubstr("stdout F 0\n"));
  EXPECT_THAT(machine_->Log("a"), HasSubstr("stdout F bottom\n"));
  EXPECT_THAT(machine_->Log("a"), HasSubstr("stdout F 90\n"));
}

TEST_F(CrunRuntimeTest, TheRootDirectoryIsTheImages) {
  const FsRoot root = machine_->dir().root();
  ASSERT_TRUE(root.MakeDirs("top", 0755).ok());
  const std::string top = root.PathOf("top");
  ASSERT_EQ(chown(top.c_str(), 7, 8), 0);
  ASSERT_EQ(chmod(top.c_str(), 02751), 0);
  ASSERT_EQ(setxattr(top.c_str(), "user.purpose", "ballast", 7, 0), 0);
  // The attribute is of this layer alone: copied, it would hide the image.
  ASSERT_EQ(setxattr(top.c_str(), "trusted.overlay.opaque", "n", 1, 0), 0);
  CreateRequest request = machine_->Request("a", "stat -c '%a %u:%g' /");
  request.lower_directories.insert(request.lower_directories.begin(), top);
  const auto created = runtime().Create(request);
  ASSERT_TRUE(created.ok()) << created.status();
  ASSERT_TRUE(runtime().Start("a").ok());
  ASSERT_TRUE(machine_->WaitForExit("a").has_value());
  EXPECT_THAT(machine_->Log("a"), HasSubstr("stdout F 2751 7:8\n"));
  const std::string upper = root.PathOf("state/containers/a/upper");
  char value[16];
  EXPECT_EQ(getxattr(upper.c_str(), "user.purpose", value, sizeof(value)), 7);
  EXPECT_NE(getxattr(upper.c_str(), "trusted.overlay.opaque", value, sizeof(value)), 1);
}

TEST_F(CrunRuntimeTest, ProcessIsAsAsked) {
  machine_->image().environment = {"A=image", "B=image", "PATH=/bin"};
  spec().environment = {{"B", "pod"}, {"C", "pod"}};
  spec().working_directory = "/made/for/it";
  spec().security.run_as_username = "web";
  spec().security.supplemental_groups = {77};
  spec().security.no_new_privs = true;
  const std::string log = RunToEnd(
      "a",
      "echo $A $B $C $HOME; id; echo in $PWD; grep -E 'NoNewPrivs|Seccomp:' /proc/self/status");
  EXPECT_THAT(log, HasSubstr("image pod pod /srv\n"));
  EXPECT_THAT(log, HasSubstr("uid=33(web) gid=34(web) groups=34(web),35(log),77"));
  EXPECT_THAT(log, HasSubstr("in /made/for/it\n"));
  EXPECT_THAT(log, HasSubstr("NoNewPrivs:\t1"));
  EXPECT_THAT(log, HasSubstr("Seccomp:\t0"));
}

TEST_F(CrunRuntimeTest, CapabilitiesAreTheDefaultSet) {
  const std::string log = RunToEnd("a", "grep Cap /proc/self/status");
  EXPECT_THAT(log, HasSubstr("CapEff:\t00000000a80425fb"));
  EXPECT_THAT(log, HasSubstr("CapBnd:\t00000000a80425fb"));
  EXPECT_THAT(log, HasSubstr("CapInh:\t0000000000000000"));
}

TEST_F(CrunRuntimeTest, PrivilegedGetsWhatThisProcessHas) {
  spec().security.privileged = true;
  spec().security.seccomp.type = SecurityProfile::Type::kRuntimeDefault;
  const auto created =
      runtime().Create(machine_->Request("a", "grep -E 'CapEff|Seccomp:' /proc/self/status"));
  ASSERT_TRUE(created.ok()) << created.status();
  ASSERT_TRUE(runtime().Start("a").ok());
  ASSERT_TRUE(machine_->WaitForExit("a").has_value());
  const auto own = OwnCapabilities(machine_->host());
  ASSERT_TRUE(own.ok());
  EXPECT_THAT(machine_->Log("a"),
              HasSubstr(absl::StrCat("CapEff:\t", absl::Hex(*own, absl::kZeroPad16))));
  EXPECT_THAT(machine_->Log("a"), HasSubstr("Seccomp:\t0"));
  const bool lacks_some = CapabilityNames(*own).size() < 41;
  EXPECT_EQ(!created->warnings.empty(), lacks_some);
}

TEST_F(CrunRuntimeTest, DefaultSeccompIsInForceAndAlsoInExec) {
  spec().security.seccomp.type = SecurityProfile::Type::kRuntimeDefault;
  Run("a",
      "grep Seccomp: /proc/self/status; unshare -m true && echo escaped; echo tried; sleep 100");
  ASSERT_TRUE(WaitUntil([&] { return machine_->Log("a").find("tried") != std::string::npos; }));
  const auto exec = runtime().Exec("a", machine_->group("a"),
                                   {.argv = {"grep", "Seccomp:", "/proc/self/status"}});
  ASSERT_TRUE(exec.ok()) << exec.status();
  EXPECT_EQ(exec->out, "Seccomp:\t2\n");
  EXPECT_THAT(machine_->Log("a"), HasSubstr("Seccomp:\t2"));
  EXPECT_THAT(machine_->Log("a"), Not(HasSubstr("escaped")));
}

TEST_F(CrunRuntimeTest, LocalhostSeccomp) {
  ASSERT_TRUE(machine_->dir()
                  .root()
                  .ReplaceFile("profile.json",
                               R"({"defaultAction": "SCMP_ACT_ALLOW", "syscalls": [
                                   {"names": ["mkdir", "mkdirat"], "action": "SCMP_ACT_ERRNO"}]})")
                  .ok());
  spec().security.seccomp = {SecurityProfile::Type::kLocalhost,
                             machine_->dir().path() + "/profile.json"};
  const std::string log = RunToEnd("a", "mkdir /x; touch /y && echo touched");
  EXPECT_THAT(log, HasSubstr("Operation not permitted"));
  EXPECT_THAT(log, HasSubstr("touched"));
}

// The filter applies before the program is executed.
TEST_F(CrunRuntimeTest, ASeccompProfileThatKillsAllIsARefusal) {
  ASSERT_TRUE(machine_->dir()
                  .root()
                  .ReplaceFile("kill.json", R"({"defaultAction": "SCMP_ACT_KILL_PROCESS"})")
                  .ok());
  spec().security.seccomp = {SecurityProfile::Type::kLocalhost,
                             machine_->dir().path() + "/kill.json"};
  const auto created = runtime().Create(machine_->Request("a", "true"));
  ASSERT_TRUE(created.ok()) << created.status();
  EXPECT_THAT(created->refusal.value_or(""), HasSubstr("probably kills a system call"));
  EXPECT_THAT(machine_->Leftovers("a"), ::testing::IsEmpty());
}

TEST_F(CrunRuntimeTest, LimitsAreInTheKernelBeforeStart) {
  spec().resources.memory_limit_bytes = 64 << 20;
  spec().resources.cpu_shares = 512;
  spec().resources.pids_limit = 50;
  ASSERT_TRUE(runtime().Create(machine_->Request("a", "true")).ok());
  const auto settings = machine_->cgroups().Read(machine_->group("a"));
  ASSERT_TRUE(settings.ok()) << settings.status();
  EXPECT_EQ(settings->memory_limit_bytes, 64 << 20);
  // cgroup v2 holds a weight.
  EXPECT_EQ(linux::CpuSharesToWeight(settings->cpu_shares.value_or(0)),
            linux::CpuSharesToWeight(512));
  EXPECT_EQ(settings->pids_limit, 50);
}

TEST_F(CrunRuntimeTest, OomIsCountedInTheGroup) {
  spec().resources.memory_limit_bytes = 16 << 20;
  Run("b", "x=0123456789abcdef; while true; do x=$x$x; done");
  const auto exit = machine_->WaitForExit("b");
  ASSERT_TRUE(exit.has_value());
  EXPECT_EQ(exit->code, 137);
  EXPECT_GT(machine_->cgroups().OomKills(machine_->group("b")).value_or(0), 0u);
}

TEST_F(CrunRuntimeTest, OomScoreAdjIsSetOrRaisedWithAWarning) {
  spec().oom_score_adj = 0;
  const Created zero = Run("zero", "sleep 100");
  const auto own =
      linux::ReadOomScoreAdj(machine_->host(), *linux::IdentifyProcess(machine_->host(), getpid()));
  ASSERT_TRUE(own.ok()) << own.status();
  EXPECT_EQ(linux::ReadOomScoreAdj(machine_->host(), zero.init).value_or(-1),
            zero.warnings.empty() ? 0 : *own);
  spec().oom_score_adj = 700;
  const std::string log = RunToEnd("high", "cat /proc/self/oom_score_adj");
  EXPECT_THAT(log, HasSubstr("stdout F 700\n"));
  spec().oom_score_adj = -900;
  const auto created = runtime().Create(machine_->Request("low", "cat /proc/self/oom_score_adj"));
  ASSERT_TRUE(created.ok()) << created.status();
  ASSERT_TRUE(runtime().Start("low").ok());
  ASSERT_TRUE(machine_->WaitForExit("low").has_value());
  if (created->warnings.empty()) {
    EXPECT_THAT(machine_->Log("low"), HasSubstr("stdout F -900\n"));
  } else {
    EXPECT_THAT(created->warnings, Contains(HasSubstr("oom_score_adj")));
    EXPECT_THAT(runtime().Limitations(), Contains(HasSubstr("oom_score_adj")));
  }
}

TEST_F(CrunRuntimeTest, ReopensTheLog) {
  Run("a", "echo first; while [ ! -e /go ]; do sleep 0.01; done; echo second");
  ASSERT_TRUE(WaitUntil([&] { return machine_->Log("a").find("first") != std::string::npos; }));
  const std::string old = machine_->log_path("a") + ".1";
  ASSERT_EQ(rename(machine_->log_path("a").c_str(), old.c_str()), 0);
  const absl::Status reopened = runtime().ReopenLog("a");
  ASSERT_TRUE(reopened.ok()) << reopened;
  ASSERT_TRUE(runtime().Exec("a", machine_->group("a"), {.argv = {"touch", "/go"}}).ok());
  ASSERT_TRUE(machine_->WaitForExit("a").has_value());
  EXPECT_THAT(machine_->Log("a"), HasSubstr("second"));
  EXPECT_THAT(machine_->Log("a"), Not(HasSubstr("first")));
}

// Whoever keeps a log below the state directory's pods/ doesn't rotate it.
TEST_F(CrunRuntimeTest, RotatesTheLogsOfTheStateDirectorysPods) {
  std::string lines;
  while (lines.size() < 33 << 20) lines.append(1023, 'x').push_back('\n');
  ASSERT_TRUE(machine_->layer().ReplaceFile("lines", lines).ok());
  ASSERT_TRUE(machine_->dir().root().MakeDirs("state/pods/uid/logs").ok());
  for (const auto& [id, log] : {std::pair("own", "state/pods/uid/logs/a.log"), {"else", "a.log"}}) {
    CreateRequest request = machine_->Request(id, "cat /lines");
    request.log_path = absl::StrCat(machine_->dir().path(), "/", log);
    const auto created = runtime().Create(request);
    ASSERT_TRUE(created.ok()) << created.status();
    ASSERT_TRUE(runtime().Start(id).ok());
    ASSERT_TRUE(machine_->WaitForExit(id).has_value());
    EXPECT_TRUE(machine_->dir().root().Exists(log));
  }
  EXPECT_TRUE(machine_->dir().root().Exists("state/pods/uid/logs/a.log.1"));
  EXPECT_FALSE(machine_->dir().root().Exists("a.log.1"));
}

TEST_F(CrunRuntimeTest, TerminalAndClosedInput) {
  spec().tty = true;
  EXPECT_THAT(RunToEnd("tty", "[ -t 1 ] && echo terminal $TERM"), HasSubstr("terminal xterm"));
  spec().tty = false;
  EXPECT_THAT(RunToEnd("plain", "cat; [ -t 1 ] || echo no terminal"), HasSubstr("no terminal"));
}

TEST_F(CrunRuntimeTest, KilledMonitorLeavesNoExitRecordAndDeleteStillWorks) {
  const Created created = Run("a", "sleep 100");
  ASSERT_EQ(kill(created.monitor.pid, SIGKILL), 0);
  ASSERT_TRUE(WaitUntil([&] { return !*linux::IsRunning(machine_->host(), created.monitor); }));
  const auto exit = runtime().ReadExit("a");
  ASSERT_TRUE(exit.ok());
  EXPECT_FALSE(exit->has_value());
  const auto reopened = runtime().ReopenLog("a");
  EXPECT_TRUE(absl::IsFailedPrecondition(reopened)) << reopened;
  ASSERT_TRUE(runtime().Delete("a", machine_->group("a")).ok());
  EXPECT_THAT(machine_->Leftovers("a"), IsEmpty());
  EXPECT_FALSE(*linux::IsRunning(machine_->host(), created.init));
}

TEST_F(CrunRuntimeTest, DeleteEndsWhatRunsAndIsIdempotent) {
  const Created created = Run("a", "trap '' TERM; sleep 100 & sleep 100");
  EXPECT_THAT(*runtime().ListTraces(), Contains("a"));
  const absl::Status deleted = runtime().Delete("a", "");  // as in recovery: group unknown
  ASSERT_TRUE(deleted.ok()) << deleted;
  EXPECT_FALSE(*linux::IsRunning(machine_->host(), created.init));
  EXPECT_THAT(machine_->Leftovers("a"), IsEmpty());
  EXPECT_TRUE(runtime().Delete("a", machine_->group("a")).ok());
  EXPECT_TRUE(runtime().Delete("never-was", "").ok());
  EXPECT_THAT(*runtime().ListTraces(), IsEmpty());
}

TEST_F(CrunRuntimeTest, DeleteCopesWithHalfOfItMissing) {
  Run("a", "sleep 100");
  ASSERT_TRUE(machine_->dir().root().RemoveTree("run/oci/crun/a").ok());
  ASSERT_TRUE(runtime().Delete("a", machine_->group("a")).ok());
  EXPECT_THAT(machine_->Leftovers("a"), IsEmpty());
  Run("b", "sleep 100");
  ASSERT_TRUE(machine_->dir().root().RemoveFile("run/oci/containers/b/monitor.lock").ok());
  ASSERT_TRUE(runtime().Delete("b", machine_->group("b")).ok());
}

TEST_F(CrunRuntimeTest, DeleteForgetsNothingThatItCannotLookAt) {
  Run("a", "sleep 100");
  const std::string status = machine_->dir().path() + "/run/oci/crun/a/status";
  ASSERT_EQ(rename(status.c_str(), (status + ".aside").c_str()), 0);
  ASSERT_EQ(mkdir(status.c_str(), 0700), 0);
  const absl::Status refused = runtime().Delete("a", "");
  EXPECT_THAT(refused.message(), HasSubstr("status"));
  ASSERT_EQ(rmdir(status.c_str()), 0);
  ASSERT_EQ(rename((status + ".aside").c_str(), status.c_str()), 0);
  const absl::Status deleted = runtime().Delete("a", "");
  EXPECT_TRUE(deleted.ok()) << deleted;
  EXPECT_THAT(machine_->Leftovers("a"), IsEmpty());
}

TEST_F(CrunRuntimeTest, MountsAndPropagation) {
  ASSERT_TRUE(machine_->dir().root().MakeDirs("volume/below", 0755).ok());
  ASSERT_TRUE(machine_->dir().root().ReplaceFile("volume/file", "content\n").ok());
  const std::string source = machine_->dir().path() + "/volume";
  spec().mounts = {{.container_path = "/data/below", .host_path = source + "/below"},
                   {.container_path = "/data", .host_path = source, .readonly = true}};
  const std::string log = RunToEnd(
      "a", "cat /data/file; touch /data/x || echo refused; touch /data/below/x && echo ok");
  EXPECT_THAT(log, HasSubstr("content"));
  EXPECT_THAT(log, HasSubstr("refused"));
  EXPECT_THAT(log, HasSubstr("F ok"));
}

TEST_F(CrunRuntimeTest, ManyAtOnce) {
  ContainerRuntime& shared = runtime();
  std::vector<std::thread> threads;
  std::vector<CreateRequest> requests;
  for (int i = 0; i < 8; ++i) requests.push_back(machine_->Request(absl::StrCat("c", i), "exit 7"));
  for (const CreateRequest& request : requests) {
    threads.emplace_back([&shared, &request] {
      const auto created = shared.Create(request);
      EXPECT_TRUE(created.ok()) << created.status();
      EXPECT_TRUE(shared.Start(request.id).ok());
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const CreateRequest& request : requests) {
    const auto exit = machine_->WaitForExit(request.id);
    ASSERT_TRUE(exit.has_value());
    EXPECT_EQ(exit->code, 7);
  }
}

// --- failures

TEST_F(CrunRuntimeTest, MissingCommandIsNamed) {
  spec().command = {"no-such-program"};
  spec().stop_signal = "SIGUSR1";
  const CreateRequest request = machine_->Request("a", "");
  EXPECT_THAT(Refusal(request), HasSubstr("\"no-such-program\" is not in the image"));
  const auto created = runtime().Create(request);
  ASSERT_TRUE(created.ok()) << created.status();
  EXPECT_EQ(created->stop_signal, SIGUSR1) << "what is known of it is told";
}

TEST_F(CrunRuntimeTest, CommandThatIsNoProgram) {
  spec().command = {"/etc/passwd"};
  EXPECT_THAT(Refusal(machine_->Request("a", "")), HasSubstr("can't be executed"));
  spec().command = {"/etc"};
  EXPECT_THAT(Refusal(machine_->Request("b", "")), HasSubstr("can't be executed"));
}

TEST_F(CrunRuntimeTest, ProgramsThatTheKernelRefusesAreAStartError) {
  const FsRoot layer = machine_->layer();
  ASSERT_TRUE(layer.ReplaceFile("bin/lost", "#!/no/such/interpreter\n", 0755).ok());
  ASSERT_TRUE(layer
                  .ReplaceFile("bin/foreign",
                               std::string("\x7f"
                                           "ELF\x02\x02\x01",
                                           7) +
                                   std::string(57, '\0'),
                               0755)
                  .ok());
  ASSERT_TRUE(layer.ReplaceFile("bin/text", "echo hello\n", 0755).ok());
  EXPECT_THAT(StartError("a", "/bin/lost"), HasSubstr("the interpreter that it names"));
  EXPECT_THAT(machine_->Log("a"), HasSubstr("/bin/lost")) << "the OCI runtime's words";
  EXPECT_THAT(StartError("b", "/bin/foreign"), HasSubstr("another architecture"));
  EXPECT_THAT(StartError("c", "/bin/text"), HasSubstr("another architecture, or neither"));
  spec().tty = true;
  EXPECT_THAT(StartError("d", "/bin/text"), HasSubstr("another architecture, or neither"));
  spec().tty = false;
  spec().environment = {{"BIG", std::string(140'000, 'x')}};
  // Known without the OCI runtime.
  const auto created = machine_->runtime().Create(machine_->Request("e", "true"));
  ASSERT_TRUE(created.ok()) << created.status();
  EXPECT_THAT(created->refusal.value_or(""), HasSubstr("larger than the kernel takes"));
}

// After the exec, the exit code is the program's own, with the same words and exit code 1.
TEST_F(CrunRuntimeTest, AProgramThatSaysTheSameIsNoStartError) {
  Run("a", "echo 'exec container process `/bin/sh`: Exec format error' >&2; exit 1");
  const auto exit = machine_->WaitForExit("a");
  ASSERT_TRUE(exit.has_value());
  EXPECT_EQ(exit->code, 1);
  EXPECT_FALSE(exit->start_error.has_value());
}

// A container whose init still runs the OCI runtime's code.
TEST_F(CrunRuntimeTest, OneThatIsKilledBeforeItsStartIsNoStartError) {
  const auto created = runtime().Create(machine_->Request("a", "true"));
  ASSERT_TRUE(created.ok()) << created.status();
  ASSERT_TRUE(linux::KillProcess(machine_->host(), created->init).ok());
  const auto exit = machine_->WaitForExit("a");
  ASSERT_TRUE(exit.has_value());
  EXPECT_EQ(exit->code, 137);
  EXPECT_FALSE(exit->start_error.has_value());
}

TEST_F(CrunRuntimeTest, NoCommandAnywhere) {
  machine_->image().command.clear();
  const absl::Status failure = FailToCreate(machine_->Request("a", ""));
  EXPECT_TRUE(absl::IsInvalidArgument(failure)) << failure;
  EXPECT_THAT(failure.message(), HasSubstr("no command"));
}

TEST_F(CrunRuntimeTest, WorkingDirectoryThatIsAFile) {
  spec().working_directory = "/etc/passwd";
  const std::string refusal = Refusal(machine_->Request("a", "true"));
  EXPECT_THAT(refusal, HasSubstr("working directory \"/etc/passwd\" can't be entered"));
}

TEST_F(CrunRuntimeTest, WorkingDirectoryOfTheImageThatIsAFile) {
  machine_->image().working_directory = "/etc/passwd";
  const std::string refusal = Refusal(machine_->Request("a", "true"));
  EXPECT_THAT(refusal, HasSubstr("working directory \"/etc/passwd\" can't be entered"));
}

TEST_F(CrunRuntimeTest, MountSourceThatCannotBe) {
  ASSERT_TRUE(machine_->dir().root().ReplaceFile("file", "").ok());
  const std::string source = machine_->dir().path() + "/file/below";
  spec().mounts = {{.container_path = "/data", .host_path = source}};
  const absl::Status failure = FailToCreate(machine_->Request("a", "true"));
  EXPECT_TRUE(absl::IsInvalidArgument(failure)) << failure;
  EXPECT_THAT(failure.message(), HasSubstr("mounts[0].host_path \"" + source + "\""));
}

TEST_F(CrunRuntimeTest, MissingSeccompFile) {
  spec().security.seccomp = {SecurityProfile::Type::kLocalhost, "/no/such/profile.json"};
  const absl::Status failure = FailToCreate(machine_->Request("a", "true"));
  EXPECT_TRUE(absl::IsNotFound(failure)) << failure;
  EXPECT_THAT(failure.message(), HasSubstr("/no/such/profile.json"));
}

TEST_F(CrunRuntimeTest, LogInADirectoryThatIsNotThere) {
  CreateRequest request = machine_->Request("a", "true");
  request.log_path = "/no/such/directory/a.log";
  const absl::Status failure = FailToCreate(request);
  EXPECT_TRUE(absl::IsFailedPrecondition(failure)) << failure;
  EXPECT_THAT(failure.message(), HasSubstr("log"));
}

TEST_F(CrunRuntimeTest, ImpossibleLimitLeavesNothing) {
  spec().resources.cpuset_cpus = "4000-4001";
  const absl::Status failure = FailToCreate(machine_->Request("a", "true"));
  EXPECT_THAT(failure.message(), HasSubstr("cpuset"));
}

TEST_F(CrunRuntimeTest, SecondContainerOfTheSameId) {
  ASSERT_TRUE(runtime().Create(machine_->Request("a", "true")).ok());
  const auto again = runtime().Create(machine_->Request("a", "true"));
  EXPECT_TRUE(absl::IsAlreadyExists(again.status())) << again.status();
  EXPECT_TRUE(runtime().Start("a").ok());  // the first is untouched
}

TEST_F(CrunRuntimeTest, IdsThatAreNoFileNames) {
  for (const char* id : {"", "..", "a/b", "-x", "a b"}) {
    EXPECT_TRUE(absl::IsInvalidArgument(runtime().Delete(id, ""))) << id;
  }
}

TEST_F(CrunRuntimeTest, MissingPrograms) {
  OciOptions options = machine_->Options();
  options.crun = "/no/such/crun";
  auto made = ContainerRuntime::Create(options);
  EXPECT_TRUE(absl::IsNotFound(made.status())) << made.status();
  EXPECT_THAT(made.status().message(), HasSubstr("package crun"));

  options = machine_->Options();
  options.helpers = "/no/such/place";
  made = ContainerRuntime::Create(options);
  EXPECT_TRUE(absl::IsNotFound(made.status())) << made.status();
  EXPECT_THAT(made.status().message(), HasSubstr("looked in /no/such/place"));

  options = machine_->Options();
  options.crun = "/bin/true";
  made = ContainerRuntime::Create(options);
  EXPECT_TRUE(absl::IsFailedPrecondition(made.status())) << made.status();

  options = machine_->Options();
  options.restrict_oom_score_adj = "maybe";
  made = ContainerRuntime::Create(options);
  EXPECT_TRUE(absl::IsInvalidArgument(made.status())) << made.status();
}

}  // namespace
}  // namespace plimsoll::runtime
