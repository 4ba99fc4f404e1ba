// A server over a FakeBackend, with helpers for its tests.
#ifndef PLIMSOLL_STREAMING_SERVER_FIXTURE_FOR_TEST_H_
#define PLIMSOLL_STREAMING_SERVER_FIXTURE_FOR_TEST_H_

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/wait_until_for_test.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "harness/spdy_client.h"
#include "harness/stream_status.h"
#include "harness/websocket_client.h"
#include "streaming/fake_backend_for_test.h"
#include "streaming/server.h"

namespace plimsoll::streaming {

using ::plimsoll::testing::ExitCodeOf;
using ::plimsoll::testing::SpdyClient;
using ::plimsoll::testing::WebSocketClient;

class ServerFixture : public ::testing::Test {
 protected:
  void SetUp() override { Start({}); }
  void TearDown() override {
    server_.reset();
    EXPECT_EQ(backend_.running, 0) << "commands are left";
  }
  void Start(ServerOptions options) {
    server_.reset();
    options.backend = &backend_;
    auto server = Server::Start(std::move(options));
    ASSERT_TRUE(server.ok()) << server.status();
    server_ = *std::move(server);
  }

  static StreamRequest Shell(const std::string& script) {
    return {.kind = StreamKind::kExec,
            .id = "c",
            .argv = {"/bin/sh", "-c", script},
            .output = true,
            .errors = true};
  }
  std::string Url(StreamRequest request) {
    const auto url = server_->Admit(std::move(request));
    EXPECT_TRUE(url.ok()) << url.status();
    return url.value_or("");
  }
  std::unique_ptr<WebSocketClient> WebSocket(StreamRequest request,
                                             const std::string& protocol = "v5.channel.k8s.io") {
    auto client = WebSocketClient::Connect(Url(std::move(request)), protocol);
    EXPECT_TRUE(client.ok()) << client.status();
    return client.ok() ? *std::move(client) : nullptr;
  }
  std::unique_ptr<SpdyClient> Spdy(StreamRequest request,
                                   const std::string& protocol = "v4.channel.k8s.io") {
    auto client = SpdyClient::Connect(Url(std::move(request)), protocol);
    EXPECT_TRUE(client.ok()) << client.status();
    return client.ok() ? *std::move(client) : nullptr;
  }

  FakeBackend backend_;
  std::unique_ptr<Server> server_;
};

}  // namespace plimsoll::streaming

#endif  // PLIMSOLL_STREAMING_SERVER_FIXTURE_FOR_TEST_H_
