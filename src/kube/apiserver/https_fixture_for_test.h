// For tests: a client and its server, with a token in a file.
#ifndef PLIMSOLL_KUBE_APISERVER_HTTPS_FIXTURE_FOR_TEST_H_
#define PLIMSOLL_KUBE_APISERVER_HTTPS_FIXTURE_FOR_TEST_H_

#include <memory>
#include <string>
#include <utility>

#include "base/dir_for_test.h"
#include "gtest/gtest.h"
#include "kube/apiserver/https_client.h"
#include "kube/apiserver/https_server_for_test.h"

namespace plimsoll::kube {

class HttpsTest : public ::testing::Test {
 protected:
  HttpsTest() {
    Write("token", "token-1\n");
    Write("ca.crt", Authority().pem());
  }

  // One for all tests.
  static const TestAuthority& Authority() {
    static const TestAuthority authority;
    return authority;
  }
  static const TestIdentity& Identity() {
    static const TestIdentity identity = Authority().Issue("IP:127.0.0.1,DNS:localhost");
    return identity;
  }

  void Write(const std::string& name, const std::string& content) {
    EXPECT_TRUE(dir_.root().ReplaceFile(name, content).ok());
  }

  ApiServerAddress AddressOf(uint16_t port) const {
    ApiServerAddress address;
    address.host = "127.0.0.1";
    address.port = port;
    address.token.file = dir_.path() + "/token";
    address.authorities.file = dir_.path() + "/ca.crt";
    return address;
  }

  void Start(HttpsTestServer::Serve serve, ApiClientOptions options = {}) {
    server_ = std::make_unique<HttpsTestServer>(Identity(), std::move(serve));
    Use(AddressOf(server_->port()), std::move(options));
  }
  // A server that gives one answer to every request; it closes the connection after one that isn't
  // whole.
  void StartWith(const std::string& answer, ApiClientOptions options = {}, bool stays = true) {
    Start([answer, stays](HttpsTestServer::Peer& peer,
                          const std::string&) { return peer.Send(answer) && stays; },
          std::move(options));
  }
  void Use(ApiServerAddress address, ApiClientOptions options = {}) {
    absl::StatusOr<std::unique_ptr<ApiClient>> client =
        MakeApiClient(std::move(address), std::move(options));
    ASSERT_TRUE(client.ok()) << client.status();
    client_ = *std::move(client);
  }

  absl::StatusOr<nlohmann::json> Ask(const std::string& method = "GET",
                                     nlohmann::json body = nullptr,
                                     absl::Duration patience = absl::Seconds(20)) {
    ApiRequest request;
    request.method = method;
    request.path = "/api/v1/x";
    request.body = std::move(body);
    return client_->Call(request, patience);
  }
  // The error of a call that must fail.
  absl::Status Fail(const std::string& method = "GET",
                    absl::Duration patience = absl::Seconds(20)) {
    const auto answer = Ask(method, nullptr, patience);
    EXPECT_FALSE(answer.ok()) << *answer;
    return answer.status();
  }

  TestDir dir_;
  std::unique_ptr<HttpsTestServer> server_;
  std::unique_ptr<ApiClient> client_;
};

}  // namespace plimsoll::kube

#endif  // PLIMSOLL_KUBE_APISERVER_HTTPS_FIXTURE_FOR_TEST_H_
