// exec with input and terminals, attach and port-forward, as people use them.
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <termios.h>
#include <unistd.h>

#include <csignal>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/programs/subprocess.h"
#include "harness/kernel.h"
#include "harness/node.h"

namespace plimsoll::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class CliStreamsTest : public NodeTest {
 protected:
  Command PlimsollCommand(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), {ProgramPath("plimsoll"), "--address", node_.address()});
    return {.argv = std::move(arguments)};
  }
  RunResult Plimsoll(std::vector<std::string> arguments, const std::string& input = "") {
    auto result = RunProgram(PlimsollCommand(std::move(arguments)),
                             {.timeout = Patience(absl::Seconds(60)), .input = input});
    EXPECT_TRUE(result.ok()) << result.status();
    return result.ok() ? *result : RunResult{.exit = {.code = -1}};
  }
  // Reads until `text` has come; returns everything read.
  static std::string ReadUntil(int fd, const std::string& text) {
    std::string all;
    const absl::Time end = absl::Now() + Patience(absl::Seconds(30));
    while (!absl::StrContains(all, text) && absl::Now() < end) {
      pollfd look = {fd, POLLIN, 0};
      if (poll(&look, 1, 100) <= 0) continue;
      char buffer[4096];
      const ssize_t n = read(fd, buffer, sizeof(buffer));
      if (n <= 0) break;
      all.append(buffer, static_cast<size_t>(n));
    }
    return all;
  }
};

TEST_F(CliStreamsTest, ExecTakesInputAndGivesOutputAndExitCode) {
  const std::string container = Start(RunPod(), Shell("sleep 1000"));
  const RunResult result =
      Plimsoll({"exec", "-i", container, "--", "sh", "-c", "cat; echo err >&2; exit 5"}, "hello\n");
  EXPECT_EQ(result.out, "hello\n");
  EXPECT_EQ(result.err, "err\n");
  EXPECT_EQ(result.exit.code, 5);
  const RunResult terminal = Plimsoll({"exec", "-t", container, "--", "tty"});
  EXPECT_THAT(terminal.out, HasSubstr("/dev/pts/"));
  EXPECT_EQ(terminal.exit.code, 0);
}

// A terminal on which programs of its own run.
struct Terminal {
  UniqueFd master;
  UniqueFd slave;

  bool Open() {
    master.Reset(posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC));
    char name[64];
    if (!master.valid() || grantpt(master.get()) != 0 || unlockpt(master.get()) != 0 ||
        ptsname_r(master.get(), name, sizeof(name)) != 0) {
      return false;
    }
    slave.Reset(open(name, O_RDWR | O_NOCTTY | O_CLOEXEC));
    winsize size = {};
    size.ws_col = 93;
    size.ws_row = 31;
    return slave.valid() && ioctl(master.get(), TIOCSWINSZ, &size) == 0;
  }
  bool IsRaw() const {
    termios now = {};
    return tcgetattr(slave.get(), &now) == 0 && (now.c_lflag & ICANON) == 0;
  }
  absl::StatusOr<Child> Run(Command command) const {
    command.descriptors = {{slave.get(), 0}, {slave.get(), 1}, {slave.get(), 2}};
    return Spawn(command);
  }
};

TEST_F(CliStreamsTest, ExecOnATerminalIsAsIfItWereThere) {
  const std::string container = Start(RunPod(), Shell("sleep 1000"));
  Terminal terminal;
  ASSERT_TRUE(terminal.Open());
  Command command = PlimsollCommand({"exec", "-it", container, "--", "sh", "-c",
                                     "echo ready; read x; busybox stty size; exit 6"});
  auto child = terminal.Run(command);
  ASSERT_TRUE(child.ok()) << child.status();
  EXPECT_THAT(ReadUntil(terminal.master.get(), "ready"), HasSubstr("ready"));
  ASSERT_EQ(write(terminal.master.get(), "x\r", 2), 2);
  EXPECT_THAT(ReadUntil(terminal.master.get(), "31 93"), HasSubstr("31 93"));
  const auto exit = child->Wait(absl::Now() + Patience(absl::Seconds(30)));
  ASSERT_TRUE(exit.ok()) << exit.status();
  EXPECT_EQ(exit->code, 6);
}

TEST_F(CliStreamsTest, ASignalLeavesTheTerminalAsItWas) {
  const std::string container = Start(RunPod(), Shell("sleep 1000"));
  for (const int signal : {SIGINT, SIGQUIT, SIGTERM}) {
    Terminal terminal;
    ASSERT_TRUE(terminal.Open());
    auto child = terminal.Run(
        PlimsollCommand({"exec", "-it", container, "--", "sh", "-c", "echo ready; read x"}));
    ASSERT_TRUE(child.ok()) << child.status();
    EXPECT_THAT(ReadUntil(terminal.master.get(), "ready"), HasSubstr("ready"));
    EXPECT_TRUE(terminal.IsRaw());
    ASSERT_TRUE(child->Signal(signal).ok());
    const auto exit = child->Wait(absl::Now() + Patience(absl::Seconds(30)));
    ASSERT_TRUE(exit.ok()) << exit.status();
    EXPECT_EQ(exit->code, 128 + signal);
    EXPECT_EQ(exit->signal, 0);
    EXPECT_FALSE(terminal.IsRaw());
    terminal.slave.Reset();
    EXPECT_THAT(ReadUntil(terminal.master.get(), "plimsoll:"), Not(HasSubstr("plimsoll:")));
  }
}

