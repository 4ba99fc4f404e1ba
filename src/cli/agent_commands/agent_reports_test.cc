// An agent's objects as tables and text.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "cli/agent_commands/agent_describe.h"
#include "cli/agent_commands/agent_pod_resources.h"
#include "cli/agent_commands/agent_pod_summary.h"
#include "cli/agent_commands/agent_resize.h"
#include "cli/agent_commands/agent_tables.h"
#include "cli/terminal/errors.h"
#include "cli/terminal/object_fields.h"

namespace plimsoll::cli {
namespace {

using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;

absl::Time AgentNow() {
  absl::Time now;
  EXPECT_TRUE(absl::ParseTime(absl::RFC3339_full, "2026-11-24T12:00:00Z", &now, nullptr));
  return now;
}

KubeObject AgentPod() {
  return KubeObject::parse(R"({
    "metadata": {"namespace": "default", "name": "web", "uid": "u1",
                 "creationTimestamp": "2026-11-24T11:55:00Z", "labels": {"app": "web"}},
    "spec": {"nodeName": "n1", "restartPolicy": "Always",
             "containers": [{"name": "app", "image": "busybox", "command": ["sleep", "1"],
                             "resources": {"requests": {"cpu": "500m", "memory": "64Mi"},
                                           "limits": {"cpu": 1}},
                             "env": [{"name": "A", "value": "b"}],
                             "volumeMounts": [{"name": "v", "mountPath": "/v", "readOnly": true}]}],
             "volumes": [{"name": "v", "emptyDir": {}}]},
    "status": {"phase": "Running", "podIP": "10.0.0.2", "qosClass": "Burstable",
               "conditions": [{"type": "Ready", "status": "True"}],
               "containerStatuses": [{"name": "app", "ready": true, "restartCount": 0,
                                      "state": {"running": {}}}]}})");
}

KubeObject WithStatus(const char* statuses) {
  KubeObject pod = AgentPod();
  pod["status"]["containerStatuses"] = KubeObject::parse(statuses);
  return pod;
}

TEST(ObjectFields, AMissingOrOtherFieldIsEmpty) {
  const KubeObject object = {{"a", {{"b", "c"}, {"n", 7}, {"f", true}}}, {"list", {1, 2}}};
  EXPECT_EQ(TextOf(object, {"a", "b"}), "c");
  EXPECT_EQ(TextOf(object, {"a", "n"}), "7");
  EXPECT_EQ(TextOf(object, {"a", "b", "c"}), "");
  EXPECT_EQ(TextOf(object, {"list"}), "");
  EXPECT_EQ(NumberOf(object, {"a", "n"}), 7);
  EXPECT_EQ(NumberOf(object, {"a", "b"}), 0);
  EXPECT_TRUE(FlagOf(object, {"a", "f"}));
  EXPECT_FALSE(FlagOf(object, {"a"}));
  EXPECT_EQ(ItemsOf(object, {"list"}).size(), 2u);
  EXPECT_TRUE(ItemsOf(object, {"a"}).empty());
  EXPECT_EQ(TimeOf(object, {"a", "b"}), absl::InfinitePast());
  EXPECT_EQ(AgeOf(absl::InfinitePast(), AgentNow()), "-");
  EXPECT_EQ(TextOf(KubeObject(), {"a"}), "");
}

TEST(AgentPodSummaryTest, ARunningPod) {
  const PodSummary summary = Summarize(AgentPod());
  EXPECT_EQ(summary.status, "Running");
  EXPECT_EQ(summary.ready, 1);
  EXPECT_EQ(summary.containers, 1);
}

TEST(AgentPodSummaryTest, AContainersStateSaysMoreThanThePhase) {
  const auto status = [](const char* state) {
    return Summarize(WithStatus(absl::StrCat(R"([{"name": "app", "restartCount": 3, "state": )",
                                             state, "}]")
                                    .c_str()))
        .status;
  };
  EXPECT_EQ(status(R"({"waiting": {"reason": "CrashLoopBackOff"}})"), "CrashLoopBackOff");
  EXPECT_EQ(status(R"({"terminated": {"reason": "OOMKilled", "exitCode": 137}})"), "OOMKilled");
  EXPECT_EQ(status(R"({"terminated": {"exitCode": 3}})"), "ExitCode:3");
  EXPECT_EQ(status(R"({"terminated": {"signal": 9}})"), "Signal:9");
  EXPECT_EQ(status("{}"), "Running");
}

TEST(AgentPodSummaryTest, ACompletedContainerBesideALivingOne) {
  KubeObject pod = WithStatus(R"([
      {"name": "a", "state": {"terminated": {"reason": "Completed", "exitCode": 0}}},
      {"name": "b", "ready": true, "state": {"running": {}}}])");
  EXPECT_EQ(Summarize(pod).status, "Running");
  pod["status"]["conditions"] = KubeObject::array();
  EXPECT_EQ(Summarize(pod).status, "NotReady");
}

