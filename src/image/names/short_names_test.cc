#include "image/names/short_names.h"

#include <string>
#include <vector>

#include "base/dir_for_test.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace plimsoll::image {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

ShortNameConfig Config(const std::vector<std::string>& files) {
  ShortNameConfig config;
  for (const std::string& file : files) {
    const absl::Status added = AddShortNames(file, "f.conf", &config);
    EXPECT_TRUE(added.ok()) << added;
  }
  return config;
}

std::vector<std::string> Candidates(const ShortNameConfig& config, const std::string& text) {
  const auto references = ShortNameCandidates(config, text);
  if (!references.ok()) return {std::string(references.status().message())};
  std::vector<std::string> names;
  for (const Reference& reference : *references) names.push_back(reference.Canonical());
  return names;
}

TEST(ShortNamesTest, WithoutAConfigurationItIsDockers) {
  EXPECT_THAT(Candidates({}, "busybox"), ElementsAre("docker.io/library/busybox:latest"));
  EXPECT_THAT(Candidates({}, "team/app:1"), ElementsAre("docker.io/team/app:1"));
}

TEST(ShortNamesTest, EachRegistryOfTheListInItsOrder) {
  const ShortNameConfig config =
      Config({R"(unqualified-search-registries = ["a.example:5000", "docker.io"])"});
  EXPECT_THAT(Candidates(config, "app"),
              ElementsAre("a.example:5000/app:latest", "docker.io/library/app:latest"));
  EXPECT_THAT(Candidates(config, "team/app:1"),
              ElementsAre("a.example:5000/team/app:1", "docker.io/team/app:1"));
}

TEST(ShortNamesTest, TheEntriesThatApplyToAnImage) {
  const ShortNameConfig config = Config({R"(
[[registry]]
prefix = "a.example/team"
location = "elsewhere.example"
[[registry]]
location = "b.example:5000"
[[registry]]
prefix = "*.wild.example"
[[registry]]
prefix = "a.example/team/deep"
insecure = true
[[registry]]
insecure = true
)"});
  const auto applies = [&](const std::string& name) {
    return FindRegistryEntry(config, *ParseReference(name)).has_value();
  };
  for (const char* name : {"a.example/team/app", "b.example:5000/app", "x.wild.example/app",
                           "x.y.wild.example/team/app", "a.example/team:1"}) {
    EXPECT_TRUE(applies(name)) << name;
  }
  for (const char* name :
       {"a.example/app", "a.example/teams/app", "b.example/app", "app", "wild.example/app",
        "x.wild.examples/app", "elsewhere.example/app", "q.example/x.wild.example/app"}) {
    EXPECT_FALSE(applies(name)) << name;
  }
  EXPECT_EQ(FindRegistryEntry(config, *ParseReference("a.example/team/app"))->location,
            "elsewhere.example");
  EXPECT_TRUE(FindRegistryEntry(config, *ParseReference("a.example/team/deep/app"))->insecure)
      << "the longest prefix";
}

TEST(ShortNamesTest, AnAliasIsTakenAlone) {
  const ShortNameConfig config = Config({R"(
unqualified-search-registries = ["a.example"]
[aliases]
"fedora" = "registry.example/fedora"
"ubi/min" = "registry.example/deep/ubi-min"
)"});
  EXPECT_THAT(Candidates(config, "fedora"), ElementsAre("registry.example/fedora:latest"));
  EXPECT_THAT(Candidates(config, "fedora:40"), ElementsAre("registry.example/fedora:40"));
  EXPECT_THAT(Candidates(config, "ubi/min:1"), ElementsAre("registry.example/deep/ubi-min:1"));
  const std::string digest = "@sha256:" + std::string(64, 'a');
  EXPECT_THAT(Candidates(config, "fedora:40" + digest),
              ElementsAre("registry.example/fedora" + digest));
  EXPECT_THAT(Candidates(config, "fedora2"), ElementsAre("a.example/fedora2:latest"));
}

TEST(ShortNamesTest, LaterFilesReplaceTheListAndAddOrEraseAliases) {
  const ShortNameConfig config = Config({R"(
unqualified-search-registries = ["a.example"]
short-name-mode = "enforcing"
[aliases]
"one" = "x.example/one"
"two" = "x.example/two"
)",
                                         R"(
[aliases]
"one" = ""
"two" = "y.example/two"
)",
                                         R"(unqualified-search-registries = ["b.example"])"});
  EXPECT_THAT(Candidates(config, "one"), ElementsAre("b.example/one:latest"));
  EXPECT_THAT(Candidates(config, "two"), ElementsAre("y.example/two:latest"));
  EXPECT_EQ(config.mode, "enforcing");
}

