// The daemon's side of the monitor, with the real plimsoll-monitor. The OCI runtime is a script
// where it has to misbehave; crun_runtime_test.cc tests with the real one.
#include "runtime/oci/monitor.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "base/dir_for_test.h"
#include "base/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace plimsoll::runtime {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;

constexpr absl::Duration kPatience = absl::Seconds(20);

// The monitor's clock: absl's counts by itself between its looks at that.
int64_t NowNanos() {
  timespec now = {};
  EXPECT_EQ(clock_gettime(CLOCK_REALTIME, &now), 0);
  return absl::ToUnixNanos(absl::TimeFromTimespec(now));
}

bool Ended(int pidfd) {
  struct pollfd poller = {pidfd, POLLIN, 0};
  return poll(&poller, 1, static_cast<int>(absl::ToInt64Milliseconds(kPatience))) == 1;
}

class MonitorTest : public ::testing::Test {
 protected:
  MonitorTest() : host_(*FsRoot::Open("/")) {
    char self[4096] = {};
    EXPECT_GT(readlink("/proc/self/exe", self, sizeof(self) - 1), 0);
    program_ = self;
    program_ = program_.substr(0, program_.rfind('/')) + "/plimsoll-monitor";
  }
  void SetUp() override {
    if (geteuid() != 0) GTEST_SKIP() << "a mount namespace needs root";
  }

  // A runtime that runs `script`; the container's process is the one left running with its pid in
  // the file `pid`.
  PlanWriter PlanFor(const std::string& script) {
    const absl::Status made = dir_.root().ReplaceFile("runtime", "#!/bin/sh\n" + script + "\n");
    EXPECT_TRUE(made.ok()) << made;
    EXPECT_EQ(chmod((dir_.path() + "/runtime").c_str(), 0755), 0);
    PlanWriter plan;
    plan.Add("runtime", dir_.path() + "/runtime");
    plan.Add("root", dir_.path());
    plan.Add("bundle", dir_.path());
    plan.Add("log", dir_.path() + "/log");
    return plan;
  }
  absl::StatusOr<Monitored> Create(const std::string& script) {
    PlanWriter plan = PlanFor(script);
    auto monitor = StartMonitor(program_, dir_.root(), "c");
    if (!monitor.ok()) return monitor.status();
    return monitor->Create(host_, std::move(plan));
  }
  std::optional<ExitRecord> AwaitExit() {
    for (const absl::Time end = absl::Now() + kPatience; absl::Now() < end;) {
      const auto exit = ReadExit(dir_.root());
      EXPECT_TRUE(exit.ok()) << exit.status();
      if (!exit.ok() || exit->has_value()) return exit.value_or(std::nullopt);
      absl::SleepFor(absl::Milliseconds(1));
    }
    return std::nullopt;
  }
  std::string Log() const { return dir_.root().Read("log").value_or(""); }

  TestDir dir_;
  FsRoot host_;
  std::string program_;
};

TEST_F(MonitorTest, RecordsTheExitOfAProcessThatItInherits) {
  const int64_t before = NowNanos();
  // Some shells would reap a child that ends before they do.
  const auto created =
      Create("(while [ ! -e go ]; do sleep 0.01; done; echo hello; exit 7) & echo $! > pid");
  ASSERT_TRUE(created.ok()) << created.status();
  EXPECT_GT(created->init, 0);
  ASSERT_TRUE(dir_.root().ReplaceFile("go", "").ok());
  const auto exit = AwaitExit();
  ASSERT_TRUE(exit.has_value());
  EXPECT_EQ(exit->code, 7);
  EXPECT_GE(exit->finished_unix_nanos, before);
  EXPECT_LE(exit->finished_unix_nanos, NowNanos());
  EXPECT_THAT(Log(), EndsWith(" stdout F hello\n"));
  EXPECT_TRUE(EndMonitor(dir_.root(), absl::Now() + kPatience).ok());
}

// For example a hook that writes more than a pipe holds.
TEST_F(MonitorTest, ARuntimeThatSaysMuchIsNotKeptWaiting) {
  const std::string much =
      "i=0; while [ $i -lt 4000 ]; do echo \"line $i of many that are said\"; "
      "i=$((i+1)); done";
  const auto created = Create(absl::StrCat("{ ", much, "; } >&2; ", much,
                                           "; (while [ ! -e go ]; do sleep 0.01; done; exit 7) & "
                                           "echo $! > pid"));
  ASSERT_TRUE(created.ok()) << created.status();
  EXPECT_THAT(Log(), HasSubstr(" stdout F line 0 of many that are said\n"));
  EXPECT_THAT(Log(), HasSubstr(" stderr F line 0 of many that are said\n"));
  ASSERT_TRUE(dir_.root().ReplaceFile("go", "").ok());
  EXPECT_EQ(AwaitExit()->code, 7);
}

