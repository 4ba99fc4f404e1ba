// Servers that aren't what they should be, and clients that must prove themselves.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sys/socket.h>

#include <string>
#include <thread>

#include "base/loopback_listener_for_test.h"
#include "kube/apiserver/https_fixture_for_test.h"

namespace plimsoll::kube {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class HttpsTlsTest : public HttpsTest {
 protected:
  void StartAs(const TestIdentity& identity, const std::string& client_authority = "") {
    client_.reset();
    server_ = std::make_unique<HttpsTestServer>(
        identity,
        [](HttpsTestServer::Peer& peer, const std::string&) {
          return peer.Send(TestAnswer(200, json::object()));
        },
        client_authority);
    Use(AddressOf(server_->port()));
  }
  // The server is not trusted, and learns nothing.
  std::string Distrust() {
    const absl::Status status = Fail();
    EXPECT_TRUE(absl::IsUnavailable(status)) << status;
    EXPECT_TRUE(server_->requests().empty());
    return std::string(status.message());
  }
};

TEST_F(HttpsTlsTest, AnotherAuthoritysCertificate) {
  StartAs(TestAuthority().Issue("IP:127.0.0.1"));
  EXPECT_THAT(Distrust(), AllOf(HasSubstr("the certificate of \"127.0.0.1\""),
                                HasSubstr("unable to get local issuer certificate")));
}

TEST_F(HttpsTlsTest, TheMachinesAuthoritiesArentAskedWhereOneIsNamed) {
  StartAs(Identity());
  ApiServerAddress address = AddressOf(server_->port());
  address.authorities = {};
  Use(address);
  // The machine doesn't know the test's authority.
  EXPECT_THAT(Distrust(), HasSubstr("issuer certificate"));
}

TEST_F(HttpsTlsTest, AnExpiredCertificate) {
  StartAs(Authority().Issue("IP:127.0.0.1", -60));
  EXPECT_THAT(Distrust(), HasSubstr("certificate has expired"));
}

TEST_F(HttpsTlsTest, ACertificateForAnotherName) {
  for (const char* names : {"DNS:other.example", "IP:127.0.0.2", "DNS:127.0.0.1", "DNS:*.0.0.1"}) {
    StartAs(Authority().Issue(names));
    EXPECT_THAT(Distrust(), HasSubstr("IP address mismatch")) << names;
  }
  StartAs(Authority().Issue("DNS:other.example,DNS:*.cluster.example"));
  ApiServerAddress address = AddressOf(server_->port());
  for (const char* name :
       {"api.other.example", "localhost", "cluster.example", "a.b.cluster.example"}) {
    address.server_name = name;
    Use(address);
    EXPECT_THAT(Distrust(), HasSubstr("hostname mismatch")) << name;
  }
  address.server_name = "api.cluster.example";
  Use(address);
  EXPECT_TRUE(Ask().ok());
}

TEST_F(HttpsTlsTest, AHostsNameIsVerifiedToo) {
  StartAs(Authority().Issue("DNS:localhost"));
  ApiServerAddress address = AddressOf(server_->port());
  address.host = "localhost";
  Use(address);
  EXPECT_TRUE(Ask().ok());
}

TEST_F(HttpsTlsTest, AHostThatDoesntExistIsUnavailable) {
  ApiServerAddress address = AddressOf(1);
  address.host = "no host";
  Use(address);
  const absl::Status status = Fail();
  EXPECT_TRUE(absl::IsUnavailable(status));
  EXPECT_THAT(status.message(), HasSubstr("look up host \"no host\""));
}

TEST_F(HttpsTlsTest, OldVersionsOfTls) {
  StartAs(Identity());
  server_->SpeakAtMost(TLS1_1_VERSION);
  EXPECT_THAT(Distrust(), HasSubstr("TLS: "));
  server_->SpeakAtMost(TLS1_2_VERSION);
  EXPECT_TRUE(Ask().ok());
}

TEST_F(HttpsTlsTest, AnAuthorityThatIsReplacedIsReadAnew) {
  StartAs(Identity());
  EXPECT_TRUE(Ask().ok());
  const TestAuthority next;
  server_->Become(next.Issue("IP:127.0.0.1"));
  server_->CloseAll();
  EXPECT_TRUE(absl::IsUnavailable(Fail()));
  Write("ca.crt", Authority().pem() + next.pem());
  EXPECT_TRUE(Ask().ok());
  // The open connection was made with the old authorities.
  Write("ca.crt", Authority().pem());
  EXPECT_TRUE(absl::IsUnavailable(Fail()));
}

TEST_F(HttpsTlsTest, WithoutAuthoritiesNobodyIsTrusted) {
  StartAs(Identity());
  for (const char* text : {"no certificate", "-----BEGIN CERTIFICATE-----\nAAAA\n"}) {
    Write("ca.crt", text);
    EXPECT_THAT(Distrust(), HasSubstr("holds no certificate")) << text;
  }
  // Not even those that the machine trusts.
  Write("ca.crt", "\n");
  absl::Status status = Fail();
  EXPECT_TRUE(absl::IsUnauthenticated(status));
  EXPECT_THAT(status.message(), HasSubstr("ca.crt is empty"));
  EXPECT_TRUE(dir_.root().RemoveFile("ca.crt").ok());
  status = Fail();
  EXPECT_TRUE(absl::IsUnauthenticated(status));
  EXPECT_THAT(status.message(), HasSubstr("ca.crt"));
}

TEST_F(HttpsTlsTest, TheClientsCertificateIsShown) {
  const TestIdentity me = Authority().Issue("DNS:me");
  StartAs(Identity(), Authority().pem());
  ApiServerAddress address = AddressOf(server_->port());
  EXPECT_TRUE(absl::IsUnavailable(Fail()));
  address.token = {};
  address.certificate.text = me.certificate;
  address.key.file = dir_.path() + "/key";
  Write("key", me.key);
  Use(address);
  EXPECT_TRUE(Ask().ok());
  EXPECT_THAT(server_->requests().at(0), Not(HasSubstr("Authorization")));
  EXPECT_TRUE(Ask().ok());
  EXPECT_EQ(server_->requests().size(), 2u);
}

TEST_F(HttpsTlsTest, AClientsKeyThatIsNone) {
  StartAs(Identity());
  ApiServerAddress address = AddressOf(server_->port());
  const TestIdentity me = Authority().Issue("DNS:me");
  struct Case {
    std::string certificate;
    std::string key;
    const char* complaint;
  };
  for (const Case& each :
       {Case{"none", me.key, "no PEM certificate"}, Case{me.certificate, "none", "no PEM key"},
        Case{me.certificate, Authority().Issue("DNS:x").key, "isn't the cert"},
        Case{me.certificate, "", "no PEM key"}}) {
    address.certificate.text = each.certificate;
    address.key.text = each.key;
    Use(address);
    const absl::Status status = Fail();
    EXPECT_TRUE(absl::IsUnauthenticated(status)) << status;
    EXPECT_THAT(status.message(), HasSubstr(each.complaint));
  }
}

// The error of a client at a port where something else listens.
absl::Status AskPlain(ApiClient& client, const LoopbackListener& listener,
                      const std::string& words) {
  std::thread server([&] {
    const UniqueFd peer = listener.Accept();
    EXPECT_GE(send(peer.get(), words.data(), words.size(), MSG_NOSIGNAL), 0);
  });
  ApiRequest request;
  request.path = "/";
  const absl::Status status = client.Call(request, absl::Seconds(20)).status();
  server.join();
  return status;
}

TEST_F(HttpsTlsTest, AServerWithoutTls) {
  const LoopbackListener listener(AF_INET);
  Use(AddressOf(listener.port()));
  for (const char* words : {"HTTP/1.1 400 Bad Request\r\n\r\n", "SSH-2.0-OpenSSH_9.2\r\n", ""}) {
    const absl::Status status = AskPlain(*client_, listener, words);
    EXPECT_TRUE(absl::IsUnavailable(status)) << status;
  }
}

TEST_F(HttpsTlsTest, AServerThatNeverShakesHands) {
  const LoopbackListener listener(AF_INET);
  Use(AddressOf(listener.port()));
  EXPECT_TRUE(absl::IsDeadlineExceeded(Fail("GET", absl::Milliseconds(100))));
}

TEST_F(HttpsTlsTest, AClosedPort) {
  uint16_t port = 0;
  {
    const LoopbackListener closed(AF_INET);
    port = closed.port();
  }
  Use(AddressOf(port));
  const absl::Status status = Fail();
  EXPECT_TRUE(absl::IsUnavailable(status));
  EXPECT_THAT(status.message(), HasSubstr("GET /api/v1/x: connect to 127.0.0.1:"));
}

}  // namespace
}  // namespace plimsoll::kube
