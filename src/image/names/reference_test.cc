#include "image/names/reference.h"

#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"

namespace plimsoll::image {
namespace {

const std::string kHex(64, 'a');
const std::string kReferenceDigest = absl::StrCat("sha256:", kHex);

std::string Full(absl::string_view text) {
  const absl::StatusOr<Reference> reference = ParseReference(text);
  return reference.ok() ? reference->Canonical() : std::string(reference.status().message());
}

TEST(Reference, ShortNamesBecomeDockerHubNames) {
  EXPECT_EQ(Full("busybox"), "docker.io/library/busybox:latest");
  EXPECT_EQ(Full("busybox:1.36"), "docker.io/library/busybox:1.36");
  EXPECT_EQ(Full("bitnami/redis"), "docker.io/bitnami/redis:latest");
  EXPECT_EQ(Full("docker.io/busybox"), "docker.io/library/busybox:latest");
  EXPECT_EQ(Full("index.docker.io/library/busybox"), "docker.io/library/busybox:latest");
  EXPECT_EQ(Full("library/busybox"), "docker.io/library/busybox:latest");
}

TEST(Reference, RegistryIsFoundByDotColonOrLocalhost) {
  EXPECT_EQ(Full("quay.io/a/b:1"), "quay.io/a/b:1");
  EXPECT_EQ(Full("quay.io/a"), "quay.io/a:latest");
  EXPECT_EQ(Full("registry:5000/a"), "registry:5000/a:latest");
  EXPECT_EQ(Full("localhost/a"), "localhost/a:latest");
  EXPECT_EQ(Full("127.0.0.1:5000/a/b/c"), "127.0.0.1:5000/a/b/c:latest");
  EXPECT_EQ(Full("[::1]:5000/a"), "[::1]:5000/a:latest");
  EXPECT_EQ(Full("registry/a"), "docker.io/registry/a:latest");
}

TEST(Reference, DigestFormsKeepTheTagAsAName) {
  EXPECT_EQ(Full(absl::StrCat("busybox@", kReferenceDigest)),
            absl::StrCat("docker.io/library/busybox@", kReferenceDigest));
  const auto both = ParseReference(absl::StrCat("h.io:1/x:v1@", kReferenceDigest));
  ASSERT_TRUE(both.ok()) << both.status();
  EXPECT_EQ(*both, (Reference{"h.io:1", "x", "v1", kReferenceDigest}));
  EXPECT_EQ(both->Tagged(), "h.io:1/x:v1");
  EXPECT_EQ(both->Canonical(), absl::StrCat("h.io:1/x@", kReferenceDigest));
}

TEST(Reference, IdsAreNotNames) {
  EXPECT_TRUE(IsImageId(kHex));
  EXPECT_TRUE(IsImageId(kReferenceDigest));
  EXPECT_FALSE(IsImageId(std::string(63, 'a')));
  EXPECT_FALSE(IsImageId(std::string(64, 'A')));
  EXPECT_TRUE(absl::StrContains(Full(kHex), "image id"));
}

TEST(Reference, MalformedOnesSayWhichPart) {
  for (const std::string& text :
       std::initializer_list<std::string>{"",
                                          " busybox",
                                          "BusyBox",
                                          "a//b",
                                          "/a",
                                          "a/",
                                          "a:",
                                          "a:-1",
                                          "a@sha256:12",
                                          "a@",
                                          "a b",
                                          "a/../b",
                                          "-a",
                                          "a..b",
                                          "a___b",
                                          "host.io:99999/a",
                                          "host.io:/a",
                                          "http://quay.io/a",
                                          "--authfile=x",
                                          std::string("a\0b", 3),
                                          absl::StrCat("a:", std::string(129, 't')),
                                          std::string(300, 'a'),
                                          absl::StrCat("a@sha512:", std::string(128, 'a')),
                                          absl::StrCat(kHex, "a", "/", std::string(2000, 'b'))}) {
    const auto reference = ParseReference(text);
    EXPECT_TRUE(absl::IsInvalidArgument(reference.status())) << text;
    EXPECT_LT(reference.status().message().size(), 900u) << text;
  }
  EXPECT_TRUE(absl::StrContains(Full("a:-1"), "\"-1\" is no tag"));
  EXPECT_TRUE(absl::StrContains(Full("quay.io/Upper/x"), "\"Upper\""));
}

TEST(Reference, RegistriesOfTheMachineItself) {
  for (const char* registry : {"localhost", "LOCALHOST:5000", "127.0.0.1", "127.8.0.1:5000",
                               "[::1]:5000", "[0:0::1]:80"}) {
    EXPECT_TRUE(IsOnLoopback(registry)) << registry;
  }
  for (const char* registry :
       {"docker.io", "localhost.example:5000", "128.0.0.1", "127.0.0.1.example", "127.1:5000",
        "[::2]:5000", "[::ffff:127.0.0.1]:5000", ""}) {
    EXPECT_FALSE(IsOnLoopback(registry)) << registry;
  }
}

TEST(Reference, LegalSeparators) {
  EXPECT_EQ(Full("x/a.b_c__d---e:T_.-1"), "docker.io/x/a.b_c__d---e:T_.-1");
}

}  // namespace
}  // namespace plimsoll::image
