// Exec, Attach and PortForward: the streams behind the URLs, over SPDY and WebSocket.
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "conformance/cri_test.h"
#include "harness/spdy_client.h"
#include "harness/stream_status.h"
#include "harness/websocket_client.h"

namespace plimsoll::conformance {
namespace {

using ::plimsoll::testing::ExitCodeOf;
using ::plimsoll::testing::SpdyClient;
using ::plimsoll::testing::WebSocketClient;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

class StreamTest : public CriTest {
 protected:
  absl::StatusOr<std::string> TryExecUrl(const std::string& container, const std::string& script,
                                         bool input = false, bool terminal = false) {
    cri::ExecRequest request;
    request.set_container_id(container);
    for (const std::string& word : {std::string("/bin/sh"), std::string("-c"), script}) {
      request.add_cmd(word);
    }
    request.set_stdin(input);
    request.set_stdout(true);
    request.set_stderr(!terminal);
    request.set_tty(terminal);
    const auto response = client_.Ask<cri::ExecResponse>(request);
    if (!response.ok()) return response.status();
    return response->url();
  }
  std::string ExecUrl(const std::string& container, const std::string& script, bool input = false,
                      bool terminal = false) {
    const auto url = TryExecUrl(container, script, input, terminal);
    EXPECT_OK(url);
    return url.value_or("");
  }
  std::string AttachUrl(const std::string& container) {
    cri::AttachRequest request;
    request.set_container_id(container);
    request.set_stdin(true);
    request.set_stdout(true);
    request.set_stderr(true);
    const auto response = client_.Ask<cri::AttachResponse>(request);
    EXPECT_OK(response);
    return response.ok() ? response->url() : "";
  }
  std::string PortUrl(const std::string& pod, const std::vector<int>& ports = {}) {
    cri::PortForwardRequest request;
    request.set_pod_sandbox_id(pod);
    for (const int port : ports) request.add_port(port);
    const auto response = client_.Ask<cri::PortForwardResponse>(request);
    EXPECT_OK(response);
    return response.ok() ? response->url() : "";
  }

  // Starts a server in the pod that answers GET /page with "hello", and returns its port. The pod
  // shares the host's network, so no other test's pod has that port.
  std::string ServePage(const std::string& pod) {
    const std::string container =
        Start(pod, Shell("mkdir -p /tmp/www; echo hello > /tmp/www/page; i=20000; "
                         "until busybox httpd -h /tmp/www -p 127.0.0.1:$i; do i=$((i+1)); done; "
                         "echo $i > /tmp/port; sleep 100000"));
    AwaitFile(container, "/tmp/port");
    return Exec(container, "tr -d '\\n' < /tmp/port");
  }
  // A client of version 5; null if the runtime under test isn't the run's own and is older than
  // that.
  std::unique_ptr<WebSocketClient> ConnectByVersion5(const std::string& url) {
    auto client = WebSocketClient::Connect(url, "v5.channel.k8s.io");
    if (client.ok()) return *std::move(client);
    EXPECT_TRUE(absl::IsFailedPrecondition(client.status()) && !session_.own_runtime())
        << client.status();
    return nullptr;
  }

