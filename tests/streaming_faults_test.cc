// Clients that break the protocol or leave in the middle of a stream, and a monitor that dies
// during one: the daemon keeps nothing of them, and serves the next.
#include <signal.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/loopback_listener_for_test.h"
#include "harness/kernel.h"
#include "harness/leftovers.h"
#include "harness/own_mark.h"
#include "harness/stream_status.h"
#include "harness/streaming_node.h"

namespace plimsoll::testing {
namespace {

using ::testing::AnyOf;
using ::testing::IsEmpty;

enum class Way { kSpdy, kWebSocket, kTunnel };  // the last of port-forward alone

// A client in the middle of a stream, over any of the protocols.
struct Client {
  std::unique_ptr<SpdyClient> spdy;
  std::unique_ptr<WebSocketClient> websocket;
  // Streams, or channels.
  uint32_t in = 0;
  uint32_t out = 0;
  uint32_t error = 0;

  bool connected() const { return spdy != nullptr || websocket != nullptr; }
  absl::Status Send(const std::string& data) const {
    return spdy != nullptr ? spdy->Send(in, data) : websocket->Send(static_cast<int>(in), data);
  }
  // Raw bytes on the connection; in a tunnel, a message.
  absl::Status SendRaw(const std::string& bytes) const {
    return spdy != nullptr ? spdy->SendBytes(bytes) : websocket->connection().Write(bytes);
  }
  const std::string& Received(uint32_t from) const {
    return spdy != nullptr ? spdy->received[from] : websocket->received[static_cast<int>(from)];
  }
  void ExpectOutput(const std::string& text) const {
    // Each part is searched once: output for a client that reads slowly is dropped.
    size_t searched = 0;
    bool found = false;
    const auto has_come = [&] {
      const std::string& all = Received(out);
      found = found || all.find(text, searched) != std::string::npos;
      searched = all.size() - std::min(all.size(), text.size());
      return found;
    };
    const absl::Status read =
        spdy != nullptr ? spdy->ReadUntil(has_come) : websocket->ReadUntil(has_come);
    EXPECT_TRUE(read.ok()) << read;
    EXPECT_TRUE(has_come()) << text;
  }
  void ExpectEnd() const {
    const absl::Status read = spdy != nullptr ? spdy->ReadToEnd() : websocket->ReadToEnd();
    EXPECT_TRUE(read.ok()) << read;
  }
};

// Frames that end a SPDY/3.1 session.
std::vector<std::string> SpdyGarbage() {
  using namespace std::string_literals;
  return {std::string(4096, '\xff'),
          "\x80\x02\x00\x06\x00\x00\x00\x04\x00\x00\x00\x01"s,  // PING of SPDY/2
          "\x00\x00\x7f\xff\x00\x00\x00\x04"s + "data",         // data for a stream that was never
                                                                // opened
          "\x80\x03\x00\x01\x00\x00\x00\x20\x00\x00\x7f\xff\x00\x00\x00\x00\x00\x00"s +
              std::string(22, '\xff')};  // SYN_STREAM whose headers aren't zlib's
}

// For WebSockets (RFC 6455, sections 5.1 to 5.5).
std::vector<std::string> WebSocketGarbage() {
  using namespace std::string_literals;
  return {std::string(4096, '\xff'),
          "\x82\x05hello"s,                                              // not masked
          "\x83\x80\x12\x34\x56\x78"s,                                   // no such opcode
          "\x80\x80\x12\x34\x56\x78"s,                                   // continues no message
          "\x82\xff\x00\x00\x00\x7f\x00\x00\x00\x00\x12\x34\x56\x78"s};  // of 508 GiB
}

class StreamingFaultsTest : public StreamingNodeTest {
 protected:
  void SetUp() override {
    StreamingNodeTest::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    pod_ = RunPodOfTheHost();
    cri::ContainerConfig config = Shell("while read line; do echo \"got $line\"; done");
    config.set_stdin(true);
    container_ = Start(pod_, config);
    scope_ = {.directories = {node_.run_directory()},
              .cgroup = node_.cgroup_parent(),
              .holder = node_.daemon_pid()};
    ExpectServed();
    // Remains of the clients just served may still be going. If that takes longer than this, less
    // is found below, but never anything that doesn't exist.
    before_ = TakeInventory(scope_);
    EXPECT_TRUE(Eventually([this] {
      absl::SleepFor(absl::Milliseconds(500));
      const Inventory earlier = std::exchange(before_, TakeInventory(scope_));
      return earlier == before_;
    }));
  }
  void TearDown() override {
    if (!IsSkipped() && node_.daemon_runs()) {
      ExpectServed();
      EXPECT_THAT(AwaitNothingLeft(scope_, before_, absl::Seconds(30)), IsEmpty());
    }
    StreamingNodeTest::TearDown();
  }

