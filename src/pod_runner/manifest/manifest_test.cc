#include "pod_runner/manifest/manifest.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "pod_runner/cri_requests/env.h"

namespace plimsoll::pod {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::Pair;
using Role = resources::ContainerRequirements::Role;

constexpr char kFull[] = R"yaml(apiVersion: v1
kind: Pod
metadata:
  name: web-1
  namespace: shop
  labels: {app: web}
  annotations:
    plimsoll.dev/cpuset: "0-1"
    plimsoll.dev/cpuset.app: "1"
spec:
  restartPolicy: OnFailure
  terminationGracePeriodSeconds: 5
  hostname: front
  hostNetwork: true
  dnsPolicy: None
  dnsConfig:
    nameservers: [10.0.0.1]
    searches: [shop.local]
    options: [{name: ndots, value: "2"}, {name: rotate}]
  securityContext:
    runAsUser: 1000
    fsGroup: 2000
    sysctls: [{name: net.core.somaxconn, value: "1024"}]
    seccompProfile: {type: RuntimeDefault}
  volumes:
    - name: data
      emptyDir: {}
    - name: etc
      hostPath: {path: /etc, type: Directory}
  initContainers:
    - name: prepare
      image: busybox
    - name: proxy
      image: busybox
      restartPolicy: Always
  containers:
    - name: app
      image: registry.local/app:1
      imagePullPolicy: Never
      command: [/app, --serve]
      args: ["$(GREETING)", "$$HOME", "$(UNKNOWN)"]
      workingDir: /srv
      env:
        - {name: GREETING, value: hello}
        - {name: WHO, valueFrom: {fieldRef: {fieldPath: metadata.name}}}
        - {name: BOTH, value: "$(GREETING) $(WHO)"}
      ports: [{containerPort: 80}]
      resources:
        requests: {cpu: 100m, memory: 64Mi}
        limits: {cpu: 0.5, memory: 64Mi, hugepages-2Mi: 4Mi}
      volumeMounts:
        - {name: data, mountPath: /data, subPath: a/b}
        - {name: etc, mountPath: /host/etc, readOnly: true}
      securityContext:
        readOnlyRootFilesystem: true
        allowPrivilegeEscalation: false
        capabilities: {add: [NET_ADMIN], drop: [ALL]}
)yaml";

// A pod with one container, and with `line` at the place that `where` names.
std::string PodWith(const std::string& where, const std::string& line) {
  std::string text = "apiVersion: v1\nkind: Pod\n";
  if (where == "top") text += line + "\n";
  text += "metadata:\n  name: p\n";
  if (where == "metadata") text += "  " + line + "\n";
  text += "spec:\n";
  if (where == "spec") text += "  " + line + "\n";
  text += "  containers:\n    - name: c\n      image: i\n";
  if (where == "container") text += "      " + line + "\n";
  return text;
}

std::string ErrorOf(const std::string& text) {
  const auto pods = ParseManifests(text, "pod.yaml");
  return pods.ok() ? "no error" : std::string(pods.status().message());
}

TEST(Manifest, APodHasAtMostAThousandContainers) {
  std::string text = PodWith("", "");
  for (int i = 1; i < 1000; ++i) absl::StrAppend(&text, "    - {name: c", i, ", image: i}\n");
  EXPECT_EQ(ErrorOf(text), "no error");
  absl::StrAppend(&text, "    - {name: last, image: i}\n");
  EXPECT_THAT(ErrorOf(text), HasSubstr("spec: has 1001 containers, a pod has at most 1000"));
}