TEST_F(MonitorTest, OfMuchThatAFailedRuntimeSaidTheBeginningIsTold) {
  const auto created = Create(
      "{ echo the reason; i=0; while [ $i -lt 8000 ]; do echo and a line of more words $i; "
      "i=$((i+1)); done; } >&2; exit 1");
  ASSERT_FALSE(created.ok());
  EXPECT_THAT(created.status().message(), HasSubstr("the reason\nand a line of more words 0\n"));
}

TEST_F(MonitorTest, AsManyAsItTakesCanAttach) {
  const auto created = Create("sleep 1000 & echo $! > pid");
  ASSERT_TRUE(created.ok()) << created.status();
  std::vector<UniqueFd> clients;
  for (int i = 0; i < 16; ++i) {
    auto client = AttachToMonitor(dir_.root(), /*input=*/false);
    ASSERT_TRUE(client.ok()) << client.status();
    clients.push_back(*std::move(client));
  }
  const absl::Status full = AttachToMonitor(dir_.root(), /*input=*/false).status();
  EXPECT_TRUE(absl::IsResourceExhausted(full)) << full;
  EXPECT_EQ(full.message(), "attach: 16 clients are attached to the container, the most possible");
  clients.pop_back();
  EXPECT_TRUE(AttachToMonitor(dir_.root(), /*input=*/false).ok());
  ASSERT_EQ(kill(created->init, SIGKILL), 0);
  EXPECT_EQ(AwaitExit()->code, 137);
}

TEST_F(MonitorTest, IsFoundByItsLockAndEndsWithTheContainer) {
  const auto created = Create("sleep 1000 & echo $! > pid");
  ASSERT_TRUE(created.ok()) << created.status();
  const auto found = FindMonitor(dir_.root());
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_FALSE(linux::HasExited(*found));
  ASSERT_EQ(kill(created->init, SIGKILL), 0);
  ASSERT_TRUE(Ended(found->get()));
  EXPECT_EQ(AwaitExit()->code, 137);
  EXPECT_TRUE(absl::IsNotFound(FindMonitor(dir_.root()).status()));
}

TEST_F(MonitorTest, OnlySigkillEndsIt) {
  const auto created = Create("sleep 1000 & echo $! > pid");
  ASSERT_TRUE(created.ok()) << created.status();
  const auto found = FindMonitor(dir_.root());
  ASSERT_TRUE(found.ok()) << found.status();
  for (const int signal : {SIGTERM, SIGINT, SIGHUP, SIGPIPE}) {
    ASSERT_TRUE(linux::SignalProcess(*found, signal).ok());
  }
  EXPECT_TRUE(ReopenLog(dir_.root()).ok());  // the monitor lives and answers
  EXPECT_TRUE(EndMonitor(dir_.root(), absl::InfinitePast()).ok());
  EXPECT_TRUE(linux::HasExited(*found));
  const auto exit = ReadExit(dir_.root());
  EXPECT_TRUE(exit.ok() && !exit->has_value()) << "an exit that nobody saw";
  kill(created->init, SIGKILL);
}

TEST_F(MonitorTest, AStoppedOneKeepsNobodyWaitingHoweverManyHaveCome) {
  const auto created = Create("sleep 1000 & echo $! > pid");
  ASSERT_TRUE(created.ok()) << created.status();
  const auto found = FindMonitor(dir_.root());
  ASSERT_TRUE(found.ok()) << found.status();
  ASSERT_TRUE(linux::SignalProcess(*found, SIGSTOP).ok());
  // Connect until the kernel makes the next client wait.
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  (dir_.path() + "/control").copy(address.sun_path, sizeof(address.sun_path) - 1);
  std::vector<UniqueFd> others;
  do {
    ASSERT_LT(others.size(), 1000u);
    others.emplace_back(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  } while (connect(others.back().get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)) ==
           0);
  const absl::Time before = absl::Now();
  const absl::Status refused = AttachToMonitor(dir_.root(), /*input=*/false).status();
  EXPECT_TRUE(absl::IsDeadlineExceeded(refused)) << refused;
  EXPECT_THAT(refused.message(), HasSubstr("is it stopped?"));
  EXPECT_LT(absl::Now() - before, kPatience);
  others.clear();
  ASSERT_TRUE(linux::SignalProcess(*found, SIGCONT).ok());
  EXPECT_TRUE(ReopenLog(dir_.root()).ok());
  kill(created->init, SIGKILL);
  EXPECT_EQ(AwaitExit()->code, 137);
}

