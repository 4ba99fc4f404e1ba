// Open streams and a restart of the daemon, as at a package's upgrade.
#include <signal.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "harness/kernel.h"
#include "harness/own_mark.h"
#include "harness/stream_status.h"
#include "harness/streaming_node.h"

namespace plimsoll::testing {
namespace {

using ::testing::HasSubstr;

class StreamingRestartTest : public StreamingNodeTest {
 protected:
  explicit StreamingRestartTest(const std::string& extra_config = "")
      : StreamingNodeTest(extra_config) {
    node_.KeepStreams();
  }
  void TearDown() override {
    if (IsSkipped()) return;
    EXPECT_TRUE(Eventually([&] { return Stopped().empty(); })) << "left behind";
    NodeTest::TearDown();
  }

  void Restart() {
    StopDaemon();
    const absl::Status started = node_.StartDaemon();
    ASSERT_TRUE(started.ok()) << started << "\n" << node_.Log();
  }
  void StopDaemon() {
    const auto exit = node_.StopDaemon();
    ASSERT_TRUE(exit.ok()) << exit.status() << "\n" << node_.Log();
    EXPECT_TRUE(exit->success()) << exit->ToString() << "\n" << node_.Log();
  }
  // Processes of stopped daemons that still carry streams.
  std::vector<std::string> Stopped() {
    std::vector<std::string> found;
    for (const std::string& pid : ProcessesWith(node_.config_path() + " ")) {
      const bool has_ended = ParentOf(std::stoi(pid)) == 0;  // by now
      if (!has_ended && !IsOfCurrent(std::stoi(pid))) found.push_back(pid);
    }
    return found;
  }
  // Children that the daemon has forked, and that are not yet another program, included.
  bool IsOfCurrent(pid_t pid) {
    for (; node_.daemon_runs() && pid > 1; pid = ParentOf(pid)) {
      if (pid == node_.daemon_pid()) return true;
    }
    return false;
  }
  static pid_t ParentOf(pid_t pid) {
    const auto status = Host().Read(absl::StrCat("proc/", pid, "/status")).value_or("");
    const size_t at = status.find("PPid:");
    return at == std::string::npos ? 0 : std::stoi(status.substr(at + 5));
  }
  // A command with input over a WebSocket that has answered once.
  std::unique_ptr<WebSocketClient> StartCat(const std::string& container,
                                            const std::string& end = "exit 3") {
    auto client = Connect(ExecUrl(container, "cat; " + end, true));
    if (client == nullptr) return nullptr;
    EXPECT_TRUE(client->Send(0, "before\n").ok());
    EXPECT_TRUE(client->ReadUntil([&] { return client->received[1] == "before\n"; }).ok());
    return client;
  }
};

// The container's commands enter by plimsoll-exec or by the OCI runtime.
class ExecRestartTest : public StreamingRestartTest,
                        public ::testing::WithParamInterface<const char*> {
 protected:
  ExecRestartTest() : StreamingRestartTest(absl::StrCat("exec: ", GetParam(), "\n")) {}
};

TEST_P(ExecRestartTest, CommandsGoOnAndTellTheirExitCode) {
  const std::string container = Start(RunPod(), Shell("sleep 1000"));
  auto websocket = StartCat(container);
  ASSERT_NE(websocket, nullptr);
  const auto spdy = ConnectSpdy(
      ExecUrl(container, "tty; read go; busybox stty size; cat; exit 4", true, /*terminal=*/true));
  ASSERT_NE(spdy, nullptr);
  const auto error = spdy->Open({{"streamtype", "error"}});
  const auto in = spdy->Open({{"streamtype", "stdin"}});
  const auto out = spdy->Open({{"streamtype", "stdout"}});
  const auto size = spdy->Open({{"streamtype", "resize"}});
  ASSERT_TRUE(error.ok() && in.ok() && out.ok() && size.ok());
  const auto says = [&](const char* text) {
    return spdy->ReadUntil([&] { return absl::StrContains(spdy->received[*out], text); });
  };
  ASSERT_TRUE(says("/dev/pts/").ok());

  StopDaemon();
  EXPECT_TRUE(Eventually([&] { return Stopped().size() == 1; }));
  ASSERT_TRUE(websocket->Send(0, "across\n").ok());
  ASSERT_TRUE(
      websocket->ReadUntil([&] { return websocket->received[1] == "before\nacross\n"; }).ok());
  const absl::Status started = node_.StartDaemon();
  ASSERT_TRUE(started.ok()) << started << "\n" << node_.Log();
  // The new daemon serves, and has ended no command.
  EXPECT_EQ(ExecOutput(container, "echo new"), "new\n");
  EXPECT_EQ(StreamedOutput(container, "echo streamed"), "streamed\n");
  ASSERT_TRUE(spdy->Send(*size, "{\"Width\":101,\"Height\":37}").ok());
  ASSERT_TRUE(spdy->Send(*in, "\n").ok());
  ASSERT_TRUE(says("37 101").ok()) << spdy->received[*out];
  ASSERT_TRUE(spdy->Send(*in, "typed\n\4").ok());
  ASSERT_TRUE(spdy->ReadToEnd().ok());
  EXPECT_THAT(spdy->received[*out], HasSubstr("typed"));
  EXPECT_EQ(ExitCodeOf(spdy->received[*error]), 4) << spdy->received[*error];
  ASSERT_TRUE(websocket->Send(0, "after\n").ok());
  ASSERT_TRUE(websocket->CloseChannel(0).ok());
  ASSERT_TRUE(websocket->ReadToEnd().ok());
  EXPECT_EQ(websocket->received[1], "before\nacross\nafter\n");
  EXPECT_EQ(ExitCodeOf(websocket->received[3]), 3) << websocket->received[3];
}

INSTANTIATE_TEST_SUITE_P(Entries, ExecRestartTest, ::testing::Values("direct", "crun"));

TEST_F(StreamingRestartTest, EachRestartLeavesItsOwnStreams) {
  const std::string container = Start(RunPod(), Shell("sleep 1000"));
  std::vector<std::unique_ptr<WebSocketClient>> clients;
  for (int i = 0; i < 2; ++i) {
    clients.push_back(StartCat(container, absl::StrCat("exit ", 5 + i)));
    ASSERT_NE(clients.back(), nullptr);
    Restart();
  }
  EXPECT_TRUE(Eventually([&] { return Stopped().size() == 2; }));
  for (int i = 0; i < 2; ++i) {
    ASSERT_TRUE(clients[i]->CloseChannel(0).ok());
    ASSERT_TRUE(clients[i]->ReadToEnd().ok());
    EXPECT_EQ(ExitCodeOf(clients[i]->received[3]), 5 + i);
    EXPECT_TRUE(Eventually([&] { return Stopped().size() == 1u - i; }));
  }
}

TEST_F(StreamingRestartTest, ACommandEndsWithItsClientAndWithItsPod) {
  const std::string pod = RunPod();
  const std::string container = Start(pod, Shell("sleep 1000"));
  const std::string sleep = "sleep " + OwnMark(1);
  auto gone = Connect(ExecUrl(container, "echo here; " + sleep + "; :", true));
  ASSERT_NE(gone, nullptr);
  ASSERT_TRUE(gone->ReadUntil([&] { return gone->received[1] == "here\n"; }).ok());
  auto client = StartCat(container);
  ASSERT_NE(client, nullptr);
  Restart();
  EXPECT_FALSE(ProcessesWith(sleep).empty());
  gone.reset();
  EXPECT_TRUE(Eventually([&] { return ProcessesWith(sleep).empty(); }));
  ASSERT_TRUE(StopPod(pod).ok());
  ASSERT_TRUE(RemovePod(pod).ok());
  ASSERT_TRUE(client->ReadToEnd().ok());
  EXPECT_NE(ExitCodeOf(client->received[3]), 0) << client->received[3];
}

TEST_F(StreamingRestartTest, AStopOfTheProcessLeftBehindEndsItsStreams) {
  const std::string container = Start(RunPod(), Shell("sleep 1000"));
  const std::string sleep = "sleep " + OwnMark(2);
  auto client = Connect(ExecUrl(container, "echo here; " + sleep + "; :", true));
  ASSERT_NE(client, nullptr);
  ASSERT_TRUE(client->ReadUntil([&] { return client->received[1] == "here\n"; }).ok());
  Restart();
  std::vector<std::string> stopped;
  ASSERT_TRUE(Eventually([&] {
    stopped = Stopped();
    return stopped.size() == 1;
  }));
  ASSERT_EQ(kill(std::stoi(stopped[0]), SIGTERM), 0);
  EXPECT_TRUE(client->ReadToEnd().ok());
  EXPECT_TRUE(Eventually([&] { return ProcessesWith(sleep).empty(); }));
}

// The main process is what a service manager kills.
TEST_F(StreamingRestartTest, AKillLeavesNoStream) {
  const std::string container = Start(RunPod(), Shell("sleep 1000"));
  const std::string sleep = "sleep " + OwnMark(3);
  auto client = Connect(ExecUrl(container, "echo here; " + sleep + "; :", true));
  ASSERT_NE(client, nullptr);
  ASSERT_TRUE(client->ReadUntil([&] { return client->received[1] == "here\n"; }).ok());
  node_.KillDaemon();
  EXPECT_TRUE(client->ReadToEnd().ok());
  EXPECT_TRUE(Eventually([&] { return Stopped().empty(); }));
  ASSERT_TRUE(node_.StartDaemon().ok());
  EXPECT_TRUE(Eventually([&] { return ProcessesWith(sleep).empty(); }));
}

TEST_F(StreamingRestartTest, WithoutStreamsNothingIsLeftBehind) {
  const std::string container = Start(RunPod(), Shell("sleep 1000"));
  StopDaemon();
  EXPECT_TRUE(Stopped().empty());
  ASSERT_TRUE(node_.StartDaemon().ok());
  EXPECT_EQ(Status(container).state(), cri::CONTAINER_RUNNING);
}

TEST_F(StreamingRestartTest, AttachedClientsStayAttached) {
  cri::ContainerConfig config = Shell("while read line; do echo \"got $line\"; done");
  config.set_stdin(true);
  const std::string pod = RunPod();
  const std::string container = Start(pod, config);
  auto client = Connect(AttachUrl(container, true));
  ASSERT_NE(client, nullptr);
  ASSERT_TRUE(client->Send(0, "1\n").ok());
  ASSERT_TRUE(client->ReadUntil([&] { return client->received[1] == "got 1\n"; }).ok());
  Restart();
  ASSERT_TRUE(client->Send(0, "2\n").ok());
  ASSERT_TRUE(client->ReadUntil([&] { return client->received[1] == "got 1\ngot 2\n"; }).ok());
  EXPECT_TRUE(StopContainer(container, 0).ok());
  ASSERT_TRUE(client->ReadToEnd().ok());
  EXPECT_EQ(ExitCodeOf(client->received[3]), 0) << client->received[3];
}

TEST_F(StreamingRestartTest, ForwardedConnectionsGoOnAndNewOnesAreRefused) {
  const std::string pod = RunPod();
  Start(pod, Shell("exec busybox nc -ll -p 8080 -e cat"));
  const auto client = ConnectSpdy(PortUrl(pod), "portforward.k8s.io");
  ASSERT_NE(client, nullptr);
  int request = 0;
  uint32_t data = 0;
  uint32_t error = 0;
  const auto open = [&] {
    const SpdyClient::Headers id = {{"port", "8080"}, {"requestid", absl::StrCat(request++)}};
    SpdyClient::Headers headers = id;
    headers.emplace_back("streamtype", "error");
    error = client->Open(headers).value_or(0);
    headers = id;
    headers.emplace_back("streamtype", "data");
    data = client->Open(headers).value_or(0);
  };
  // Tries until the server is up.
  ASSERT_TRUE(Eventually([&] {
    open();
    EXPECT_TRUE(client->Send(data, "before ").ok());
    EXPECT_TRUE(client
                    ->ReadUntil([&] {
                      return client->received[data] == "before " || client->ended.contains(error);
                    })
                    .ok());
    return client->received[data] == "before ";
  }));
  Restart();
  ASSERT_TRUE(client->Send(data, "after").ok());
  const uint32_t old = data;
  EXPECT_TRUE(client->ReadUntil([&] { return client->received[old] == "before after"; }).ok());
  open();
  EXPECT_TRUE(client->ReadUntil([&] { return client->ended.contains(error); }).ok());
  EXPECT_THAT(client->received[error], HasSubstr("restarted"));
  // With its last connection the session ends, so that the client asks the new daemon.
  EXPECT_TRUE(client->Send(old, "", /*last=*/true).ok());
  EXPECT_TRUE(client->ReadToEnd().ok());
}

TEST_F(StreamingRestartTest, AForwardWithoutAConnectionEnds) {
  const std::string pod = RunPod();
  Start(pod, Shell("sleep 1000"));
  const auto client = ConnectSpdy(PortUrl(pod), "portforward.k8s.io");
  ASSERT_NE(client, nullptr);
  Restart();
  EXPECT_TRUE(client->ReadToEnd().ok());
  EXPECT_TRUE(Eventually([&] { return Stopped().empty(); }));
}

}  // namespace
}  // namespace plimsoll::testing