TEST(Manifest, ReadsEverythingItKnows) {
  const auto pods = ParseManifests(kFull, "pod.yaml");
  ASSERT_TRUE(pods.ok()) << pods.status();
  const Manifest& pod = pods->front();
  EXPECT_EQ(pod.name, "web-1");
  EXPECT_EQ(pod.pod_namespace, "shop");
  EXPECT_EQ(pod.restart_policy, "OnFailure");
  EXPECT_EQ(pod.grace_period_s, 5);
  EXPECT_TRUE(pod.host_network);
  EXPECT_THAT(pod.dns_options, ElementsAre("ndots:2", "rotate"));
  EXPECT_EQ(pod.security.run_as_user, 1000);
  EXPECT_THAT(pod.security.supplemental_groups, ElementsAre(2000));
  EXPECT_EQ(pod.security.seccomp->type, "RuntimeDefault");
  ASSERT_EQ(pod.volumes.size(), 2);
  EXPECT_TRUE(pod.volumes[0].empty_dir);
  EXPECT_EQ(pod.volumes[1].host_path, "/etc");
  ASSERT_EQ(pod.containers.size(), 3);
  EXPECT_EQ(pod.containers[0].role, Role::kInit);
  EXPECT_EQ(pod.containers[1].role, Role::kSidecar);
  const ContainerManifest& app = pod.containers[2];
  EXPECT_EQ(app.role, Role::kContainer);
  EXPECT_EQ(app.pull_policy, "Never");
  EXPECT_THAT(app.command, ElementsAre("/app", "--serve"));
  EXPECT_EQ(app.resources.limits.at("cpu").text(), "0.5");
  EXPECT_EQ(app.mounts[0].sub_path, "a/b");
  EXPECT_TRUE(app.mounts[1].read_only);
  EXPECT_EQ(app.security.allow_privilege_escalation, false);
  EXPECT_TRUE(pod.notes.empty());
}

TEST(Manifest, ResolvesTheEnvironment) {
  const auto pods = ParseManifests(kFull, "pod.yaml");
  ASSERT_TRUE(pods.ok()) << pods.status();
  ProgramRoom room(ProgramRoom::OfProcess());
  const auto environment = ResolveEnvironment(pods->front(), pods->front().containers[2], {}, room);
  ASSERT_TRUE(environment.ok()) << environment.status();
  EXPECT_THAT(*environment, ElementsAre(Pair("GREETING", "hello"), Pair("WHO", "web-1"),
                                        Pair("BOTH", "hello web-1")));
  const std::map<std::string, std::string> known = {{"A", "1"}};
  EXPECT_EQ(*ExpandReferences("$(A) $$(A) $(B) $A $( 5$", known, room), "1 $(A) $(B) $A $( 5$");
}

TEST(Manifest, DefaultsAreKubernetes) {
  const auto pods = ParseManifests(PodWith("", ""), "pod.yaml");
  ASSERT_TRUE(pods.ok()) << pods.status();
  EXPECT_EQ(pods->front().restart_policy, "Always");
  EXPECT_EQ(pods->front().grace_period_s, 30);
  EXPECT_EQ(pods->front().pod_namespace, "default");
  EXPECT_EQ(pods->front().containers[0].pull_policy, "IfNotPresent");
}

TEST(Manifest, SeveralDocuments) {
  const std::string one = PodWith("", "");
  std::string two = one;
  two.replace(two.find("name: p"), 7, "name: q");
  const auto pods = ParseManifests(absl::StrCat("---\n", one, "---\n", two, "---\n"), "f");
  ASSERT_TRUE(pods.ok()) << pods.status();
  EXPECT_EQ(pods->size(), 2);
  EXPECT_THAT(ErrorOf(absl::StrCat(one, "---\n", one)), HasSubstr("two pods are named default/p"));
  EXPECT_THAT(ErrorOf(""), HasSubstr("holds no pod"));
}

TEST(Manifest, UnknownFieldsSayWhereAndWhatWasMeant) {
  EXPECT_EQ(ErrorOf(PodWith("spec", "hostNetwrok: true")),
            "pod.yaml:6:3: spec: unknown field \"hostNetwrok\"; did you mean \"hostNetwork\"?");
  EXPECT_THAT(ErrorOf(PodWith("container", "comand: [a]")),
              HasSubstr("pod.yaml:9:7: spec.containers[0]: unknown field \"comand\"; did you mean "
                        "\"command\"?"));
  EXPECT_THAT(ErrorOf(PodWith("top", "zzzzzz: 1")),
              HasSubstr("unknown field \"zzzzzz\"; known here: apiVersion, kind, metadata"));
  EXPECT_THAT(ErrorOf(PodWith("container", "name: d")), HasSubstr("\"name\" is there twice"));
}

struct BadCase {
  const char* where;
  const char* line;
  const char* message;
};
class BadManifestTest : public ::testing::TestWithParam<BadCase> {};

TEST_P(BadManifestTest, IsRefusedWithReason) {
  EXPECT_THAT(ErrorOf(PodWith(GetParam().where, GetParam().line)), HasSubstr(GetParam().message));
}

