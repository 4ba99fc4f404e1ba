#include "daemon/main_process.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>

#include "absl/strings/str_cat.h"
#include "base/dir_for_test.h"
#include "base/unique_fd.h"
#include "gtest/gtest.h"

namespace plimsoll::daemon {
namespace {

sockaddr_un UnixAddress(const std::string& path) {
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof(address.sun_path) - 1);
  return address;
}

// Reports each signal until SIGTERM. They are blocked.
void ReportSignals(int report) {
  sigset_t signals;
  sigemptyset(&signals);
  for (const int number : {SIGTERM, SIGHUP}) sigaddset(&signals, number);
  int number = 0;
  do {
    sigwait(&signals, &number);
    dprintf(report, "signal %d.", number);
  } while (number != SIGTERM);
}

// A main process and its daemon, which report by one pipe. Exit codes go there too: the test's
// process may have a thread that reaps its children.
class MainProcessTest : public ::testing::Test {
 protected:
  MainProcessTest() {
    int ends[2];
    EXPECT_EQ(pipe2(ends, O_CLOEXEC), 0);
    read_.Reset(ends[0]);
    write_.Reset(ends[1]);
  }
  ~MainProcessTest() override {
    if (main_ > 0) waitpid(main_, nullptr, 0);
  }

  // In the daemon's process `run` goes on, and ends it.
  void Start(const std::function<void(int report)>& run, bool ignore_children = false) {
    sigset_t signals;
    sigemptyset(&signals);
    for (const int number : {SIGTERM, SIGINT, SIGHUP}) sigaddset(&signals, number);
    sigset_t before;
    pthread_sigmask(SIG_BLOCK, &signals, &before);
    main_ = fork();
    if (main_ == 0) {
      if (ignore_children) signal(SIGCHLD, SIG_IGN);
      const auto exit = BecomeMainProcess();
      if (exit.ok() && !exit->has_value()) {
        run(write_.get());
        _exit(0);
      }
      dprintf(write_.get(), "exit %d.", exit.ok() ? **exit : -1);
      _exit(0);
    }
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    write_.Reset();
    ASSERT_GT(main_, 0);
  }
  // Up to the next '.', or to the end of both processes.
  std::string Report() {
    std::string report;
    char next = 0;
    while (read(read_.get(), &next, 1) == 1 && next != '.') report += next;
    return report;
  }

  pid_t main_ = 0;

