#include "image/registry/registry_hosts.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/dir_for_test.h"
#include "base/programs/subprocess.h"
#include "base/steady_time.h"
#include "dial/tls_stream.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "image/catalog_for_test.h"
#include "image/image_for_test.h"
#include "image/image_service.h"
#include "image/lying_registry_for_test.h"
#include "image/registry_for_test.h"
#include "image/tar_for_test.h"

namespace plimsoll::image {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::Pair;

constexpr char kPlace[] = "etc/containerd/certs.d";

RegistryHosts Parse(const std::string& text, const std::string& registry = "quay.io") {
  auto hosts = ParseRegistryHosts(text, "/certs.d/quay.io", registry);
  EXPECT_TRUE(hosts.ok()) << hosts.status();
  return hosts.ok() ? *std::move(hosts) : RegistryHosts();
}

std::string Refusal(const std::string& text) {
  const auto hosts = ParseRegistryHosts(text, "/certs.d/quay.io", "quay.io");
  EXPECT_TRUE(absl::IsInvalidArgument(hosts.status())) << text;
  return std::string(hosts.status().message());
}

// The location, or host and path where a relay is needed; with "!" if it isn't verified, "?" for
// plain HTTP, and "-pull" or "-resolve" for a lacking capability.
std::string InShort(const RegistryHost& host) {
  const std::string location = host.Location();
  return absl::StrCat(
      location.empty() ? absl::StrCat("relay ", host.host, " ", host.path) : location,
      host.skip_verify ? "!" : "", host.plain ? "?" : "", host.pulls ? "" : "-pull",
      host.resolves ? "" : "-resolve");
}

std::vector<std::string> Mirrors(const RegistryHosts& hosts) {
  std::vector<std::string> all;
  for (const RegistryHost& mirror : hosts.mirrors) all.push_back(InShort(mirror));
  return all;
}

TEST(RegistryHostsTest, MirrorsInTheOrderOfTheFile) {
  const RegistryHosts hosts = Parse(R"(
server = "https://quay.io"
[host."https://z.example:5000"]
  capabilities = ["pull", "resolve"]
[host."http://a.example"]
  capabilities = ["pull"]
[host."https://m.example/v2/quay/proxy"]
  capabilities = ["resolve", "push"]
  override_path = true
  skip_verify = true
[host."https://push.example"]
  capabilities = ["push"]
[host."https://b.example/v2/"]
  dial_timeout = "3s"
)");
  EXPECT_EQ(InShort(hosts.server), "quay.io");
  EXPECT_THAT(Mirrors(hosts), ElementsAre("z.example:5000", "a.example?-resolve",
                                          "m.example/quay/proxy!-pull", "b.example"));
}

TEST(RegistryHostsTest, TheServerIsTheRegistryUnlessNamed) {
  EXPECT_EQ(InShort(Parse("").server), "quay.io");
  EXPECT_EQ(InShort(Parse("", "host:5000").server), "host:5000");
  EXPECT_EQ(InShort(Parse("server = \"https://other.example\"\n").server), "other.example");
  EXPECT_EQ(InShort(Parse("server = \"https://registry-1.docker.io\"", "docker.io").server),
            "docker.io");
  EXPECT_EQ(InShort(Parse("server = \"http://in-house\"").server), "in-house:80?");
  EXPECT_EQ(InShort(Parse("server = \"https://in-house\"\nskip_verify = true").server),
            "in-house:443!");
}

TEST(RegistryHostsTest, CertificatesInEveryForm) {
  const RegistryHosts hosts = Parse(R"(
ca = "/etc/ca.pem"
client = "both.pem"
[host."https://a.example"]
  ca = ["one.crt", "/two.crt"]
  client = [["a.cert", "a.key"], ["/b.cert", "/b.key"]]
)");
  EXPECT_THAT(hosts.server.authorities, ElementsAre("/etc/ca.pem"));
  ASSERT_EQ(hosts.server.clients.size(), 1u);
  EXPECT_EQ(hosts.server.clients[0].certificate, "/certs.d/quay.io/both.pem");
  EXPECT_EQ(hosts.server.clients[0].key, "/certs.d/quay.io/both.pem");
  ASSERT_EQ(hosts.mirrors.size(), 1u);
  EXPECT_THAT(hosts.mirrors[0].authorities, ElementsAre("/certs.d/quay.io/one.crt", "/two.crt"));
  ASSERT_EQ(hosts.mirrors[0].clients.size(), 2u);
  EXPECT_EQ(hosts.mirrors[0].clients[0].key, "/certs.d/quay.io/a.key");
  EXPECT_EQ(hosts.mirrors[0].clients[1].certificate, "/b.cert");
}

TEST(RegistryHostsTest, WhatSkopeoCantBeToldGoesThroughARelay) {
  const RegistryHosts hosts = Parse(R"(
[host."https://a.example"]
[host."https://a.example".header]
  x-one = "1"
  x-two = ["2", "3"]
[host."https://b.example/proxy"]
[host."https://c.example/v2/proxy"]
[host."https://d.example/proxy/v2"]
[host."https://e.example/api"]
  override_path = true
[host."https://f.example/v2/UPPER"]
  override_path = true
)");
  EXPECT_THAT(Mirrors(hosts), ElementsAre("relay a.example /v2", "relay b.example /proxy/v2",
                                          "c.example/proxy/v2", "relay d.example /proxy/v2",
                                          "relay e.example /api", "relay f.example /v2/UPPER"));
  ASSERT_EQ(hosts.mirrors.size(), 6u);
  EXPECT_THAT(hosts.mirrors[0].headers,
              ElementsAre(Pair("x-one", "1"), Pair("x-two", "2"), Pair("x-two", "3")));
}

TEST(RegistryHostsTest, WhatTheServerCantHaveIsRefusedByItsKey) {
  EXPECT_THAT(Refusal("[header]\nx-key = \"s3cret\"\n"),
              AllOf(HasSubstr("/certs.d/quay.io/hosts.toml: header: "), Not(HasSubstr("s3cret"))));
  EXPECT_THAT(Refusal("server = \"https://a.example/proxy\"\n"), HasSubstr("below /v2"));
  EXPECT_THAT(Refusal("capabilities = [\"push\"]\n"), HasSubstr("capabilities: "));
}

TEST(RegistryHostsTest, AMistakeIsNamedWithItsPlace) {
  const std::string host = "[host.\"https://a.example\"]\n";
  const std::string header = "[host.\"https://a.example\".header]\n";
  for (const char* line :
       {"a = 7", "\"a b\" = \"s3cret\"", "a = \"s3cret\\r\\nb: c\"", "a = [7]"}) {
    EXPECT_THAT(Refusal(header + line),
                AllOf(HasSubstr("host.\"https://a.example\": header.a"), Not(HasSubstr("s3cret"))));
  }
  EXPECT_THAT(Refusal("server = 7"), HasSubstr("server: expected an address"));
  EXPECT_THAT(Refusal("server = \"https://a b\""), HasSubstr("a b: expected an address"));
  EXPECT_THAT(Refusal("server = \"https://user:pw@a.example\""), HasSubstr("expected an address"));
  EXPECT_THAT(Refusal("host = 7"), HasSubstr("host: expected tables"));
  EXPECT_THAT(Refusal("\n[host"), HasSubstr("/certs.d/quay.io/hosts.toml:2: "));
  EXPECT_THAT(Refusal(host + "skip_verify = \"yes\""), HasSubstr("skip_verify: expected true"));
  EXPECT_THAT(Refusal(host + "capabilities = [\"pul\"]"), HasSubstr("capabilities: expected"));
  EXPECT_THAT(Refusal(host + "ca = [7]"), HasSubstr("ca: expected"));
  EXPECT_THAT(Refusal(host + "client = [[\"a\"]]"), HasSubstr("client: expected"));
  EXPECT_THAT(Refusal(host + "skipverify = true"),
              HasSubstr("skipverify: expected capabilities, "));
}

TEST(RegistryHostsTest, WhatSkopeoReads) {
  TestDir dir;
  const FsRoot& root = dir.root();
  for (const char* file : {"ca", "both", "cert", "key"}) {
    ASSERT_TRUE(root.ReplaceFile(file, absl::StrCat("of ", file)).ok());
  }
  const auto hosts = ParseRegistryHosts(R"(
[host."https://m.example:5000/v2/p"]
  capabilities = ["pull"]
  override_path = true
  ca = "ca"
  client = ["both", ["cert", "key"]]
[host."http://n.example"]
  capabilities = ["resolve"]
)",
                                        "", "quay.io");
  ASSERT_TRUE(hosts.ok()) << hosts.status();
  ASSERT_TRUE(root.MakeDirs("home").ok());
  const FsRoot home = *root.Sub("home");
  const auto relays = WriteRegistryHosts(*hosts, root, "quay.io", home);
  ASSERT_TRUE(relays.ok()) << relays.status();
  EXPECT_THAT(*relays, IsEmpty());
  EXPECT_EQ(*home.Read(".config/containers/registries.conf.d/hosts.conf"), R"([[registry]]
prefix = "quay.io"
location = "quay.io"
insecure = false
[[registry.mirror]]
location = "m.example:5000/p"
insecure = false
pull-from-mirror = "digest-only"
[[registry.mirror]]
location = "n.example"
insecure = true
pull-from-mirror = "tag-only"
)");
  const std::string certificates = ".config/containers/certs.d/m.example:5000/";
  EXPECT_EQ(*home.Read(certificates + "1.crt"), "of ca");
  EXPECT_EQ(*home.Read(certificates + "2.cert"), "of both");
  EXPECT_EQ(*home.Read(certificates + "2.key"), "of both");
  EXPECT_EQ(*home.Read(certificates + "3.cert"), "of cert");
  EXPECT_EQ(*home.Read(certificates + "3.key"), "of key");

