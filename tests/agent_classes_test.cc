// QoS classes as fields of manifests (KEP-3008 "Future work"): plimsoll-agent over a real
// plimsolld.
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "harness/agent.h"
#include "harness/cgroup_layout.h"
#include "harness/kernel.h"
#include "harness/node.h"

namespace plimsoll::testing {
namespace {

using Json = nlohmann::json;
using ::testing::HasSubstr;

constexpr char kSleeps[] = "trap \"exit 0\" TERM; while :; do sleep 0.1; done";
// Types of cgroup v2's files are left out on other machines. Changes of running containers go to
// higher scores: a machine may lack the right to lower one (CAP_SYS_RESOURCE).
constexpr char kTypes[] =
    "classes:\n"
    "  oom: {classes: {first: 800, more: 600, late: 400, soon: 300}, capacity: {first: 1}, "
    "default: late}\n"
    "  pod-qos: {}\n"
    "  cgroup:\n"
    "  - {name: tier, level: pod, classes: {low: {memory.high: 64Mi}, normal: {}}}\n"
    "  - {name: still, immutable: true, classes: {x: {cpu.weight: 10}, y: {cpu.weight: 20}}}\n";

// A pod with container main; the arguments are entries of mappings.
std::string PodWith(const std::string& name, const std::string& classes,
                    const std::string& annotations = "", const std::string& pod_classes = "") {
  return absl::StrCat("{apiVersion: v1, kind: Pod, metadata: {name: ", name, ", annotations: {",
                      annotations, "}}, spec: {resources: {classes: {", pod_classes,
                      "}}, containers: [{name: main, image: busybox, imagePullPolicy: Never, "
                      "resources: {classes: {",
                      classes, "}}, command: [sh, -c, '", kSleeps, "']}]}}");
}

// The class in the pod's status; empty: none.
std::string ShownClass(const Json& pod, const std::string& type) {
  const Json classes =
      ContainerStatus(pod).value("/resources/classes"_json_pointer, Json::object());
  return classes.value(type, "");
}

class AgentClassFieldsTest : public NodeTest {
 protected:
  AgentClassFieldsTest() : NodeTest(kTypes) {}
  void SetUp() override {
    NodeTest::SetUp();
    ASSERT_TRUE(Host().MakeDirs(Objects(), 0755).ok());
    Begin("");
  }
  void TearDown() override {
    agent_.reset();
    NodeTest::TearDown();
  }
  std::string Objects() { return node_.directory() + "/objects"; }
  // Starts an agent with these gates, after the one before.
  void Begin(const std::string& gates) {
    if (agent_) {
      ASSERT_TRUE(agent_->Stop().ok());
    }
    agent_.emplace(node_.directory(), node_.address(),
                   absl::StrCat("cgroupsPerQOS: false\nobjectsPath: ", Objects(),
                                "\nfeatureGates: {", gates, "}\n"));
    const absl::Status started = agent_->Start();
    ASSERT_TRUE(started.ok()) << started;
  }
  absl::Status TryApply(const std::string& manifest) {
    return agent_->client().Apply(manifest).status();
  }
  // Applies a pod and waits until it is ready.
  void Run(const std::string& name, const std::string& manifest) {
    const absl::Status applied = TryApply(manifest);
    ASSERT_TRUE(applied.ok()) << applied;
    ASSERT_TRUE(agent_->Await(name, IsReady));
  }
  void Remove(const std::string& pod) {
    const absl::Status deleted = agent_->client().Delete("default", pod, std::nullopt);
    ASSERT_TRUE(deleted.ok()) << deleted;
    ASSERT_TRUE(agent_->AwaitGone(pod));
  }
  bool AwaitClass(const std::string& pod, const std::string& type, const std::string& name) {
    return agent_->Await(pod, [&](const Json& object) {
      return IsReady(object) && ShownClass(object, type) == name;
    });
  }
  // The class in force, by the runtime; empty: none.
  std::string HeldClass(const std::string& pod, const std::string& type) {
    const auto held = Status(MainId(agent_->Pod(pod))).class_resources().classes();
    const auto at = held.find(type);
    return at == held.end() ? "" : at->second;
  }
  std::string Score(const std::string& pod) {
    return ExecOutput(MainId(agent_->Pod(pod)), "cat /proc/1/oom_score_adj");
  }
  bool HasEvent(const std::string& pod, const std::string& reason) {
    const auto events = agent_->client().Events("default", pod);
    if (!events.ok()) return false;
    for (const Json& each : *events) {
      if (each["reason"] == reason) return true;
    }
    return false;
  }
  // Ends the run of the pod's container, and waits for the next.
  void Restart(const std::string& pod) {
    const std::string before = MainId(agent_->Pod(pod));
    ASSERT_TRUE(StopContainer(before, 5).ok());
    ASSERT_TRUE(agent_->Await(
        pod, [&](const Json& object) { return IsReady(object) && MainId(object) != before; }));
  }