INSTANTIATE_TEST_SUITE_P(
    Types, BadManifestTest,
    ::testing::Values(
        BadCase{"container", "env: [{name: A, value: 1}]", "write \"1\" with quotes"},
        BadCase{"container", "env: [{name: A, value: true}]", "write \"true\" with quotes"},
        BadCase{"container", "env: [{name: A=B, value: a}]", "must not contain \"=\""},
        BadCase{"container", "args: echo", "must be a list"},
        BadCase{"container", "args: {a: b}", "must be a list (\"- ...\"), is a mapping"},
        BadCase{"container", "resources: []", "must be a mapping"},
        BadCase{"container", "tty: yes", "must be true or false"},
        BadCase{"container", "resources: {limits: {cpu: 1x}}", "unknown suffix \"x\""},
        BadCase{"container", "resources: {limits: {cpus: 1}}", "unknown resource \"cpus\""},
        BadCase{"container", "resources: {limits: {cpu: 1}, requests: {cpu: 2}}",
                "cpu: the request 2 is above the limit 1"},
        BadCase{"container", "imagePullPolicy: Sometimes", "is not one of Always, Never"},
        BadCase{"container", "securityContext: {runAsUser: -1}", "must be from 0 to 2147483647"},
        BadCase{"spec", "restartPolicy: never", "\"never\" is not one of Always, OnFailure, Never"},
        BadCase{"spec", "terminationGracePeriodSeconds: \"5\"", "must be a whole number"},
        BadCase{"metadata", "namespace: Shop", "must be at most 63 lower-case"},
        BadCase{"spec", "volumes: [{name: v}]", "needs exactly one of hostPath, emptyDir"},
        BadCase{"spec", "volumes: [{name: v, hostPath: {path: etc}}]", "must be an absolute path"},
        BadCase{
            "container", "volumeMounts: [{name: v, mountPath: /v}]",
            "pod.yaml:9:29: spec.containers[0].volumeMounts[0].name: there is no volume \"v\" in "
            "spec.volumes; add one"},
        BadCase{"container", "resources: {limits: {memroy: 1Gi}}", "did you mean \"memory\"?"},
        BadCase{"container", "resources: {limits: {memory: 64m}}",
                "pod.yaml:9:36: spec.containers[0].resources.limits.memory: 64m is 0.064 bytes: m "
                "means milli; write 64Mi for mebibytes"},
        BadCase{"container", "resources: {limits: {memory: 64}}",
                "64 is 64 bytes, less than a page of memory; write 64Mi"},
        BadCase{"metadata", "annotations: {plimsoll.dev/memory-shrink: \"yes\"}",
                "\"yes\" must be best-effort"},
        BadCase{"metadata", "annotations: {rdt.class.plimsoll.dev/container.d: gold}",
                "there is no container \"d\"; there is c"},
        BadCase{"container", "volumeMounts: [{name: v, mountPath: /v, subPath: ../x}]",
                "without \"..\""},
        BadCase{"metadata", "annotations: {plimsoll.dev/cpuset: \"3-1\"}",
                "the range ends before it begins"},
        BadCase{"metadata", "annotations: {plimsoll.dev/cpuset.nope: \"0\"}",
                "there is no container \"nope\""},
        BadCase{"metadata", "annotations: {plimsoll.dev/cdi.nope: \"v.com/c=a\"}",
                "metadata.annotations[plimsoll.dev/cdi.nope]: there is no container \"nope\""},
        BadCase{"metadata", "annotations: {plimsoll.dev/cdi: \"v.com/c=a,gpu\"}",
                "metadata.annotations[plimsoll.dev/cdi]: "},
        BadCase{"container", "volumeMounts: [{name: v, mountPath: /v/../w}]",
                "spec.containers[0].volumeMounts[0].mountPath: must be without \"..\""},
        BadCase{"spec", "volumes: [{name: v, hostPath: {path: /hp/../new, type: FileOrCreate}}]",
                "pod.yaml:6:33: spec.volumes[0].hostPath.path: must be without \"..\""},
        BadCase{"spec", "volumes: [{name: v, hostPath: {path: /..}}]", "must be without \"..\""},
        BadCase{"container", "volumeMounts: [{name: v, mountPath: /v, subPathExpr: $(A)/..}]",
                "subPathExpr: must be relative and without \"..\""},
        BadCase{"container", "volumeMounts: [{name: v, mountPath: /v}, {name: w, mountPath: /v}]",
                "two have the mountPath /v"},
        BadCase{"container",
                "volumeMounts: [{name: v, mountPath: /v, mountPropagation: Bidirectional}]",
                "mountPropagation Bidirectional is for privileged containers"},
        BadCase{"spec",
                "securityContext: {seccompProfile: {type: Localhost, localhostProfile: /a}}",
                "seccompProfile.localhostProfile: must be relative to the root"},
        BadCase{"container",
                "securityContext: {seccompProfile: {type: Localhost, localhostProfile: a/../b}}",
                "must be relative to the root of seccomp profiles and without \"..\""},
        BadCase{"metadata",
                "annotations: {container.apparmor.security.beta.kubernetes.io/d: unconfined}",
                "there is no container \"d\"; there is c"},
        BadCase{"metadata", "annotations: {container.apparmor.security.beta.kubernetes.io/c: mine}",
                "must be runtime/default, unconfined or localhost/NAME"},
        BadCase{"metadata",
                "annotations: {container.seccomp.security.alpha.kubernetes.io/c: localhost/../a}",
                "must be runtime/default, unconfined or localhost/PATH"},
        BadCase{"metadata", "annotations: {security.alpha.kubernetes.io/sysctls: a=1}",
                "Kubernetes reads it no more; use spec.securityContext.sysctls"},
        BadCase{"metadata", "annotations: {pod.beta.kubernetes.io/init-containers: \"[]\"}",
                "use spec.initContainers"},
        BadCase{"container", "command: [\"a\\0b\"]",
                "spec.containers[0].command[0]: must not have a NUL"},
        BadCase{"spec", "initContainers: [{name: d, image: Busy Box}]",
                "pod.yaml:6:37: spec.initContainers[0].image: image reference \"Busy Box\" is "
                "malformed: "},
        BadCase{"spec", "initContainers: [{name: c, image: i}]", "two containers are named \"c\""},
        BadCase{"spec", "hostPID: true\n  shareProcessNamespace: true", "choose one of them"},
        BadCase{"spec", "hostIPC: true\n  hostUsers: false", "spec.hostUsers: false cannot be"}));

