#include "pod_runner/manifest/objects.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>

#include "base/dir_for_test.h"
#include "pod_runner/pod_files/check_objects.h"
#include "pod_runner/pulls/pull_secrets.h"

namespace plimsoll::pod {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::Pair;

constexpr char kObjects[] = R"yaml(apiVersion: v1
kind: ConfigMap
metadata: {name: settings, labels: {a: b}}
data: {color: blue, file.conf: "a=1\n"}
binaryData: {logo: /w==}
immutable: true
---
apiVersion: v1
kind: Secret
metadata: {name: login, namespace: shop}
type: Opaque
data: {user: YWRtaW4=, empty: null}
stringData: {password: "it's"}
---
apiVersion: v1
kind: Pod
metadata: {name: passed-over}
)yaml";

TEST(ConfigObjects, ReadsConfigMapsAndSecrets) {
  ConfigObjects objects;
  ASSERT_TRUE(objects.Add(kObjects, "o.yaml").ok());
  EXPECT_EQ(objects.size(), 2u);
  const Object* settings = objects.Find(ObjectKind::kConfigMap, "default", "settings");
  ASSERT_NE(settings, nullptr);
  EXPECT_THAT(settings->data,
              ElementsAre(Pair("color", "blue"), Pair("file.conf", "a=1\n"), Pair("logo", "\xff")));
  EXPECT_THAT(settings->binary, ElementsAre("logo"));
  const Object* login = objects.Find(ObjectKind::kSecret, "shop", "login");
  ASSERT_NE(login, nullptr);
  EXPECT_EQ(login->type, "Opaque");
  EXPECT_THAT(login->data,
              ElementsAre(Pair("empty", ""), Pair("password", "it's"), Pair("user", "admin")));
  EXPECT_EQ(objects.Find(ObjectKind::kSecret, "default", "login"), nullptr);
  EXPECT_EQ(objects.Get(ObjectKind::kSecret, "default", "login").status().message(),
            "there is no Secret default/login");
}

TEST(ConfigObjects, ErrorsSayWhereAndHoldNoValue) {
  const auto error = [](const std::string& fields) {
    ConfigObjects objects;
    return std::string(
        objects.Add("apiVersion: v1\nkind: Secret\nmetadata: {name: s}\n" + fields, "o.yaml")
            .message());
  };
  EXPECT_THAT(error("data: {pin: 4711}\n"),
              AllOf(HasSubstr("o.yaml:4:13: data.pin: must be a string: write it with quotes"),
                    Not(HasSubstr("4711"))));
  EXPECT_THAT(error("data: {pin: hush!}\n"),
              AllOf(HasSubstr("data.pin: must be base64"), Not(HasSubstr("hush"))));
  EXPECT_THAT(error("stringData: {pin: [hush]}\n"),
              AllOf(HasSubstr("must be a string"), Not(HasSubstr("hush"))));
  EXPECT_THAT(error("stringData: {\"a/b\": x}\n"), HasSubstr("a key must be letters"));
  EXPECT_THAT(error("strngData: {a: b}\n"), HasSubstr("did you mean \"stringData\"?"));
  EXPECT_THAT(error("stringData: {pin: \"hush\n"),
              AllOf(HasSubstr("not valid YAML"), Not(HasSubstr("hush"))));
  ConfigObjects twice;
  ASSERT_TRUE(twice.Add(kObjects, "a").ok());
  EXPECT_THAT(std::string(twice.Add(kObjects, "b").message()),
              HasSubstr("b: ConfigMap default/settings is there already"));
}

TEST(ConfigObjects, OnlyTheFirstHundredProblemsAreTold) {
  const std::string bad = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: m}\nzzzzzz: 1\n---\n";
  std::string text;
  for (int i = 0; i < 2000; ++i) text += bad;
  ConfigObjects objects;
  const std::string message(objects.Add(text + kObjects, "o").message());
  EXPECT_EQ(std::count(message.begin(), message.end(), '\n'), 100);
  EXPECT_THAT(message, ::testing::EndsWith("\nand further ones, which were not looked at"));
  EXPECT_EQ(objects.size(), 0u) << "the documents behind them are not read";
}

// An agent looks up absent objects twice.
TEST(ConfigObjects, AreAddedBehindAnyNumberThatAreThereAlready) {
  const std::string map = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: m}\n---\n";
  std::string text;
  for (int i = 0; i < 500; ++i) text += map;
  ConfigObjects objects;
  EXPECT_TRUE(absl::IsInvalidArgument(objects.Add(text + kObjects, "o")));
  EXPECT_EQ(objects.size(), 3u);
}