  std::optional<AgentProcess> agent_;
};

TEST_F(AgentClassFieldsTest, AFieldIsAClassOfTheRequest) {
  Run("web", PodWith("web", "oom: soon"));
  EXPECT_EQ(HeldClass("web", "oom"), "soon");
  EXPECT_EQ(Score("web"), "300\n");
  const Json pod = agent_->Pod("web");
  EXPECT_EQ(ShownClass(pod, "oom"), "soon");
  EXPECT_EQ(pod["status"]["resources"]["classes"]["pod-qos"], "BestEffort");
  EXPECT_EQ(pod["spec"]["containers"][0]["resources"]["classes"]["oom"], "soon");
  Run("other", PodWith("other", "oom: system.default"));
  EXPECT_EQ(HeldClass("other", "oom"), "late") << "the type's default";
}

TEST_F(AgentClassFieldsTest, TheNodeListsItsClasses) {
  const auto node = agent_->client().Node();
  ASSERT_TRUE(node.ok()) << node.status();
  const Json& status = (*node)["status"];
  const Json& oom = status["containerClassResources"][0];
  EXPECT_EQ(oom["name"], "oom");
  EXPECT_EQ(oom["classes"], Json({"first", "late", "more", "soon"}));
  EXPECT_EQ(oom["immutable"], false);
  EXPECT_EQ(oom["default"], "late");
  EXPECT_EQ(oom["capacity"], Json({{"first", 1}}));
  EXPECT_EQ(status["podClassResources"][0]["name"], "pod-qos");
  EXPECT_EQ(status["podClassResources"][0]["immutable"], true);
}

TEST_F(AgentClassFieldsTest, AClassChangesWhileItsContainerRuns) {
  Run("web", PodWith("web", "oom: soon"));
  const std::string id = MainId(agent_->Pod("web"));
  ASSERT_TRUE(TryApply(PodWith("web", "oom: system.default")).ok());
  ASSERT_TRUE(AwaitClass("web", "oom", "late"));
  EXPECT_EQ(Score("web"), "400\n");
  EXPECT_TRUE(HasEvent("web", "ClassesUpdated"));
  // A change that is on record outlives the agent.
  ASSERT_TRUE(TryApply(PodWith("web", "oom: first")).ok());
  agent_->Kill();
  const absl::Status started = agent_->Start();
  ASSERT_TRUE(started.ok()) << started;
  ASSERT_TRUE(AwaitClass("web", "oom", "first"));
  EXPECT_EQ(Score("web"), "800\n");
  EXPECT_EQ(MainId(agent_->Pod("web")), id);
  EXPECT_EQ(ContainerStatus(agent_->Pod("web"))["restartCount"], 0);
  Restart("web");
  EXPECT_EQ(HeldClass("web", "oom"), "first");
}

TEST_F(AgentClassFieldsTest, RefusedChangesLeaveThePodAsItIs) {
  Run("web", PodWith("web", "oom: soon", "a/b: c"));
  Run("holder", PodWith("holder", "oom: first"));
  const std::string id = MainId(agent_->Pod("web"));
  const auto refused = [&](const std::string& manifest) {
    const absl::Status status = TryApply(manifest);
    EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
    return std::string(status.message());
  };
  EXPECT_THAT(refused(PodWith("web", "oom: sooner", "a/b: c")),
              HasSubstr("UnknownClass: container main asks for class sooner of type oom"));
  EXPECT_THAT(refused(PodWith("web", "oom: first", "a/b: c")),
              HasSubstr("OutOfClass: container main asks for class first of type oom: used: 1, "
                        "capacity: 1"));
  EXPECT_THAT(
      refused(PodWith("web", "", "a/b: c")),
      HasSubstr("container main: resources.classes[oom]: Forbidden: a living pod can't take "
                "class soon back"));
  EXPECT_THAT(refused(PodWith("web", "oom: soon, gpu: fast", "a/b: c")),
              HasSubstr("resources.classes[gpu]: Forbidden: the runtime lists no such type"));
  EXPECT_THAT(refused(PodWith("web", "oom: soon", "oom.class.plimsoll.dev/container.main: soon")),
              HasSubstr("annotations"));
  EXPECT_EQ(HeldClass("web", "oom"), "soon");
  EXPECT_EQ(MainId(agent_->Pod("web")), id);
  EXPECT_TRUE(TryApply(PodWith("web", "oom: soon", "a/b: c")).ok()) << "its spec stayed too";
}

TEST_F(AgentClassFieldsTest, ARefusalOfTheRuntimeIsToldAndTriedAgain) {
  // The agent doesn't know this holder.
  cri::ContainerConfig config = Shell(kSleeps);
  (*config.mutable_class_resources()->mutable_classes())["oom"] = "first";
  const std::string other = RunPod();
  const std::string holder = Start(other, config);
  Run("web", PodWith("web", "oom: soon"));
  ASSERT_TRUE(TryApply(PodWith("web", "oom: first")).ok());
  ASSERT_TRUE(Eventually([&] { return HasEvent("web", "FailedUpdateClasses"); }));
  EXPECT_EQ(HeldClass("web", "oom"), "soon");
  EXPECT_EQ(ShownClass(agent_->Pod("web"), "oom"), "soon") << "the class in force";
  ASSERT_TRUE(StopContainer(holder, 0).ok());
  ASSERT_TRUE(AwaitClass("web", "oom", "first"));
}

TEST_F(AgentClassFieldsTest, AChangedFileChangesItsPodsClass) {
  agent_->WriteManifest("web.yaml", PodWith("web", "oom: soon"));
  ASSERT_TRUE(AwaitClass("web", "oom", "soon"));
  const std::string id = MainId(agent_->Pod("web"));
  agent_->WriteManifest("web.yaml", PodWith("web", "oom: first"));
  ASSERT_TRUE(AwaitClass("web", "oom", "first"));
  EXPECT_EQ(MainId(agent_->Pod("web")), id);
}

TEST_F(AgentClassFieldsTest, AQuotaLimitsTheClassesOfANamespace) {
  const std::string quota =
      "{apiVersion: v1, kind: ResourceQuota, metadata: {name: team}, spec: {"
      "containerClassResources: [{name: oom, classes: [{name: soon, capacity: 1}, late]}]}}";
  ASSERT_TRUE(Host().ReplaceFile(Objects() + "/quota.yaml", quota).ok());
  Run("web", PodWith("web", "oom: soon"));
  const absl::Status over = TryApply(PodWith("two", "oom: soon"));
  EXPECT_TRUE(absl::IsPermissionDenied(over)) << over;
  EXPECT_THAT(std::string(over.message()),
              HasSubstr("pods \"two\" is forbidden: exceeded quota: team, requested: "
                        "containers.oom/soon=1, used: containers.oom/soon=1, limited: "
                        "containers.oom/soon=1"));
  EXPECT_TRUE(absl::IsPermissionDenied(TryApply(PodWith("two", "oom: first"))));
  EXPECT_TRUE(absl::IsPermissionDenied(TryApply(PodWith("web", "oom: first")))) << "a change too";
  EXPECT_TRUE(agent_->Pod("two").is_null());
  const auto shown = agent_->client().Quotas("default");
  ASSERT_TRUE(shown.ok()) << shown.status();
  const Json& classes = shown->front()["status"]["containerClassResources"][0]["classes"];
  EXPECT_EQ(classes, Json::parse(R"([{"name": "late", "used": 0},
                                     {"name": "soon", "capacity": 1, "used": 1}])"));
  Run("three", PodWith("three", "oom: late"));
  Remove("web");
  Run("two", PodWith("two", "oom: soon"));
}

// KEP-3008 "Feature Enablement and Rollback".
TEST_F(AgentClassFieldsTest, TheGateGoesOffAndOnAgainWithRunningPods) {
  Run("field", PodWith("field", "oom: more"));
  Run("noted", PodWith("noted", "", "oom.class.plimsoll.dev/default: more"));
  const std::string field = MainId(agent_->Pod("field"));
  const std::string noted = MainId(agent_->Pod("noted"));
  Begin("ClassResources: false");
  for (const auto& [pod, id] : {std::pair("field", field), std::pair("noted", noted)}) {
    ASSERT_TRUE(agent_->Await(pod, IsReady));
    EXPECT_EQ(MainId(agent_->Pod(pod)), id) << "it runs on";
    EXPECT_EQ(HeldClass(pod, "oom"), "more") << "in its class";
  }
  const absl::Status refused = TryApply(PodWith("new", "oom: more"));
  EXPECT_TRUE(absl::IsInvalidArgument(refused)) << refused;
  EXPECT_THAT(std::string(refused.message()),
              HasSubstr("Forbidden: may not be set while the feature gate ClassResources is off"));
  EXPECT_TRUE(absl::IsInvalidArgument(TryApply(PodWith("field", "oom: first"))));
  Run("ignored", PodWith("ignored", "", "oom.class.plimsoll.dev/default: more"));
  EXPECT_EQ(HeldClass("ignored", "oom"), "late");
  EXPECT_FALSE((*agent_->client().Node())["status"].contains("containerClassResources"));
  Restart("field");
  Restart("noted");
  EXPECT_EQ(HeldClass("field", "oom"), "late") << "a restart loses the class";
  EXPECT_EQ(HeldClass("noted", "oom"), "late");
  EXPECT_TRUE(HasEvent("field", "ClassesIgnored"));
  EXPECT_FALSE(HasEvent("noted", "ClassesIgnored")) << "an annotation is never promised";
  EXPECT_EQ(agent_->Pod("field")["spec"]["containers"][0]["resources"]["classes"]["oom"], "more")
      << "the spec keeps it";

  Begin("");
  ASSERT_TRUE(AwaitClass("field", "oom", "more")) << "a field is put in force again";
  ASSERT_TRUE(agent_->Await("noted", IsReady));
  EXPECT_EQ(HeldClass("noted", "oom"), "late") << "an annotation counts at the next start";
  Restart("noted");
  EXPECT_EQ(HeldClass("noted", "oom"), "more");
}

TEST_F(AgentClassFieldsTest, APodAsAWholeChangesItsClassOnV2) {
  if (!IsV2()) GTEST_SKIP() << "classes of pods that can change need cgroup v2";
  Run("web", PodWith("web", "still: x", "", "tier: normal"));
  cri::ListPodSandboxResponse pods;
  grpc::ClientContext context;
  ASSERT_TRUE(node_.runtime().ListPodSandbox(&context, {}, &pods).ok());
  ASSERT_EQ(pods.items_size(), 1);
  const std::string sandbox = pods.items(0).id();
  EXPECT_EQ(PodStatus(sandbox).class_resources().class_().at("tier"), "normal");
  ASSERT_TRUE(TryApply(PodWith("web", "still: x", "", "tier: low")).ok());
  ASSERT_TRUE(agent_->Await("web", [](const Json& pod) {
    return pod["status"]["resources"]["classes"]["tier"] == "low";
  }));
  EXPECT_EQ(PodStatus(sandbox).class_resources().class_().at("tier"), "low");
  const absl::Status fixed = TryApply(PodWith("web", "still: y", "", "tier: low"));
  EXPECT_TRUE(absl::IsFailedPrecondition(fixed)) << fixed;
  EXPECT_THAT(std::string(fixed.message()),
              HasSubstr("resources.classes[still]: Forbidden: the type is immutable: a living pod "
                        "keeps class x and can't have class y"));
}

}  // namespace
}  // namespace plimsoll::testing