  static Client OpenCommand(const std::string& url, Way way) {
    Client client;
    if (way == Way::kWebSocket) {
      client.websocket = Connect(url);
      client.out = 1;
      client.error = 3;
      return client;
    }
    client.spdy = ConnectSpdy(url);
    if (client.spdy == nullptr) return client;
    client.error = OpenStream(*client.spdy, {{"streamtype", "error"}});
    client.in = OpenStream(*client.spdy, {{"streamtype", "stdin"}});
    client.out = OpenStream(*client.spdy, {{"streamtype", "stdout"}});
    OpenStream(*client.spdy, {{"streamtype", "stderr"}});
    return client;
  }
  Client OpenExec(const std::string& container, const std::string& script, Way way) {
    return OpenCommand(ExecUrl(container, script, /*input=*/true), way);
  }
  Client OpenAttach(Way way) { return OpenCommand(AttachUrl(container_, /*input=*/true), way); }
  Client OpenPort(uint16_t port, Way way) {
    Client client;
    if (way == Way::kWebSocket) {
      client.websocket = Connect(PortUrl(pod_, {port}), "v4.channel.k8s.io");
      client.error = 1;
      return client;
    }
    if (way == Way::kTunnel) {
      auto tunnel = SpdyClient::ConnectByTunnel(PortUrl(pod_));
      EXPECT_TRUE(tunnel.ok()) << tunnel.status();
      if (tunnel.ok()) client.spdy = *std::move(tunnel);
    } else {
      client.spdy = ConnectSpdy(PortUrl(pod_), "portforward.k8s.io");
    }
    if (client.spdy == nullptr) return client;
    const std::string number = absl::StrCat(port);
    client.error =
        OpenStream(*client.spdy, {{"port", number}, {"requestid", "0"}, {"streamtype", "error"}});
    client.in = client.out =
        OpenStream(*client.spdy, {{"port", number}, {"requestid", "0"}, {"streamtype", "data"}});
    return client;
  }
  static uint32_t OpenStream(SpdyClient& client, const SpdyClient::Headers& headers) {
    const auto stream = client.Open(headers);
    EXPECT_TRUE(stream.ok()) << stream.status();
    return stream.value_or(0);
  }

  // Every kind of stream is still served.
  void ExpectServed() {
    EXPECT_EQ(StreamedOutput(container_, "echo fine"), "fine\n");
    const Client attached = OpenAttach(Way::kWebSocket);
    ASSERT_TRUE(attached.connected());
    // An earlier client may have left part of a line.
    EXPECT_TRUE(attached.Send("\nagain\n").ok());
    attached.ExpectOutput("got again\n");
    const LoopbackListener listener(AF_INET);
    const Client forwarded = OpenPort(listener.port(), Way::kSpdy);
    ASSERT_TRUE(forwarded.connected());
    const UniqueFd target = listener.Accept(Patience(absl::Seconds(30)));
    EXPECT_TRUE(forwarded.Send("ping").ok());
    char bytes[16];
    EXPECT_GT(recv(target.get(), bytes, sizeof(bytes), 0), 0);
    EXPECT_EQ(send(target.get(), "pong", 4, MSG_NOSIGNAL), 4);
    forwarded.ExpectOutput("pong");
  }
  // Reads everything up to the end.
  static void ExpectEndOf(const UniqueFd& target) {
    char bytes[4096];
    ssize_t n = 0;
    do {
      n = recv(target.get(), bytes, sizeof(bytes), 0);
    } while (n > 0);
    if (n < 0) {
      EXPECT_EQ(errno, ECONNRESET);
    }
  }
  static std::vector<std::string> GarbageOf(Way way) {
    return way == Way::kWebSocket ? WebSocketGarbage() : SpdyGarbage();
  }