TEST_F(CliStreamsTest, OutputThatNobodyReadsEndsItInSilence) {
  const std::string container = Start(RunPod(), Shell("sleep 1000"));
  int output[2];
  int errors[2];
  ASSERT_TRUE(pipe2(output, O_CLOEXEC) == 0 && pipe2(errors, O_CLOEXEC) == 0);
  UniqueFd reader(output[0]);
  UniqueFd writer(output[1]);
  const UniqueFd error_reader(errors[0]);
  UniqueFd error_writer(errors[1]);
  Command command =
      PlimsollCommand({"exec", "-i", container, "--", "sh", "-c", "while echo y; do :; done"});
  command.descriptors = {{writer.get(), 1}, {error_writer.get(), 2}};
  auto child = Spawn(command);
  ASSERT_TRUE(child.ok()) << child.status();
  writer.Reset();
  error_writer.Reset();
  EXPECT_THAT(ReadUntil(reader.get(), "y\n"), HasSubstr("y\n"));
  reader.Reset();
  const auto exit = child->Wait(absl::Now() + Patience(absl::Seconds(30)));
  ASSERT_TRUE(exit.ok()) << exit.status();
  EXPECT_EQ(exit->code, 128 + SIGPIPE);
  char said[256];
  EXPECT_EQ(read(error_reader.get(), said, sizeof(said)), 0);
}

TEST_F(CliStreamsTest, AttachCarriesAContainersStreamsUntilItEnds) {
  cri::ContainerConfig config = Shell("while read line; do echo \"got $line\"; done; echo end");
  config.set_stdin(true);
  config.set_stdin_once(true);
  const std::string container = Start(RunPod(), config);
  const RunResult result = Plimsoll({"attach", container}, "one\ntwo\n");
  EXPECT_EQ(result.out, "got one\ngot two\nend\n");
  EXPECT_EQ(result.exit.code, 0) << result.err;
}

TEST_F(CliStreamsTest, KeysLeaveATerminalAndTheContainerAlone) {
  cri::ContainerConfig config = Shell("while read line; do echo \"got $line\"; done; exit 1");
  config.set_stdin(true);
  config.set_tty(true);
  const std::string container = Start(RunPod(), config);
  for (const bool own_keys : {false, true}) {
    Terminal terminal;
    ASSERT_TRUE(terminal.Open());
    std::vector<std::string> words = {"attach", container};
    if (own_keys) words.insert(words.end(), {"--detach-keys", "ctrl-],q"});
    auto child = terminal.Run(PlimsollCommand(words));
    ASSERT_TRUE(child.ok()) << child.status();
    ASSERT_TRUE(Eventually([&] { return terminal.IsRaw(); }));
    ASSERT_EQ(write(terminal.master.get(), "abc\r", 4), 4);
    EXPECT_THAT(ReadUntil(terminal.master.get(), "got abc"), HasSubstr("got abc"));
    ASSERT_EQ(write(terminal.master.get(), own_keys ? "\x1dq" : "\x10\x11", 2), 2);
    const auto exit = child->Wait(absl::Now() + Patience(absl::Seconds(30)));
    ASSERT_TRUE(exit.ok()) << exit.status();
    EXPECT_EQ(exit->code, 0);
    EXPECT_FALSE(terminal.IsRaw());
    EXPECT_EQ(Status(container).state(), cri::CONTAINER_RUNNING);
  }
}

TEST_F(CliStreamsTest, PortsAreForwardedUntilCtrlC) {
  const std::string pod = RunPod();
  Start(pod, Shell("mkdir /www; echo hello > /www/page; "
                   "exec busybox httpd -f -h /www -p 127.0.0.1:8080"));
  int fds[2];
  ASSERT_EQ(pipe2(fds, O_CLOEXEC), 0);
  const UniqueFd reader(fds[0]);
  UniqueFd writer(fds[1]);
  Command command = PlimsollCommand({"port-forward", pod, ":8080"});
  command.descriptors = {{writer.get(), 1}};
  auto child = Spawn(command);
  ASSERT_TRUE(child.ok()) << child.status();
  writer.Reset();
  const std::string said = ReadUntil(reader.get(), "\n");
  const size_t colon = said.find("127.0.0.1:");
  ASSERT_NE(colon, std::string::npos) << said;
  const int port = atoi(said.c_str() + colon + 10);
  ASSERT_GT(port, 0) << said;
  std::string page;
  EXPECT_TRUE(Eventually([&] {
    const UniqueFd client(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(static_cast<uint16_t>(port));
    if (connect(client.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)) != 0) {
      return false;
    }
    const std::string request = "GET /page HTTP/1.0\r\n\r\n";
    if (send(client.get(), request.data(), request.size(), MSG_NOSIGNAL) < 0) return false;
    // A client that stops sending still gets the answer.
    if (shutdown(client.get(), SHUT_WR) != 0) return false;
    page = ReadUntil(client.get(), "hello");
    return absl::StrContains(page, "hello");
  })) << page;
  ASSERT_TRUE(child->Signal(SIGINT).ok());
  const auto exit = child->Wait(absl::Now() + Patience(absl::Seconds(30)));
  ASSERT_TRUE(exit.ok()) << exit.status();
  EXPECT_EQ(exit->code, 0);
}

TEST_F(CliStreamsTest, NoPortsAreForwardedToAStoppedPod) {
  const std::string pod = RunPod();
  ASSERT_TRUE(StopPod(pod).ok());
  const RunResult result = Plimsoll({"port-forward", pod, ":8080"});
  EXPECT_EQ(result.exit.code, 1);
  EXPECT_EQ(result.out, "");
  EXPECT_THAT(result.err, HasSubstr("is stopped"));
}

}  // namespace
}  // namespace plimsoll::testing