TEST(AgentPodSummaryTest, InitContainersComeFirst) {
  KubeObject pod = AgentPod();
  pod["spec"]["initContainers"] = KubeObject::parse(
      R"([{"name": "side", "restartPolicy": "Always"}, {"name": "one"}, {"name": "two"}])");
  pod["status"]["initContainerStatuses"] = KubeObject::parse(R"([
      {"name": "side", "started": true, "ready": true, "restartCount": 1,
       "state": {"running": {}},
       "lastState": {"terminated": {"finishedAt": "2026-11-24T11:59:00Z"}}},
      {"name": "one", "state": {"terminated": {"exitCode": 0}}},
      {"name": "two", "state": {"running": {}}}])");
  PodSummary summary = Summarize(pod);
  EXPECT_EQ(summary.status, "Init:2/3");
  EXPECT_EQ(summary.ready, 1);
  EXPECT_EQ(summary.containers, 2);
  EXPECT_EQ(summary.restarts, 1);
  pod["status"]["initContainerStatuses"][2]["state"] = {{"terminated", {{"exitCode", 2}}}};
  EXPECT_EQ(Summarize(pod).status, "Init:ExitCode:2");
  pod["status"]["initContainerStatuses"][2]["state"] = {{"terminated", {{"exitCode", 0}}}};
  EXPECT_EQ(Summarize(pod).status, "Running");
}

TEST(AgentPodSummaryTest, ADyingRejectedOrUnknownPod) {
  KubeObject pod = AgentPod();
  pod["metadata"]["deletionTimestamp"] = "2026-11-24T12:00:00Z";
  EXPECT_EQ(Summarize(pod).status, "Terminating");
  KubeObject rejected = AgentPod();
  rejected["status"] = {{"phase", "Failed"}, {"reason", "OutOfcpu"}};
  EXPECT_EQ(Summarize(rejected).status, "OutOfcpu");
  EXPECT_EQ(Summarize(KubeObject::object()).status, "Unknown");
}

TEST(AgentTables, PodsHaveTheColumnsOfKubectl) {
  AgentPodTable table({});
  EXPECT_EQ(table.Whole({AgentPod()}, AgentNow()),
            "NAME  READY  STATUS   RESTARTS  AGE\n"
            "web   1/1    Running  0         5m\n");
  KubeObject pod = WithStatus(R"([{"name": "app", "restartCount": 2, "state": {},
      "lastState": {"terminated": {"finishedAt": "2026-11-24T11:58:00Z"}}}])");
  pod["metadata"]["name"] = "w";
  EXPECT_EQ(table.Row(pod, AgentNow()), "w     0/1    Running  2 (2m ago)  5m\n");
  EXPECT_EQ(table.Row(AgentPod(), AgentNow()), "web   1/1    Running  0           5m\n");
  AgentPodTable wide({.wide = true, .namespaces = true});
  EXPECT_THAT(wide.Whole({AgentPod()}, AgentNow()),
              AllOf(HasSubstr("NAMESPACE  NAME"), HasSubstr("10.0.0.2  n1    Burstable")));
}

TEST(AgentTables, TerminalsAreSafe) {
  KubeObject pod = AgentPod();
  pod["status"]["reason"] = "\x1b[31mred";
  pod["metadata"]["annotations"] = {{"x", "\x1b]0;title"}};
  AgentPodTable table({});
  EXPECT_THAT(table.Whole({pod}, AgentNow()), Not(HasSubstr("\x1b")));
  EXPECT_THAT(table.Row(pod, AgentNow()), Not(HasSubstr("\x1b")));
  const KubeObject event = {{"message", "\x1b[2J"}, {"involvedObject", {{"kind", "Pod"}}}};
  EXPECT_THAT(DescribeAgentPod(pod, {event}, AgentNow()),
              AllOf(Not(HasSubstr("\x1b")), HasSubstr("\\x1b")));
}

KubeObject AgentNode() {
  return KubeObject::parse(R"({
    "metadata": {"name": "n1", "creationTimestamp": "2026-11-24T10:00:00Z"},
    "status": {"capacity": {"cpu": "4", "memory": "8Gi", "pods": "110"},
               "allocatable": {"cpu": "3800m", "memory": "7Gi", "pods": "110"},
               "conditions": [{"type": "Ready", "status": "True", "reason": "KubeletReady"}],
               "addresses": [{"type": "InternalIP", "address": "192.0.2.1"}],
               "nodeInfo": {"containerRuntimeVersion": "plimsoll://0.1"}}})");
}