  ASSERT_TRUE(root.RemoveFile("key").ok());
  const absl::Status missing = WriteRegistryHosts(*hosts, root, "quay.io", home).status();
  EXPECT_THAT(std::string(missing.message()), AllOf(HasSubstr("client: "), HasSubstr("/key")));
}

TEST(RegistryHostsTest, TheDirectoryWithAPortsUnderscoresComesFirst) {
  TestDir dir;
  EXPECT_FALSE(ReadRegistryHosts(dir.root(), "a.example:5000")->has_value());
  const auto write = [&](const std::string& name) {
    const std::string directory = absl::StrCat(kPlace, "/", name);
    ASSERT_TRUE(dir.root().MakeDirs(directory).ok());
    ASSERT_TRUE(dir.root()
                    .ReplaceFile(directory + "/hosts.toml",
                                 absl::StrCat("server = \"https://of.", name.size(), ".example\""))
                    .ok());
  };
  const auto server = [&] {
    return (*ReadRegistryHosts(dir.root(), "a.example:5000"))->server.host;
  };
  write("_default");
  EXPECT_FALSE(ReadRegistryHosts(dir.root(), "a.example:5000")->has_value());
  write("a.example:5000");
  EXPECT_EQ(server(), "of.14.example");
  write("a.example_5000_");
  EXPECT_EQ(server(), "of.15.example");
}