INSTANTIATE_TEST_SUITE_P(
    NotSupported, BadManifestTest,
    ::testing::Values(
        BadCase{"container", "ports: [{hostPort: 80}]", "needs a \"containerPort\""},
        BadCase{"container", "env: [{name: A, valueFrom: {fieldRef: {fieldPath: status.phase}}}]",
                "\"status.phase\" is not supported, only metadata.name"},
        BadCase{"spec", "volumes: [{name: v, nfs: {server: s, path: /}}]",
                "only volumes of the machine itself are"},
        BadCase{"spec", "volumes: [{name: v, emptyDir: {medium: HugePages-2Mi}}]",
                "emptyDir is a directory on disk or, with Memory, in memory"},
        BadCase{"spec",
                "volumes: [{name: v, projected: {sources: [{serviceAccountToken: {path: t}}]}}]",
                "there is no API server here"}));

INSTANTIATE_TEST_SUITE_P(
    Fields, BadManifestTest,
    ::testing::Values(
        BadCase{"spec", "volumes: [{name: v, configMap: {name: m, defaultMode: 0888}}]",
                "must be permission bits from 0 to 0777"},
        BadCase{"spec", "volumes: [{name: v, configMap: {name: m, items: [{key: k, path: ../x}]}}]",
                "\"../x\" must be relative and without"},
        BadCase{"spec", "volumes: [{name: v, emptyDir: {}, secret: {secretName: s}}]",
                "needs exactly one of hostPath, emptyDir"},
        BadCase{"spec",
                "volumes: [{name: v, downwardAPI: {items: [{path: p, fieldRef: {fieldPath: "
                "status.podIP}}]}}]",
                "\"status.podIP\" is not supported, only metadata.name"},
        BadCase{"spec", "hostAliases: [{ip: nowhere, hostnames: [a]}]", "is no IP address"},
        BadCase{"spec", "activeDeadlineSeconds: 0", "must be from 1 to"},
        BadCase{"spec",
                "resources: {limits: {memory: 1Mi}}\n  initContainers: [{name: d, image: i, "
                "resources: {limits: {memory: 2Mi}}}]",
                "container d's limit 2Mi is above the pod's 1Mi"},
        BadCase{"container", "livenessProbe: {periodSeconds: 5}", "needs exactly one of exec"},
        BadCase{"container", "livenessProbe: {tcpSocket: {port: 1}, successThreshold: 2}",
                "successThreshold: must be 1"},
        BadCase{"container", "livenessProbe: {tcpSocket: {port: 1}, periodSeconds: -1}",
                "periodSeconds: must be from 1 to"},
        BadCase{"container", "livenessProbe: {tcpSocket: {port: 1}, periodSeconds: \"0\"}",
                "periodSeconds: must be a whole number"},
        BadCase{"container", "ports: [{name: a, containerPort: 1}, {name: a, containerPort: 2}]",
                "pod.yaml:9:44: spec.containers[0].ports[1].name: two ports are named \"a\""},
        BadCase{"container", "resizePolicy: [{resourceName: cpu}]",
                "resizePolicy[0]: needs a resourceName and a restartPolicy"},
        BadCase{"container",
                "readinessProbe: {httpGet: {port: wbe}}\n      ports: [{name: web, "
                "containerPort: 80}]",
                "no port named \"wbe\"; did you mean \"web\"?"},
        BadCase{"container", "lifecycle: {preStop: {grpc: {port: 1}}}", "unknown field \"grpc\""},
        BadCase{"container", "resources: {limits: {example.com/gpu: 500m}}", "a whole number"},
        BadCase{"container", "resources: {requests: {example.com/gpu: 1}}",
                "the limit must equal the request"},
        BadCase{"container", "env: [{name: A, valueFrom: {}}]", "needs exactly one of fieldRef"},
        BadCase{"container", "envFrom: [{prefix: A}]", "needs exactly one of configMapRef"}));