TEST(AgentTables, TheNodeHasUseByRequests) {
  KubeObject ended = AgentPod();
  ended["status"]["phase"] = "Succeeded";
  EXPECT_EQ(AgentNodeTable(AgentNode(), {AgentPod(), ended}, false, AgentNow()),
            "NAME  STATUS  PODS   CPU         MEMORY        AGE  RUNTIME\n"
            "n1    Ready   1/110  500m/3800m  64 MiB/7 GiB  2h   plimsoll://0.1\n");
  EXPECT_THAT(AgentNodeTable(AgentNode(), {}, true, AgentNow()),
              AllOf(HasSubstr("4, 8 GiB"), HasSubstr("192.0.2.1")));
}

TEST(AgentTables, EventsAreLines) {
  const KubeObject event = KubeObject::parse(R"({"type": "Warning", "reason": "BackOff", "count": 3,
      "lastTimestamp": "2026-11-24T11:59:30Z", "message": "Back-off restarting",
      "involvedObject": {"kind": "Pod", "namespace": "default", "name": "web"}})");
  EXPECT_THAT(AgentEventTable({event}, {.namespaces = true}, AgentNow()),
              HasSubstr("default    30s (x3)   Warning  BackOff  pod/web  Back-off restarting\n"));
}

TEST(AgentPodResourcesTest, APodsRequestsAreSummedAsTheSchedulerDoes) {
  KubeObject pod = AgentPod();
  pod["spec"]["initContainers"] = KubeObject::parse(R"([
      {"name": "before", "resources": {"requests": {"cpu": "2"}}},
      {"name": "side", "restartPolicy": "Always", "resources": {"requests": {"cpu": "100m"}}},
      {"name": "after", "resources": {"requests": {"cpu": "300m", "memory": "1Gi"}}}])");
  Amounts sum = PodAmounts(pod, AmountKind::kRequests);
  EXPECT_EQ(AmountText(sum, "cpu"), "2") << "the first init container alone";
  EXPECT_EQ(AmountText(sum, "memory"), "1 GiB");
  pod["spec"]["initContainers"][0]["resources"]["requests"]["cpu"] = "10m";
  pod["spec"]["overhead"] = {{"cpu", "50m"}};
  EXPECT_EQ(AmountText(PodAmounts(pod, AmountKind::kRequests), "cpu"), "650m");
  pod["spec"]["resources"] = {{"requests", {{"cpu", "3"}}}};
  EXPECT_EQ(AmountText(PodAmounts(pod, AmountKind::kRequests), "cpu"), "3050m");
  EXPECT_EQ(AmountText(PodAmounts(pod, AmountKind::kLimits), "cpu"), "1050m");
}

// The CPUs that count of a pod whose container asks for 2, has 1 allocated, and 1500m applied.
std::string CountedCpus(const char* reason, AmountKind kind = AmountKind::kRequests) {
  KubeObject pod = AgentPod();
  pod["spec"]["containers"][0]["resources"] =
      KubeObject::parse(R"({"requests": {"cpu": "2"}, "limits": {"cpu": "4"}})");
  pod["status"]["containerStatuses"] = KubeObject::parse(
      R"([{"name": "app", "allocatedResources": {"cpu": "1"},
           "resources": {"requests": {"cpu": "1500m"}, "limits": {"cpu": "3"}}}])");
  pod["status"]["conditions"] = KubeObject::array();
  if (reason != nullptr) {
    pod["status"]["conditions"].push_back({{"type", "PodResizePending"}, {"reason", reason}});
  }
  return AmountText(PodAmounts(pod, kind), "cpu");
}

TEST(AgentPodResourcesTest, TheWishOfAnInfeasibleResizeDoesNotCount) {
  EXPECT_EQ(CountedCpus(nullptr), "2");
  EXPECT_EQ(CountedCpus("Deferred"), "2");
  EXPECT_EQ(CountedCpus("Infeasible"), "1500m");
  EXPECT_EQ(CountedCpus("Infeasible", AmountKind::kLimits), "3");
  EXPECT_EQ(CountedCpus("Deferred", AmountKind::kLimits), "4");
}

