// Pulls from registries that are open at /v2/ and ask for a login at their repositories.
#include "image/registry/relayed_login.h"

#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/dir_for_test.h"
#include "base/programs/subprocess.h"
#include "base/status.h"
#include "base/steady_time.h"
#include "dial/tls_stream.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "image/catalog_for_test.h"
#include "image/image_for_test.h"
#include "image/image_service.h"
#include "image/lying_registry_for_test.h"
#include "image/registry/http_head.h"
#include "image/tar_for_test.h"

namespace plimsoll::image {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

dial::Until Soon(const std::atomic<bool>* stopping = nullptr) {
  dial::Until until{.deadline = SteadyAfter(absl::Seconds(60))};
  if (stopping != nullptr) until.given_up = [stopping] { return stopping->load(); };
  return until;
}

// TLS in front of a server on loopback that speaks plain HTTP, one connection after the other.
class TlsFront {
 public:
  TlsFront(uint16_t behind, dial::TlsIdentity identity)
      : behind_(behind), identity_(std::move(identity)) {
    struct sockaddr_in address = Loopback(0);
    auto* const general = reinterpret_cast<struct sockaddr*>(&address);
    socklen_t size = sizeof(address);
    listener_.Reset(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    EXPECT_EQ(bind(listener_.get(), general, size), 0);
    EXPECT_EQ(getsockname(listener_.get(), general, &size), 0);
    EXPECT_EQ(listen(listener_.get(), 64), 0);
    port_ = ntohs(address.sin_port);
    thread_ = std::thread([this] {
      const dial::Until until{.given_up = [this] { return stopping_.load(); }};
      while (dial::AwaitSocket(listener_.get(), POLLIN, until).ok()) {
        UniqueFd fd(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
        if (fd.valid()) Serve(std::move(fd)).IgnoreError();
      }
    });
  }
  ~TlsFront() {
    stopping_ = true;
    thread_.join();
  }
  std::string host() const { return absl::StrCat("127.0.0.1:", port_); }

 private:
  absl::Status Serve(UniqueFd fd) {
    const dial::Until until = Soon(&stopping_);
    PLIMSOLL_ASSIGN_OR_RETURN(
        const auto client,
        dial::ServerOverTls(dial::Stream::OverSocket(std::move(fd), until), identity_));
    std::string rest;
    PLIMSOLL_ASSIGN_OR_RETURN(const HttpHead request, ReadHttpHead(*client, &rest));
    PLIMSOLL_ASSIGN_OR_RETURN(const auto server,
                              dial::Stream::Open(/*tls=*/false, "127.0.0.1", behind_, until));
    PLIMSOLL_RETURN_IF_ERROR(server->Send(request.ToString()));
    for (std::string bytes; server->Receive(&bytes).ok(); bytes.clear()) {
      PLIMSOLL_RETURN_IF_ERROR(client->Send(bytes));
    }
    return client->End();
  }

  const uint16_t behind_;
  const dial::TlsIdentity identity_;
  UniqueFd listener_;
  uint16_t port_ = 0;
  std::atomic<bool> stopping_ = false;
  std::thread thread_;
};

class RelayedLoginTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!FindProgram("skopeo").ok()) GTEST_SKIP() << "no skopeo here: apt-get install skopeo";
    ASSERT_TRUE(dir_.root().MakeDirs("store").ok());
    ASSERT_TRUE(dir_.root().MakeDirs("machine/etc/containers").ok());
    auto service = ImageService::Open(*dir_.root().Sub("store"), &catalog_,
                                      {.host = *dir_.root().Sub("machine")});
    ASSERT_TRUE(service.ok()) << service.status();
    service_ = *std::move(service);
    image_ = layout_.AddImage({TarBuilder().File("low", std::string(300000, 'l')).Build(),
                               TarBuilder().File("high", "h").Build()});
  }
  // A registry that is open at /v2/ alone, and asks there for `identity_token`, or for kUser.
  LyingRegistry& Serve(const std::string& identity_token = "") {
    registry_.emplace(
        layout_, image_, [](const std::string&, LyingRegistry::Answer*) {}, identity_token);
    if (identity_token.empty()) registry_->AskFor(kUser, kPassword);
    registry_->OpenPing();
    return *registry_;
  }
  absl::StatusOr<Image> Pull(const std::string& name, Credentials credentials,
                             bool insecure = true) {
    PullOptions options;
    options.credentials = std::move(credentials);
    options.insecure_registry = insecure;
    return service_->Pull(name, options, nullptr);
  }

  TestDir dir_;
  TestCatalog catalog_;
  std::unique_ptr<ImageService> service_;
  TestLayout layout_;
  TestJson image_;
  std::optional<LyingRegistry> registry_;  // destroyed first: has threads of its own
};

