#include "kube/apiserver/server_address.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "base/dir_for_test.h"
#include "kube/apiserver/certificates_for_test.h"

namespace plimsoll::kube {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

TEST(ServerUrl, IsTakenApart) {
  struct Case {
    const char* url;
    const char* host;
    int port;
    const char* prefix;
  };
  for (const Case& each : {Case{"https://10.0.0.1:6443", "10.0.0.1", 6443, ""},
                           Case{"https://api.example", "api.example", 443, ""},
                           Case{"https://api.example/", "api.example", 443, ""},
                           Case{"https://[fd00::1]:6443/", "fd00::1", 6443, ""},
                           Case{"https://[fd00::1]", "fd00::1", 443, ""},
                           Case{"https://r.example/k8s/c-1/", "r.example", 443, "/k8s/c-1"}}) {
    ApiServerAddress address;
    ASSERT_TRUE(SetServerUrl(each.url, address).ok()) << each.url;
    EXPECT_EQ(address.host, each.host);
    EXPECT_EQ(address.port, each.port);
    EXPECT_EQ(address.prefix, each.prefix);
  }
}

TEST(ServerUrl, IsRefused) {
  for (const char* url : {"", "https://", "https:///a", "https://a:0", "https://a:65536",
                          "https://a:x", "https://a:", "https://[fd00::1", "https://[fd00::1]x",
                          "https://a b", "https://a/b c", "https://a/?q", "https://a\r\nX: y",
                          "https://a/\r\nX", "ftp://a", "a:6443", "https://a/#f"}) {
    ApiServerAddress address;
    const absl::Status status = SetServerUrl(url, address);
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << url;
    EXPECT_THAT(status.message(), HasSubstr("https://HOST:PORT")) << url;
    EXPECT_EQ(address.host, "");
  }
  ApiServerAddress address;
  EXPECT_THAT(SetServerUrl("http://a", address).message(), HasSubstr("in the clear"));
  EXPECT_THAT(SetServerUrl("https://me:secret@a", address).message(),
              AllOf(HasSubstr("user's name"), Not(HasSubstr("secret"))));
}

class InClusterTest : public ::testing::Test {
 protected:
  InClusterTest() {
    variables_ = {{"KUBERNETES_SERVICE_HOST", "10.96.0.1"}, {"KUBERNETES_SERVICE_PORT", "443"}};
    for (const char* name : {"token", "ca.crt"}) {
      EXPECT_TRUE(dir_.root().ReplaceFile(name, "x").ok());
    }
    EXPECT_TRUE(dir_.root().ReplaceFile("namespace", "plimsoll\n").ok());
  }
  absl::StatusOr<ApiServerAddress> Address() {
    return InClusterAddress(
        [this](const char* name) -> const char* {
          const auto at = variables_.find(name);
          return at == variables_.end() ? nullptr : at->second.c_str();
        },
        dir_.path());
  }
  TestDir dir_;
  std::map<std::string, std::string> variables_;
};

TEST_F(InClusterTest, IsTheServiceAccounts) {
  const auto address = Address();
  ASSERT_TRUE(address.ok()) << address.status();
  EXPECT_EQ(address->host, "10.96.0.1");
  EXPECT_EQ(address->port, 443);
  EXPECT_EQ(address->space, "plimsoll");
  EXPECT_EQ(address->token.file, dir_.path() + "/token");
  EXPECT_EQ(address->authorities.file, dir_.path() + "/ca.crt");
}

TEST_F(InClusterTest, SaysWhatIsMissing) {
  EXPECT_TRUE(dir_.root().RemoveFile("token").ok());
  EXPECT_THAT(Address().status().message(), HasSubstr("automountServiceAccountToken"));
  variables_["KUBERNETES_SERVICE_PORT"] = "none";
  EXPECT_THAT(Address().status().message(), HasSubstr("\"none\" is no port"));
  variables_["KUBERNETES_SERVICE_HOST"] = "a\nb";
  EXPECT_THAT(Address().status().message(), HasSubstr("\"a\\nb\" is no address"));
  variables_.clear();
  EXPECT_TRUE(absl::IsFailedPrecondition(Address().status()));
}

std::string Kubeconfig(const std::string& cluster, const std::string& user) {
  return absl::StrCat(R"(apiVersion: v1
kind: Config
preferences: {}
current-context: mine
contexts:
- name: other
  context: {cluster: away, user: away}
- name: mine
  context: {cluster: home, user: me, namespace: plimsoll}
clusters:
- name: away
  cluster: {server: "https://away", insecure-skip-tls-verify: true}
- name: home
  cluster: )",
                      cluster, R"(
users:
- name: away
  user: {exec: {command: helper}}
- name: me
  user: )",
                      user, "\n");
}

constexpr char kServer[] = "{server: \"https://10.0.0.1:6443\"}";

