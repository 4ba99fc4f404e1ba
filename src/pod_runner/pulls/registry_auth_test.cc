#include "pod_runner/pulls/registry_auth.h"

#include <gtest/gtest.h>

#include "absl/status/status.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"

namespace plimsoll::pod {
namespace {

// The user of the entry chosen for `reference`, from a file with these keys; "": none. Each entry's
// user is named after its key.
std::string UserFor(const std::string& reference, const std::vector<std::string>& keys) {
  std::string entries;
  for (const std::string& key : keys) {
    absl::StrAppend(&entries, entries.empty() ? "" : ",", "\"", key, "\":{\"auth\":\"",
                    absl::Base64Escape(absl::StrCat("of ", key.substr(key.find("//") + 1), ":a:b")),
                    "\"}");
  }
  const auto found =
      FindCredentials(absl::StrCat("{\"auths\":{", entries, "}}"), "/the/file", reference);
  if (!found.ok()) {
    EXPECT_TRUE(absl::IsNotFound(found.status())) << found.status();
    return "";
  }
  EXPECT_EQ(found->password, "a:b");
  return found->user;
}

TEST(RegistryAuthTest, TheClosestEntryIsTaken) {
  const std::vector<std::string> keys = {"quay.io", "quay.io/team/tool", "quay.io/team",
                                         "other.io"};
  EXPECT_EQ(UserFor("quay.io/team/tool:1", keys), "of quay.io/team/tool");
  EXPECT_EQ(UserFor("quay.io/team/tools", keys), "of quay.io/team");
  EXPECT_EQ(UserFor("quay.io/teams/tool", keys), "of quay.io");
  EXPECT_EQ(UserFor("quay.iowa/x", keys), "");
}

TEST(RegistryAuthTest, DockersOwnRegistryHasManyNames) {
  for (const char* key :
       {"https://index.docker.io/v1/", "docker.io", "index.docker.io", "registry-1.docker.io"}) {
    EXPECT_NE(UserFor("busybox", {key}), "") << key;
    EXPECT_NE(UserFor("docker.io/library/busybox:1", {key}), "") << key;
    // None of these names is a registry of Docker's.
    EXPECT_EQ(UserFor("localhost:5000/busybox", {key}), "") << key;
    EXPECT_EQ(UserFor("registry:5000/busybox", {key}), "") << key;
    EXPECT_EQ(UserFor("quay.io/busybox", {key}), "") << key;
  }
}

TEST(RegistryAuthTest, AnIdentityTokenWithOrWithoutAUser) {
  const auto alone =
      FindCredentials(R"({"auths":{"quay.io":{"identitytoken":"t"}}})", "/the/file", "quay.io/a");
  ASSERT_TRUE(alone.ok()) << alone.status();
  EXPECT_EQ(alone->identity_token, "t");
  EXPECT_EQ(alone->user, "");
  const auto both =
      FindCredentials(absl::StrCat(R"({"auths":{"quay.io":{"identitytoken":"t","auth":")",
                                   absl::Base64Escape("bob:"), R"("}}})"),
                      "/the/file", "quay.io/a");
  ASSERT_TRUE(both.ok()) << both.status();
  EXPECT_EQ(both->identity_token, "t");
  EXPECT_EQ(both->user, "bob");
}

TEST(RegistryAuthTest, SaysWhatIsMissing) {
  const auto absent =
      FindCredentials(R"({"auths":{"quay.io":{}},"credsStore":"pass"})", "/the/file", "quay.io/a");
  EXPECT_TRUE(absl::IsNotFound(absent.status()));
  EXPECT_EQ(absent.status().message(),
            "/the/file: no user and password for quay.io/a or its registry quay.io (credential "
            "helpers are not asked)");
  for (const char* json : {"", "[]", "{}", R"({"auths":[]})"}) {
    EXPECT_TRUE(absl::IsInvalidArgument(FindCredentials(json, "/the/file", "a").status())) << json;
  }
}

}  // namespace
}  // namespace plimsoll::pod