// Pulls of a registry that no resolver knows, from a registry on loopback.
class RegistryHostsPullTest : public ::testing::Test {
 protected:
  static constexpr char kName[] = "registry.invalid:5000/team/hello:v1";

  void SetUp() override {
    if (!FindProgram("docker-registry").ok()) {
      GTEST_SKIP() << "no docker-registry here: apt-get install docker-registry";
    }
    ASSERT_TRUE(dir_.root().MakeDirs("store").ok());
    ASSERT_TRUE(dir_.root().MakeDirs("machine/etc/containers").ok());
    ASSERT_TRUE(MakeCertificates(dir_.root()).ok());
    registry_.emplace(dir_.root(), /*with_password=*/false, /*with_tls=*/true);
    TestLayout layout;
    const TestJson image = layout.AddImage({TarBuilder().File("bin/hello", "hi").Build()});
    digest_ = image["digest"];
    layout.List(image, "v1");
    layout.WriteTo(dir_.root(), "layout");
    const absl::Status pushed =
        Push(dir_.root().PathOf("layout"), registry_->Name("team/hello:v1"));
    ASSERT_TRUE(pushed.ok()) << pushed;
    auto service = ImageService::Open(*dir_.root().Sub("store"), &catalog_,
                                      {.host = *dir_.root().Sub("machine")});
    ASSERT_TRUE(service.ok()) << service.status();
    service_ = *std::move(service);
  }
  void WriteHosts(const std::string& text) {
    const std::string directory = absl::StrCat("machine/", kPlace, "/registry.invalid:5000");
    ASSERT_TRUE(dir_.root().MakeDirs(directory).ok());
    ASSERT_TRUE(dir_.root().ReplaceFile(directory + "/hosts.toml", text).ok());
    ASSERT_TRUE(dir_.root().ReplaceFile(directory + "/ca.crt", *dir_.root().Read("ca.crt")).ok());
  }
  std::string Mirror(const std::string& more) const {
    return absl::StrCat("[host.\"https://", registry_->host(), "\"]\n", more, "\n");
  }
  absl::StatusOr<Image> Pull(const std::string& name = kName) {
    return service_->Pull(name, {}, nullptr);
  }