TEST(Manifest, ModesAreOctalAsInKubernetes) {
  for (const auto& [text, mode] : {std::pair("0400", 0400), std::pair("0o400", 0400),
                                   std::pair("256", 0400), std::pair("0", 0)}) {
    const auto pods = ParseManifests(
        PodWith("spec", absl::StrCat("volumes: [{name: v, secret: {secretName: s, defaultMode: ",
                                     text, "}}]")),
        "f");
    ASSERT_TRUE(pods.ok()) << pods.status();
    EXPECT_EQ(pods->front().volumes[0].files->default_mode, mode) << text;
  }
}

TEST(Manifest, ProbesHaveKubernetesDefaultsAndAreLeftToAnAgent) {
  const auto pods = ParseManifests(
      PodWith(
          "container",
          "ports: [{name: web, containerPort: 80}]\n      readinessProbe: {httpGet: {port: web}}\n"
          "      livenessProbe: {exec: {command: [a]}, periodSeconds: 3}"),
      "f");
  ASSERT_TRUE(pods.ok()) << pods.status();
  const ContainerManifest& container = pods->front().containers[0];
  const auto& get = std::get<HttpGetAction>(container.readiness->action);
  EXPECT_EQ(get.port, 80);
  EXPECT_EQ(get.path, "/");
  EXPECT_EQ(container.readiness->timeout_s, 1);
  EXPECT_EQ(container.liveness->period_s, 3);
  EXPECT_EQ(container.liveness->failure_threshold, 3);
  EXPECT_THAT(pods->front().left_to_agent,
              ElementsAre(HasSubstr("livenessProbe: nothing probes"),
                          HasSubstr("readinessProbe: nothing probes")));
}

TEST(Manifest, ZeroInAProbeIsTheDefault) {
  const auto pods =
      ParseManifests(PodWith("container",
                             "startupProbe: {exec: {command: [a]}, timeoutSeconds: 0, "
                             "periodSeconds: 0, successThreshold: 0, failureThreshold: 0}"),
                     "f");
  ASSERT_TRUE(pods.ok()) << pods.status();
  const Probe& probe = *pods->front().containers[0].startup;
  EXPECT_EQ(probe.timeout_s, 1);
  EXPECT_EQ(probe.period_s, 10);
  EXPECT_EQ(probe.success_threshold, 1);
  EXPECT_EQ(probe.failure_threshold, 3);
}