  // A command over SPDY, as kubelet forwards it.
  struct Streams {
    std::unique_ptr<SpdyClient> client;
    uint32_t error = 0;
    uint32_t in = 0;
    uint32_t out = 0;
    uint32_t err = 0;
    uint32_t resize = 0;
  };
  static Streams OpenStreams(const std::string& url, bool input, bool terminal) {
    Streams streams;
    auto client = SpdyClient::Connect(url, "v4.channel.k8s.io");
    EXPECT_OK(client);
    if (!client.ok()) return streams;
    streams.client = *std::move(client);
    const auto open = [&](const char* type) {
      const auto stream = streams.client->Open({{"streamtype", type}});
      EXPECT_OK(stream);
      return stream.value_or(0);
    };
    streams.error = open("error");
    if (input) streams.in = open("stdin");
    streams.out = open("stdout");
    if (!terminal) streams.err = open("stderr");
    if (terminal) streams.resize = open("resize");
    return streams;
  }
};

PROMISE_TEST(StreamTest, ExecGivesStreamsAndTheExitCode,
             "Exec gives a URL where a SPDY client of v4.channel.k8s.io finds both outputs of the "
             "command, apart, and its exit code in a Status on the error stream") {
  const std::string container = Start(RunPod(), Sleeper());
  Streams streams = OpenStreams(ExecUrl(container, "echo out; echo err >&2; exit 3"), false, false);
  ASSERT_NE(streams.client, nullptr);
  ASSERT_OK(streams.client->ReadToEnd());
  EXPECT_EQ(streams.client->received[streams.out], "out\n");
  EXPECT_EQ(streams.client->received[streams.err], "err\n");
  EXPECT_EQ(ExitCodeOf(streams.client->received[streams.error]), 3)
      << streams.client->received[streams.error];
}

PROMISE_TEST(StreamTest, ExecTakesInputUntilItsEnd,
             "What the client sends on stdin reaches the command, and the end of the stream is the "
             "end of its input") {
  const std::string container = Start(RunPod(), Sleeper());
  Streams streams = OpenStreams(ExecUrl(container, "cat; echo end", true), true, false);
  ASSERT_NE(streams.client, nullptr);
  ASSERT_OK(
      streams.client->ReadUntil([&] { return streams.client->replied.contains(streams.err); }));
  ASSERT_OK(streams.client->Send(streams.in, "hello\n"));
  ASSERT_OK(streams.client->Send(streams.in, "", /*last=*/true));
  ASSERT_OK(streams.client->ReadToEnd());
  EXPECT_EQ(streams.client->received[streams.out], "hello\nend\n");
  EXPECT_EQ(ExitCodeOf(streams.client->received[streams.error]), 0);
}

PROMISE_TEST(StreamTest, ExecWithATerminalHasOneOfTheClientsSize,
             "Exec with tty gives the command a terminal, whose size is what the client sends on "
             "the resize stream") {
  const std::string container = Start(RunPod(), Sleeper());
  Streams streams = OpenStreams(
      ExecUrl(container, "test -t 0 && echo terminal; read go; busybox stty size", true, true),
      true, true);
  ASSERT_NE(streams.client, nullptr);
  const auto has = [&](const char* text) {
    return [&, text] { return absl::StrContains(streams.client->received[streams.out], text); };
  };
  ASSERT_OK(streams.client->ReadUntil(has("terminal")));
  ASSERT_OK(streams.client->Send(streams.resize, "{\"Width\":101,\"Height\":37}\n"));
  // The two streams aren't ordered: give the size some time before reading it back.
  ASSERT_OK(streams.client->Ping(1));
  ASSERT_OK(streams.client->ReadUntil([&] { return streams.client->pings.contains(1); }));
  ASSERT_OK(streams.client->Send(streams.in, "\n"));
  ASSERT_OK(streams.client->ReadToEnd());
  EXPECT_THAT(streams.client->received[streams.out], HasSubstr("37 101"));
}

PROMISE_TEST(StreamTest, ExecOverWebSocketsOfVersion4,
             "A WebSocket client of v4.channel.k8s.io finds outputs and Status on their channels") {
  const std::string container = Start(RunPod(), Sleeper());
  for (const char* protocol : {"v4.channel.k8s.io", "v4.base64.channel.k8s.io"}) {
    SCOPED_TRACE(protocol);
    const auto client =
        WebSocketClient::Connect(ExecUrl(container, "echo out; echo err >&2; exit 3"), protocol);
    ASSERT_OK(client);
    EXPECT_EQ((*client)->protocol(), protocol);
    ASSERT_OK((*client)->ReadToEnd());
    EXPECT_EQ((*client)->received[1], "out\n");
    EXPECT_EQ((*client)->received[2], "err\n");
    EXPECT_EQ(ExitCodeOf((*client)->received[3]), 3) << (*client)->received[3];
  }
}

PROMISE_TEST(StreamTest, ExecOverWebSocketsOfVersion5EndsItsInput,
             "A WebSocket client of v5.channel.k8s.io ends a command's input by closing channel 0, "
             "and still gets what the command says to that") {
  const std::string container = Start(RunPod(), Sleeper());
  const auto client = ConnectByVersion5(ExecUrl(container, "cat; echo end; exit 4", true));
  if (client == nullptr) GTEST_SKIP() << "the runtime has no v5.channel.k8s.io";
  ASSERT_OK(client->Send(0, "hello\n"));
  ASSERT_OK(client->CloseChannel(0));
  ASSERT_OK(client->ReadToEnd());
  EXPECT_EQ(client->received[1], "hello\nend\n");
  EXPECT_EQ(ExitCodeOf(client->received[3]), 4) << client->received[3];
}

PROMISE_TEST(StreamTest, ATerminalOverWebSocketsHasOneOfTheClientsSize,
             "A WebSocket client of v5.channel.k8s.io gives a command's terminal its size on "
             "channel 4; the end of its input is not the end of the terminal") {
  const std::string container = Start(RunPod(), Sleeper());
  const auto client = ConnectByVersion5(
      ExecUrl(container,
              "test -t 0 && echo terminal; read line; echo \"got $line\"; "
              "until [ \"$(busybox stty size)\" = '37 101' ]; do sleep 1; done; echo sized; exit 5",
              true, true));
  if (client == nullptr) GTEST_SKIP() << "the runtime has no v5.channel.k8s.io";
  const auto has = [&](const char* text) {
    return [&, text] { return absl::StrContains(client->received[1], text); };
  };
  ASSERT_OK(client->ReadUntil(has("terminal")));
  ASSERT_OK(client->Send(0, "line\n"));
  ASSERT_OK(client->ReadUntil(has("got line")));
  ASSERT_OK(client->CloseChannel(0));
  ASSERT_OK(client->Send(4, "{\"Width\":101,\"Height\":37}"));
  ASSERT_OK(client->ReadToEnd());
  EXPECT_THAT(client->received[1], HasSubstr("sized"));
  EXPECT_EQ(client->received[2], "");
  EXPECT_EQ(ExitCodeOf(client->received[3]), 5) << client->received[3];
}

PROMISE_TEST(StreamTest, UrlsAreGoodOnce, "A URL of Exec can be connected to once") {
  const std::string container = Start(RunPod(), Sleeper());
  const std::string url = ExecUrl(container, "true");
  ASSERT_OK(WebSocketClient::Connect(url, "v4.channel.k8s.io"));
  EXPECT_FALSE(WebSocketClient::Connect(url, "v4.channel.k8s.io").ok());
}

PROMISE_TEST(StreamTest, RequestsWithoutStreamsAreRefused,
             "Exec and Attach with no stream, or with tty and stderr, are INVALID_ARGUMENT") {
  const std::string container = Start(RunPod(), Sleeper());
  cri::ExecRequest exec;
  exec.set_container_id(container);
  exec.add_cmd("true");
  EXPECT_TRUE(absl::IsInvalidArgument(client_.Ask<cri::ExecResponse>(exec).status()));
  cri::AttachRequest attach;
  attach.set_container_id(container);
  attach.set_tty(true);
  attach.set_stdout(true);
  attach.set_stderr(true);
  EXPECT_TRUE(absl::IsInvalidArgument(client_.Ask<cri::AttachResponse>(attach).status()));
}

PROMISE_TEST(StreamTest, AttachIsToTheContainersOwnStreams,
             "Attach carries the client's input to the container and its outputs to every client "
             "that is attached; the log has them too") {
  cri::ContainerConfig config = Shell("while read line; do echo \"got $line\"; done");
  config.set_stdin(true);
  const std::string container = Start(RunPod(), config);
  Streams first = OpenStreams(AttachUrl(container), true, false);
  ASSERT_NE(first.client, nullptr);
  std::string& of_first = first.client->received[first.out];
  ASSERT_OK(first.client->ReadUntil([&] { return first.client->replied.contains(first.err); }));
  ASSERT_OK(first.client->Send(first.in, "one\n"));
  ASSERT_OK(first.client->ReadUntil([&] { return of_first == "got one\n"; }));
  const auto second = WebSocketClient::Connect(AttachUrl(container), "v4.channel.k8s.io");
  ASSERT_OK(second);
  std::string& of_second = (*second)->received[1];
  // The echo of its own input shows that it is attached.
  ASSERT_OK((*second)->Send(0, "two\n"));
  ASSERT_OK((*second)->ReadUntil([&] { return absl::StrContains(of_second, "got two\n"); }));
  ASSERT_OK(first.client->Send(first.in, "three\n"));
  const std::string all = "got one\ngot two\ngot three\n";
  ASSERT_OK(first.client->ReadUntil([&] { return of_first.size() >= all.size(); }));
  EXPECT_EQ(of_first, all);
  ASSERT_OK((*second)->ReadUntil([&] { return absl::StrContains(of_second, "got three\n"); }));
  EXPECT_THAT(of_second, EndsWith("got two\ngot three\n"));
  EXPECT_TRUE(Eventually([&] { return Output(container) == all; })) << Output(container);
}

PROMISE_TEST(StreamTest, PortForwardReachesThePod,
             "PortForward gives a URL where a SPDY client of portforward.k8s.io opens connections "
             "to ports of the pod; one to a port where nobody listens is an error of its own") {
  const std::string pod = RunPod();
  const std::string port = ServePage(pod);
  const auto spdy = SpdyClient::Connect(PortUrl(pod), "portforward.k8s.io");
  ASSERT_OK(spdy);
  SpdyClient& client = **spdy;
  const auto ask = [&](const std::string& number, const std::string& id) {
    const auto error = client.Open({{"streamtype", "error"}, {"port", number}, {"requestid", id}});
    const auto data = client.Open({{"streamtype", "data"}, {"port", number}, {"requestid", id}});
    EXPECT_TRUE(error.ok() && data.ok());
    EXPECT_OK(client.ReadUntil([&] { return client.replied.contains(*data); }));
    EXPECT_OK(client.Send(*data, "GET /page HTTP/1.0\r\n\r\n"));
    EXPECT_OK(client.ReadUntil([&] { return client.ended.contains(*data); }));
    EXPECT_OK(client.Send(*data, "", /*last=*/true));
    EXPECT_OK(client.ReadUntil([&] { return client.ended.contains(*error); }));
    return std::pair(client.received[*data], client.received[*error]);
  };
  const auto [page, no_error] = ask(port, "0");
  EXPECT_THAT(page, HasSubstr("hello"));
  EXPECT_EQ(no_error, "");
  const auto [nothing, error] = ask("1", "1");
  EXPECT_THAT(nothing, Not(HasSubstr("hello")));
  EXPECT_THAT(error, HasSubstr("1"));
}

PROMISE_TEST(StreamTest, PortForwardOverWebSockets,
             "A WebSocket client of v4.channel.k8s.io finds each port of the request on two "
             "channels, which begin with its number: one for its bytes, one for what goes wrong") {
  const std::string pod = RunPod();
  int port = 0;
  ASSERT_TRUE(absl::SimpleAtoi(ServePage(pod), &port));
  const auto websocket = WebSocketClient::Connect(PortUrl(pod, {port, 1}), "v4.channel.k8s.io");
  ASSERT_OK(websocket);
  WebSocketClient& client = **websocket;
  const auto number = [](int of) {
    return std::string({static_cast<char>(of & 0xff), static_cast<char>(of >> 8)});
  };
  ASSERT_OK(client.Send(0, "GET /page HTTP/1.0\r\n\r\n"));
  ASSERT_OK(client.ReadUntil([&] {
    return absl::StrContains(client.received[0], "hello") &&
           client.received[3].size() > number(1).size();
  }));
  EXPECT_THAT(client.received[0], StartsWith(number(port)));
  EXPECT_THAT(client.received[0], HasSubstr("hello"));
  EXPECT_EQ(client.received[1], number(port)) << "an error of the port that is served";
  EXPECT_EQ(client.received[2], number(1));
  EXPECT_THAT(client.received[3], StartsWith(number(1)));
  EXPECT_GT(client.received[3].size(), number(1).size()) << "no error of the one that isn't";
}

PROMISE_TEST(StreamTest, WhatIsNotThereIsNotStreamed,
             "Exec in a container that isn't RUNNING, or isn't there, is an error") {
  const std::string created = Create(RunPod(), Sleeper());
  EXPECT_FALSE(TryExecUrl(created, "true").ok());
  EXPECT_TRUE(absl::IsNotFound(TryExecUrl(std::string(64, '0'), "true").status()));
}

}  // namespace
}  // namespace plimsoll::conformance