TEST(ConfigObjects, ReadsADirectory) {
  TestDir dir;
  ASSERT_TRUE(dir.root().ReplaceFile("o/a.yaml", kObjects).ok() ||
              (dir.root().MakeDirs("o").ok() && dir.root().ReplaceFile("o/a.yaml", kObjects).ok()));
  ASSERT_TRUE(dir.root().ReplaceFile("o/.hidden.yaml", "a: [").ok());
  ASSERT_TRUE(dir.root().ReplaceFile("o/README", "a: [").ok());
  const auto objects = ConfigObjects::ReadDirectory(dir.root(), "o");
  ASSERT_TRUE(objects.ok()) << objects.status();
  EXPECT_EQ(objects->size(), 2u);
  ASSERT_TRUE(dir.root().ReplaceFile("o/b.yml", "a: [").ok());
  EXPECT_THAT(std::string(ConfigObjects::ReadDirectory(dir.root(), "o").status().message()),
              HasSubstr("o/b.yml:"));
  EXPECT_TRUE(absl::IsNotFound(ConfigObjects::ReadDirectory(dir.root(), "none").status()));
}

// Opening it as a file would wait for a writer.
TEST(ConfigObjects, AFifoIsToldAndNotWaitedFor) {
  TestDir dir;
  ASSERT_EQ(mkfifo(dir.root().PathOf("pipe.yaml").c_str(), 0600), 0);
  const absl::Status status = ConfigObjects::ReadDirectory(dir.root(), ".").status();
  EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
  EXPECT_THAT(std::string(status.message()),
              AllOf(HasSubstr("pipe.yaml"), HasSubstr("is a FIFO, not a regular file")));
}

TEST(ConfigObjects, TextIsUtf8WithoutNul) {
  EXPECT_TRUE(IsText("a\n\xc3\xa4\xe2\x82\xac\xf0\x9f\x9a\xa2"));
  for (const char* bytes : {"\xff", "\xc3", "\xc3(", "\x80", "\xc0\x80"}) {
    EXPECT_FALSE(IsText(bytes)) << bytes;
  }
  EXPECT_FALSE(IsText(absl::string_view("a\0b", 3)));
}

TEST(CheckObjects, EveryMissingObjectIsTold) {
  const auto pods = ParseManifests(R"yaml(apiVersion: v1
kind: Pod
metadata: {name: p}
spec:
  volumes: [{name: v, secret: {secretName: gone}}, {name: w, configMap: {name: nope, optional: true}}]
  containers:
    - name: c
      image: i
      env:
        - {name: A, valueFrom: {configMapKeyRef: {name: settings, key: colour}}}
      envFrom: [{secretRef: {name: nope, optional: true}}]
)yaml",
                                   "pod.yaml");
  ASSERT_TRUE(pods.ok()) << pods.status();
  ConfigObjects objects;
  ASSERT_TRUE(objects.Add(kObjects, "o.yaml").ok());
  EXPECT_EQ(CheckObjects(pods->front(), &objects).message(),
            "pod.yaml: container c: variable A: ConfigMap default/settings has no key \"colour\"\n"
            "pod.yaml: volume v: there is no Secret default/gone");
  EXPECT_THAT(std::string(CheckObjects(pods->front(), nullptr).message()),
              HasSubstr("there is no ConfigMap default/settings"));
}

TEST(PullSecrets, AreTriedInTheirOrder) {
  Manifest pod;
  pod.pull_secrets = {"none", "other", "old", "new"};
  ConfigObjects objects;
  // "dTpw" is u:p, "djpx" is v:q.
  ASSERT_TRUE(objects
                  .Add(R"yaml(apiVersion: v1
kind: Secret
metadata: {name: other}
stringData: {.dockerconfigjson: '{"auths": {"other.local": {"auth": "dTpw"}}}'}
---
apiVersion: v1
kind: Secret
metadata: {name: old}
stringData: {.dockercfg: '{"reg.local": {"auth": "djpx"}}'}
---
apiVersion: v1
kind: Secret
metadata: {name: new}
stringData: {.dockerconfigjson: '{"auths": {"reg.local": {"auth": "dTpw"}}}'}
---
apiVersion: v1
kind: Secret
metadata: {name: wrong}
stringData: {a: b}
)yaml",
                       "o")
                  .ok());
  const auto all = PullCredentials(pod, &objects, "reg.local/app:1");
  ASSERT_TRUE(all.ok()) << all.status();
  ASSERT_EQ(all->size(), 2u);
  EXPECT_EQ(all->at(0).user, "v");
  EXPECT_EQ(all->at(1).password, "p");
  EXPECT_THAT(MissingPullSecrets(pod, &objects), ElementsAre("none"));
  EXPECT_EQ(MissingPullSecrets(pod, nullptr).size(), 4u);
  pod.pull_secrets = {"wrong"};
  EXPECT_THAT(std::string(PullCredentials(pod, &objects, "reg.local/app:1").status().message()),
              HasSubstr("Secret default/wrong: no key .dockerconfigjson"));
}

}  // namespace
}  // namespace plimsoll::pod