  TestDir dir_;
  TestCatalog catalog_;
  std::unique_ptr<ImageService> service_;
  std::optional<Registry> registry_;
  std::string digest_;
};

TEST_F(RegistryHostsPullTest, AMirrorWithAnAuthorityGivesTheImageUnderItsName) {
  EXPECT_FALSE(Pull().ok());
  WriteHosts(Mirror("ca = \"ca.crt\""));
  const auto image = Pull();
  ASSERT_TRUE(image.ok()) << image.status();
  EXPECT_THAT(image->record.repo_tags, ElementsAre(kName));
}

TEST_F(RegistryHostsPullTest, AnUnknownAuthorityIsTakenWithSkipVerifyAlone) {
  WriteHosts(Mirror(""));
  EXPECT_THAT(std::string(Pull().status().message()), HasSubstr("x509: "));
  WriteHosts(Mirror("skip_verify = true"));
  const auto image = Pull();
  EXPECT_TRUE(image.ok()) << image.status();
}

TEST_F(RegistryHostsPullTest, AMirrorThatMayNotResolveServesDigestsAlone) {
  WriteHosts(Mirror("ca = \"ca.crt\"\ncapabilities = [\"pull\"]"));
  EXPECT_FALSE(Pull().ok());
  const auto image = Pull(absl::StrCat("registry.invalid:5000/team/hello@", digest_));
  EXPECT_TRUE(image.ok()) << image.status();
}

// The relay has the header, so nobody but the pull's skopeo may use it.
TEST_F(RegistryHostsPullTest, AMirrorGetsItsHeaderAndAnotherPath) {
  TestLayout layout;
  const TestJson image = layout.AddImage({TarBuilder().File("a", "b").Build()});
  LyingRegistry mirror(layout, image, [](const std::string&, LyingRegistry::Answer*) {});
  mirror.AskFor(kUser, kPassword);
  const std::string table = absl::StrCat("[host.\"http://", mirror.host(), "/cache\"");
  const std::string header =
      absl::StrCat(table, ".header]\nauthorization = \"Basic ",
                   absl::Base64Escape(absl::StrCat(kUser, ":", kPassword)), "\"\n");
  WriteHosts(absl::StrCat(table, "]\n"));
  const absl::Status refused = Pull().status();
  EXPECT_THAT(std::string(refused.message()),
              HasSubstr(absl::StrCat(mirror.host(), "/team/hello")));
  WriteHosts(header);
  const auto pulled = Pull();
  ASSERT_TRUE(pulled.ok()) << pulled.status();
  EXPECT_EQ(pulled->record.manifest_digest, image["digest"].get<std::string>());
  EXPECT_THAT(pulled->record.repo_tags, ElementsAre(kName));
}