TEST(Kubeconfig, GivesTheCurrentContext) {
  const std::string pem = TestAuthority().pem();
  const std::string data = absl::Base64Escape(pem);
  const auto address = ParseKubeconfig(
      Kubeconfig(absl::StrCat("{server: \"https://10.0.0.1:6443\", tls-server-name: kubernetes, "
                              "certificate-authority-data: ",
                              data, ", certificate-authority: overridden}"),
                 "{client-certificate: me.crt, client-key: /k/me.key, tokenFile: token}"),
      "/home/me/config");
  ASSERT_TRUE(address.ok()) << address.status();
  EXPECT_EQ(address->host, "10.0.0.1");
  EXPECT_EQ(address->server_name, "kubernetes");
  EXPECT_EQ(address->space, "plimsoll");
  EXPECT_EQ(address->authorities.text, pem);
  EXPECT_EQ(address->authorities.file, "");
  EXPECT_EQ(address->certificate.file, "/home/me/me.crt");
  EXPECT_EQ(address->key.file, "/k/me.key");
  EXPECT_EQ(address->token.file, "/home/me/token");
}

TEST(Kubeconfig, GivesANamedContext) {
  const auto address = ParseKubeconfig(Kubeconfig(kServer, "{token: abc}"), "/c", "mine");
  ASSERT_TRUE(address.ok()) << address.status();
  EXPECT_EQ(address->token.text, "abc");
  EXPECT_TRUE(address->authorities.empty());
  EXPECT_THAT(ParseKubeconfig(Kubeconfig(kServer, "{}"), "/c", "third").status().message(),
              HasSubstr("there is no context \"third\"; there is other, mine"));
}

TEST(Kubeconfig, RefusesWhatTheClientDoesntDo) {
  struct Case {
    std::string cluster;
    std::string user;
    std::string complaint;
  };
  for (const Case& each : {
           Case{"{server: \"https://a\", insecure-skip-tls-verify: true}", "{}",
                "could take the token"},
           Case{"{server: \"https://a\", proxy-url: \"http://p\"}", "{}", "the server itself"},
           Case{"{server: \"http://a\"}", "{}", "in the clear"},
           Case{"{tls-server-name: a}", "{}", "\"server\" is missing"},
           Case{"{server: \"https://a\", certificate-authorty: x}", "{}", "certificate-authorty"},
           Case{"{server: \"https://a\", certificate-authority-data: \"*\"}", "{}",
                "is not base64"},
           Case{"{server: \"https://a\", certificate-authority-data: YXV0aG9yaXR5}", "{}",
                "certificate-authority-data: holds no PEM certificate"},
           Case{kServer, "{exec: {command: helper}}", "use tokenFile"},
           Case{kServer, "{auth-provider: {name: gcp}}", "use tokenFile"},
           Case{kServer, "{username: me, password: secret}", "no passwords"},
           Case{kServer, "{as: root}", "acts as itself"},
           Case{kServer, "{client-certificate: a}", "need each other"},
           Case{kServer, "[]", "must be a mapping"},
       }) {
    const auto address = ParseKubeconfig(Kubeconfig(each.cluster, each.user), "/c");
    EXPECT_TRUE(absl::IsInvalidArgument(address.status())) << each.complaint;
    EXPECT_THAT(address.status().message(), AllOf(HasSubstr("/c:"), HasSubstr(each.complaint)));
    EXPECT_THAT(address.status().message(), Not(HasSubstr("secret")));
  }
}

TEST(Kubeconfig, NeverQuotesATokenInAMessage) {
  const auto address =
      ParseKubeconfig(Kubeconfig("{server: \"ftp://a\"}", "{token: 8675309}"), "/c");
  EXPECT_FALSE(address.ok());
  EXPECT_THAT(address.status().message(), Not(HasSubstr("8675309")));
  EXPECT_THAT(ParseKubeconfig(Kubeconfig(kServer, "{token: [8675309]}"), "/c").status().message(),
              Not(HasSubstr("8675309")));
}

TEST(Kubeconfig, IsReadFromAFile) {
  TestDir dir;
  ASSERT_TRUE(dir.root().ReplaceFile("config", Kubeconfig(kServer, "{tokenFile: t}")).ok());
  const auto address = KubeconfigAddress(dir.path() + "/config");
  ASSERT_TRUE(address.ok()) << address.status();
  EXPECT_EQ(address->token.file, dir.path() + "/t");
  EXPECT_TRUE(absl::IsNotFound(KubeconfigAddress(dir.path() + "/none").status()));
  EXPECT_TRUE(absl::IsInvalidArgument(KubeconfigAddress("config").status()));
}

TEST(Kubeconfig, TextThatIsNone) {
  for (const char* text : {"", "[]", "a: b: c", "{", "current-context: x", "kind: Pod",
                           "contexts: 7\ncurrent-context: x"}) {
    const auto address = ParseKubeconfig(text, "/c");
    EXPECT_TRUE(absl::IsInvalidArgument(address.status())) << text;
    EXPECT_THAT(address.status().message(), HasSubstr("/c:")) << text;
  }
}

}  // namespace
}  // namespace plimsoll::kube
