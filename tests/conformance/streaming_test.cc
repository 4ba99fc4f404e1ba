// Exec, Attach and PortForward: what a client finds at the URLs, over SPDY and WebSocket.
#include <memory>
#include <nlohmann/json.hpp>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "conformance/cri_test.h"
#include "harness/spdy_client.h"
#include "harness/websocket_client.h"

namespace plimsoll::conformance {
namespace {

using ::plimsoll::testing::SpdyClient;
using ::plimsoll::testing::WebSocketClient;
using ::testing::HasSubstr;
using ::testing::Not;

// The exit code in a metav1.Status; -1: it has none.
int ExitCode(const std::string& text) {
  const auto status = nlohmann::json::parse(text, nullptr, false);
  if (!status.is_object()) return -1;
  if (status.value("status", "") == "Success") return 0;
  if (status.value("reason", "") != "NonZeroExitCode") return -1;
  return std::stoi(status["details"]["causes"][0]["message"].get<std::string>());
}

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
  std::string PortUrl(const std::string& pod) {
    cri::PortForwardRequest request;
    request.set_pod_sandbox_id(pod);
    const auto response = client_.Ask<cri::PortForwardResponse>(request);
    EXPECT_OK(response);
    return response.ok() ? response->url() : "";
  }

  // A command over SPDY, as kubelet passes it on.
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
  EXPECT_EQ(ExitCode(streams.client->received[streams.error]), 3)
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
  EXPECT_EQ(ExitCode(streams.client->received[streams.error]), 0);
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
  // Two streams have no order between them: the size is asked for when it has had its time.
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
    EXPECT_EQ(ExitCode((*client)->received[3]), 3) << (*client)->received[3];
  }
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
  cri::AttachRequest request;
  request.set_container_id(container);
  request.set_stdin(true);
  request.set_stdout(true);
  request.set_stderr(true);
  const auto response = client_.Ask<cri::AttachResponse>(request);
  ASSERT_OK(response);
  Streams streams = OpenStreams(response->url(), true, false);
  ASSERT_NE(streams.client, nullptr);
  ASSERT_OK(
      streams.client->ReadUntil([&] { return streams.client->replied.contains(streams.err); }));
  ASSERT_OK(streams.client->Send(streams.in, "one\n"));
  ASSERT_OK(streams.client->ReadUntil(
      [&] { return streams.client->received[streams.out] == "got one\n"; }));
  EXPECT_TRUE(Eventually([&] { return Output(container) == "got one\n"; })) << Output(container);
}

PROMISE_TEST(StreamTest, PortForwardReachesThePod,
             "PortForward gives a URL where a SPDY client of portforward.k8s.io opens connections "
             "to ports of the pod; one to a port where nobody listens is an error of its own") {
  const std::string pod = RunPod();
  // On the host's network, which the pod shares: a port that no other test's pod has.
  const std::string container =
      Start(pod, Shell("mkdir -p /tmp/www; echo hello > /tmp/www/page; i=20000; "
                       "until busybox httpd -h /tmp/www -p 127.0.0.1:$i; do i=$((i+1)); done; "
                       "echo $i > /tmp/port; sleep 100000"));
  AwaitFile(container, "/tmp/port");
  const std::string port = Exec(container, "tr -d '\\n' < /tmp/port");
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

PROMISE_TEST(StreamTest, WhatIsNotThereIsNotStreamed,
             "Exec in a container that isn't RUNNING, or isn't there, is an error") {
  const std::string created = Create(RunPod(), Sleeper());
  EXPECT_FALSE(TryExecUrl(created, "true").ok());
  EXPECT_TRUE(absl::IsNotFound(TryExecUrl(std::string(64, '0'), "true").status()));
}

}  // namespace
}  // namespace plimsoll::conformance