TEST(ShortNamesTest, EnforcingTakesNoChoice) {
  const ShortNameConfig config = Config({R"(
unqualified-search-registries = ["a.example", "b.example"]
short-name-mode = "enforcing"
)"});
  const auto refused = ShortNameCandidates(config, "app");
  EXPECT_TRUE(absl::IsFailedPrecondition(refused.status()));
  EXPECT_THAT(std::string(refused.status().message()),
              AllOf(HasSubstr("\"app\""), HasSubstr("a.example, b.example"),
                    HasSubstr("give the full name")));
}

TEST(ShortNamesTest, TheFormatsFirstVersion) {
  const ShortNameConfig config = Config({"[registries.search]\nregistries = ['old.example']\n"});
  EXPECT_THAT(Candidates(config, "app"), ElementsAre("old.example/app:latest"));
}

TEST(ShortNamesTest, WhatIsWrongIsNamedAndChangesNothing) {
  ShortNameConfig config = Config({R"(unqualified-search-registries = ["a.example"])"});
  const auto wrong = [&config](const std::string& text) {
    const absl::Status status = AddShortNames(text, "f.conf", &config);
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << text;
    return std::string(status.message());
  };
  EXPECT_THAT(wrong("a = 1\nb = [\n"), HasSubstr("f.conf:"));
  for (const std::string& name :
       {std::string("$"), std::string("[[a]]"), std::string("\0", 1), std::string("\u024c")}) {
    EXPECT_THAT(wrong("# na\u00efve names\n[" + name + "]\n"), StartsWith("f.conf:2: "));
  }
  EXPECT_EQ(wrong("unqualified-search-registries = 'x'"),
            "f.conf: unqualified-search-registries: expected a list of registries");
  EXPECT_EQ(wrong("unqualified-search-registries = [1]"),
            "f.conf: unqualified-search-registries: expected a list of registries");
  EXPECT_EQ(wrong("short-name-mode = 'loud'"),
            "f.conf: short-name-mode: expected enforcing, permissive or disabled");
  EXPECT_EQ(wrong("aliases = 3"), "f.conf: aliases: expected a table of names");
  EXPECT_EQ(wrong("unqualified-search-registries = []\n[aliases]\na = 1\n"),
            "f.conf: aliases.a: expected a full image name");
  EXPECT_THAT(config.search, ElementsAre("a.example"));
}

TEST(ShortNamesTest, WhatLeadsToNoFullNameIsRefused) {
  const ShortNameConfig config =
      Config({"unqualified-search-registries = ['nodots']\n[aliases]\na = 'also/short'\n"
              "b = 'x.example/UPPER'\n"});
  for (const char* name : {"app", "a", "b"}) {
    const auto refused = ShortNameCandidates(config, name);
    EXPECT_TRUE(absl::IsFailedPrecondition(refused.status())) << name << refused.status();
    EXPECT_THAT(std::string(refused.status().message()), HasSubstr("no full image name"));
  }
  EXPECT_TRUE(absl::IsInvalidArgument(ShortNameCandidates(config, "UPPER").status()));
}

TEST(ShortNamesTest, ReadsTheFileAndItsDropIns) {
  TestDir dir;
  const FsRoot& host = dir.root();
  ShortNames names(host, "");
  ASSERT_TRUE(names.Read().ok()) << "there need be no file";
  EXPECT_EQ((*names.Resolve("app"))[0].registry, "docker.io");
  ASSERT_TRUE(host.MakeDirs("etc/containers/registries.conf.d").ok());
  ASSERT_TRUE(host.ReplaceFile("etc/containers/registries.conf",
                               "unqualified-search-registries = ['main.example']")
                  .ok());
  ASSERT_TRUE(host.ReplaceFile("etc/containers/registries.conf.d/2.conf",
                               "[aliases]\napp = 'two.example/app'")
                  .ok());
  ASSERT_TRUE(host.ReplaceFile("etc/containers/registries.conf.d/1.conf",
                               "[aliases]\napp = 'one.example/app'\nb = 'one.example/b'")
                  .ok());
  ASSERT_TRUE(host.ReplaceFile("etc/containers/registries.conf.d/README", "no [ TOML").ok());
  EXPECT_EQ((*names.Resolve("app"))[0].registry, "docker.io") << "not read yet";
  ASSERT_TRUE(names.Read().ok());
  EXPECT_EQ((*names.Resolve("app"))[0].registry, "two.example");
  EXPECT_EQ((*names.Resolve("b"))[0].registry, "one.example");
  EXPECT_EQ((*names.Resolve("c"))[0].registry, "main.example");
  EXPECT_EQ((*names.Resolve("full.example/c"))[0].registry, "full.example");
  EXPECT_EQ((*names.Resolve("localhost/c"))[0].registry, "localhost");

  ASSERT_TRUE(host.ReplaceFile("etc/containers/registries.conf", "= broken").ok());
  EXPECT_THAT(std::string(names.Read().message()), HasSubstr("etc/containers/registries.conf:1: "));
  EXPECT_EQ((*names.Resolve("c"))[0].registry, "main.example") << "what was read stays";
}

TEST(ShortNamesTest, AFileOfItsOwnMustBeThere) {
  TestDir dir;
  ShortNames names(dir.root(), "/opt/registries.conf");
  EXPECT_TRUE(absl::IsNotFound(names.Read()));
  ASSERT_TRUE(dir.root().MakeDirs("opt").ok());
  ASSERT_TRUE(
      dir.root()
          .ReplaceFile("opt/registries.conf", "unqualified-search-registries = ['own.example']")
          .ok());
  ASSERT_TRUE(names.Read().ok());
  EXPECT_EQ((*names.Resolve("app"))[0].registry, "own.example");
}

}  // namespace
}  // namespace plimsoll::image