  std::string pod_;
  std::string container_;  // echoes its input
  InventoryScope scope_;
  Inventory before_;
};

TEST_F(StreamingFaultsTest, GarbageEndsAnExecAndItsCommand) {
  const std::string sleep = "sleep " + OwnMark(1);
  for (const Way way : {Way::kSpdy, Way::kWebSocket}) {
    for (const std::string& garbage : GarbageOf(way)) {
      SCOPED_TRACE(absl::StrCat(way == Way::kSpdy ? "SPDY " : "WebSocket ", garbage.size()));
      const Client client = OpenExec(container_, "echo here; " + sleep + "; :", way);
      ASSERT_TRUE(client.connected());
      client.ExpectOutput("here\n");
      EXPECT_TRUE(client.SendRaw(garbage).ok());
      client.ExpectEnd();
      EXPECT_TRUE(Eventually([&] { return ProcessesWith(sleep).empty(); }));
    }
  }
}

TEST_F(StreamingFaultsTest, GarbageEndsAnAttachAndNotTheContainer) {
  const Client other = OpenAttach(Way::kWebSocket);
  ASSERT_TRUE(other.connected());
  for (const Way way : {Way::kSpdy, Way::kWebSocket}) {
    for (const std::string& garbage : GarbageOf(way)) {
      SCOPED_TRACE(absl::StrCat(way == Way::kSpdy ? "SPDY " : "WebSocket ", garbage.size()));
      const Client client = OpenAttach(way);
      ASSERT_TRUE(client.connected());
      EXPECT_TRUE(client.Send("here\n").ok());
      client.ExpectOutput("got here\n");
      EXPECT_TRUE(client.SendRaw(garbage).ok());
      client.ExpectEnd();
    }
  }
  EXPECT_EQ(Status(container_).state(), cri::CONTAINER_RUNNING);
  EXPECT_TRUE(other.Send("the other\n").ok());
  other.ExpectOutput("got the other\n");
}

TEST_F(StreamingFaultsTest, GarbageEndsAPortForwardAndItsConnections) {
  const LoopbackListener listener(AF_INET);
  const Client other = OpenPort(listener.port(), Way::kSpdy);
  ASSERT_TRUE(other.connected());
  const UniqueFd of_other = listener.Accept(Patience(absl::Seconds(30)));
  for (const Way way : {Way::kSpdy, Way::kWebSocket, Way::kTunnel}) {
    for (const std::string& garbage : GarbageOf(way)) {
      SCOPED_TRACE(absl::StrCat("way ", static_cast<int>(way), ", ", garbage.size(), " bytes"));
      const Client client = OpenPort(listener.port(), way);
      ASSERT_TRUE(client.connected());
      const UniqueFd target = listener.Accept(Patience(absl::Seconds(30)));
      EXPECT_TRUE(client.SendRaw(garbage).ok());
      client.ExpectEnd();
      ExpectEndOf(target);
    }
  }
  EXPECT_EQ(send(of_other.get(), "still here", 10, MSG_NOSIGNAL), 10);
  other.ExpectOutput("still here");
}

TEST_F(StreamingFaultsTest, ClientsThatGoInTheMiddleOfAnExecEndIt) {
  const std::string line = "mark" + OwnMark(2);
  const std::string sleep = "sleep " + OwnMark(3);
  for (const Way way : {Way::kSpdy, Way::kWebSocket}) {
    SCOPED_TRACE(way == Way::kSpdy ? "SPDY" : "WebSocket");
    {
      const Client client = OpenExec(container_, "while :; do echo " + line + "; done", way);
      ASSERT_TRUE(client.connected());
      client.ExpectOutput(line + "\n" + line + "\n");
    }
    EXPECT_TRUE(Eventually([&] { return ProcessesWith("echo " + line).empty(); }));
    {
      // The command takes none of its client's input.
      const Client client = OpenExec(container_, "echo here; " + sleep + "; :", way);
      ASSERT_TRUE(client.connected());
      client.ExpectOutput("here\n");
      EXPECT_TRUE(client.Send(std::string(300'000, 'x')).ok());
    }
    EXPECT_TRUE(Eventually([&] { return ProcessesWith(sleep).empty(); }));
  }
}

TEST_F(StreamingFaultsTest, ClientsThatGoInTheMiddleOfAnAttachLeaveTheContainerAlone) {
  std::string lines;
  for (int i = 0; i < 20'000; ++i) lines += "x\n";
  for (const Way way : {Way::kSpdy, Way::kWebSocket}) {
    SCOPED_TRACE(way == Way::kSpdy ? "SPDY" : "WebSocket");
    const Client client = OpenAttach(way);
    ASSERT_TRUE(client.connected());
    EXPECT_TRUE(client.Send(lines).ok());
    client.ExpectOutput("got x\ngot x\n");
  }
  EXPECT_EQ(Status(container_).state(), cri::CONTAINER_RUNNING);
}

TEST_F(StreamingFaultsTest, ClientsThatGoInTheMiddleOfAPortForwardEndItsConnections) {
  const LoopbackListener listener(AF_INET);
  const std::string much(256'000, 'y');
  for (const Way way : {Way::kSpdy, Way::kWebSocket, Way::kTunnel}) {
    SCOPED_TRACE(absl::StrCat("way ", static_cast<int>(way)));
    // The client reads little.
    UniqueFd sender;
    {
      const Client client = OpenPort(listener.port(), way);
      ASSERT_TRUE(client.connected());
      sender = listener.Accept(Patience(absl::Seconds(30)));
      EXPECT_EQ(send(sender.get(), much.data(), much.size(), MSG_NOSIGNAL),
                static_cast<ssize_t>(much.size()));
      client.ExpectOutput("y");
    }
    while (send(sender.get(), much.data(), much.size(), MSG_NOSIGNAL) > 0) {
    }
    EXPECT_THAT(errno, AnyOf(EPIPE, ECONNRESET));
    // Nothing reads its data.
    UniqueFd reader;
    {
      const Client client = OpenPort(listener.port(), way);
      ASSERT_TRUE(client.connected());
      reader = listener.Accept(Patience(absl::Seconds(30)));
      EXPECT_TRUE(client.Send(much).ok());
    }
    ExpectEndOf(reader);
  }
}

TEST_F(StreamingFaultsTest, ACommandEndsWithTheMonitorOfItsContainer) {
  const std::string sleep = "sleep " + OwnMark(4);
  const std::string victim = Start(pod_, Shell("sleep 1000"));
  const Client spdy = OpenExec(victim, "echo here; " + sleep + "; :", Way::kSpdy);
  const Client websocket = OpenExec(victim, "echo here; " + sleep + "; :", Way::kWebSocket);
  ASSERT_TRUE(spdy.connected() && websocket.connected());
  for (const Client* client : {&spdy, &websocket}) client->ExpectOutput("here\n");
  const auto monitors = ProcessesWith(absl::StrCat("plimsoll-monitor ", victim));
  ASSERT_EQ(monitors.size(), 1u);
  ASSERT_EQ(kill(std::stoi(monitors[0]), SIGKILL), 0);
  for (const Client* client : {&spdy, &websocket}) {
    client->ExpectEnd();
    // Killed, or unknown.
    const std::string end = client->Received(client->error);
    EXPECT_NE(end, "");
    EXPECT_THAT(ExitCodeOf(end), AnyOf(137, -1)) << end;
  }
  EXPECT_TRUE(Eventually([&] { return ProcessesWith(sleep).empty(); }));
  EXPECT_EQ(AwaitExit(victim).reason(), "Unknown");
  cri::ExecRequest request;
  request.set_container_id(victim);
  request.add_cmd("true");
  request.set_stdout(true);
  cri::ExecResponse response;
  grpc::ClientContext context;
  EXPECT_EQ(node_.runtime().Exec(&context, request, &response).error_code(),
            grpc::StatusCode::FAILED_PRECONDITION);
  EXPECT_TRUE(RemoveContainer(victim).ok());
}

}  // namespace
}  // namespace plimsoll::testing
