// Attach and port-forward through a server on a real socket, and the server's own edge cases.
#include <fcntl.h>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/dir_for_test.h"
#include "base/programs/subprocess.h"
#include "monitor/protocol.h"
#include "streaming/pod_for_test.h"
#include "streaming/server_fixture_for_test.h"
#include "streaming/spdy_frame.h"
#include "streaming/spdy_headers.h"

namespace plimsoll::streaming {
namespace {

using ::testing::HasSubstr;

class AttachServerTest : public ServerFixture {
 protected:
  static StreamRequest Attach() {
    return {.kind = StreamKind::kAttach, .id = "c", .input = true, .output = true, .errors = true};
  }
  static void Tell(int monitor, const std::string& packet) {
    EXPECT_EQ(send(monitor, packet.data(), packet.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(packet.size()));
  }
  static std::string Hear(int monitor) {
    std::string packet(monitor::kMaxPacket, '\0');
    const ssize_t n = recv(monitor, packet.data(), packet.size(), 0);
    packet.resize(n > 0 ? static_cast<size_t>(n) : 0);
    return packet;
  }
};

TEST_F(AttachServerTest, CarriesWhatTheMonitorSaysAndHears) {
  auto client = WebSocket(Attach());
  ASSERT_NE(client, nullptr);
  const int monitor = backend_.AwaitMonitor();
  Tell(monitor, "oout");
  Tell(monitor, "eerr");
  ASSERT_TRUE(
      client
          ->ReadUntil([&] { return client->received[1] == "out" && client->received[2] == "err"; })
          .ok());
  ASSERT_TRUE(client->Send(0, "in").ok());
  EXPECT_EQ(Hear(monitor), "iin");
  ASSERT_TRUE(client->CloseChannel(0).ok());
  EXPECT_EQ(Hear(monitor), "c");
  Tell(monitor, "l12");
  Tell(monitor, "omore");
  Tell(monitor, "x");
  ASSERT_TRUE(client->ReadToEnd().ok());
  EXPECT_EQ(client->received[1], "outmore");
  EXPECT_THAT(client->received[2], HasSubstr("12 bytes of output left out"));
  EXPECT_EQ(ExitCodeOf(client->received[3]), 0);
}

TEST_F(AttachServerTest, TellsTheSizeOfTheTerminal) {
  StreamRequest request = Attach();
  request.errors = false;
  request.terminal = true;
  auto client = WebSocket(request);
  ASSERT_NE(client, nullptr);
  const int monitor = backend_.AwaitMonitor();
  ASSERT_TRUE(client->Send(4, "{\"Width\":80,\"Height\":24}").ok());
  EXPECT_EQ(Hear(monitor), "r24 80");
}

TEST_F(AttachServerTest, TellsTheSizesOfTheTerminalOverSpdy) {
  StreamRequest request = Attach();
  request.errors = false;
  request.terminal = true;
  int attached = 0;
  for (const char* protocol : {"v5.channel.k8s.io", "v4.channel.k8s.io", "v3.channel.k8s.io"}) {
    SCOPED_TRACE(protocol);
    auto client = Spdy(request, protocol);
    ASSERT_NE(client, nullptr);
    for (const char* type : {"error", "stdin", "stdout"}) {
      ASSERT_TRUE(client->Open({{"streamtype", type}}).ok());
    }
    const auto resize = client->Open({{"streamtype", "resize"}});
    ASSERT_TRUE(resize.ok());
    const int monitor = backend_.AwaitMonitor(++attached);
    ASSERT_TRUE(client->Send(*resize, "{\"Width\":80,\"Height\":24}\n").ok());
    EXPECT_EQ(Hear(monitor), "r24 80");
    ASSERT_TRUE(client->Send(*resize, "{\"Width\":132,\"Height\":50}\n").ok());
    EXPECT_EQ(Hear(monitor), "r50 132");
  }
}

TEST_F(AttachServerTest, AMonitorThatDiesIsAnError) {
  auto client = WebSocket(Attach());
  ASSERT_NE(client, nullptr);
  backend_.AwaitMonitor();
  {
    absl::MutexLock lock(&backend_.mutex);
    backend_.monitor.Reset();
  }
  ASSERT_TRUE(client->ReadToEnd().ok());
  EXPECT_THAT(client->received[3], HasSubstr("monitor has ended"));
}

TEST_F(AttachServerTest, AMonitorThatCannotBeWaitedForHasNotEnded) {
  // epoll_ctl(2) refuses a descriptor of O_PATH, as it would any descriptor without memory.
  backend_.monitor_that_nobody_can_wait_for.Reset(open("/", O_PATH | O_CLOEXEC));
  auto client = WebSocket(Attach());
  ASSERT_NE(client, nullptr);
  ASSERT_TRUE(client->ReadToEnd().ok());
  EXPECT_EQ(ExitCodeOf(client->received[3]), -1);
  EXPECT_THAT(client->received[3], HasSubstr("no memory to watch the container's monitor"));
}

TEST_F(AttachServerTest, LetsGoOfTheMonitorWithItsClient) {
  auto client = WebSocket(Attach());
  ASSERT_NE(client, nullptr);
  const int monitor = backend_.AwaitMonitor();
  client.reset();
  EXPECT_EQ(Hear(monitor), "");
}

class PortForwardServerTest : public ServerFixture {
 protected:
  static StreamRequest Ports(std::vector<uint16_t> ports = {}) {
    return {.kind = StreamKind::kPortForward, .id = "pod", .ports = std::move(ports)};
  }
  static SpdyClient::Headers Headers(const std::string& type, uint16_t port, int request) {
    return {
        {"port", absl::StrCat(port)}, {"requestid", absl::StrCat(request)}, {"streamtype", type}};
  }
  static absl::Status Reset(SpdyClient& client, uint32_t stream) {
    std::string frame;
    AppendRstStream(stream, SpdyReset::kCancel, &frame);
    return client.SendBytes(frame);
  }
  // One connection over SPDY: returns the answer to `text`, or the error stream's text.
  static std::string Ask(SpdyClient& client, uint16_t port, int request, const std::string& text) {
    const auto error = client.Open(Headers("error", port, request));
    const auto data = client.Open(Headers("data", port, request));
    if (!error.ok() || !data.ok()) return "not opened";
    EXPECT_TRUE(client.Send(*error, "", true).ok());
    EXPECT_TRUE(client.Send(*data, text, true).ok());
    const absl::Status read =
        client.ReadUntil([&] { return client.ended.contains(*error) || client.gone_away; });
    EXPECT_TRUE(read.ok()) << read;
    return client.received[*data] + client.received[*error];
  }
};

TEST_F(PortForwardServerTest, CarriesConnectionsOverSpdyAndItsTunnel) {
  Echo echo(AF_INET);
  ASSERT_TRUE(echo.there());
  auto spdy = Spdy(Ports(), "portforward.k8s.io");
  ASSERT_NE(spdy, nullptr);
  EXPECT_EQ(spdy->protocol(), "portforward.k8s.io");
  auto tunnel = SpdyClient::ConnectByTunnel(Url(Ports()));
  ASSERT_TRUE(tunnel.ok()) << tunnel.status();
  EXPECT_EQ((*tunnel)->protocol(), "SPDY/3.1+portforward.k8s.io");
  for (SpdyClient* client : {spdy.get(), tunnel->get()}) {
    for (int i = 0; i < 3; ++i) EXPECT_EQ(Ask(*client, echo.port(), i, "hello"), "HELLO.");
  }
}

TEST_F(PortForwardServerTest, FindsWhoListensOnIpv6Alone) {
  Echo echo(AF_INET6);
  if (!echo.there()) GTEST_SKIP() << "needs ::1";
  auto client = Spdy(Ports(), "portforward.k8s.io");
  ASSERT_NE(client, nullptr);
  EXPECT_EQ(Ask(*client, echo.port(), 0, "six"), "SIX.");
}

TEST_F(PortForwardServerTest, APortWithoutListenerIsAnErrorOfThatConnectionAlone) {
  Echo echo(AF_INET);
  ASSERT_TRUE(echo.there());
  uint16_t free_port = 0;
  {
    const Echo gone(AF_INET);
    free_port = gone.port();
  }
  auto client = Spdy(Ports(), "portforward.k8s.io");
  ASSERT_NE(client, nullptr);
  EXPECT_THAT(Ask(*client, free_port, 0, "x"),
              HasSubstr(absl::StrCat("error forwarding port ", free_port)));
  EXPECT_EQ(Ask(*client, echo.port(), 1, "y"), "Y.");
}

TEST_F(PortForwardServerTest, WebSocketsBeginWithTheNumbersOfTheirPorts) {
  Echo first(AF_INET);
  Echo second(AF_INET);
  for (const char* protocol : {"v4.channel.k8s.io", "v4.base64.channel.k8s.io"}) {
    SCOPED_TRACE(protocol);
    auto client = WebSocket(Ports({first.port(), second.port()}), protocol);
    ASSERT_NE(client, nullptr);
    ASSERT_TRUE(client->Send(2, "two").ok());
    ASSERT_TRUE(client->Send(0, "one").ok());
    ASSERT_TRUE(client
                    ->ReadUntil([&] {
                      return client->received[0].size() == 5 && client->received[2].size() == 5;
                    })
                    .ok());
    const auto number = [](const std::string& text) {
      return static_cast<uint8_t>(text[0]) | static_cast<uint8_t>(text[1]) << 8;
    };
    EXPECT_EQ(number(client->received[0]), first.port());
    EXPECT_EQ(number(client->received[3]), second.port());
    EXPECT_EQ(client->received[0].substr(2), "ONE");
    EXPECT_EQ(client->received[2].substr(2), "TWO");
  }
}

TEST_F(PortForwardServerTest, AWebSocketWithoutPortsIsRefused) {
  const auto client = WebSocketClient::Connect(Url(Ports()), "v4.channel.k8s.io");
  EXPECT_THAT(std::string(client.status().message()), HasSubstr("400"));
}

TEST_F(PortForwardServerTest, HalfAPairIsGivenUpInTime) {
  Start({.creation_timeout = absl::Milliseconds(200)});
  auto client = Spdy(Ports(), "portforward.k8s.io");
  ASSERT_NE(client, nullptr);
  const auto error = client->Open({{"streamtype", "error"}, {"port", "80"}, {"requestid", "0"}});
  ASSERT_TRUE(error.ok());
  ASSERT_TRUE(client->ReadUntil([&] { return client->ended.contains(*error); }).ok());
  EXPECT_THAT(client->received[*error], HasSubstr("was not opened"));
}

// Some versions of kubectl stop sending only when the error stream has ended.
TEST_F(PortForwardServerTest, TheErrorStreamEndsWithThePodThoughTheClientSendsOn) {
  const LoopbackListener pod(AF_INET, 1);
  ASSERT_TRUE(pod.valid());
  auto client = Spdy(Ports(), "portforward.k8s.io");
  ASSERT_NE(client, nullptr);
  const auto error = client->Open(Headers("error", pod.port(), 0));
  const auto data = client->Open(Headers("data", pod.port(), 0));
  ASSERT_TRUE(error.ok() && data.ok());
  UniqueFd connection(accept4(pod.fd(), nullptr, nullptr, SOCK_CLOEXEC));
  ASSERT_EQ(send(connection.get(), "bye", 3, MSG_NOSIGNAL), 3);
  ASSERT_EQ(shutdown(connection.get(), SHUT_WR), 0);
  const auto all_ended = [&] {
    return client->ended.contains(*data) && client->ended.contains(*error);
  };
  const absl::Status read = client->ReadUntil(all_ended);
  ASSERT_TRUE(read.ok()) << read;
  EXPECT_EQ(client->received[*data], "bye");
  EXPECT_EQ(client->received[*error], "");
  // The other direction stays open.
  ASSERT_TRUE(client->Send(*data, "late", true).ok());
  std::string heard(4, '\0');
  EXPECT_EQ(recv(connection.get(), heard.data(), heard.size(), MSG_WAITALL), 4);
  EXPECT_EQ(heard, "late");
}

// Reusing the channels for a second connection would lose the first.
TEST_F(PortForwardServerTest, AStreamAfterAResetIsAnotherPairs) {
  Echo echo(AF_INET);
  ASSERT_TRUE(echo.there());
  auto client = Spdy(Ports(), "portforward.k8s.io");
  ASSERT_NE(client, nullptr);
  const auto error = client->Open(Headers("error", echo.port(), 0));
  const auto data = client->Open(Headers("data", echo.port(), 0));
  ASSERT_TRUE(error.ok() && data.ok());
  ASSERT_TRUE(Reset(*client, *error).ok());
  const auto again = client->Open(Headers("error", echo.port(), 0));
  ASSERT_TRUE(again.ok());
  ASSERT_TRUE(client->ReadUntil([&] { return client->replied.contains(*again); }).ok());
  const auto twice = client->Open(Headers("error", echo.port(), 0));
  ASSERT_TRUE(twice.ok());
  ASSERT_TRUE(client->ReadUntil([&] { return client->reset.contains(*twice); }).ok());
  ASSERT_TRUE(client->Send(*data, "hello", true).ok());
  ASSERT_TRUE(client->ReadUntil([&] { return client->ended.contains(*data); }).ok());
  EXPECT_EQ(client->received[*data], "HELLO.");
  EXPECT_FALSE(client->ended.contains(*again));
  client.reset();
  EXPECT_TRUE(WaitUntil([&] { return server_->connections() == 0; }));
}

// Reset streams make room for others, but their connections may still exist.
TEST_F(PortForwardServerTest, ConnectionsAreLimitedWhateverTheirStreams) {
  constexpr int kMost = 256;
  const LoopbackListener pod(AF_INET, kMost + 8);
  ASSERT_TRUE(pod.valid());
  auto client = Spdy(Ports(), "portforward.k8s.io");
  ASSERT_NE(client, nullptr);
  for (int i = 0; i < kMost; ++i) {
    const auto error = client->Open(Headers("error", pod.port(), i));
    ASSERT_TRUE(error.ok() && client->Open(Headers("data", pod.port(), i)).ok());
    ASSERT_TRUE(Reset(*client, *error).ok());
  }
  EXPECT_THAT(Ask(*client, pod.port(), kMost, "x"), HasSubstr("256 connections are open"));
}

// The first frames may arrive together with the request.
TEST_F(PortForwardServerTest, TakesFramesThatAreThereAtOnce) {
  const std::string url = Url(Ports());
  std::string bytes = absl::StrCat("POST ", url.substr(url.find('/', 7)),
                                   " HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\n"
                                   "Upgrade: SPDY/3.1\r\n"
                                   "X-Stream-Protocol-Version: portforward.k8s.io\r\n\r\n");
  SpdyHeaderWriter headers;
  const auto block = headers.Write({{"streamtype", "error"}, {"port", "80"}, {"requestid", "0"}});
  ASSERT_TRUE(block.ok()) << block.status();
  AppendSynStream(1, 0, *block, &bytes);
  AppendRstStream(1, SpdyReset::kCancel, &bytes);
  std::string ping;
  AppendPing(1, &ping);
  bytes += ping;
  auto connection = plimsoll::testing::StreamConnection::Connect(url);
  ASSERT_TRUE(connection.ok()) << connection.status();
  ASSERT_TRUE((*connection)->Write(bytes).ok());
  std::string answer;
  while (!absl::EndsWith(answer, ping)) {
    const auto more = (*connection)->Read(absl::Seconds(30));
    ASSERT_TRUE(more.ok()) << more.status();
    ASSERT_FALSE(more->empty()) << "closed after " << answer;
    answer += *more;
  }
  EXPECT_THAT(answer, ::testing::StartsWith("HTTP/1.1 101 "));
}

TEST_F(PortForwardServerTest, StreamsWithoutAPortAreRefused) {
  auto client = Spdy(Ports(), "portforward.k8s.io");
  ASSERT_NE(client, nullptr);
  const auto stream = client->Open({{"streamtype", "data"}, {"port", "70000"}});
  ASSERT_TRUE(stream.ok());
  ASSERT_TRUE(client->ReadUntil([&] { return client->reset.contains(*stream); }).ok());
}

class ServerTest : public ServerFixture {};

TEST_F(ServerTest, ListensWhereItIsTold) {
  EXPECT_THAT(server_->base_url(), ::testing::StartsWith("http://127.0.0.1:"));
  EXPECT_TRUE(absl::IsInvalidArgument(
      Server::Start({.address = "localhost:1", .backend = &backend_}).status()));
  const std::string taken = server_->base_url().substr(7);
  EXPECT_TRUE(
      absl::IsUnavailable(Server::Start({.address = taken, .backend = &backend_}).status()));
  EXPECT_TRUE(absl::IsInvalidArgument(
      Server::Start({.certificate = "/nowhere", .key = "/nowhere", .backend = &backend_})
          .status()));
}

TEST_F(ServerTest, SpeaksTlsWhereItHasACertificate) {
  const TestDir dir;
  const std::string key = dir.path() + "/key.pem";
  const std::string certificate = dir.path() + "/certificate.pem";
  const auto made =
      RunChecked({.argv = {"/usr/bin/openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt",
                           "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2", "-subj",
                           "/CN=localhost", "-keyout", key, "-out", certificate}});
  ASSERT_TRUE(made.ok()) << made.status();
  Start({.certificate = certificate, .key = key});
  EXPECT_THAT(server_->base_url(), ::testing::StartsWith("https://127.0.0.1:"));
  StreamRequest request = Shell("cat; exit 3");
  request.input = true;
  auto websocket = WebSocket(request);
  ASSERT_NE(websocket, nullptr);
  ASSERT_TRUE(websocket->Send(0, "over TLS").ok());
  ASSERT_TRUE(websocket->CloseChannel(0).ok());
  ASSERT_TRUE(websocket->ReadToEnd().ok());
  EXPECT_EQ(websocket->received[1], "over TLS");
  EXPECT_EQ(ExitCodeOf(websocket->received[3]), 3);
  EXPECT_EQ(websocket->connection().Read(absl::Seconds(30)).value_or("more"), "");
  EXPECT_TRUE(websocket->connection().HasEndBeenSaid());
  auto spdy = Spdy(Shell("echo out"));
  ASSERT_NE(spdy, nullptr);
  const auto error = spdy->Open({{"streamtype", "error"}});
  const auto out = spdy->Open({{"streamtype", "stdout"}});
  ASSERT_TRUE(error.ok() && out.ok() && spdy->Open({{"streamtype", "stderr"}}).ok());
  ASSERT_TRUE(spdy->ReadToEnd().ok());
  EXPECT_EQ(spdy->received[*out], "out\n");
  EXPECT_TRUE(spdy->connection().HasEndBeenSaid());
  // A client without TLS gets nothing, and the server goes on.
  const std::string plain = "http" + server_->base_url().substr(5) + "/exec/a";
  auto other = plimsoll::testing::StreamConnection::Connect(plain);
  ASSERT_TRUE(other.ok());
  EXPECT_FALSE((*other)->Request("GET", {}).ok());
  EXPECT_NE(WebSocket(Shell("true")), nullptr);
}

TEST_F(ServerTest, ARequestOfNoSenseIsRefused) {
  auto connection = plimsoll::testing::StreamConnection::Connect(server_->base_url() + "/x");
  ASSERT_TRUE(connection.ok());
  const auto answer = (*connection)->Request("GET", {});
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_EQ(answer->code, 404);
  connection = plimsoll::testing::StreamConnection::Connect(server_->base_url() + "/x");
  ASSERT_TRUE(connection.ok());
  EXPECT_EQ((*connection)->Request("GET \n\n", {{"a", std::string(100'000, 'x')}})->code, 400);
}

}  // namespace
}  // namespace plimsoll::streaming