TEST_F(RelayedLoginTest, APasswordReachesARegistryThatIsOpenAtItsRoot) {
  const std::string name = Serve().Name("closed:1");
  EXPECT_TRUE(absl::IsPermissionDenied(Pull(name, {}).status()));
  const auto image = Pull(name, {.username = kUser, .password = kPassword});
  ASSERT_TRUE(image.ok()) << image.status();
  EXPECT_THAT(image->record.repo_tags, ElementsAre(name));
  EXPECT_EQ(image->record.manifest_digest, image_["digest"].get<std::string>());
  EXPECT_THAT(*dir_.root().List("store/work"), IsEmpty());
}

TEST_F(RelayedLoginTest, ATokenReachesARegistryThatIsOpenAtItsRoot) {
  const std::string name = Serve("refresh-me").Name("closed:1");
  const auto image = Pull(name, {.identity_token = "refresh-me"});
  EXPECT_TRUE(image.ok()) << image.status();
}

TEST_F(RelayedLoginTest, ByDigestToo) {
  const std::string digest = image_["digest"];
  const auto image = Pull(absl::StrCat(Serve().Name("team/closed@"), digest),
                          {.username = kUser, .password = kPassword});
  EXPECT_TRUE(image.ok()) << image.status();
}

TEST_F(RelayedLoginTest, AWrongPasswordIsRefusedInTheRegistrysName) {
  const std::string name = Serve().Name("closed:1");
  const absl::Status refused = Pull(name, {.username = kUser, .password = "wr0ng"}).status();
  EXPECT_TRUE(absl::IsPermissionDenied(refused)) << refused;
  EXPECT_THAT(
      std::string(refused.message()),
      AllOf(HasSubstr(absl::StrCat("in ", registry_->host(), "/closed")), Not(HasSubstr("wr0ng"))));
}

// With TLS from end to end, and an authority that only hosts.toml names.
TEST_F(RelayedLoginTest, OverTlsTheRegistryIsBelievedByItsCertificate) {
  Serve();
  ASSERT_TRUE(MakeCertificates(dir_.root()).ok());
  const TlsFront front(
      static_cast<uint16_t>(std::stoi(registry_->host().substr(registry_->host().find(':') + 1))),
      {*dir_.root().Read("server.crt"), *dir_.root().Read("server.key")});
  const std::string name = absl::StrCat(front.host(), "/closed:1");
  const Credentials login{.username = kUser, .password = kPassword};
  EXPECT_THAT(std::string(Pull(name, login, /*insecure=*/false).status().message()),
              HasSubstr("x509: "));
  const std::string directory = absl::StrCat("machine/etc/containerd/certs.d/", front.host());
  ASSERT_TRUE(dir_.root().MakeDirs(directory).ok());
  ASSERT_TRUE(dir_.root()
                  .ReplaceFile(directory + "/hosts.toml", absl::StrCat("ca = \"", "ca.crt", "\"\n"))
                  .ok());
  ASSERT_TRUE(dir_.root().ReplaceFile(directory + "/ca.crt", *dir_.root().Read("ca.crt")).ok());
  const auto image = Pull(name, login, /*insecure=*/false);
  ASSERT_TRUE(image.ok()) << image.status();
  EXPECT_THAT(image->record.repo_tags, ElementsAre(name));

  // Any program of this machine could use it through the relay.
  ASSERT_TRUE(
      dir_.root()
          .ReplaceFile(directory + "/own.pem", absl::StrCat(*dir_.root().Read("server.crt"),
                                                            *dir_.root().Read("server.key")))
          .ok());
  ASSERT_TRUE(dir_.root()
                  .ReplaceFile(directory + "/hosts.toml", "ca = \"ca.crt\"\nclient = \"own.pem\"\n")
                  .ok());
  const absl::Status refused = Pull(name, login, /*insecure=*/false).status();
  EXPECT_TRUE(absl::IsPermissionDenied(refused)) << refused;
  EXPECT_THAT(std::string(refused.message()), HasSubstr("it is shown no client certificate"));
}

TEST_F(RelayedLoginTest, OnlySuchARegistryHasChallengesToFind) {
  Serve();
  RegistryAddress address{.registry = registry_->host(), .plain = true};
  const auto found = FindChallenges(address, "/v2/closed/manifests/1", Soon());
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_THAT(*found, ElementsAre("Basic realm=\"test\""));
  EXPECT_TRUE(absl::IsNotFound(FindChallenges(address, "/v2/", Soon()).status()));

  LyingRegistry closed(layout_, image_, [](const std::string&, LyingRegistry::Answer*) {});
  closed.AskFor(kUser, kPassword);
  address.registry = closed.host();
  EXPECT_TRUE(absl::IsNotFound(FindChallenges(address, "/v2/closed/manifests/1", Soon()).status()));
}