TEST(AgentPodResourcesTest, WhatIsAllocatedCountsWithoutAWordOfTheRuntime) {
  KubeObject pod = AgentPod();
  pod["spec"]["containers"][0]["resources"] = {{"requests", {{"cpu", "100m"}}}};
  pod["spec"]["initContainers"] = KubeObject::parse(R"([
      {"name": "side", "restartPolicy": "Always", "resources": {"requests": {"cpu": "100m"}}},
      {"name": "once", "resources": {"requests": {"cpu": "10m"}}}])");
  pod["status"]["containerStatuses"] =
      KubeObject::parse(R"([{"name": "app", "allocatedResources": {"cpu": "1"}}])");
  // An init container that has ended counts as it is written.
  pod["status"]["initContainerStatuses"] = KubeObject::parse(R"([
      {"name": "side", "allocatedResources": {"cpu": "2"}},
      {"name": "once", "allocatedResources": {"cpu": "30"}}])");
  EXPECT_EQ(AmountText(PodAmounts(pod, AmountKind::kRequests), "cpu"), "3");
}

TEST(AgentPodResourcesTest, ThePodsOwnAllocationCountsToo) {
  KubeObject pod = AgentPod();
  pod["spec"]["resources"] = {{"requests", {{"cpu", "3"}}}};
  pod["status"]["allocatedResources"] = {{"cpu", "2"}, {"memory", "9Gi"}};
  EXPECT_EQ(AmountText(PodAmounts(pod, AmountKind::kRequests), "cpu"), "3");
  pod["status"]["conditions"].push_back({{"type", "PodResizePending"}, {"reason", "Infeasible"}});
  EXPECT_EQ(AmountText(PodAmounts(pod, AmountKind::kRequests), "cpu"), "2");
  EXPECT_EQ(AmountText(PodAmounts(pod, AmountKind::kRequests), "memory"), "64 MiB")
      << "the pod itself asks for no memory";
}

TEST(AgentPodResourcesTest, ALimitIsARequestToo) {
  const KubeObject resources = {{"limits", {{"cpu", 2}, {"memory", "what"}}}};
  const Amounts amounts = AmountsOf(resources, AmountKind::kRequests);
  EXPECT_EQ(AmountText(amounts, "cpu"), "2");
  EXPECT_EQ(amounts.size(), 1u) << "what can't be read is left out";
}

TEST(AgentDescribe, APodHasItsPartsAndEvents) {
  const std::string text = DescribeAgentPod(AgentPod(), {}, AgentNow());
  EXPECT_THAT(
      text,
      AllOf(HasSubstr("Name:            web\n"), HasSubstr("Labels:          app=web"),
            HasSubstr("  app:\n    Image:     busybox\n"), HasSubstr("    Command:   sleep 1\n"),
            HasSubstr("State:     Running"), HasSubstr("Requests:  cpu=500m, memory=64Mi"),
            HasSubstr("A:  b\n"), HasSubstr("/v:  volume v, read-only"),
            HasSubstr("v:  emptyDir {}"), HasSubstr("Events:  none\n")));
  const KubeObject ended = WithStatus(R"([{"name": "app",
      "state": {"waiting": {"reason": "CrashLoopBackOff", "message": "back-off 10s"}},
      "lastState": {"terminated": {"reason": "Error", "exitCode": 3}}}])");
  EXPECT_THAT(DescribeAgentPod(ended, {}, AgentNow()),
              AllOf(HasSubstr("Waiting (CrashLoopBackOff): back-off 10s"),
                    HasSubstr("Terminated (Error), exit code 3")));
}

TEST(AgentDescribe, AMountOfAPartOfAVolumeHasItsPath) {
  KubeObject pod = AgentPod();
  pod["spec"]["containers"][0]["volumeMounts"] = KubeObject::parse(R"([
      {"name": "v", "mountPath": "/sub", "subPath": "d"},
      {"name": "v", "mountPath": "/expr", "subPathExpr": "$(A)/e", "readOnly": true}])");
  EXPECT_THAT(DescribeAgentPod(pod, {}, AgentNow()),
              AllOf(ContainsRegex("/sub: +volume v, path d\n"),
                    ContainsRegex("/expr: +volume v, path \\$\\(A\\)/e, read-only\n")));
}

TEST(AgentDescribe, AContainersDevicesAreNamed) {
  EXPECT_THAT(DescribeAgentPod(AgentPod(), {}, AgentNow()), Not(HasSubstr("Devices")));
  const KubeObject pod = WithStatus(R"([{"name": "app", "allocatedResourcesStatus": [
      {"name": "example.com/gpu",
       "resources": [{"resourceID": "v.com/gpu=0"}, {"resourceID": "v.com/gpu=1"}]}]}])");
  EXPECT_THAT(DescribeAgentPod(pod, {}, AgentNow()),
              AllOf(HasSubstr("    Devices:\n"),
                    HasSubstr("      example.com/gpu:  v.com/gpu=0, v.com/gpu=1\n")));
}

