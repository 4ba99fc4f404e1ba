// Tests of streams from a node's containers and pods.
#ifndef PLIMSOLL_TESTS_HARNESS_STREAMING_NODE_H_
#define PLIMSOLL_TESTS_HARNESS_STREAMING_NODE_H_

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "harness/kernel.h"
#include "harness/node.h"
#include "harness/spdy_client.h"
#include "harness/websocket_client.h"

namespace plimsoll::testing {

class StreamingNodeTest : public NodeTest {
 protected:
  using NodeTest::NodeTest;

  // Each URL call fails the test if there is none.
  template <typename Response, typename Request>
  std::string UrlOf(grpc::Status (cri::RuntimeService::Stub::*method)(grpc::ClientContext*,
                                                                      const Request&, Response*),
                    const Request& request) {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() +
                         absl::ToChronoSeconds(Patience(absl::Seconds(30))));
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

  // Null, and a failure of the test, where there is no connection.
  static std::unique_ptr<WebSocketClient> Connect(
      const std::string& url, const std::string& protocol = "v5.channel.k8s.io") {
    auto client = WebSocketClient::Connect(url, protocol);
    EXPECT_TRUE(client.ok()) << client.status();
    return client.ok() ? *std::move(client) : nullptr;
  }
  static std::unique_ptr<SpdyClient> ConnectSpdy(
      const std::string& url, const std::string& protocol = "v4.channel.k8s.io") {
    auto client = SpdyClient::Connect(url, protocol);
    EXPECT_TRUE(client.ok()) << client.status();
    return client.ok() ? *std::move(client) : nullptr;
  }
  // The standard output of a streamed command.
  std::string StreamedOutput(const std::string& container, const std::string& script) {
    const auto client = Connect(ExecUrl(container, script));
    if (client == nullptr) return "no connection";
    const absl::Status read = client->ReadToEnd();
    EXPECT_TRUE(read.ok()) << read;
    return client->received[1];
  }

  // A pod in the network of the host.
  std::string RunPodOfTheHost() {
    cri::PodSandboxConfig config = PodConfig();
    config.mutable_linux()->mutable_security_context()->mutable_namespace_options()->set_network(
        cri::NODE);
    return RunPod(config);
  }
};

}  // namespace plimsoll::testing

#endif  // PLIMSOLL_TESTS_HARNESS_STREAMING_NODE_H_