 private:
  UniqueFd read_;
  UniqueFd write_;
};

TEST_F(MainProcessTest, HasTheDaemonsExitCode) {
  Start([](int) { _exit(2); });
  EXPECT_EQ(Report(), "exit 2");
}

TEST_F(MainProcessTest, SaysWhichSignalEndedTheDaemon) {
  Start([](int) { raise(SIGKILL); });
  EXPECT_EQ(Report(), absl::StrCat("exit ", 128 + SIGKILL));
}

TEST_F(MainProcessTest, MissesNoEndWhereChildrensEndsWereIgnored) {
  Start([](int) { _exit(2); }, /*ignore_children=*/true);
  EXPECT_EQ(Report(), "exit 2");
}

TEST_F(MainProcessTest, PassesSignalsOn) {
  Start([](int report) { ReportSignals(report); });
  kill(main_, SIGHUP);
  EXPECT_EQ(Report(), absl::StrCat("signal ", SIGHUP));
  kill(main_, SIGTERM);
  EXPECT_EQ(Report(), absl::StrCat("signal ", SIGTERM));
  EXPECT_EQ(Report(), "exit 0");
}

// systemd takes messages from a unit's main process alone, unless NotifyAccess= says otherwise.
TEST_F(MainProcessTest, NotifiesTheServiceManager) {
  const TestDir dir;
  const std::string path = dir.root().PathOf("notify");
  const sockaddr_un address = UnixAddress(path);
  const UniqueFd manager(socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  ASSERT_EQ(bind(manager.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
  const int on = 1;
  ASSERT_EQ(setsockopt(manager.get(), SOL_SOCKET, SO_PASSCRED, &on, sizeof(on)), 0);
  setenv("NOTIFY_SOCKET", path.c_str(), 1);
  Start([](int report) {
    dprintf(report, "%d.", NotifyByMainProcess("READY=1").ok());
    dprintf(report, "%d.", NotifyByMainProcess("STOPPING=1").ok());
    _exit(3);
  });
  unsetenv("NOTIFY_SOCKET");
  EXPECT_EQ(Report(), "1");
  EXPECT_EQ(Report(), "1");
  EXPECT_EQ(Report(), "exit 3");
  for (const char* state : {"READY=1", "STOPPING=1"}) {
    char text[100] = "";
    iovec part = {text, sizeof(text) - 1};
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof(ucred))];
    msghdr message = {};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = control;
    message.msg_controllen = sizeof(control);
    ASSERT_GT(recvmsg(manager.get(), &message, MSG_DONTWAIT), 0);
    EXPECT_STREQ(text, state);
    ucred sender = {};
    ASSERT_NE(CMSG_FIRSTHDR(&message), nullptr);
    std::memcpy(&sender, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof(sender));
    EXPECT_EQ(sender.pid, main_);
  }
}

// A service manager that is busy, or has stopped, reads nothing.
TEST_F(MainProcessTest, PassesSignalsOnWhileNobodyReadsItsNotices) {
  const TestDir dir;
  const std::string path = dir.root().PathOf("notify");
  const sockaddr_un address = UnixAddress(path);
  const auto* const name = reinterpret_cast<const sockaddr*>(&address);
  const UniqueFd manager(socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  ASSERT_EQ(bind(manager.get(), name, sizeof(address)), 0);
  const UniqueFd other(socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  while (sendto(other.get(), "x", 1, MSG_DONTWAIT, name, sizeof(address)) == 1) {
  }
  setenv("NOTIFY_SOCKET", path.c_str(), 1);
  Start([](int report) {
    NotifyByMainProcess("READY=1").IgnoreError();
    ReportSignals(report);
  });
  unsetenv("NOTIFY_SOCKET");
  kill(main_, SIGHUP);
  EXPECT_EQ(Report(), absl::StrCat("signal ", SIGHUP));
  // Nothing is lost.
  char text[100] = "x";
  const timeval patience = {.tv_sec = 20, .tv_usec = 0};
  setsockopt(manager.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
  ssize_t length = 1;
  while (length > 0 && text[0] == 'x') length = recv(manager.get(), text, sizeof(text), 0);
  EXPECT_EQ(std::string(text, static_cast<size_t>(length > 0 ? length : 0)), "READY=1");
  kill(main_, SIGTERM);
  EXPECT_EQ(Report(), absl::StrCat("signal ", SIGTERM));
  EXPECT_EQ(Report(), "exit 0");
}

TEST_F(MainProcessTest, OutlivesTheReaderOfItsErrors) {
  int ends[2];
  ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
  close(ends[0]);
  const UniqueFd standard_error(fcntl(2, F_DUPFD_CLOEXEC, 3));
  dup2(ends[1], 2);
  close(ends[1]);
  const auto before = signal(SIGPIPE, SIG_DFL);
  setenv("NOTIFY_SOCKET", "/nonexistent/notify", 1);
  Start([](int report) {
    NotifyByMainProcess("READY=1").IgnoreError();  // the main process has an error to print
    ReportSignals(report);
  });
  unsetenv("NOTIFY_SOCKET");
  signal(SIGPIPE, before);
  dup2(standard_error.get(), 2);
  kill(main_, SIGTERM);
  EXPECT_EQ(Report(), absl::StrCat("signal ", SIGTERM));
  EXPECT_EQ(Report(), "exit 0");
}

TEST_F(MainProcessTest, EndsBeforeADaemonThatGoesOn) {
  Start([](int report) {
    const pid_t parent = getppid();
    EndMainProcess();
    while (getppid() == parent) usleep(1000);
    dprintf(report, "goes on.");
  });
  EXPECT_EQ(Report(), "exit 0");
  EXPECT_EQ(Report(), "goes on");
}

TEST_F(MainProcessTest, TakesTheDaemonAlongIfItIsKilled) {
  Start([](int report) {
    dprintf(report, "here.");
    while (true) pause();
  });
  EXPECT_EQ(Report(), "here");
  kill(main_, SIGKILL);
  EXPECT_EQ(Report(), "") << "the end of the pipe";
}

}  // namespace
}  // namespace plimsoll::daemon