// Containers of one pod may have ports of one name: a name is looked up in one container.
TEST(Manifest, PortsOfTwoContainersMayHaveOneName) {
  EXPECT_EQ(ErrorOf(PodWith("container", "ports: [{name: a, containerPort: 1}]") +
                    "    - {name: d, image: i, ports: [{name: a, containerPort: 2}]}\n"),
            "no error");
}

TEST(Manifest, HooksRunCommandsAndGetsAndConnectNowhere) {
  const auto pods = ParseManifests(
      PodWith("container",
              "lifecycle: {postStart: {httpGet: {port: 80}}, preStop: {sleep: {seconds: 1}}}"),
      "f");
  ASSERT_TRUE(pods.ok()) << pods.status();
  const Lifecycle& lifecycle = pods->front().containers[0].lifecycle;
  EXPECT_EQ(std::get<HttpGetAction>(*lifecycle.post_start).port, 80);
  EXPECT_EQ(std::get<SleepAction>(*lifecycle.pre_stop).seconds, 1);
  EXPECT_TRUE(pods->front().left_to_agent.empty());
  const auto refused =
      ParseManifests(PodWith("container", "lifecycle: {postStart: {tcpSocket: {port: 80}}}"), "f");
  EXPECT_THAT(
      std::string(refused.status().message()),
      HasSubstr("lifecycle.postStart.tcpSocket: not supported: no kubelet runs such a hook"));
}

TEST(Manifest, WhatOnlyAClusterNeedsIsNoted) {
  const auto pods = ParseManifests(PodWith("spec", "nodeSelector: {disk: ssd}"), "pod.yaml");
  ASSERT_TRUE(pods.ok()) << pods.status();
  EXPECT_THAT(
      pods->front().notes,
      ElementsAre(HasSubstr("pod.yaml:6:17: spec.nodeSelector: ignored: there is one node")));
}

// Kubernetes takes such an amount too, with a warning.
TEST(Manifest, ARequestOfThousandthsOfAByteIsNoted) {
  const auto pods =
      ParseManifests(PodWith("container", "resources: {requests: {memory: 64m}}"), "pod.yaml");
  ASSERT_TRUE(pods.ok()) << pods.status();
  EXPECT_THAT(pods->front().notes,
              ElementsAre(HasSubstr("spec.containers[0].resources.requests.memory: 64m is 0.064 "
                                    "bytes: m means milli; write 64Mi")));
}

// The pod's message goes before the annotation.
TEST(Manifest, AnAnnotationWithWhatThePodNeedsIsNoted) {
  const auto pods = ParseManifests(
      PodWith("metadata", "annotations: {a: b, plimsoll.dev/pod-resources: '{}'}"), "pod.yaml");
  ASSERT_TRUE(pods.ok()) << pods.status();
  EXPECT_THAT(pods->front().notes,
              ElementsAre(::testing::AllOf(
                  HasSubstr("metadata.annotations[plimsoll.dev/pod-resources]: ignored: "),
                  HasSubstr("pod.yaml:"))));
  EXPECT_EQ(pods->front().annotations.size(), 2u) << "it is the pod's all the same";
  EXPECT_EQ(ErrorOf(PodWith("metadata", "annotations: {a: b}")), "no error");
}

TEST(Manifest, AllProblemsAreToldAtOnce) {
  const std::string bad = PodWith("spec", "hostNetwrok: true\n  restartPolicy: never");
  EXPECT_EQ(ErrorOf(absl::StrCat(bad, "      tty: 1\n---\n", PodWith("top", "zzz: 1"))),
            "pod.yaml:6:3: spec: unknown field \"hostNetwrok\"; did you mean \"hostNetwork\"?\n"
            "pod.yaml:7:18: spec.restartPolicy: \"never\" is not one of Always, OnFailure, Never\n"
            "pod.yaml:11:12: spec.containers[0].tty: must be true or false\n"
            "pod.yaml:15:1: unknown field \"zzz\"; known here: apiVersion, kind, metadata, spec, "
            "status");
}

// "[]" is no pod: each document is a problem.
TEST(Manifest, OnlyTheFirstHundredProblemsAreTold) {
  std::string text;
  for (int i = 0; i < 9000; ++i) text += "---\n[]\n";
  const std::string error = ErrorOf(text);
  EXPECT_EQ(std::count(error.begin(), error.end(), '\n'), 100);
  EXPECT_THAT(error, HasSubstr("pod.yaml:200:1: must be a mapping"));
  EXPECT_THAT(error, EndsWith("\nand further ones, which were not looked at"));
  EXPECT_THAT(ErrorOf(text.substr(0, 700)), Not(HasSubstr("further")));
}