class RegistryRelayTest : public ::testing::Test {
 protected:
  // The whole answer of the relay to a request.
  static std::string Ask(const RegistryRelay& relay, const std::string& request) {
    const std::string host = relay.host();
    const auto port = static_cast<uint16_t>(std::stoi(host.substr(host.find(':') + 1)));
    const auto stream = dial::Stream::Open(/*tls=*/false, "127.0.0.1", port, Soon());
    EXPECT_TRUE(stream.ok()) << stream.status();
    EXPECT_TRUE((*stream)->Send(request).ok());
    std::string answer;
    while ((*stream)->Receive(&answer).ok()) {
    }
    return answer;
  }
};

TEST_F(RegistryRelayTest, TheRequestIsPassedOnAndOnlyTheRootGetsTheChallenge) {
  TestLayout layout;
  const TestJson image = layout.AddImage({TarBuilder().File("a", "b").Build()});
  LyingRegistry registry(layout, image, [&](const std::string& wanted, LyingRegistry::Answer* a) {
    if (wanted == "moved") {
      a->code = 307;
      a->headers = absl::StrCat("Location: http://", registry.host(), "/v2/x?y=z\r\n");
    }
  });
  const auto relay =
      RegistryRelay::Start({.address = {.registry = registry.host(), .plain = true},
                            .challenges = {"Basic realm=\"a\"", "Bearer realm=\"b\""}});
  ASSERT_TRUE(relay.ok()) << relay.status();
  const auto get = [&](const std::string& path) {
    return Ask(**relay, absl::StrCat("GET ", path, " HTTP/1.1\r\nHost: x\r\n\r\n"));
  };
  EXPECT_THAT(get("/v2/"), AllOf(HasSubstr("HTTP/1.1 200 "),
                                 HasSubstr("WWW-Authenticate: Basic realm=\"a\"\r\n"
                                           "WWW-Authenticate: Bearer realm=\"b\"\r\n"),
                                 HasSubstr("\r\n\r\n{}")));
  EXPECT_THAT(get("/v2/a/manifests/1"),
              AllOf(HasSubstr("HTTP/1.1 200 "), Not(HasSubstr("WWW-Authenticate")),
                    HasSubstr("schemaVersion")));
  EXPECT_THAT(get("/v2/a/manifests/moved"), HasSubstr("Location: /v2/x?y=z\r\n"));
  for (const char* request :
       {"POST /v2/ HTTP/1.1\r\n\r\n", "GET /etc HTTP/1.1\r\n\r\n", "GET /v2/\r\n\r\n"}) {
    EXPECT_THAT(Ask(**relay, request), HasSubstr("HTTP/1.1 405 ")) << request;
  }
}

TEST_F(RegistryRelayTest, ItEndsWithOpenConnections) {
  auto relay = RegistryRelay::Start({.address = {.registry = "127.0.0.1:1", .plain = true}});
  ASSERT_TRUE(relay.ok()) << relay.status();
  const std::string host = (*relay)->host();
  const auto port = static_cast<uint16_t>(std::stoi(host.substr(host.find(':') + 1)));
  const auto silent = dial::Stream::Open(/*tls=*/false, "127.0.0.1", port, Soon());
  ASSERT_TRUE(silent.ok()) << silent.status();
  relay->reset();
  std::string nothing;
  EXPECT_FALSE((*silent)->Receive(&nothing).ok());
}

TEST(HttpHeadTest, ReadsAndWritesWhatARegistrySends) {
  const auto head = ParseHttpHead("HTTP/1.1 401 No\r\nA: b:c\r\nwww-Authenticate:  x \r\nE:");
  ASSERT_TRUE(head.ok()) << head.status();
  EXPECT_EQ(head->Code(), 401);
  EXPECT_EQ(head->Get("WWW-Authenticate"), "x");
  EXPECT_EQ(head->Get("none"), "");
  EXPECT_EQ(head->ToString(), "HTTP/1.1 401 No\r\nA: b:c\r\nwww-Authenticate: x\r\nE: \r\n\r\n");
}

TEST(HttpHeadTest, RefusesWhatReadersTakeDifferently) {
  for (const std::string& text :
       {std::string("HTTP/1.1 200 OK\r\n folded: a"), std::string("HTTP/1.1 200 OK\r\nno colon"),
        std::string("HTTP/1.1 200 OK\r\nA: b\nC: d"), std::string("HTTP/1.1 200 OK\r\nA: b\rC: d"),
        std::string("HTTP/1.1 200 OK\r\nA : b"), std::string("HTTP/1.1 200 OK\r\n: b"),
        std::string("HTTP/1.1 200 OK\r\nA: \0b", 22)}) {
    EXPECT_FALSE(ParseHttpHead(text).ok()) << text;
  }
  EXPECT_EQ(ParseHttpHead("HTTP/2 200")->Code(), 0);
  EXPECT_EQ(ParseHttpHead("HTTP/1.1 20x")->Code(), 0);
  EXPECT_EQ(ParseHttpHead("")->Code(), 0);
}

}  // namespace
}  // namespace plimsoll::image