TEST(AgentDescribe, ANodeHasResourcesAndPods) {
  const std::string text = DescribeAgentNode(AgentNode(), {AgentPod()}, {}, AgentNow());
  EXPECT_THAT(text, AllOf(HasSubstr("cpu       4         3800m        500m (13%)"),
                          HasSubstr("memory    8 GiB     7 GiB"), HasSubstr("Pods (1):"),
                          HasSubstr("default    web   Running"), HasSubstr("KubeletReady")));
}

TEST(AgentDescribe, ANodeHasItsClasses) {
  KubeObject node = AgentNode();
  EXPECT_THAT(DescribeAgentNode(node, {}, {}, AgentNow()), Not(HasSubstr("QoS classes")));
  node["status"]["containerClassResources"] = KubeObject::parse(
      R"([{"name": "rdt", "classes": ["gold", "silver"], "immutable": false, "default": "silver",
           "capacity": {"gold": 2}}])");
  node["status"]["podClassResources"] =
      KubeObject::parse(R"([{"name": "pod-qos", "classes": ["BestEffort"], "immutable": true}])");
  EXPECT_THAT(DescribeAgentNode(node, {}, {}, AgentNow()),
              HasSubstr("QoS classes:\n"
                        "  TYPE     OF          CHANGES   CLASSES\n"
                        "  rdt      containers  in place  gold (2), silver (default)\n"
                        "  pod-qos  pods        never     BestEffort\n"));
  EXPECT_THAT(AgentNodeTable(node, {}, true, AgentNow()), HasSubstr("rdt; of pods: pod-qos\n"));
}

TEST(AgentDescribe, AContainerHasTheClassesThatItHolds) {
  KubeObject pod = WithStatus(
      R"([{"name": "app", "state": {"running": {}}, "resources": {"classes": {"rdt": "gold"}}}])");
  pod["spec"]["containers"][0]["resources"]["classes"] = {{"rdt", "silver"}};
  pod["status"]["resources"] = {{"classes", {{"tier", "low"}}}};
  const std::string text = DescribeAgentPod(pod, {}, AgentNow());
  EXPECT_THAT(text,
              AllOf(HasSubstr("rdt=silver\n"), HasSubstr("rdt=gold\n"), HasSubstr("tier=low\n")));
}

TEST(AgentResizeTest, ThePatchHasWhatIsAskedAlone) {
  const KubeObject pod = AgentPod();
  EXPECT_EQ(*ResizePatch(pod, "app", {.cpu = "2", .memory = "1Gi"}), KubeObject::parse(R"({
      "spec": {"containers": [{"name": "app", "resources": {
          "requests": {"cpu": "2", "memory": "1Gi"}, "limits": {"cpu": "2"}}}]}})"))
      << "the container has no memory limit";
  EXPECT_EQ((*ResizePatch(pod, "app",
                          {.cpu = "2", .cpu_request = "1"}))["spec"]["containers"][0]["resources"],
            KubeObject::parse(R"({"requests": {"cpu": "1"}, "limits": {"cpu": "2"}})"));
  KubeObject bare = pod;
  bare["spec"]["containers"][0].erase("resources");
  EXPECT_EQ((*ResizePatch(bare, "app", {.cpu = "2"}))["spec"]["containers"][0]["resources"],
            KubeObject::parse(R"({"requests": {"cpu": "2"}, "limits": {"cpu": "2"}})"));
  EXPECT_THAT(ResizePatch(pod, "app", {.memory_limit = "much"}).status().message(),
              HasSubstr("--memory-limit"));
  EXPECT_TRUE(absl::IsInvalidArgument(ResizePatch(pod, "app", {.cpu = "-1"}).status()));
}

TEST(AgentResizeTest, TheContainerMayBeLeftOutIfAlone) {
  KubeObject pod = AgentPod();
  EXPECT_EQ(*ContainerToResize(pod, ""), "app");
  EXPECT_THAT(ContainerToResize(pod, "x").status().message(), HasSubstr("it has app"));
  EXPECT_EQ(HintOf(ContainerToResize(pod, "apq").status()), "Did you mean \"app\"?");
  pod["spec"]["initContainers"] =
      KubeObject::parse(R"([{"name": "side", "restartPolicy": "Always"}])");
  EXPECT_THAT(ContainerToResize(pod, "").status().message(), HasSubstr("app, side"));
  EXPECT_EQ((*ResizePatch(pod, "side", {.cpu = "1"}))["spec"]["initContainers"][0]["name"], "side");
}

}  // namespace
}  // namespace plimsoll::cli