TEST(Manifest, OnlyTheFirstHundredProblemsOfADocumentAreTold) {
  std::string text = PodWith("", "");
  for (int i = 0; i < 10; ++i) {
    absl::StrAppend(&text, "    - name: d", i, "\n");
    for (int key = 0; key < 1900; ++key) absl::StrAppend(&text, "      imge", key, ": i\n");
  }
  const std::string error = ErrorOf(text);
  EXPECT_EQ(std::count(error.begin(), error.end(), '\n'), 100);
  EXPECT_THAT(error, HasSubstr("spec.containers[1]: unknown field \"imge0\""));
  EXPECT_THAT(error, EndsWith("\nand further ones, which were not looked at"));
}

// The consequences of a mistake are no further errors.
TEST(Manifest, AProblemIsToldOnce) {
  for (const std::string& text :
       {std::string("apiVersion: apps/v1\nkind: Deployment\nspec: {replicas: 3}\n"),
        std::string("just words\n"), PodWith("container", "volumeMounts: [data]"),
        PodWith("container", "resources: {limits: 5}"),
        PodWith("container", "resizePolicy: [{resourceName: cpu, restartPolicy: Restart}]"),
        PodWith("container", "resizePolicy: [cpu]"),
        PodWith("spec", "volumes: [{name: v, nfs: {server: s, path: /}}]")}) {
    EXPECT_THAT(ErrorOf(text), Not(HasSubstr("\n")));
  }
}

// Kubernetes takes it, and KEP-4112's example is written so.
TEST(Manifest, AnEmptyDirWithoutAValueIsOne) {
  const auto pods = ParseManifests(PodWith("spec", "volumes: [{name: v, emptyDir: }]"), "f");
  ASSERT_TRUE(pods.ok()) << pods.status();
  EXPECT_TRUE(pods->front().volumes.at(0).empty_dir);
  EXPECT_THAT(ErrorOf(PodWith("spec", "volumes: [{name: v, emptyDir: , hostPath: {path: /}}]")),
              HasSubstr("needs exactly one of hostPath"));
}

TEST(Manifest, AVolumeOfNearlyThatNameIsSuggested) {
  const std::string text = absl::StrCat(PodWith("container",
                                                "volumeMounts: [{name: dta, mountPath: "
                                                "/d}]"),
                                        "  volumes: [{name: data, emptyDir: {}}]\n");
  EXPECT_THAT(ErrorOf(text), HasSubstr("there is no volume \"dta\" in spec.volumes; did you mean "
                                       "\"data\"?"));
}

TEST(Manifest, AnAnnotationThatIsNearlyOneOfOursIsNoted) {
  const auto notes = [](const std::string& key) {
    const auto pods =
        ParseManifests(PodWith("metadata", absl::StrCat("annotations: {", key, ": x}")), "f");
    EXPECT_TRUE(pods.ok()) << pods.status();
    return pods.ok() ? pods->front().notes : std::vector<std::string>();
  };
  EXPECT_THAT(notes("plimsoll.dev/cpusets"),
              ElementsAre(HasSubstr("did you mean plimsoll.dev/cpuset?")));
  EXPECT_THAT(
      notes("container.apparmor.security.kubernetes.io/c"),
      ElementsAre(HasSubstr("did you mean container.apparmor.security.beta.kubernetes.io/c?")));
  EXPECT_THAT(notes("plimsol.dev/cpuset.c"),
              ElementsAre(HasSubstr("did you mean plimsoll.dev/cpuset.c?")));
  EXPECT_THAT(notes("plimsoll.dev/whatever"),
              ElementsAre(HasSubstr("it reads cpuset, cdi, memory-shrink of plimsoll.dev")));
  EXPECT_THAT(notes("rdt.class.plimsoll.dev/defualt"),
              ElementsAre(HasSubstr("did you mean rdt.class.plimsoll.dev/default?")));
  EXPECT_THAT(notes("rdt.class.plimsol.dev/container.c"),
              ElementsAre(HasSubstr("did you mean rdt.class.plimsoll.dev/container.c?")));
  EXPECT_THAT(notes("plimsoll.dev/qos-class"), ElementsAre(HasSubstr("ignored: it follows")));
  for (const char* key : {"rdt.class.plimsoll.dev/default", "example.com/cpuset", "cpuset",
                          "oom.class.plimsoll.dev/container.c", "kubernetes.io/x"}) {
    EXPECT_THAT(notes(key), ::testing::IsEmpty()) << key;
  }
}

