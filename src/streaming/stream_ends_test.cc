// Abnormal ends of streams: idle ones, garbage, and streams whose time ran out before they began.
#include <sys/socket.h>

#include <atomic>
#include <chrono>
#include <utility>
#include <vector>

#include "monitor/protocol.h"
#include "streaming/pod_for_test.h"
#include "streaming/port_client_for_test.h"
#include "streaming/server_fixture_for_test.h"

namespace plimsoll::streaming {
namespace {

using ::testing::HasSubstr;

// A frame of neither SPDY nor WebSocket.
const char kGarbage[] =
    "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff and more than a frame's head";

class StreamEndsTest : public ServerFixture {
 protected:
  static StreamRequest Attach() {
    return {.kind = StreamKind::kAttach, .id = "c", .input = true, .output = true, .errors = true};
  }
  static StreamRequest Ports(std::vector<uint16_t> ports) {
    return {.kind = StreamKind::kPortForward, .id = "pod", .ports = std::move(ports)};
  }
  std::unique_ptr<SpdyClient> SpdyWith(StreamRequest request,
                                       const std::vector<std::string>& types) {
    auto client = Spdy(std::move(request));
    if (client == nullptr) return nullptr;
    for (const std::string& type : types) {
      EXPECT_TRUE(client->Open({{"streamtype", type}}).ok()) << type;
    }
    return client;
  }
  std::unique_ptr<PortClient> Port(const std::string& protocol, uint16_t port) {
    return PortClient::Connect(Url(Ports({port})), protocol, port);
  }
  // True if the monitor's client has left silently. Call once the connection has ended.
  static bool IsLeft(int monitor) {
    char packet[monitor::kMaxPacket];
    return recv(monitor, packet, sizeof(packet), MSG_DONTWAIT) == 0;
  }
  // True if `word` arrives.
  static bool Reaches(PortClient& client, int target, const std::string& word) {
    std::string heard(word.size(), '\0');
    return client.Send(word).ok() &&
           recv(target, heard.data(), heard.size(), MSG_WAITALL) ==
               static_cast<ssize_t>(word.size()) &&
           heard == word;
  }
  bool AwaitConnections(int count) {
    return WaitUntil([&] { return server_->connections() == count; });
  }
};

TEST_F(StreamEndsTest, IdleStreamsOfEveryKindEnd) {
  // Making each stream takes far less.
  Start({.idle_timeout = absl::Seconds(3)});
  const auto exec = SpdyWith(Shell("sleep 1000"), {"error", "stdout", "stderr"});
  ASSERT_NE(exec, nullptr);
  ASSERT_TRUE(WaitUntil([&] { return backend_.running == 1; }));
  const auto attach = WebSocket(Attach());
  ASSERT_NE(attach, nullptr);
  const int monitor = backend_.AwaitMonitor();
  const LoopbackListener pod(AF_INET, 4);
  ASSERT_TRUE(pod.valid());
  std::vector<std::unique_ptr<PortClient>> ports;
  std::vector<UniqueFd> targets;
  for (const char* protocol : PortClient::kProtocols) {
    ports.push_back(Port(protocol, pod.port()));
    ASSERT_NE(ports.back(), nullptr) << protocol;
    targets.push_back(pod.Accept());
    ASSERT_TRUE(targets.back().valid()) << protocol;
    EXPECT_TRUE(Reaches(*ports.back(), targets.back().get(), "word")) << protocol;
  }
  EXPECT_TRUE(AwaitConnections(0));
  EXPECT_EQ(backend_.killed, 1);
  EXPECT_EQ(backend_.running, 0);
  EXPECT_TRUE(IsLeft(monitor));
  for (const UniqueFd& target : targets) EXPECT_TRUE(HasEnded(target.get()));
}

TEST_F(StreamEndsTest, GarbageOnAttachEndsItAlone) {
  StreamRequest cat = Shell("cat");
  cat.input = true;
  auto other = WebSocket(cat);
  ASSERT_NE(other, nullptr);
  auto spdy = SpdyWith(Attach(), {"error", "stdin", "stdout", "stderr"});
  ASSERT_NE(spdy, nullptr);
  int monitor = backend_.AwaitMonitor(1);
  ASSERT_TRUE(spdy->SendBytes(kGarbage).ok());
  EXPECT_TRUE(spdy->ReadToEnd().ok());
  EXPECT_TRUE(spdy->gone_away);
  spdy.reset();
  ASSERT_TRUE(AwaitConnections(1));
  EXPECT_TRUE(IsLeft(monitor));

  auto websocket = WebSocket(Attach());
  ASSERT_NE(websocket, nullptr);
  monitor = backend_.AwaitMonitor(2);
  ASSERT_TRUE(websocket->connection().Write(kGarbage).ok());
  EXPECT_TRUE(websocket->ReadToEnd().ok());
  websocket.reset();
  ASSERT_TRUE(AwaitConnections(1));
  EXPECT_TRUE(IsLeft(monitor));

  const auto next = WebSocket(Attach());
  ASSERT_NE(next, nullptr);
  monitor = backend_.AwaitMonitor(3);
  ASSERT_EQ(send(monitor, "ofine", 5, MSG_NOSIGNAL), 5);
  ASSERT_TRUE(next->ReadUntil([&] { return next->received[1] == "fine"; }).ok());
  EXPECT_EQ(next->received[1], "fine");
  ASSERT_TRUE(other->Send(0, "still").ok());
  ASSERT_TRUE(other->ReadUntil([&] { return other->received[1] == "still"; }).ok());
  EXPECT_EQ(other->received[1], "still");
}

TEST_F(StreamEndsTest, GarbageOnPortForwardEndsItAlone) {
  const LoopbackListener pod(AF_INET, 8);
  ASSERT_TRUE(pod.valid());
  const auto other = Port(PortClient::kTunnel, pod.port());
  ASSERT_NE(other, nullptr);
  const UniqueFd others_target = pod.Accept();
  ASSERT_TRUE(others_target.valid());
  // For the tunnel, garbage inside its messages, then in place of them.
  for (const auto& [protocol, as_spdy] : {std::pair(PortClient::kSpdy, true),
                                          {PortClient::kTunnel, true},
                                          {PortClient::kTunnel, false},
                                          {PortClient::kChannels, false}}) {
    SCOPED_TRACE(protocol);
    auto client = Port(protocol, pod.port());
    ASSERT_NE(client, nullptr);
    const UniqueFd target = pod.Accept();
    ASSERT_TRUE(target.valid());
    ASSERT_TRUE(Reaches(*client, target.get(), "word"));
    const absl::Status sent =
        as_spdy ? client->spdy()->SendBytes(kGarbage) : client->connection().Write(kGarbage);
    ASSERT_TRUE(sent.ok()) << sent;
    EXPECT_TRUE(client->ReadToEnd().ok());
    if (as_spdy) {
      EXPECT_TRUE(client->spdy()->gone_away);
    }
    EXPECT_TRUE(HasEnded(target.get()));
    client.reset();
    EXPECT_TRUE(AwaitConnections(1));
    EXPECT_TRUE(Reaches(*other, others_target.get(), "still"));
  }
}

TEST_F(StreamEndsTest, AUrlThatHasExpiredIsRefusedAsOneThatWasUsed) {
  // The server ends before this does.
  static std::atomic<int64_t> seconds;
  seconds = 0;
  const auto start = std::chrono::steady_clock::now();
  Start({.now = [start] { return start + std::chrono::seconds(seconds); }});
  const std::string used = Url(Shell("true"));
  ASSERT_TRUE(WebSocketClient::Connect(used, "v5.channel.k8s.io").ok());
  const std::string exec = Url(Shell("true"));
  const std::string late = Url(Shell("true"));
  const std::string attach = Url(Attach());
  const std::string ports = Url(Ports({80}));
  seconds = absl::ToInt64Seconds(Tokens::kLife) - 1;
  EXPECT_TRUE(WebSocketClient::Connect(late, "v5.channel.k8s.io").ok());
  seconds = absl::ToInt64Seconds(Tokens::kLife);
  const auto refused = WebSocketClient::Connect(used, "v5.channel.k8s.io").status();
  EXPECT_THAT(std::string(refused.message()),
              HasSubstr("404 no such token: it was used, has expired, or never existed"));
  for (const std::string& url : {exec, attach}) {
    EXPECT_EQ(WebSocketClient::Connect(url, "v5.channel.k8s.io").status(), refused) << url;
    EXPECT_EQ(SpdyClient::Connect(url, "v4.channel.k8s.io").status(), refused) << url;
  }
  EXPECT_EQ(SpdyClient::Connect(ports, PortClient::kSpdy).status(), refused);
  EXPECT_EQ(SpdyClient::ConnectByTunnel(ports).status(), refused);
  EXPECT_EQ(WebSocketClient::Connect(ports, PortClient::kChannels).status(), refused);
  EXPECT_EQ(backend_.attached, 0);
}

}  // namespace
}  // namespace plimsoll::streaming