TEST_F(MonitorTest, ASecondOneForTheSameContainerIsRefused) {
  const auto created = Create("sleep 1000 & echo $! > pid");
  ASSERT_TRUE(created.ok()) << created.status();
  const auto second = Create("true");
  EXPECT_TRUE(absl::IsInternal(second.status())) << second.status();
  EXPECT_THAT(second.status().message(), HasSubstr("is there another monitor?"));
  EXPECT_TRUE(FindMonitor(dir_.root()).ok());
  kill(created->init, SIGKILL);
  EXPECT_EQ(AwaitExit()->code, 137);
}

TEST_F(MonitorTest, ReopensTheLog) {
  const auto created =
      Create("(while [ ! -e go ]; do sleep 0.01; done; echo two) & echo $! > pid; echo one");
  ASSERT_TRUE(created.ok()) << created.status();
  ASSERT_EQ(rename((dir_.path() + "/log").c_str(), (dir_.path() + "/log.1").c_str()), 0);
  const absl::Status reopened = ReopenLog(dir_.root());
  ASSERT_TRUE(reopened.ok()) << reopened;
  EXPECT_TRUE(dir_.root().Exists("log"));
  ASSERT_TRUE(dir_.root().ReplaceFile("go", "").ok());
  ASSERT_TRUE(AwaitExit().has_value());
  EXPECT_THAT(Log(), EndsWith(" stdout F two\n"));
}

TEST_F(MonitorTest, ALogThatCannotBeReopenedIsAnError) {
  const auto created = Create("sleep 1000 & echo $! > pid");
  ASSERT_TRUE(created.ok()) << created.status();
  ASSERT_EQ(rename((dir_.path() + "/log").c_str(), (dir_.path() + "/log.1").c_str()), 0);
  ASSERT_TRUE(dir_.root().MakeDirs("log").ok());
  const absl::Status reopened = ReopenLog(dir_.root());
  EXPECT_TRUE(absl::IsInternal(reopened)) << reopened;
  EXPECT_THAT(reopened.message(), HasSubstr("Is a directory"));
  kill(created->init, SIGKILL);
  ASSERT_TRUE(AwaitExit().has_value());
  EXPECT_TRUE(absl::IsFailedPrecondition(ReopenLog(dir_.root())));
}

TEST_F(MonitorTest, AFailedRuntimeIsQuotedAndLeavesNoMonitor) {
  const auto failed = Create("echo 'no such thing' >&2; exit 1");
  EXPECT_TRUE(absl::IsInternal(failed.status())) << failed.status();
  EXPECT_EQ(failed.status().message(), "no such thing");
  EXPECT_TRUE(absl::IsNotFound(FindMonitor(dir_.root()).status()));
  EXPECT_EQ(Log(), "");
}

TEST_F(MonitorTest, ASilentRuntimeIsAnErrorToo) {
  EXPECT_THAT(Create("exit 3").status().message(), HasSubstr("exit code 3 and said nothing"));
  EXPECT_THAT(Create("kill -9 $$").status().message(), HasSubstr("killed by signal 9"));
  EXPECT_THAT(Create("true").status().message(), HasSubstr("read the pid file"));
}

TEST_F(MonitorTest, AnInitThatItsRuntimeHasReapedIsAFailure) {
  EXPECT_THAT(Create("true & echo $! > pid; wait").status().message(),
              HasSubstr("init ended as it was created"));
  EXPECT_TRUE(absl::IsNotFound(FindMonitor(dir_.root()).status()));
}

// A process left running must not keep the daemon waiting for the end of the message.
TEST_F(MonitorTest, AFailedRuntimeThatLeavesAProcessIsReportedAtOnce) {
  const absl::Time begin = absl::Now();
  const auto failed = Create("sleep 1000 & echo $! > left; printf 'two\\nlines' >&2; kill -9 $$");
  EXPECT_THAT(failed.status().message(), HasSubstr("two\nlines"));
  EXPECT_LT(absl::Now() - begin, kPatience);
  const pid_t left = std::stoi(dir_.root().Read("left").value_or("0"));
  ASSERT_GT(left, 0);
  kill(left, SIGKILL);
}

TEST_F(MonitorTest, ALogInADirectoryThatIsMissing) {
  PlanWriter plan;
  for (const char* key : {"runtime", "root", "bundle"}) plan.Add(key, dir_.path());
  plan.Add("log", dir_.path() + "/missing/log");
  auto monitor = StartMonitor(program_, dir_.root(), "c");
  ASSERT_TRUE(monitor.ok()) << monitor.status();
  EXPECT_THAT(monitor->Create(host_, std::move(plan)).status().message(),
              HasSubstr("open the container's log"));
}