TEST(Manifest, ACpuRequestThatSharesCannotSayIsNoted) {
  const auto notes = [](const std::string& resources) {
    const auto pods = ParseManifests(PodWith("container", "resources: " + resources), "pod.yaml");
    EXPECT_TRUE(pods.ok()) << pods.status();
    return pods.ok() ? pods->front().notes : std::vector<std::string>();
  };
  EXPECT_THAT(notes("{requests: {cpu: 256}}"), ::testing::IsEmpty());
  EXPECT_THAT(notes("{requests: {cpu: 300}}"),
              ElementsAre(HasSubstr("spec.containers[0].resources: a CPU request of 300 weighs as "
                                    "256 does: 262144 shares are the most")));
  EXPECT_THAT(notes("{limits: {cpu: 300}}"), ElementsAre(HasSubstr("a CPU request of 300")));
}

TEST(Manifest, WhatOnlyLooksLikeANumberIsAString) {
  for (const char* word : {"-c", "-e", "0xyz", "1.2.3", "10m", "--", "+x", "a", "face", "-"}) {
    EXPECT_EQ(ErrorOf(PodWith("container", absl::StrCat("args: [", word, "]"))), "no error");
  }
  for (const char* word : {"1", "-1", "1.5", "1e3", "0x1f", "True", ".nan", "-.inf"}) {
    EXPECT_THAT(ErrorOf(PodWith("container", absl::StrCat("args: [", word, "]"))),
                HasSubstr("with quotes"))
        << word;
  }
}

TEST(Manifest, FalseAndEmptyAreNotRefused) {
  EXPECT_EQ(ErrorOf(PodWith("spec", "shareProcessNamespace: false")), "no error");
  EXPECT_EQ(ErrorOf(PodWith("spec", "imagePullSecrets: []")), "no error");
  EXPECT_EQ(ErrorOf(PodWith("container", "env: null")), "no error");
}

TEST(Manifest, OtherKindsAndBrokenYaml) {
  EXPECT_THAT(ErrorOf("apiVersion: apps/v1\nkind: Deployment\n"),
              HasSubstr("is apps/v1 Deployment; only v1 Pod can be run"));
  EXPECT_THAT(ErrorOf("kind: [Pod\n"), HasSubstr("pod.yaml:2:1: not valid YAML"));
  EXPECT_THAT(
      ErrorOf("kind: Pod\nmetadata:\n\tname: web\n"),
      AllOf(HasSubstr("pod.yaml:3:"), HasSubstr("begins with a tab: indent it with spaces")));
  EXPECT_THAT(ErrorOf("kind: [Pod\n"), Not(HasSubstr("a tab")));
  std::string large = "a:\n";
  for (int i = 0; i < 100'001; ++i) large += "- x\n";
  EXPECT_THAT(ErrorOf(large),
              AllOf(HasSubstr(": too large: more than 100000 values"), Not(HasSubstr("valid"))));
  EXPECT_THAT(ErrorOf("just words\n"), HasSubstr("must be a mapping"));
  EXPECT_THAT(ErrorOf("apiVersion: v1\nkind: Pod\nmetadata: {name: Bad_Name}\nspec: {}\n"),
              HasSubstr("\"Bad_Name\" must be lower-case"));
}

// Any text gives an error or a pod, and no crash.
TEST(Manifest, DamagedTextIsAnErrorOrAPod) {
  const std::string full = kFull;
  for (size_t i = 0; i < full.size(); i += 7) {
    std::string damaged = full;
    damaged[i] = "{[:\t\"'&*#0"[i % 10];
    const auto pods = ParseManifests(damaged, "f");
    EXPECT_TRUE(pods.ok() || absl::IsInvalidArgument(pods.status()));
    const auto cut = ParseManifests(full.substr(0, i), "f");
    EXPECT_TRUE(cut.ok() || absl::IsInvalidArgument(cut.status()));
  }
}

}  // namespace
}  // namespace plimsoll::pod