TEST_F(RegistryHostsPullTest, ARelayWithSecretsServesThePullAlone) {
  const auto hosts =
      ParseRegistryHosts(absl::StrCat(Mirror("ca = \"ca.crt\""), "[host.\"https://",
                                      registry_->host(), "\".header]\nx-key = \"s3cret\"\n"),
                         "", "quay.io");
  ASSERT_TRUE(hosts.ok()) << hosts.status();
  ASSERT_TRUE(dir_.root().MakeDirs("home").ok());
  const auto relays = WriteRegistryHosts(*hosts, dir_.root(), "quay.io", *dir_.root().Sub("home"));
  ASSERT_TRUE(relays.ok()) << relays.status();
  ASSERT_EQ(relays->size(), 1u);
  const MirrorRelay& made = relays->front();
  ASSERT_THAT(made.password, Not(IsEmpty()));
  const std::string host = made.relay->host();
  const auto ask = [&](const std::string& fields) {
    const dial::Until until{.deadline = SteadyAfter(absl::Seconds(60))};
    const auto port = static_cast<uint16_t>(std::stoi(host.substr(host.find(':') + 1)));
    auto plain = dial::Stream::Open(/*tls=*/false, "127.0.0.1", port, until);
    const auto stream = dial::ClientOverTls(*std::move(plain), "127.0.0.1",
                                            {.authorities = {made.relay->authority()}});
    EXPECT_TRUE(stream.ok()) << stream.status();
    EXPECT_TRUE(
        (*stream)->Send("GET /v2/team/hello/tags/list HTTP/1.1\r\n" + fields + "\r\n").ok());
    std::string answer;
    while ((*stream)->Receive(&answer).ok()) {
    }
    return answer;
  };
  EXPECT_THAT(ask(""), HasSubstr("HTTP/1.1 401 "));
  EXPECT_THAT(ask("Authorization: Basic cmVsYXk6Z3Vlc3M=\r\n"), HasSubstr("HTTP/1.1 401 "));
  EXPECT_THAT(ask(absl::StrCat("Authorization: Basic ",
                               absl::Base64Escape("relay:" + made.password), "\r\n")),
              HasSubstr("HTTP/1.1 200 "));
}

TEST_F(RegistryHostsPullTest, RegistriesConfWins) {
  WriteHosts("broken");
  EXPECT_TRUE(absl::IsFailedPrecondition(Pull().status())) << Pull().status();
  EXPECT_THAT(std::string(Pull().status().message()),
              AllOf(HasSubstr(absl::StrCat("pull ", kName)), HasSubstr("hosts.toml:1: ")));
  const std::string conf =
      absl::StrCat("[[registry]]\nprefix = \"registry.invalid:5000/team\"\nlocation = \"",
                   registry_->host(), "/team\"\ninsecure = true\n");
  // The same path for skopeo and below the test's machine.
  const std::string path = dir_.root().PathOf("registries.conf");
  ASSERT_TRUE(dir_.root().ReplaceFile("registries.conf", conf).ok());
  ASSERT_TRUE(dir_.root().MakeDirs(absl::StrCat("machine", dir_.root().path())).ok());
  ASSERT_TRUE(dir_.root().ReplaceFile(absl::StrCat("machine", path), conf).ok());
  service_.reset();
  auto service = ImageService::Open(*dir_.root().Sub("store"), &catalog_,
                                    {.host = *dir_.root().Sub("machine"), .registries_conf = path});
  ASSERT_TRUE(service.ok()) << service.status();
  service_ = *std::move(service);
  const auto image = Pull();
  EXPECT_TRUE(image.ok()) << image.status();
}

TEST_F(RegistryHostsPullTest, NothingOfItStays) {
  WriteHosts(Mirror("ca = \"missing.crt\""));
  EXPECT_THAT(std::string(Pull().status().message()),
              AllOf(HasSubstr("hosts.toml: "), HasSubstr("ca: "), HasSubstr("missing.crt")));
  EXPECT_THAT(*dir_.root().List("store/work"), IsEmpty());
}

}  // namespace
}  // namespace plimsoll::image
