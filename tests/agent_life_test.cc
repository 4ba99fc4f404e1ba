// The rest of a pod's life in plimsoll-agent, over a real plimsolld: last words, the grace period,
// logs, changed objects,
// a node that shrinks.
#include <gmock/gmock.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "harness/kernel.h"
#include "harness/node_agent.h"
#include "pod_runner/pod_files/cri_log.h"
#include "resources/quantity.h"

namespace plimsoll::testing {
namespace {

using Json = nlohmann::json;
using ::testing::HasSubstr;

constexpr char kStubborn[] = "trap true TERM; while :; do sleep 0.1; done";

// A container in YAML's flow style.
std::string ContainerText(const std::string& name, const std::string& script,
                          const std::string& fields = "") {
  return absl::StrCat("{name: ", name, ", image: busybox, imagePullPolicy: Never, ", fields,
                      "command: [sh, -c, '", script, "']}");
}

class AgentLifeTest : public NodeAgentTest {
 protected:
  explicit AgentLifeTest(const std::string& config = "")
      : NodeAgentTest(absl::StrCat("cgroupsPerQOS: false\n", config)) {}
  void SetUp() override {
    NodeTest::SetUp();
    Begin();
  }
  void ApplyPod(const std::string& name, const std::string& spec) {
    Apply(absl::StrCat("{apiVersion: v1, kind: Pod, metadata: {name: ", name, "}, spec: {", spec,
                       "}}"));
  }
  // How long a running pod of this spec takes to go once it is deleted. A busy machine adds to it:
  // tried up to three times, until it is less than `enough`.
  absl::Duration ShortestEnd(const std::string& name, const std::string& spec,
                             absl::Duration enough) {
    absl::Duration shortest = absl::InfiniteDuration();
    for (int i = 0; i < 3 && shortest >= enough && !HasFailure(); ++i) {
      ApplyPod(name, spec);
      EXPECT_TRUE(agent_.Await(name, IsReady));
      const absl::Time begin = absl::Now();
      Delete(name);
      EXPECT_TRUE(agent_.AwaitGone(name));
      shortest = std::min(shortest, absl::Now() - begin);
    }
    return shortest;
  }
  // The message of the pod's newest event of the reason; empty: none.
  std::string Event(const std::string& pod, const std::string& reason) {
    const auto events = agent_.client().Events("default", pod);
    std::string message;
    for (const Json& each : events.ok() ? *events : std::vector<Json>()) {
      if (each["reason"] == reason) message = each["message"];
    }
    return message;
  }
};

TEST_F(AgentLifeTest, LastWordsAreTheFilesOrTheLogs) {
  ApplyPod(
      "words",
      absl::StrCat(
          "restartPolicy: Never, containers: [",
          ContainerText("main", "printf \"no paper\" > /dev/termination-log; exit 3"), ", ",
          ContainerText("own", "printf custom > /tmp/why", "terminationMessagePath: /tmp/why, "),
          ", ",
          ContainerText("log", "echo one; echo two; exit 1",
                        "terminationMessagePolicy: FallbackToLogsOnError, "),
          ", ", ContainerText("silent", "echo noise; exit 1"), "]"));
  ASSERT_TRUE(agent_.AwaitPhase("words", "Failed"));
  const auto message = [](const Json& pod, size_t i) {
    return pod["status"]["containerStatuses"][i]["state"]["terminated"].value("message", "");
  };
  for (int i = 0; i < 2; ++i) {
    const Json pod = agent_.Pod("words");
    EXPECT_EQ(message(pod, 0), "no paper");
    EXPECT_EQ(message(pod, 1), "custom");
    EXPECT_EQ(message(pod, 2), "one\ntwo\n");
    EXPECT_EQ(message(pod, 3), "");
    // The next agent reads them again.
    agent_.Kill();
    Begin();
    ASSERT_TRUE(agent_.AwaitPhase("words", "Failed"));
  }
}

TEST_F(AgentLifeTest, LastWordsOfTheRunBeforeStay) {
  ApplyPod("again",
           absl::StrCat("volumes: [{name: v, emptyDir: {}}], containers: [",
                        ContainerText("main",
                                      "if [ -e /v/ran ]; then echo second > /dev/termination-log; "
                                      "while :; do sleep 0.1; done; fi; touch /v/ran; "
                                      "printf first > /dev/termination-log; exit 1",
                                      "volumeMounts: [{name: v, mountPath: /v}], "),
                        "]"));
  ASSERT_TRUE(agent_.Await("again", [](const Json& pod) {
    return ContainerStatus(pod)["restartCount"] == 1 && IsReady(pod);
  }));
  agent_.Kill();
  Begin();
  ASSERT_TRUE(agent_.Await("again", IsReady));
  EXPECT_EQ(ContainerStatus(agent_.Pod("again"))["lastState"]["terminated"]["message"], "first");
}

// Without the shared period the sidecar would have eight seconds more.
TEST_F(AgentLifeTest, TheGracePeriodIsSharedWithSidecars) {
  const absl::Duration took =
      ShortestEnd("slow",
                  absl::StrCat("terminationGracePeriodSeconds: 8, initContainers: [",
                               ContainerText("side", kStubborn, "restartPolicy: Always, "),
                               "], containers: [", ContainerText("main", kStubborn), "]"),
                  absl::Seconds(15));
  EXPECT_GE(took, absl::Seconds(8));
  EXPECT_LT(took, absl::Seconds(15));
}

// Counted apart, the hook and the program would have fourteen seconds.
TEST_F(AgentLifeTest, AHooksTimeIsPartOfTheGracePeriod) {
  const absl::Duration took = ShortestEnd(
      "hook",
      absl::StrCat("terminationGracePeriodSeconds: 8, containers: [",
                   ContainerText("main", kStubborn,
                                 "lifecycle: {preStop: {exec: {command: [sleep, '6']}}}, "),
                   "]"),
      absl::Seconds(13));
  EXPECT_GE(took, absl::Seconds(7.5)) << "six for the hook, at least two after it";
  EXPECT_LT(took, absl::Seconds(13));
  EXPECT_EQ(Event("hook", "FailedPreStopHook"), "");
}

TEST_F(AgentLifeTest, AShorterDeletionOvertakesASidecarsWait) {
  ApplyPod("hurry", absl::StrCat("terminationGracePeriodSeconds: 600, initContainers: [",
                                 ContainerText("side", kStubborn, "restartPolicy: Always, "),
                                 "], containers: [", ContainerText("main", kStubborn), "]"));
  ASSERT_TRUE(agent_.Await("hurry", IsReady));
  Delete("hurry");
  EXPECT_TRUE(Eventually([&] { return !Event("hurry", "Killing").empty(); }));
  Delete("hurry", 1);
  EXPECT_TRUE(agent_.AwaitGone("hurry"));
}

TEST_F(AgentLifeTest, SidecarsEndAfterTheRestAndInReverse) {
  // A signal before the trap is lost: the program says when it listens.
  const std::string side =
      "trap \"echo $0 >> /v/order; exit 0\" TERM; touch /v/$0; while :; do sleep 0.05; done";
  const auto one = [&](const std::string& name, const std::string& fields) {
    return absl::StrCat("{name: ", name, ", image: busybox, imagePullPolicy: Never, ", fields,
                        "volumeMounts: [{name: v, mountPath: /v}], command: [sh, -c, '", side,
                        "', ", name, "]}");
  };
  const std::string shared = node_.directory() + "/shared";
  ASSERT_TRUE(Host().MakeDirs(shared, 0777).ok());
  ApplyPod("order", absl::StrCat("volumes: [{name: v, hostPath: {path: ", shared,
                                 "}}], initContainers: [", one("a", "restartPolicy: Always, "),
                                 ", ", one("b", "restartPolicy: Always, "), "], containers: [",
                                 one("main", ""), "]"));
  ASSERT_TRUE(agent_.Await("order", IsReady));
  for (const char* name : {"a", "b", "main"}) {
    ASSERT_TRUE(Eventually([&] { return Host().Read(shared + "/" + name).ok(); })) << name;
  }
  Delete("order");
  ASSERT_TRUE(agent_.AwaitGone("order"));
  EXPECT_EQ(Host().Read(shared + "/order").value_or(""), "main\nb\na\n");
}

// An init container that ignores its signal holds up no sidecar.
TEST_F(AgentLifeTest, SidecarsDoNotWaitForAnInitContainer) {
  const std::string shared = node_.directory() + "/shared";
  ASSERT_TRUE(Host().MakeDirs(shared, 0777).ok());
  const std::string mount = "volumeMounts: [{name: v, mountPath: /v}], ";
  ApplyPod("stuck",
           absl::StrCat("terminationGracePeriodSeconds: 30, volumes: [{name: v, hostPath: {path: ",
                        shared, "}}], initContainers: [",
                        ContainerText("side",
                                      "trap \"touch /v/ended; exit 0\" TERM; touch /v/side; "
                                      "while :; do sleep 0.05; done",
                                      mount + "restartPolicy: Always, "),
                        ", ",
                        ContainerText("init",
                                      "trap \"\" TERM; touch /v/init; "
                                      "while :; do sleep 0.05; done",
                                      mount),
                        "], containers: [", ContainerText("main", "sleep 1000"), "]"));
  for (const char* name : {"side", "init"}) {
    ASSERT_TRUE(Eventually([&] { return Host().Exists(shared + "/" + name); })) << name;
  }
  Delete("stuck");
  EXPECT_TRUE(Eventually([&] { return Host().Exists(shared + "/ended"); }, absl::Seconds(15)));
  Delete("stuck", 1);
  EXPECT_TRUE(agent_.AwaitGone("stuck"));
}

TEST_F(AgentLifeTest, TheCountOfRestartsOutlivesTheSandbox) {
  ApplyPod("counts", absl::StrCat("volumes: [{name: v, emptyDir: {}}], containers: [",
                                  ContainerText("main",
                                                "[ -e /v/ran ] && exec sleep 1000; touch /v/ran; "
                                                "exit 1",
                                                "volumeMounts: [{name: v, mountPath: /v}], "),
                                  "]"));
  const auto runs_with = [](int count) {
    return [count](const Json& pod) {
      return ContainerStatus(pod)["restartCount"] == count && IsReady(pod);
    };
  };
  ASSERT_TRUE(agent_.Await("counts", runs_with(1)));
  for (int count = 2; count < 4; ++count) {
    if (count == 3) {
      agent_.Kill();
      Begin();
    }
    cri::ListPodSandboxResponse sandboxes;
    grpc::ClientContext listing;
    ASSERT_TRUE(node_.runtime().ListPodSandbox(&listing, {}, &sandboxes).ok());
    ASSERT_EQ(sandboxes.items_size(), 1);
    cri::RemovePodSandboxRequest request;
    request.set_pod_sandbox_id(sandboxes.items(0).id());
    cri::RemovePodSandboxResponse response;
    grpc::ClientContext removal;
    ASSERT_TRUE(node_.runtime().RemovePodSandbox(&removal, request, &response).ok());
    EXPECT_TRUE(agent_.Await("counts", runs_with(count))) << agent_.Pod("counts")["status"];
  }
}

class AgentLogsTest : public AgentLifeTest {
 protected:
  AgentLogsTest()
      : AgentLifeTest(
            "containerLogMaxSize: 16Ki\ncontainerLogMaxFiles: 2\n"
            "containerLogMonitorInterval: 3s\n") {}
};

TEST_F(AgentLogsTest, LogsAreRotatedUnderTheirReaders) {
  constexpr int kLines = 1600;
  ApplyPod(
      "talks",
      absl::StrCat("restartPolicy: Never, containers: [",
                   ContainerText("main", absl::StrCat("i=0; while [ $i -lt ", kLines,
                                                      " ]; do echo line $i of a log that grows; "
                                                      "i=$((i+1)); [ $((i % 20)) = 0 ] && "
                                                      "sleep 0.1; done; true")),
                   "]"));
  ASSERT_TRUE(agent_.Await("talks", IsReady));
  const std::string uid = agent_.Pod("talks")["metadata"]["uid"];
  const std::string directory = absl::StrCat(agent_.state_directory(), "/pods/", uid, "/logs");
  pod::LogReader reader(Host(), directory + "/main.0.log");
  int next = 0;
  const auto take = [&next](const pod::LogLine& line) {
    EXPECT_EQ(line.text, absl::StrCat("line ", next, " of a log that grows"));
    ++next;
  };
  EXPECT_TRUE(Eventually([&] { return reader.ReadAll(take).ok() && next == kLines; }))
      << next << " lines came";
  ASSERT_TRUE(agent_.AwaitPhase("talks", "Succeeded"));
  // A rotation may be under way still.
  const std::vector<std::string> two = {"main.0.log", "main.0.log.1"};
  EXPECT_TRUE(Eventually([&] {
    const auto names = Host().List(directory);
    return names.ok() && *names == two;
  })) << agent_.Log();
  EXPECT_EQ(agent_.Log().find("is not rotated"), std::string::npos) << agent_.Log();
}

class AgentObjectsTest : public AgentLifeTest {
 protected:
  AgentObjectsTest()
      : AgentLifeTest("objectsPath: @/objects\n"), objects_(node_.directory() + "/objects") {
    EXPECT_TRUE(Host().MakeDirs(objects_, 0755).ok());
  }
  void Set(const std::string& color) {
    const absl::Status written = Host().ReplaceFile(
        objects_ + "/settings.yaml",
        absl::StrCat("{apiVersion: v1, kind: ConfigMap, metadata: {name: settings}, data: {color: ",
                     color, "}}"));
    ASSERT_TRUE(written.ok()) << written;
  }
  std::string Seen(const std::string& script) {
    return ExecOutput(CriId(ContainerStatus(agent_.Pod("paint"))), script);
  }
  const std::string objects_;
};

TEST_F(AgentObjectsTest, VolumesFollowTheirObjects) {
  Set("red");
  ApplyPod("paint",
           absl::StrCat(
               "volumes: [{name: v, configMap: {name: settings}}], containers: [",
               ContainerText("main", kUntilTerm,
                             "env: [{name: COLOR, valueFrom: {configMapKeyRef: {name: settings, "
                             "key: color}}}], volumeMounts: [{name: v, mountPath: /v}, {name: v, "
                             "mountPath: /one, subPath: color}], "),
               "]"));
  ASSERT_TRUE(agent_.Await("paint", IsReady));
  EXPECT_EQ(Seen("cat /v/color /one; echo $COLOR"), "redredred\n");
  Set("blue");
  EXPECT_TRUE(Eventually([&] { return Seen("cat /v/color") == "blue"; }));
  EXPECT_EQ(Seen("cat /one; echo $COLOR"), "redred\n");

  // A mistake and a missing object change nothing.
  ASSERT_TRUE(Host().ReplaceFile(objects_ + "/settings.yaml", "kind: [").ok());
  EXPECT_TRUE(Eventually([&] { return agent_.Log().find("settings.yaml") != std::string::npos; }));
  ASSERT_TRUE(Host().RemoveFile(objects_ + "/settings.yaml").ok());
  EXPECT_TRUE(Eventually([&] { return !Event("paint", "FailedMount").empty(); }));
  EXPECT_THAT(Event("paint", "FailedMount"), HasSubstr("there is no ConfigMap default/settings"));
  EXPECT_TRUE(Eventually([&] { return !Event("paint", "FailedSync").empty(); }));
  EXPECT_THAT(Event("paint", "FailedSync"), HasSubstr("keep their earlier variables"));
  EXPECT_EQ(Seen("cat /v/color"), "blue");

  // No agent sees the change; the next one does. A restart has the new variables.
  agent_.Kill();
  Set("green");
  Begin();
  ASSERT_TRUE(agent_.Await("paint", IsReady));
  EXPECT_TRUE(Eventually([&] { return Seen("cat /v/color") == "green"; }));
  ASSERT_TRUE(StopContainer(CriId(ContainerStatus(agent_.Pod("paint"))), 60).ok());
  ASSERT_TRUE(agent_.Await("paint", [](const Json& pod) {
    return ContainerStatus(pod)["restartCount"] == 1 && IsReady(pod);
  }));
  EXPECT_EQ(Seen("cat /one; echo $COLOR"), "greengreen\n");
}

TEST_F(AgentObjectsTest, SecretsAreBytesAndOneThatCanBeNoVariableIsToldAndLeftOut) {
  const absl::Status written =
      Host().ReplaceFile(objects_ + "/keys.yaml",
                         "{apiVersion: v1, kind: Secret, metadata: {name: keys}, "
                         "data: {BYTES: aP/+, WITH_NUL: aAB4, TEXT: dGV4dA==}}");
  ASSERT_TRUE(written.ok()) << written;
  ApplyPod("paint",
           absl::StrCat("containers: [",
                        ContainerText("main", kUntilTerm, "envFrom: [{secretRef: {name: keys}}], "),
                        "]"));
  ASSERT_TRUE(agent_.Await("paint", IsReady));
  EXPECT_EQ(Seen("printf %s \"$BYTES\" | busybox od -An -tx1; echo $TEXT$WITH_NUL"),
            " 68 ff fe\ntext\n");
  EXPECT_TRUE(Eventually([&] { return !Event("paint", "InvalidEnvironmentVariables").empty(); }));
  EXPECT_THAT(Event("paint", "InvalidEnvironmentVariables"),
              HasSubstr("Secret default/keys, key WITH_NUL"));
}

class AgentCapacityTest : public AgentLifeTest {
 protected:
  AgentCapacityTest() : AgentLifeTest("containerLogMonitorInterval: 3s\n") {}
  // Two pods of half the node each, then an agent that has a quarter less for pods.
  void Shrink(const std::string& config) {
    const auto node = agent_.client().Node();
    ASSERT_TRUE(node.ok()) << node.status();
    const auto cpu =
        resources::Quantity::Parse((*node)["status"]["allocatable"]["cpu"].get<std::string>());
    ASSERT_TRUE(cpu.ok()) << cpu.status();
    const int64_t quarter = cpu->MilliValue() / 4;
    for (const char* name : {"old", "new"}) {
      ApplyPod(name,
               absl::StrCat("terminationGracePeriodSeconds: 1, containers: [",
                            ContainerText(
                                "main", kUntilTerm,
                                absl::StrCat("resources: {requests: {cpu: ", 2 * quarter, "m}}, ")),
                            "]"));
      ASSERT_TRUE(agent_.Await(name, IsReady));
    }
    ApplyPod("small", absl::StrCat("containers: [", ContainerText("main", kUntilTerm), "]"));
    ASSERT_TRUE(agent_.Await("small", IsReady));
    ASSERT_TRUE(agent_.Stop().ok());
    agent_.AddToConfig(absl::StrCat("systemReserved: {cpu: ", quarter, "m}\n", config));
    Begin();
  }
};

TEST_F(AgentCapacityTest, PodsThatDoNotFitAnyMoreStayWithAnEvent) {
  ASSERT_NO_FATAL_FAILURE(Shrink(""));
  EXPECT_TRUE(Eventually([&] { return !Event("new", "CapacityShrunk").empty(); }));
  EXPECT_THAT(Event("new", "CapacityShrunk"), HasSubstr("The node was low on resource: cpu."));
  EXPECT_EQ(Event("old", "CapacityShrunk"), "");
  for (const char* name : {"old", "new", "small"}) EXPECT_TRUE(agent_.Await(name, IsReady));
}

TEST_F(AgentCapacityTest, TheNewestIsEvictedWhereThatIsAskedFor) {
  ASSERT_NO_FATAL_FAILURE(Shrink("evictAfterCapacityShrinks: true\n"));
  ASSERT_TRUE(agent_.Await("new", [](const Json& pod) {
    return pod["status"]["phase"] == "Failed" &&
           ContainerStatus(pod)["state"].contains("terminated");
  }));
  const Json status = agent_.Pod("new")["status"];
  EXPECT_EQ(status["reason"], "Evicted");
  EXPECT_THAT(status["message"].get<std::string>(),
              HasSubstr("The node was low on resource: cpu."));
  EXPECT_FALSE(Event("new", "Evicted").empty());
  for (const char* name : {"old", "small"}) EXPECT_TRUE(agent_.Await(name, IsReady));
}

}  // namespace
}  // namespace plimsoll::testing
