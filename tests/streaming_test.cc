// Exec, attach and forwarded ports of real containers, by SPDY and WebSocket clients of the tests'
// own.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <thread>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "harness/kernel.h"
#include "harness/node.h"
#include "harness/spdy_client.h"
#include "harness/websocket_client.h"

namespace plimsoll::testing {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr char kV5[] = "v5.channel.k8s.io";

class StreamingTest : public NodeTest {
 protected:
  template <typename Response, typename Request>
  std::string UrlOf(grpc::Status (cri::RuntimeService::Stub::*method)(grpc::ClientContext*,
                                                                      const Request&, Response*),
                    const Request& request) {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(30));
    Response response;
    const grpc::Status status = (node_.runtime().*method)(&context, request, &response);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return response.url();
  }

  std::string ExecUrl(const std::string& container, const std::string& script, bool input = false,
                      bool terminal = false) {
    cri::ExecRequest request;
    request.set_container_id(container);
    for (const std::string& word : {std::string("/bin/sh"), std::string("-c"), script}) {
      request.add_cmd(word);
    }
    request.set_stdin(input);
    request.set_stdout(true);
    request.set_stderr(!terminal);
    request.set_tty(terminal);
    return UrlOf(&cri::RuntimeService::Stub::Exec, request);
  }
  std::string AttachUrl(const std::string& container, bool input = false, bool terminal = false) {
    cri::AttachRequest request;
    request.set_container_id(container);
    request.set_stdin(input);
    request.set_stdout(true);
    request.set_stderr(!terminal);
    request.set_tty(terminal);
    return UrlOf(&cri::RuntimeService::Stub::Attach, request);
  }
  std::string PortUrl(const std::string& pod, const std::vector<int>& ports = {}) {
    cri::PortForwardRequest request;
    request.set_pod_sandbox_id(pod);
    for (const int port : ports) request.add_port(port);
    return UrlOf(&cri::RuntimeService::Stub::PortForward, request);
  }
  static std::unique_ptr<WebSocketClient> Connect(const std::string& url,
                                                  const std::string& protocol = kV5) {
    auto client = WebSocketClient::Connect(url, protocol);
    EXPECT_TRUE(client.ok()) << client.status();
    return client.ok() ? *std::move(client) : nullptr;
  }

  // The exit code in a metav1.Status; -1: it has none.
  static int ExitCode(const std::string& text) {
    const auto status = nlohmann::json::parse(text, nullptr, false);
    if (!status.is_object()) return -1;
    if (status.value("status", "") == "Success") return 0;
    if (status.value("reason", "") != "NonZeroExitCode") return -1;
    return std::stoi(status["details"]["causes"][0]["message"].get<std::string>());
  }
};

TEST_F(StreamingTest, ExecGivesBothStreamsAndTheExitCodeOverBothProtocols) {
  const std::string container = Start(RunPod(), Shell("sleep 1000"));
  const std::string script = "echo out; echo err >&2; exit 3";
  auto websocket = Connect(ExecUrl(container, script));
  ASSERT_NE(websocket, nullptr);
  ASSERT_TRUE(websocket->ReadToEnd().ok());
  EXPECT_EQ(websocket->received[1], "out\n");
  EXPECT_EQ(websocket->received[2], "err\n");
  EXPECT_EQ(ExitCode(websocket->received[3]), 3) << websocket->received[3];

  const auto spdy = SpdyClient::Connect(ExecUrl(container, script), "v4.channel.k8s.io");
  ASSERT_TRUE(spdy.ok()) << spdy.status();
  const auto error = (*spdy)->Open({{"streamtype", "error"}});
  const auto out = (*spdy)->Open({{"streamtype", "stdout"}});
  const auto err = (*spdy)->Open({{"streamtype", "stderr"}});
  ASSERT_TRUE(error.ok() && out.ok() && err.ok());
  ASSERT_TRUE((*spdy)->ReadToEnd().ok());
  EXPECT_EQ((*spdy)->received[*out], "out\n");
  EXPECT_EQ((*spdy)->received[*err], "err\n");
  EXPECT_EQ(ExitCode((*spdy)->received[*error]), 3) << (*spdy)->received[*error];
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
    EXPECT_EQ(ExitCode(client->received[3]), 0) << client->received[3];
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
  EXPECT_EQ(ExitCode(client->received[3]), 4) << client->received[3];
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
    EXPECT_THAT(ExitCode(client->received[3]), AnyOf(126, 127)) << client->received[3];
  }
}