TEST_F(MonitorTest, APlanThatIsTooLongIsRefused) {
  PlanWriter plan = PlanFor("true");
  plan.Add("lower", std::string(300 * 1024, 'x'));
  auto monitor = StartMonitor(program_, dir_.root(), "c");
  ASSERT_TRUE(monitor.ok()) << monitor.status();
  EXPECT_FALSE(monitor->Create(host_, std::move(plan)).ok());
  EXPECT_TRUE(absl::IsNotFound(FindMonitor(dir_.root()).status()));
}

// More than the monitor reads: it ends while the plan is being sent.
TEST_F(MonitorTest, APlanThatIsTooLongToReadIsNamed) {
  PlanWriter plan = PlanFor("true");
  plan.Add("lower", std::string(3 * 1024 * 1024, 'x'));
  auto monitor = StartMonitor(program_, dir_.root(), "c");
  ASSERT_TRUE(monitor.ok()) << monitor.status();
  const absl::Status refused = monitor->Create(host_, std::move(plan)).status();
  EXPECT_THAT(std::string(refused.message()), HasSubstr("the plan is too long"));
}

// The daemon fails, or is killed, between the two steps.
TEST_F(MonitorTest, WithoutAPlanItEnds) {
  {
    auto monitor = StartMonitor(program_, dir_.root(), "c");
    ASSERT_TRUE(monitor.ok()) << monitor.status();
  }
  EXPECT_TRUE(absl::IsNotFound(FindMonitor(dir_.root()).status()));
}

TEST_F(MonitorTest, ARuntimeThatHangsIsEnded) {
  // A number of seconds for which no other process of the machine sleeps, another run of this test
  // included.
  const std::string number = absl::StrCat(88'000'000 + getpid());
  {
    auto monitor = StartMonitor(program_, dir_.root(), "c");
    ASSERT_TRUE(monitor.ok()) << monitor.status();
    const auto hung = monitor->Create(host_, PlanFor("exec sleep " + number), absl::Seconds(1));
    EXPECT_TRUE(absl::IsDeadlineExceeded(hung.status())) << hung.status();
  }
  EXPECT_TRUE(absl::IsNotFound(FindMonitor(dir_.root()).status()));
  const auto sleeps = [&] {
    for (const std::string& name : host_.List("proc").value_or(std::vector<std::string>())) {
      const std::string words = host_.Read("proc/" + name + "/cmdline").value_or("");
      if (words.find(number) != std::string::npos) return true;
    }
    return false;
  };
  for (const absl::Time end = absl::Now() + kPatience; sleeps() && absl::Now() < end;) {
    absl::SleepFor(absl::Milliseconds(1));
  }
  EXPECT_FALSE(sleeps());
}

// The monitor's children end with it, so that none creates a container unnoticed.
TEST_F(MonitorTest, AKilledMonitorTakesTheRuntimeWithIt) {
  // The file appears whole: the process may be killed between opening and writing.
  PlanWriter plan = PlanFor("echo $$ > new.pid; mv new.pid runtime.pid; exec sleep 1000");
  auto monitor = StartMonitor(program_, dir_.root(), "c");
  ASSERT_TRUE(monitor.ok()) << monitor.status();
  std::thread killer([this] {
    const absl::Time end = absl::Now() + kPatience;
    while (!dir_.root().Exists("runtime.pid") && absl::Now() < end) {
      absl::SleepFor(absl::Milliseconds(1));
    }
    EXPECT_TRUE(EndMonitor(dir_.root(), absl::InfinitePast()).ok());
  });
  EXPECT_FALSE(monitor->Create(host_, std::move(plan)).ok());
  killer.join();
  const pid_t runtime = std::stoi(dir_.root().Read("runtime.pid").value_or("0"));
  ASSERT_GT(runtime, 0);
  for (const absl::Time end = absl::Now() + kPatience;
       kill(runtime, 0) == 0 && absl::Now() < end;) {
    const auto stat = host_.Read(absl::StrCat("proc/", runtime, "/stat"));
    if (!stat.ok() || stat->find(") Z ") != std::string::npos) break;
    absl::SleepFor(absl::Milliseconds(1));
  }
  const auto stat = host_.Read(absl::StrCat("proc/", runtime, "/stat"));
  EXPECT_TRUE(!stat.ok() || stat->find(") Z ") != std::string::npos) << *stat;
}

TEST_F(MonitorTest, ADamagedExitRecordIsNamed) {
  ASSERT_TRUE(dir_.root().ReplaceFile("exit", "seven\n").ok());
  const auto exit = ReadExit(dir_.root());
  EXPECT_EQ(exit.status().code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(exit.status().message(), HasSubstr("\"seven\n\" instead of exit code and time"));
}

TEST_F(MonitorTest, AProgramThatIsMissing) {
  EXPECT_TRUE(absl::IsNotFound(StartMonitor("/no/such/program", dir_.root(), "c").status()));
}

}  // namespace
}  // namespace plimsoll::runtime
