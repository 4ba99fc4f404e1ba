#include "pod_runner/cri_requests/fields.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "pod_runner/cri_requests/env.h"
#include "pod_runner/cri_requests/hosts_file.h"

namespace plimsoll::pod {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::Pair;

Manifest PodWithEnv(const std::string& fields) {
  const auto pods = ParseManifests(
      "apiVersion: v1\nkind: Pod\nmetadata: {name: p, labels: {app: web}}\nspec:\n"
      "  serviceAccountName: robot\n  containers:\n"
      "    - name: c\n      image: i\n"
      "      resources: {limits: {memory: 1.5Gi}, requests: {cpu: 1250m}}\n" +
          fields,
      "pod.yaml");
  EXPECT_TRUE(pods.ok()) << pods.status();
  return pods.ok() ? pods->front() : Manifest();
}

absl::StatusOr<std::vector<std::pair<std::string, std::string>>> EnvironmentOf(
    const Manifest& pod, const PodContext& context) {
  ProgramRoom room(ProgramRoom::OfProcess());
  return ResolveEnvironment(pod, pod.containers[0], context, room);
}

PodContext ContextOfNode() {
  PodContext context;
  context.uid = "u";
  context.node_name = "node-1";
  context.host_ips = {"10.0.0.1", "fd00::1"};
  context.pod_ips = {"10.1.0.5", "fd01::5"};
  context.allocatable = {{"cpu", resources::Quantity::FromInt(4)}};
  return context;
}

TEST(Fields, EveryFieldOfAVariable) {
  const Manifest pod = PodWithEnv("");
  const PodContext context = ContextOfNode();
  EXPECT_EQ(FieldValue(pod, "metadata.uid", context), "u");
  EXPECT_EQ(FieldValue(pod, "metadata.labels['app']", context), "web");
  EXPECT_EQ(FieldValue(pod, "metadata.labels['none']", context), "");
  EXPECT_EQ(FieldValue(pod, "spec.nodeName", context), "node-1");
  EXPECT_EQ(FieldValue(pod, "spec.serviceAccountName", context), "robot");
  EXPECT_EQ(FieldValue(pod, "status.hostIP", context), "10.0.0.1");
  EXPECT_EQ(FieldValue(pod, "status.hostIPs", context), "10.0.0.1,fd00::1");
  EXPECT_EQ(FieldValue(pod, "status.podIP", context), "10.1.0.5");
  EXPECT_EQ(FieldValue(pod, "status.podIPs", context), "10.1.0.5,fd01::5");
  Manifest on_host = pod;
  on_host.host_network = true;
  EXPECT_EQ(FieldValue(on_host, "status.podIP", context), "10.0.0.1");
}

TEST(Fields, ResourcesAreDividedAndRoundedUp) {
  const Manifest pod = PodWithEnv("");
  const auto value = [&](const std::string& resource, const char* divisor) {
    ResourceField field{.resource = resource};
    if (*divisor != '\0') field.divisor = *resources::Quantity::Parse(divisor);
    return *ResourceValue(pod, &pod.containers[0], field, ContextOfNode());
  };
  EXPECT_EQ(value("requests.cpu", ""), "2");
  EXPECT_EQ(value("requests.cpu", "1m"), "1250");
  EXPECT_EQ(value("limits.memory", "1Mi"), "1536");
  EXPECT_EQ(value("requests.memory", "1Gi"), "2") << "a limit is a request too";
  EXPECT_EQ(value("limits.cpu", ""), "4") << "the node's";
  EXPECT_EQ(value("requests.ephemeral-storage", ""), "0");
  EXPECT_TRUE(absl::IsInvalidArgument(
      ResourceValue(pod, nullptr, {.container = "d", .resource = "limits.cpu"}, ContextOfNode())
          .status()));
}

TEST(Fields, VariablesOfObjects) {
  const Manifest pod = PodWithEnv(
      "      envFrom: [{configMapRef: {name: settings}}, {prefix: X_, secretRef: {name: login}},\n"
      "                {configMapRef: {name: none, optional: true}}]\n"
      "      env:\n"
      "        - {name: color, value: \"$(X_user) green\"}\n"
      "        - {name: PASS, valueFrom: {secretKeyRef: {name: login, key: user}}}\n"
      "        - {name: NONE, valueFrom: {secretKeyRef: {name: login, key: nope, optional: "
      "true}}}\n");
  ConfigObjects objects;
  ASSERT_TRUE(objects
                  .Add("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\n"
                       "data: {color: blue, size: big}\nbinaryData: {logo: /w==}\n---\n"
                       "apiVersion: v1\nkind: Secret\nmetadata: {name: login}\n"
                       "stringData: {user: admin}\n",
                       "o")
                  .ok());
  PodContext context;
  context.objects = &objects;
  const auto all = EnvironmentOf(pod, context);
  ASSERT_TRUE(all.ok()) << all.status();
  EXPECT_THAT(*all, ElementsAre(Pair("X_user", "admin"), Pair("size", "big"),
                                Pair("color", "admin green"), Pair("PASS", "admin")));
  EXPECT_EQ(EnvironmentOf(pod, {}).status().message(), "there is no ConfigMap default/settings");
}

// "hush" and a byte, which is no UTF-8 (k) or a NUL (n).
constexpr char kBytes[] =
    "apiVersion: v1\nkind: Secret\nmetadata: {name: s}\ndata: {k: aHVzaP8=, n: aHVzaAA=}\n";

TEST(Fields, AValueMayBeAnyBytesButNul) {
  ConfigObjects objects;
  ASSERT_TRUE(objects.Add(kBytes, "o").ok());
  PodContext context;
  context.objects = &objects;
  const auto bytes = EnvironmentOf(
      PodWithEnv("      env: [{name: A, valueFrom: {secretKeyRef: {name: s, key: k}}}, {name: B, "
                 "value: \"<$(A)>\"}]\n"),
      context);
  ASSERT_TRUE(bytes.ok()) << bytes.status();
  EXPECT_THAT(*bytes, ElementsAre(Pair("A", "hush\xff"), Pair("B", "<hush\xff>")));
  const auto failed = EnvironmentOf(
      PodWithEnv("      env: [{name: A, valueFrom: {secretKeyRef: {name: s, key: n}}}]\n"),
      context);
  EXPECT_EQ(failed.status(), absl::InvalidArgumentError(
                                 "variable A: Secret default/s, key \"n\": the value has a NUL "
                                 "byte, which no variable can hold"));
}

TEST(Fields, AKeyOfEnvFromThatCanBeNoVariableIsLeftOutAndTold) {
  const Manifest pod = PodWithEnv(
      "      envFrom: [{prefix: X_, secretRef: {name: s}}, {configMapRef: {name: none, optional: "
      "true}}]\n");
  ConfigObjects objects;
  ASSERT_TRUE(objects.Add(kBytes, "o").ok());
  PodContext context;
  context.objects = &objects;
  const auto all = EnvironmentOf(pod, context);
  ASSERT_TRUE(all.ok()) << all.status();
  EXPECT_THAT(*all, ElementsAre(Pair("X_k", "hush\xff")));
  const std::vector<std::string> told = LeftOutVariables(pod, pod.containers[0], context);
  ASSERT_EQ(told.size(), 1u);
  EXPECT_THAT(told[0], HasSubstr("envFrom leaves out Secret default/s, key n: a NUL byte"));
  EXPECT_THAT(told[0], Not(HasSubstr("hush")));
}

// "A0", then as many levels, each of which has the one before ten times.
std::string TenTimes(int levels) {
  std::string env = "      env:\n        - {name: A0, value: \"0123456789\"}\n";
  for (int i = 1; i <= levels; ++i) {
    env += "        - {name: A" + std::to_string(i) + ", value: \"";
    for (int k = 0; k < 10; ++k) env += "$(A" + std::to_string(i - 1) + ")";
    env += "\"}\n";
  }
  return env;
}

// A kilobyte of manifest took all memory of the machine, and again at the agent's next start.
TEST(Fields, ReferencesHaveABoundedLength) {
  EXPECT_EQ(EnvironmentOf(PodWithEnv(TenTimes(4)), {})->back().second.size(), 100'000u);
  for (const int levels : {5, 11}) {
    EXPECT_EQ(EnvironmentOf(PodWithEnv(TenTimes(levels)), {}).status(),
              absl::InvalidArgumentError(
                  "variable A5: becomes longer than 131071 bytes, the most that Linux takes in one "
                  "string of a program"));
  }
}

TEST(Fields, AVariableIsNoLongerThanLinuxTakesIt) {
  const auto with = [](size_t length) {
    return PodWithEnv("      env: [{name: LONG, value: " + std::string(length, 'x') + "}]\n");
  };
  EXPECT_TRUE(EnvironmentOf(with(131'071 - 5), {}).ok()) << "with LONG= and its NUL";
  EXPECT_THAT(std::string(EnvironmentOf(with(131'071 - 4), {}).status().message()),
              HasSubstr("variable LONG: becomes longer than 131071 bytes"));
  ConfigObjects objects;
  ASSERT_TRUE(objects
                  .Add("apiVersion: v1\nkind: Secret\nmetadata: {name: s}\nstringData: {key: " +
                           std::string(131'072, 'x') + "}\n",
                       "o")
                  .ok());
  PodContext context;
  context.objects = &objects;
  const std::pair<const char*, const char*> sources[] = {
      {"      envFrom: [{secretRef: {name: s}}]\n", "variable key of Secret default/s: "},
      {"      env: [{name: key, valueFrom: {secretKeyRef: {name: s, key: key}}}]\n",
       "variable key: "}};
  for (const auto& [source, variable] : sources) {
    const std::string message(EnvironmentOf(PodWithEnv(source), context).status().message());
    EXPECT_THAT(message, HasSubstr(absl::StrCat(variable, "becomes longer than 131071 bytes")));
    EXPECT_THAT(message, Not(HasSubstr("xx")));
  }
}

TEST(ProgramRoomTest, CountsEachStringWithItsNulAndItsPointer) {
  ProgramRoom room(100);
  EXPECT_EQ(room.Longest(), 91u);
  ASSERT_TRUE(room.Take(50).ok());
  EXPECT_EQ(room.taken(), 59u);
  EXPECT_EQ(room.Longest(), 32u);
  EXPECT_THAT(std::string(room.Take(33).message()), HasSubstr("more than 100 bytes together"));
  EXPECT_EQ(room.taken(), 59u) << "a string without room takes none";
  ASSERT_TRUE(room.Take(32).ok());
  EXPECT_EQ(room.Longest(), 0u);
  EXPECT_TRUE(absl::IsInvalidArgument(room.Take(0)));
  EXPECT_EQ(ExpandReferences("", {}, room).value(), "");
  EXPECT_TRUE(absl::IsInvalidArgument(ExpandReferences("a", {}, room).status()));
}

TEST(ProgramRoomTest, IsAQuarterOfTheStackWithinBounds) {
  rlimit before = {};
  ASSERT_EQ(getrlimit(RLIMIT_STACK, &before), 0);
  const absl::Cleanup restore = [&] { setrlimit(RLIMIT_STACK, &before); };
  for (const auto& [stack, room] :
       {std::pair<rlim_t, size_t>(8 << 20, 2 << 20), {256 << 10, 128 << 10}, {64 << 20, 6 << 20}}) {
    const rlimit limit = {.rlim_cur = stack, .rlim_max = before.rlim_max};
    if (setrlimit(RLIMIT_STACK, &limit) != 0) continue;  // above the machine's own limit
    EXPECT_EQ(ProgramRoom::OfProcess(), room) << stack;
  }
}

TEST(HostsFile, HasThePodsNameAndItsAliases) {
  Manifest pod = PodWithEnv("");
  pod.host_aliases = {{"10.9.9.9", {"db", "db.local"}}};
  EXPECT_EQ(HostsFile(pod, ContextOfNode(), "1.2.3.4 host\n"),
            "# Kubernetes-managed hosts file.\n"
            "127.0.0.1\tlocalhost\n::1\tlocalhost ip6-localhost ip6-loopback\n"
            "fe00::0\tip6-localnet\nfe00::0\tip6-mcastprefix\nfe00::1\tip6-allnodes\n"
            "fe00::2\tip6-allrouters\n10.1.0.5\tp\nfd01::5\tp\n"
            "\n# Entries added by HostAliases.\n10.9.9.9\tdb\tdb.local\n");
  pod.host_network = true;
  EXPECT_EQ(HostsFile(pod, ContextOfNode(), "1.2.3.4 host"),
            "# Kubernetes-managed hosts file (host network).\n1.2.3.4 host\n"
            "\n# Entries added by HostAliases.\n10.9.9.9\tdb\tdb.local\n");
}

}  // namespace
}  // namespace plimsoll::pod
