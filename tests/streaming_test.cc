// Exec, attach and forwarded ports of real containers, with the tests' own SPDY and WebSocket
// clients.
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <thread>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "absl/time/clock.h"
#include "base/loopback_listener_for_test.h"
#include "harness/kernel.h"
#include "harness/own_mark.h"
#include "harness/stream_status.h"
#include "harness/streaming_node.h"

namespace plimsoll::testing {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

class StreamingTest : public StreamingNodeTest {};

TEST_F(StreamingTest, ExecGivesBothStreamsAndTheExitCodeOverBothProtocols) {
  const std::string container = Start(RunPod(), Shell("sleep 1000"));
  const std::string script = "echo out; echo err >&2; exit 3";
  auto websocket = Connect(ExecUrl(container, script));
  ASSERT_NE(websocket, nullptr);
  ASSERT_TRUE(websocket->ReadToEnd().ok());
  EXPECT_EQ(websocket->received[1], "out\n");
  EXPECT_EQ(websocket->received[2], "err\n");
  EXPECT_EQ(ExitCodeOf(websocket->received[3]), 3) << websocket->received[3];

  const auto spdy = SpdyClient::Connect(ExecUrl(container, script), "v4.channel.k8s.io");
  ASSERT_TRUE(spdy.ok()) << spdy.status();
  const auto error = (*spdy)->Open({{"streamtype", "error"}});
  const auto out = (*spdy)->Open({{"streamtype", "stdout"}});
  const auto err = (*spdy)->Open({{"streamtype", "stderr"}});
  ASSERT_TRUE(error.ok() && out.ok() && err.ok());
  ASSERT_TRUE((*spdy)->ReadToEnd().ok());
  EXPECT_EQ((*spdy)->received[*out], "out\n");
  EXPECT_EQ((*spdy)->received[*err], "err\n");
  EXPECT_EQ(ExitCodeOf((*spdy)->received[*error]), 3) << (*spdy)->received[*error];
}

TEST_F(StreamingTest, ExecRunsInTheContainerWithItsEnvironment) {
  cri::ContainerConfig config = Shell("sleep 1000");
  cri::KeyValue* env = config.add_envs();
  env->set_key("COLOUR");
  env->set_value("red");
  config.set_working_dir("/var");
  const std::string container = Start(RunPod(), config);
  for (const bool terminal : {false, true}) {
    SCOPED_TRACE(terminal);
    auto client = Connect(
        ExecUrl(container, "echo $COLOUR:$(pwd):$(readlink /proc/self/ns/pid)", false, terminal));
    ASSERT_NE(client, nullptr);
    ASSERT_TRUE(client->ReadToEnd().ok());
    EXPECT_THAT(client->received[1], StartsWith(absl::StrCat("red:/var:pid:[")));
    EXPECT_EQ(ExitCodeOf(client->received[3]), 0) << client->received[3];
  }
}

TEST_F(StreamingTest, AnExecsTerminalIsTheContainersWithTheSizeThatTheClientSays) {
  const std::string container = Start(RunPod(), Shell("sleep 1000"));
  auto client = Connect(ExecUrl(container, "tty; echo $TERM; read go; busybox stty size; exit 4",
                                true, /*terminal=*/true));
  ASSERT_NE(client, nullptr);
  ASSERT_TRUE(
      client->ReadUntil([&] { return absl::StrContains(client->received[1], "xterm"); }).ok());
  EXPECT_THAT(client->received[1], HasSubstr("/dev/pts/"));
  ASSERT_TRUE(client->Send(4, "{\"Width\":101,\"Height\":37}").ok());
  ASSERT_TRUE(client->Send(0, "\n").ok());
  ASSERT_TRUE(client->ReadToEnd().ok());
  EXPECT_THAT(client->received[1], HasSubstr("37 101"));
  EXPECT_EQ(ExitCodeOf(client->received[3]), 4) << client->received[3];
  EXPECT_EQ(ExecOutput(container, "ls /dev/pts | grep -vc ptmx || true"), "0\n");
}

TEST_F(StreamingTest, InputReachesAnExecAndItsEndIsSeen) {
  const std::string container = Start(RunPod(), Shell("sleep 1000"));
  auto client = Connect(ExecUrl(container, "cat; echo end", true));
  ASSERT_NE(client, nullptr);
  ASSERT_TRUE(client->Send(0, "hello\n").ok());
  ASSERT_TRUE(client->ReadUntil([&] { return client->received[1] == "hello\n"; }).ok());
  ASSERT_TRUE(client->CloseChannel(0).ok());
  ASSERT_TRUE(client->ReadToEnd().ok());
  EXPECT_EQ(client->received[1], "hello\nend\n");
}

TEST_F(StreamingTest, ACommandThatIsNotThereIsNamed) {
  const std::string container = Start(RunPod(), Shell("sleep 1000"));
  for (const bool terminal : {false, true}) {
    SCOPED_TRACE(terminal);
    cri::ExecRequest request;
    request.set_container_id(container);
    request.add_cmd("/no/such/command");
    request.set_stdout(true);
    request.set_stderr(!terminal);
    request.set_tty(terminal);
    auto client = Connect(UrlOf(&cri::RuntimeService::Stub::Exec, request));
    ASSERT_NE(client, nullptr);
    ASSERT_TRUE(client->ReadToEnd().ok());
    EXPECT_THAT(client->received[terminal ? 1 : 2], HasSubstr("/no/such/command"));
    EXPECT_THAT(ExitCodeOf(client->received[3]), AnyOf(126, 127)) << client->received[3];
  }
}

TEST_F(StreamingTest, AClientThatGoesEndsItsCommand) {
  const std::string container = Start(RunPod(), Shell("sleep 1000"));
  for (const bool terminal : {false, true}) {
    SCOPED_TRACE(terminal);
    const std::string mark = OwnMark(terminal ? 1 : 2);
    auto client = Connect(ExecUrl(container, "echo here; sleep " + mark + "; :", true, terminal));
    ASSERT_NE(client, nullptr);
    ASSERT_TRUE(
        client->ReadUntil([&] { return absl::StrContains(client->received[1], "here"); }).ok());
    EXPECT_FALSE(ProcessesWith("sleep " + mark).empty());
    client.reset();
    EXPECT_TRUE(Eventually([&] { return ProcessesWith("sleep " + mark).empty(); }));
  }
  EXPECT_EQ(ExecOutput(container, "echo fine"), "fine\n");
}

TEST_F(StreamingTest, SeveralAttachedClientsSeeWhatTheContainerWrites) {
  cri::ContainerConfig config = Shell("while read line; do echo \"got $line\"; echo bad >&2; done");
  config.set_stdin(true);
  const std::string container = Start(RunPod(), config);
  auto first = Connect(AttachUrl(container, true));
  auto second = Connect(AttachUrl(container));
  ASSERT_TRUE(first != nullptr && second != nullptr);
  // Both are attached once they get lines: write until they do.
  ASSERT_TRUE(first->Send(0, "1\n").ok());
  ASSERT_TRUE(first->ReadUntil([&] { return !first->received[1].empty(); }).ok());
  std::atomic<bool> seen = false;
  std::thread writer([&] {
    while (!seen && first->Send(0, "2\n").ok()) absl::SleepFor(absl::Milliseconds(20));
  });
  EXPECT_TRUE(second
                  ->ReadUntil([&] {
                    return absl::StrContains(second->received[1], "got 2\n") &&
                           absl::StrContains(second->received[2], "bad\n");
                  })
                  .ok());
  seen = true;
  writer.join();
  EXPECT_TRUE(first
                  ->ReadUntil([&] {
                    return absl::StrContains(first->received[1], "got 2\n") &&
                           absl::StrContains(first->received[2], "bad\n");
                  })
                  .ok());
  EXPECT_THAT(first->received[1], StartsWith("got 1\ngot 2\n"));
  EXPECT_THAT(Output(container), HasSubstr("got 1\n"));
}

TEST_F(StreamingTest, InputOfTheFirstClientEndsThatOfAContainerOfStdinOnce) {
  cri::ContainerConfig config = Shell("cat; echo end");
  config.set_stdin(true);
  config.set_stdin_once(true);
  const std::string container = Start(RunPod(), config);
  auto client = Connect(AttachUrl(container, true));
  ASSERT_NE(client, nullptr);
  ASSERT_TRUE(client->Send(0, "hello\n").ok());
  ASSERT_TRUE(client->ReadUntil([&] { return client->received[1] == "hello\n"; }).ok());
  ASSERT_TRUE(client->CloseChannel(0).ok());
  ASSERT_TRUE(client->ReadToEnd().ok());
  EXPECT_EQ(client->received[1], "hello\nend\n");
  EXPECT_EQ(ExitCodeOf(client->received[3]), 0) << client->received[3];
  EXPECT_EQ(AwaitExit(container).exit_code(), 0);
}

TEST_F(StreamingTest, InputOutlivesItsClientsOtherwise) {
  cri::ContainerConfig config = Shell("while read line; do echo \"got $line\"; done");
  config.set_stdin(true);
  const std::string container = Start(RunPod(), config);
  for (const char* text : {"one", "two"}) {
    auto client = Connect(AttachUrl(container, true));
    ASSERT_NE(client, nullptr);
    ASSERT_TRUE(client->Send(0, absl::StrCat(text, "\n")).ok());
    const std::string expected = absl::StrCat("got ", text, "\n");
    ASSERT_TRUE(client->ReadUntil([&] { return client->received[1] == expected; }).ok());
  }
  EXPECT_EQ(Status(container).state(), cri::CONTAINER_RUNNING);
}

TEST_F(StreamingTest, AContainersTerminalIsAttachedTo) {
  cri::ContainerConfig config = Shell("tty; read go; busybox stty size; read go; exit 5");
  config.set_stdin(true);
  config.set_tty(true);
  const std::string container = Start(RunPod(), config);
  auto client = Connect(AttachUrl(container, true, /*terminal=*/true));
  ASSERT_NE(client, nullptr);
  ASSERT_TRUE(client->Send(4, "{\"Width\":99,\"Height\":33}").ok());
  ASSERT_TRUE(client->Send(0, "\n").ok());
  ASSERT_TRUE(
      client->ReadUntil([&] { return absl::StrContains(client->received[1], "33 99"); }).ok());
  ASSERT_TRUE(client->Send(0, "\n").ok());
  ASSERT_TRUE(client->ReadToEnd().ok());
  EXPECT_EQ(AwaitExit(container).exit_code(), 5);
}

// The number of bytes that the notes in `text` declare left out for a slow client.
size_t BytesLeftOut(const std::string& text) {
  size_t all = 0;
  for (const absl::string_view line : absl::StrSplit(text, '\n', absl::SkipEmpty())) {
    absl::string_view rest = line;
    size_t bytes = 0;
    EXPECT_TRUE(absl::ConsumePrefix(&rest, "[plimsoll: ")) << line;
    EXPECT_TRUE(absl::SimpleAtoi(rest.substr(0, rest.find(' ')), &bytes)) << line;
    EXPECT_THAT(std::string(rest), HasSubstr(" bytes of output left out here")) << line;
    all += bytes;
  }
  return all;
}

// One attached client never reads: neither container nor log nor another client waits for it. The
// other client asks for each part of the output once it has all of the previous one, so it misses
// nothing even on a slow machine.
TEST_F(StreamingTest, ASlowClientStallsNobodyElse) {
  constexpr int kParts = 40;
  constexpr int kLinesOfAPart = 100;
  constexpr size_t kLineBytes = 10'000;
  cri::ContainerConfig config = Shell(absl::StrCat(
      "read a; echo one; i=0; while [ $i -lt ", kParts * kLinesOfAPart,
      " ]; do read b; n=0; while [ $n -lt ", kLinesOfAPart,
      " ]; do i=$((i+1)); n=$((n+1)); printf '%0", kLineBytes, "d\\n' $i; done; done; read c"));
  config.set_stdin(true);
  const std::string container = Start(RunPod(), config);
  auto slow = Connect(AttachUrl(container, true));
  ASSERT_NE(slow, nullptr);
  ASSERT_TRUE(slow->Send(0, "\n").ok());
  ASSERT_TRUE(slow->ReadUntil([&] { return slow->received[1] == "one\n"; }).ok());
  auto quick = Connect(AttachUrl(container, true));
  ASSERT_NE(quick, nullptr);
  std::string expected;
  for (int part = 0; part < kParts; ++part) {
    for (int line = 1; line <= kLinesOfAPart; ++line) {
      const std::string number = absl::StrCat(part * kLinesOfAPart + line);
      absl::StrAppend(&expected, std::string(kLineBytes - number.size(), '0'), number, "\n");
    }
    ASSERT_TRUE(quick->Send(0, "\n").ok());
    const absl::Status read =
        quick->ReadUntil([&] { return quick->received[1].size() >= expected.size(); });
    ASSERT_TRUE(read.ok()) << read << " in part " << part;
  }
  EXPECT_TRUE(quick->received[1] == expected)
      << quick->received[1].size() << " bytes of " << expected.size();
  EXPECT_EQ(ExecOutput(container, "echo fine"), "fine\n");
  const std::string log_path = Status(container).log_path();
  ASSERT_TRUE(quick->Send(0, "\n").ok());
  ASSERT_TRUE(quick->ReadToEnd().ok());
  EXPECT_TRUE(quick->received[1] == expected);
  EXPECT_EQ(quick->received[2], "");
  // The slow client learns how much it missed when it reads.
  ASSERT_TRUE(slow->ReadToEnd().ok());
  EXPECT_THAT(slow->received[1], StartsWith("one\n"));
  EXPECT_LT(slow->received[1].size(), expected.size());
  EXPECT_EQ(slow->received[1].size() + BytesLeftOut(slow->received[2]),
            expected.size() + std::string("one\n").size());
  EXPECT_EQ(ExitCodeOf(slow->received[3]), 0) << slow->received[3];

  AwaitExit(container);
  const auto log = Host().Read(log_path, 2 * expected.size());
  ASSERT_TRUE(log.ok()) << log.status();
  std::string logged;
  for (const absl::string_view line : absl::StrSplit(*log, '\n', absl::SkipEmpty())) {
    const std::vector<absl::string_view> fields = absl::StrSplit(line, absl::MaxSplits(' ', 3));
    ASSERT_EQ(fields.size(), 4u);
    ASSERT_EQ(absl::StrCat(fields[1], " ", fields[2]), "stdout F");
    absl::StrAppend(&logged, fields[3], "\n");
  }
  EXPECT_TRUE(logged == "one\n" + expected) << logged.size() << " bytes in the log";
}

TEST_F(StreamingTest, AttachedClientsAreToldWhenTheMonitorDies) {
  cri::ContainerConfig config = Shell("while read line; do echo \"got $line\"; done");
  config.set_stdin(true);
  const std::string container = Start(RunPod(), config);
  auto client = Connect(AttachUrl(container, true));
  ASSERT_NE(client, nullptr);
  ASSERT_TRUE(client->Send(0, "1\n").ok());
  ASSERT_TRUE(client->ReadUntil([&] { return client->received[1] == "got 1\n"; }).ok());
  const auto monitors = ProcessesWith(absl::StrCat("plimsoll-monitor ", container));
  ASSERT_EQ(monitors.size(), 1u);
  ASSERT_EQ(kill(std::stoi(monitors[0]), SIGKILL), 0);
  ASSERT_TRUE(client->ReadToEnd().ok());
  EXPECT_EQ(ExitCodeOf(client->received[3]), -1) << client->received[3];
  EXPECT_THAT(client->received[3], HasSubstr("monitor"));
}

TEST_F(StreamingTest, ADaemonThatIsKilledLeavesNoCommandAndTheNextOneServes) {
  const std::string container = Start(RunPod(), Shell("sleep 1000"));
  const std::string sleep = "sleep " + OwnMark(3);
  auto exec = Connect(ExecUrl(container, "echo here; " + sleep + "; :", true));
  auto attached = Connect(AttachUrl(container));
  ASSERT_TRUE(exec != nullptr && attached != nullptr);
  ASSERT_TRUE(exec->ReadUntil([&] { return exec->received[1] == "here\n"; }).ok());
  node_.KillDaemon();
  EXPECT_TRUE(exec->ReadToEnd().ok());
  EXPECT_TRUE(attached->ReadToEnd().ok());
  ASSERT_TRUE(node_.StartDaemon().ok());
  EXPECT_TRUE(Eventually([&] { return ProcessesWith(sleep).empty(); }));
  auto again = Connect(ExecUrl(container, "echo again"));
  ASSERT_NE(again, nullptr);
  ASSERT_TRUE(again->ReadToEnd().ok());
  EXPECT_EQ(again->received[1], "again\n");
  EXPECT_EQ(Status(container).state(), cri::CONTAINER_RUNNING);
}

TEST_F(StreamingTest, WhatDoesNotRunIsNotStreamed) {
  const std::string pod = RunPod();
  const std::string container = Start(pod, Shell("sleep 1000"));
  const std::string url = ExecUrl(container, "true");
  ASSERT_TRUE(StopPod(pod).ok());
  grpc::ClientContext context;
  cri::ExecRequest request;
  request.set_container_id(container);
  request.add_cmd("true");
  request.set_stdout(true);
  cri::ExecResponse response;
  EXPECT_EQ(node_.runtime().Exec(&context, request, &response).error_code(),
            grpc::StatusCode::FAILED_PRECONDITION);
  grpc::ClientContext of_ports;
  cri::PortForwardRequest ports;
  ports.set_pod_sandbox_id(pod);
  cri::PortForwardResponse forwarded;
  EXPECT_EQ(node_.runtime().PortForward(&of_ports, ports, &forwarded).error_code(),
            grpc::StatusCode::FAILED_PRECONDITION);
  // An old URL is still valid, and says the same.
  auto client = Connect(url);
  ASSERT_NE(client, nullptr);
  ASSERT_TRUE(client->ReadToEnd().ok());
  EXPECT_THAT(client->received[3], HasSubstr("Conflict"));
}

constexpr char kPortForward[] = "portforward.k8s.io";

class PortForwardTest : public StreamingTest {
 protected:
  // A server's answer to GET /, or the error.
  static std::string Get(SpdyClient& client, int port, int request) {
    const SpdyClient::Headers headers = {{"port", absl::StrCat(port)},
                                         {"requestid", absl::StrCat(request)}};
    SpdyClient::Headers of_error = headers;
    of_error.emplace_back("streamtype", "error");
    SpdyClient::Headers of_data = headers;
    of_data.emplace_back("streamtype", "data");
    const auto error = client.Open(of_error);
    const auto data = client.Open(of_data);
    if (!error.ok() || !data.ok()) return "not opened";
    EXPECT_TRUE(client.Send(*error, "", true).ok());
    EXPECT_TRUE(client.Send(*data, "GET /page HTTP/1.0\r\n\r\n").ok());
    EXPECT_TRUE(client.ReadUntil([&] { return client.ended.contains(*data); }).ok());
    EXPECT_TRUE(client.Send(*data, "", true).ok());
    EXPECT_TRUE(client.ReadUntil([&] { return client.ended.contains(*error); }).ok());
    return client.received[*data] + client.received[*error];
  }
  // A container that serves "page" at that address of its pod.
  void Serve(const std::string& pod, const std::string& address) {
    Start(pod, Shell(absl::StrCat(
                   "mkdir -p /www; echo hello > /www/page; exec busybox httpd -f -h /www -p ",
                   address)));
  }
  // Tries until the server is up.
  static std::string GetWhenUp(SpdyClient& client, int port) {
    std::string answer;
    int request = 0;
    EXPECT_TRUE(Eventually([&] {
      answer = Get(client, port, request++);
      return absl::StrContains(answer, "hello");
    })) << answer;
    return answer;
  }
  // Data from a server on the host reaches the client, and the other way round.
  void ExpectForwardedOnTheHost(const LoopbackListener& listener) {
    const std::string pod = RunPodOfTheHost();
    std::thread server([&] {
      for (int i = 0; i < 2; ++i) {
        const UniqueFd client = listener.Accept(Patience(absl::Seconds(30)));
        char request[64];
        EXPECT_GT(recv(client.get(), request, sizeof(request), 0), 0);
        EXPECT_EQ(send(client.get(), "of the host", 11, MSG_NOSIGNAL), 11);
      }
    });
    const auto spdy = ConnectSpdy(PortUrl(pod), kPortForward);
    EXPECT_EQ(spdy != nullptr ? Get(*spdy, listener.port(), 0) : "", "of the host");
    const auto tunnel = SpdyClient::ConnectByTunnel(PortUrl(pod));
    EXPECT_EQ(tunnel.ok() ? Get(**tunnel, listener.port(), 0) : "", "of the host");
    server.join();
  }
};

TEST_F(PortForwardTest, ReachesServersInThePodsNetworkByIpv4) {
  const std::string pod = RunPod();
  Serve(pod, "127.0.0.1:8080");
  const auto spdy = ConnectSpdy(PortUrl(pod), kPortForward);
  ASSERT_NE(spdy, nullptr);
  EXPECT_THAT(GetWhenUp(*spdy, 8080), HasSubstr("hello"));
  EXPECT_THAT(Get(*spdy, 8082, 1000), HasSubstr("error forwarding port 8082"));
  const auto tunnel = SpdyClient::ConnectByTunnel(PortUrl(pod));
  ASSERT_TRUE(tunnel.ok()) << tunnel.status();
  EXPECT_THAT(Get(**tunnel, 8080, 0), HasSubstr("hello"));

  auto websocket = Connect(PortUrl(pod, {8080}), "v4.channel.k8s.io");
  ASSERT_NE(websocket, nullptr);
  ASSERT_TRUE(websocket->Send(0, "GET /page HTTP/1.0\r\n\r\n").ok());
  ASSERT_TRUE(websocket->ReadToEnd().ok());
  EXPECT_THAT(websocket->received[0], HasSubstr("hello"));
}

TEST_F(PortForwardTest, ReachesServersInThePodsNetworkByIpv6) {
  if (access("/proc/net/if_inet6", F_OK) != 0) GTEST_SKIP() << "this kernel has no IPv6";
  const std::string pod = RunPod();
  Serve(pod, "[::1]:8081");
  const auto spdy = ConnectSpdy(PortUrl(pod), kPortForward);
  ASSERT_NE(spdy, nullptr);
  EXPECT_THAT(GetWhenUp(*spdy, 8081), HasSubstr("hello"));
}

TEST_F(PortForwardTest, ReachesServersOfTheHostsNetworkByIpv4) {
  const LoopbackListener listener(AF_INET);
  ASSERT_TRUE(listener.valid());
  ExpectForwardedOnTheHost(listener);
}

TEST_F(PortForwardTest, ReachesServersOfTheHostsNetworkByIpv6) {
  const LoopbackListener listener(AF_INET6);
  if (!listener.valid()) GTEST_SKIP() << "this host has no address ::1";
  ExpectForwardedOnTheHost(listener);
}

}  // namespace
}  // namespace plimsoll::testing