TEST_F(StreamingTest, AClientThatGoesEndsItsCommand) {
  const std::string container = Start(RunPod(), Shell("sleep 1000"));
  for (const bool terminal : {false, true}) {
    SCOPED_TRACE(terminal);
    const std::string mark = terminal ? "77001" : "77002";
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
  // Whether both are attached shows in what they get: lines go in until they do.
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
  EXPECT_EQ(ExitCode(client->received[3]), 0) << client->received[3];
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

// One attached client never reads: neither container nor log nor another client waits for it.
TEST_F(StreamingTest, ASlowClientStallsNobodyElse) {
  cri::ContainerConfig config = Shell(
      "read a; echo one; read b; i=0; "
      "while [ $i -lt 40 ]; do head -c 1000000 /dev/zero | tr '\\0' x; echo; i=$((i+1)); done; "
      "while ! read -t 1 c; do echo finished >&2; done");
  config.set_stdin(true);
  const std::string container = Start(RunPod(), config);
  auto slow = Connect(AttachUrl(container, true));
  ASSERT_NE(slow, nullptr);
  ASSERT_TRUE(slow->Send(0, "\n").ok());
  ASSERT_TRUE(slow->ReadUntil([&] { return slow->received[1] == "one\n"; }).ok());
  auto quick = Connect(AttachUrl(container, true));
  ASSERT_NE(quick, nullptr);
  ASSERT_TRUE(quick->Send(0, "\n").ok());
  ASSERT_TRUE(
      quick->ReadUntil([&] { return absl::StrContains(quick->received[2], "finished"); }).ok());
  EXPECT_EQ(ExecOutput(container, "echo fine"), "fine\n");
  EXPECT_GT(std::filesystem::file_size(Status(container).log_path()), 40'000'000u);
  ASSERT_TRUE(quick->Send(0, "\n").ok());
  // What the slow one has missed is told when it reads.
  ASSERT_TRUE(slow->ReadToEnd().ok());
  EXPECT_THAT(slow->received[2], HasSubstr("bytes of output left out"));
  EXPECT_LT(slow->received[1].size(), 40'000'000u);
  EXPECT_EQ(ExitCode(slow->received[3]), 0) << slow->received[3];
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
  EXPECT_EQ(ExitCode(client->received[3]), -1) << client->received[3];
  EXPECT_THAT(client->received[3], HasSubstr("monitor"));
}

TEST_F(StreamingTest, ADaemonThatIsKilledLeavesNoCommandAndTheNextOneServes) {
  const std::string container = Start(RunPod(), Shell("sleep 1000"));
  auto exec = Connect(ExecUrl(container, "echo here; sleep 77003; :", true));
  auto attached = Connect(AttachUrl(container));
  ASSERT_TRUE(exec != nullptr && attached != nullptr);
  ASSERT_TRUE(exec->ReadUntil([&] { return exec->received[1] == "here\n"; }).ok());
  node_.KillDaemon();
  EXPECT_TRUE(exec->ReadToEnd().ok());
  EXPECT_TRUE(attached->ReadToEnd().ok());
  ASSERT_TRUE(node_.StartDaemon().ok());
  EXPECT_TRUE(Eventually([] { return ProcessesWith("sleep 77003").empty(); }));
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
  // A URL of before is still a URL, and says the same.
  auto client = Connect(url);
  ASSERT_NE(client, nullptr);
  ASSERT_TRUE(client->ReadToEnd().ok());
  EXPECT_THAT(client->received[3], HasSubstr("Conflict"));
}

class PortForwardTest : public StreamingTest {
 protected:
  // What the server at a port answers to GET /, or what went wrong.
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
};

TEST_F(PortForwardTest, ReachesServersInThePodsNetworkByIpv4AndIpv6) {
  const std::string pod = RunPod();
  Serve(pod, "127.0.0.1:8080");
  const bool has_ipv6 = access("/proc/net/if_inet6", F_OK) == 0;
  if (has_ipv6) Serve(pod, "[::1]:8081");
  const auto spdy = SpdyClient::Connect(PortUrl(pod), "portforward.k8s.io");
  ASSERT_TRUE(spdy.ok()) << spdy.status();
  EXPECT_THAT(GetWhenUp(**spdy, 8080), HasSubstr("hello"));
  if (has_ipv6) {
    EXPECT_THAT(GetWhenUp(**spdy, 8081), HasSubstr("hello"));
  }
  EXPECT_THAT(Get(**spdy, 8082, 1000), HasSubstr("error forwarding port 8082"));
  const auto tunnel = SpdyClient::ConnectByTunnel(PortUrl(pod));
  ASSERT_TRUE(tunnel.ok()) << tunnel.status();
  EXPECT_THAT(Get(**tunnel, 8080, 0), HasSubstr("hello"));

  auto websocket = Connect(PortUrl(pod, {8080}), "v4.channel.k8s.io");
  ASSERT_NE(websocket, nullptr);
  ASSERT_TRUE(websocket->Send(0, "GET /page HTTP/1.0\r\n\r\n").ok());
  ASSERT_TRUE(websocket->ReadToEnd().ok());
  EXPECT_THAT(websocket->received[0], HasSubstr("hello"));
}

TEST_F(PortForwardTest, ReachesServersOfTheHostsNetwork) {
  const int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  ASSERT_EQ(bind(listener, reinterpret_cast<sockaddr*>(&address), size), 0);
  ASSERT_EQ(listen(listener, 1), 0);
  ASSERT_EQ(getsockname(listener, reinterpret_cast<sockaddr*>(&address), &size), 0);
  std::thread server([&] {
    const int client = accept(listener, nullptr, nullptr);
    char request[64];
    EXPECT_GT(recv(client, request, sizeof(request), 0), 0);
    EXPECT_EQ(send(client, "of the host", 11, MSG_NOSIGNAL), 11);
    close(client);
  });
  cri::PodSandboxConfig config = PodConfig();
  config.mutable_linux()->mutable_security_context()->mutable_namespace_options()->set_network(
      cri::NODE);
  const auto spdy = SpdyClient::Connect(PortUrl(RunPod(config)), "portforward.k8s.io");
  EXPECT_TRUE(spdy.ok()) << spdy.status();
  if (spdy.ok()) {
    EXPECT_EQ(Get(**spdy, ntohs(address.sin_port), 0), "of the host");
  }
  shutdown(listener, SHUT_RDWR);
  server.join();
  close(listener);
}

}  // namespace
}  // namespace plimsoll::testing
