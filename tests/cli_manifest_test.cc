// The requests of a manifest, as a container of `plimsoll run` finds them. Manifests of several
// fields, in the way of Kubernetes' documentation.
#include <unistd.h>

#include <csignal>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/programs/subprocess.h"
#include "cli_fixture.h"
#include "dial/server_for_test.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "harness/kernel.h"
#include "harness/node.h"
#include "linux/namespaces/mounts.h"

namespace plimsoll::testing {
namespace {

using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

constexpr char kObjects[] = R"yaml(apiVersion: v1
kind: ConfigMap
metadata: {name: game}
data: {lives: "3", ui.properties: "color=purple\n"}
---
apiVersion: v1
kind: Secret
metadata: {name: login}
stringData: {password: hush-hush}
)yaml";

class CliManifestTest : public CliTest {
 protected:
  void SetUp() override {
    CliTest::SetUp();
    if (IsSkipped()) return;
    ASSERT_TRUE(dir_.root().MakeDirs("objects").ok());
    ASSERT_TRUE(dir_.root().ReplaceFile("objects/all.yaml", kObjects).ok());
  }
  // Runs a pod with these fields of its spec, and one container with `script` and its fields.
  RunResult Run(const std::string& spec, const std::string& container, const std::string& script,
                bool objects = false) {
    const std::string path = dir_.path() + "/pod.yaml";
    EXPECT_TRUE(Host()
                    .ReplaceFile(path, absl::StrCat("apiVersion: v1\nkind: Pod\nmetadata:\n"
                                                    "  name: asked\n  labels: {app: web}\nspec:\n"
                                                    "  restartPolicy: Never\n",
                                                    spec,
                                                    "  containers:\n  - name: a\n"
                                                    "    image: busybox\n"
                                                    "    imagePullPolicy: Never\n",
                                                    container,
                                                    "    command:\n    - /bin/sh\n    - -c\n"
                                                    "    - |\n      ",
                                                    script, "\n"))
                    .ok());
    std::vector<std::string> arguments = {"run", path};
    if (objects) arguments.insert(arguments.end(), {"--objects", dir_.path() + "/objects"});
    return Plimsoll(std::move(arguments));
  }
};

TEST_F(CliManifestTest, HostAliasesAndAddressesAreThePods) {
  const RunResult result =
      Run("  hostAliases: [{ip: 10.9.9.9, hostnames: [db.local, db]}]\n",
          "    env:\n"
          "    - {name: NODE, valueFrom: {fieldRef: {fieldPath: spec.nodeName}}}\n"
          "    - {name: HOST, valueFrom: {fieldRef: {fieldPath: status.hostIP}}}\n"
          "    - {name: CPUS, valueFrom: {resourceFieldRef: {resource: limits.cpu, divisor: 1m}}}\n"
          "    resources: {limits: {cpu: 250m}}\n",
          "grep db /etc/hosts; grep localhost /etc/hosts; echo node=$NODE host=$HOST cpus=$CPUS");
  EXPECT_EQ(result.exit.code, 0) << result.err;
  char name[256] = "";
  ASSERT_EQ(gethostname(name, sizeof(name) - 1), 0);
  EXPECT_THAT(result.out, AllOf(HasSubstr("10.9.9.9\tdb.local\tdb"), HasSubstr("127.0.0.1"),
                                HasSubstr(absl::StrCat("node=", name)),
                                ContainsRegex("host=[0-9.:a-f]+ cpus=250")));
}

TEST_F(CliManifestTest, AVolumeInMemoryIsATmpfsOfItsSizeAndOfTheFsGroup) {
  const RunResult result =
      Run("  securityContext: {runAsUser: 1000, runAsGroup: 1000, fsGroup: 2000}\n"
          "  volumes: [{name: quick, emptyDir: {medium: Memory, sizeLimit: 1Mi}},\n"
          "            {name: data, emptyDir: {sizeLimit: 1Gi}}]\n",
          "    env: [{name: PART, value: a/b}]\n"
          "    volumeMounts: [{name: quick, mountPath: /quick},\n"
          "                   {name: data, mountPath: /data, subPathExpr: \"$(PART)\"},\n"
          "                   {name: data, mountPath: /all}]\n",
          "grep ' /quick ' /proc/mounts; touch /all/x /quick/y; stat -c '%n=%g:%a' /all /all/x "
          "/quick/y; "
          "dd if=/dev/zero of=/quick/big bs=64k count=32 2>/dev/null || echo full; id -G; "
          "ls -d /all/a/b; df -k /quick | tail -n 1");
  EXPECT_EQ(result.exit.code, 0) << result.err;
  EXPECT_THAT(result.out,
              AllOf(HasSubstr("tmpfs /quick tmpfs"), HasSubstr("/all=2000:2777"),
                    HasSubstr("/all/x=2000:"), HasSubstr("/quick/y=2000:"), HasSubstr("full"),
                    HasSubstr("1000 2000"), HasSubstr("/all/a/b"), ContainsRegex("tmpfs +1024 ")));
  EXPECT_THAT(result.err, HasSubstr("nothing holds a directory on disk to its size"));
}

TEST_F(CliManifestTest, ObjectsBecomeVariablesAndFiles) {
  const std::string spec =
      "  securityContext: {fsGroup: 2000}\n"
      "  volumes:\n"
      "  - {name: conf, configMap: {name: game, items: [{key: ui.properties, path: d/ui}]}}\n"
      "  - {name: hidden, secret: {secretName: login, defaultMode: 0400}}\n"
      "  - name: both\n"
      "    projected:\n"
      "      sources:\n"
      "      - secret: {name: login}\n"
      "      - configMap: {name: none, optional: true}\n"
      "      - downwardAPI: {items: [{path: labels, fieldRef: {fieldPath: metadata.labels}}]}\n";
  const std::string container =
      "    envFrom: [{prefix: G_, configMapRef: {name: game}}]\n"
      "    env: [{name: PASS, valueFrom: {secretKeyRef: {name: login, key: password}}}]\n"
      "    volumeMounts: [{name: conf, mountPath: /conf}, {name: hidden, mountPath: /hidden},\n"
      "                   {name: both, mountPath: /both}]\n";
  const RunResult result =
      Run(spec, container,
          "echo lives=$G_lives pass=$PASS; cat /conf/d/ui /hidden/password; echo; "
          "stat -L -c '%n=%a:%g' /hidden/password; cat /both/labels; ls /both; "
          "grep -c 'tmpfs /hidden tmpfs ro' /proc/mounts; touch /conf/x || true",
          /*objects=*/true);
  EXPECT_EQ(result.exit.code, 0) << result.err;
  EXPECT_THAT(result.out, AllOf(HasSubstr("lives=3 pass=hush-hush"), HasSubstr("color=purple"),
                                HasSubstr("/hidden/password=440:2000"), HasSubstr("app=\"web\""),
                                HasSubstr("password\n")));
  EXPECT_THAT(result.err + result.out, HasSubstr("Read-only file system"));

  const RunResult without = Run(spec, container, "true");
  EXPECT_EQ(without.exit.code, 125);
  EXPECT_THAT(without.err,
              AllOf(HasSubstr("there is no Secret default/login"),
                    HasSubstr("there is no ConfigMap default/game"),
                    HasSubstr("--objects DIR names a directory"), Not(HasSubstr("hush"))));
}

TEST_F(CliManifestTest, AnImageIsAVolume) {
  const RunResult result =
      Run("  volumes: [{name: tools, image: {reference: busybox, pullPolicy: Never}}]\n",
          "    volumeMounts: [{name: tools, mountPath: /tools, subPath: bin}]\n",
          "ls /tools/sh && ! touch /tools/x 2>/dev/null && echo read-only");
  EXPECT_EQ(result.exit.code, 0) << result.err;
  EXPECT_THAT(result.out, AllOf(HasSubstr("/tools/sh"), HasSubstr("read-only")));
}

TEST_F(CliManifestTest, HooksRunAroundTheContainer) {
  const RunResult result =
      Run("  volumes: [{name: data, emptyDir: {}}]\n  terminationGracePeriodSeconds: 20\n"
          "  activeDeadlineSeconds: 3\n",
          "    volumeMounts: [{name: data, mountPath: /data}]\n"
          "    lifecycle:\n"
          "      postStart: {exec: {command: [/bin/sh, -c, echo started > /data/log]}}\n"
          "      preStop: {exec: {command: [/bin/sh, -c, echo stopping >> /data/log]}}\n"
          "    livenessProbe: {tcpSocket: {port: web}}\n"
          "    ports: [{name: web, containerPort: 80}]\n",
          "trap 'cat /data/log; exit 7' TERM; while :; do sleep 0.1; done");
  EXPECT_EQ(result.exit.code, 7) << result.err;
  EXPECT_THAT(result.out, AllOf(HasSubstr("started"), HasSubstr("stopping")));
  EXPECT_THAT(result.err, AllOf(HasSubstr("has run for its activeDeadlineSeconds (3)"),
                                HasSubstr("livenessProbe: nothing probes with `plimsoll run`")));
}

TEST_F(CliManifestTest, HooksAreGetsByHttp) {
  dial::TestServer server([](const std::string&) { return dial::Answer(500, "is an answer"); });
  const std::string get =
      absl::StrCat("{httpGet: {host: 127.0.0.1, port: ", server.port(), ", path: ");
  const RunResult result = Run(
      "  activeDeadlineSeconds: 3\n",
      absl::StrCat("    lifecycle: {postStart: ", get, "/start}}, preStop: ", get, "/stop}}}\n"),
      "trap 'exit 7' TERM; while :; do sleep 0.1; done");
  EXPECT_EQ(result.exit.code, 7) << result.err;
  EXPECT_THAT(server.requests(),
              ElementsAre(StartsWith("GET /start HTTP/1.1"), StartsWith("GET /stop HTTP/1.1")));
  EXPECT_THAT(server.requests().front(), HasSubstr("User-Agent: kube-lifecycle/"));
}

TEST_F(CliManifestTest, AFailedPostStartHookEndsTheContainer) {
  const RunResult result = Run("  terminationGracePeriodSeconds: 1\n",
                               "    lifecycle: {postStart: {exec: {command: [/bin/sh, -c, "
                               "\"echo no way >&2; exit 4\"]}}}\n",
                               "sleep 1000");
  EXPECT_NE(result.exit.code, 0);
  EXPECT_THAT(result.err,
              HasSubstr("container a: postStart: /bin/sh ended with exit code 4: no way"));
}

TEST_F(CliManifestTest, ThePodsOwnResourcesBoundItsGroup) {
  const RunResult result =
      Run("  resources: {requests: {memory: 32Mi}, limits: {memory: 64Mi, cpu: 500m}}\n", "",
          "echo ran");
  EXPECT_EQ(result.exit.code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("ran"));
  const RunResult unknown = Run("  runtimeClassName: nowhere\n", "", "true");
  EXPECT_EQ(unknown.exit.code, 125);
  EXPECT_THAT(unknown.err, HasSubstr("nowhere"));
}

}  // namespace
}  // namespace plimsoll::testing
