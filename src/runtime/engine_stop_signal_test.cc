// The stop signal, with inits of PID namespaces but no real containers: a signal that the kernel
// would drop is held back, a refused one is sent again.
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <iterator>
#include <string>
#include <thread>

#include "absl/time/clock.h"
#include "base/unique_fd.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "linux/process.h"
#include "linux/process_signals.h"
#include "runtime/engine_fixture_for_test.h"

namespace plimsoll::runtime {
namespace {

using ::testing::Contains;
using ::testing::Field;
using ::testing::HasSubstr;

// From now on this thread can't send signals by a pidfd, as under a security module that denies it.
void DenySignals() {
  sock_filter program[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_pidfd_send_signal, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const sock_fprog filter = {.len = std::size(program), .filter = program};
  ASSERT_EQ(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter), 0) << strerror(errno);
}

class EngineStopSignalTest : public EngineTest {
 protected:
  ~EngineStopSignalTest() override {
    if (init_ > 0) kill(init_, SIGKILL);
  }
  // A started container whose init, pid 1 of a namespace, runs `before` and then becomes this Perl
  // program. `before` gets the end of a pipe on whose other end OpenGate writes.
  std::string Run(
      const char* program, void (*before)(int gate) = [](int) {}) {
    int ends[2];
    int gate[2];
    EXPECT_EQ(pipe2(ends, O_CLOEXEC), 0);
    EXPECT_EQ(pipe2(gate, O_CLOEXEC), 0);
    init_ = static_cast<pid_t>(
        syscall(SYS_clone, CLONE_NEWPID | SIGCHLD, nullptr, nullptr, nullptr, 0));
    if (init_ == 0) {
      dup2(ends[1], 1);
      before(gate[0]);
      execl("/usr/bin/perl", "perl", "-MPOSIX", "-e", program, nullptr);
      _exit(127);
    }
    output_ = UniqueFd(ends[0]);
    gate_ = UniqueFd(gate[1]);
    close(ends[1]);
    close(gate[0]);
    runtime_.init = *linux::IdentifyProcess(host_, init_);
    const std::string pod = *engine_->RunSandbox(PodSpec(), "");
    const std::string id = *engine_->CreateContainer(pod, Spec(), "");
    EXPECT_TRUE(engine_->StartContainer(id).ok());
    return id;
  }
  void OpenGate() { EXPECT_EQ(write(gate_.get(), "", 1), 1); }
  // Awaits init's end, reports it as the monitor would, and returns init's output.
  std::string AwaitInit(const std::string& id) {
    std::string text;
    char c = 0;
    while (read(output_.get(), &c, 1) == 1) text += c;
    init_ = 0;
    runtime_.EndMonitor(id, ExitRecord{0, absl::GetCurrentTimeNanos()});
    return text;
  }
  // Stops the container with a long grace period, and returns its init's output.
  std::string Stopped(const std::string& id) {
    std::thread stop([&] { EXPECT_TRUE(engine_->StopContainer(id, absl::Seconds(60)).ok()); });
    std::string text = AwaitInit(id);
    stop.join();
    return text;
  }

  pid_t init_ = 0;
  UniqueFd output_;
  UniqueFd gate_;
};

TEST_F(EngineStopSignalTest, OneThatWaitsForBlockedSignalsGetsIt) {
  const std::string id =
      Run("$set = POSIX::SigSet->new(SIGTERM); sigprocmask(SIG_BLOCK, $set);"
          "$got = POSIX::SigSet->new;"
          "while (1) { select(undef, undef, undef, 0.02); sigpending($got);"
          "  if ($got->ismember(SIGTERM)) { print 'pending'; exit 0; } }");
  EXPECT_TRUE(*linux::HasExecuted(host_, *runtime_.init)) << "a start waits for that";
  EXPECT_EQ(Stopped(id), "pending");
}

TEST_F(EngineStopSignalTest, OneThatIgnoresItAtFirstGetsItLater) {
  const std::string id =
      Run("$SIG{TERM} = 'IGNORE'; select(undef, undef, undef, 1);"
          "$SIG{TERM} = sub { print 'caught'; exit 0 }; select(undef, undef, undef, 1) while 1;");
  EXPECT_EQ(Stopped(id), "caught");
}

TEST_F(EngineStopSignalTest, OneThatCannotBeSentIsToldAndSentByTheNextStop) {
  const std::string id =
      Run("$SIG{TERM} = sub { print 'caught'; exit 0 }; select(undef, undef, undef, 1) while 1;");
  const absl::Time patience = absl::Now() + absl::Seconds(20);
  const auto handles = [&] {
    const auto signals = linux::ReadSignals(host_, *runtime_.init);
    return signals.ok() && linux::Holds(signals->caught, SIGTERM);
  };
  while (!handles() && absl::Now() < patience) absl::SleepFor(absl::Milliseconds(5));
  ASSERT_TRUE(handles());
  std::thread denied([&] {
    DenySignals();
    const absl::Status stopped = engine_->StopContainer(id, absl::Milliseconds(100));
    EXPECT_TRUE(absl::IsPermissionDenied(stopped)) << stopped;
  });
  denied.join();
  EXPECT_EQ(engine_->GetContainer(id)->state, ContainerState::kRunning);
  EXPECT_THAT(events_.Since(0),
              Contains(Field(&Event::message, HasSubstr("its stop signal: send signal 15"))));
  EXPECT_EQ(Stopped(id), "caught");
}

// The OCI runtime's handler would catch the signal, unknown to the container. The program comes a
// moment after the stop, which has looked at the handler by then.
TEST_F(EngineStopSignalTest, OneThatIsOnItsWayToItsProgramGetsItThere) {
  program_wait_ = absl::Milliseconds(100);
  StartEngine();
  const std::string id =
      Run("$SIG{TERM} = sub { print 'caught'; exit 0 }; select(undef, undef, undef, 1) while 1;",
          [](int gate) {
            signal(SIGTERM, [](int) {
              if (write(1, "lost", 4) == 4) _exit(1);
            });
            char c = 0;
            if (read(gate, &c, 1) == 1) usleep(500'000);
          });
  ASSERT_FALSE(*linux::HasExecuted(host_, *runtime_.init)) << "a start does not wait for as long";
  OpenGate();
  EXPECT_EQ(Stopped(id), "caught");
}

}  // namespace
}  // namespace plimsoll::runtime
