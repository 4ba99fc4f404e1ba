// Pods of an agent resized in place (KEP-1287, KEP-2273): by the API, by a manifest and by a file,
// against a real plimsolld and the kernel's groups.
#include <unistd.h>

#include <memory>
#include <tuple>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "base/dir_for_test.h"
#include "base/programs/subprocess.h"
#include "harness/kernel.h"
#include "harness/node_agent.h"

namespace plimsoll::testing {
namespace {

using Json = nlohmann::json;
using ::testing::HasSubstr;
using ::testing::Not;

// A container in YAML's flow style. `resources`: "{requests: {cpu: 100m}}".
std::string Container(const std::string& name, const std::string& resources,
                      const std::string& more = "") {
  return absl::StrCat("{name: ", name,
                      ", image: busybox, imagePullPolicy: Never, command: [sh, -c, '", kUntilTerm,
                      "'], resources: ", resources, more, "}");
}

std::string Pod(const std::string& name, const std::string& containers,
                const std::string& spec = "") {
  return absl::StrCat("{apiVersion: v1, kind: Pod, metadata: {name: ", name, "}, spec: {", spec,
                      "terminationGracePeriodSeconds: 5, containers: [", containers, "]}}\n");
}

std::string Amounts(const std::string& cpu, const std::string& memory) {
  return absl::StrCat("{requests: {cpu: 50m, memory: 8Mi}, limits: {cpu: ", cpu,
                      ", memory: ", memory, "}}");
}

Json ContainerOf(const Json& pod, const std::string& name = "main") {
  for (const Json& each : pod["status"]["containerStatuses"]) {
    if (each["name"] == name) return each;
  }
  return Json::object();
}

std::string IdOf(const Json& pod, const std::string& name = "main") {
  return CriId(ContainerOf(pod, name));
}

bool PodIsReady(const Json& pod) {
  return ConditionOf(pod, "Ready").value("status", "") == "True";
}

// No resize waits or goes on.
bool IsResized(const Json& pod) {
  return ConditionOf(pod, "PodResizePending").is_null() &&
         ConditionOf(pod, "PodResizeInProgress").is_null();
}

Json PatchOf(const std::string& container, const Json& resources) {
  return {{"spec", {{"containers", {{{"name", container}, {"resources", resources}}}}}}};
}

class AgentResizeTest : public NodeAgentTest {
 protected:
  explicit AgentResizeTest(const std::string& config = "", const std::string& daemon_config = "")
      : NodeAgentTest(absl::StrCat("cgroupDriver: cgroupfs\ncgroupRoot: ", Root(), "\n", config),
                      daemon_config) {}
  void SetUp() override {
    const auto made = Cgroups().Create(root_);
    ASSERT_TRUE(made.ok()) << made.status();
    NodeTest::SetUp();
    Begin();
  }
  void TearDown() override {
    NodeAgentTest::TearDown();
    EXPECT_TRUE(Cgroups().Remove(root_).ok());
  }
  absl::StatusOr<Json> Resize(const std::string& pod, const std::string& container,
                              const Json& resources) {
    return agent_.client().Resize("default", pod, PatchOf(container, resources));
  }
  // Applies the pod, and waits until it runs.
  Json Run(const std::string& name, const std::string& manifest) {
    Apply(manifest);
    EXPECT_TRUE(agent_.Await(name, PodIsReady));
    return agent_.Pod(name);
  }
  int Events(const std::string& pod, const std::string& reason) {
    int count = 0;
    for (const Json& each : agent_.client().Events("default", pod).value_or(std::vector<Json>())) {
      if (each["reason"] == reason) count += each.value("count", 1);
    }
    return count;
  }
  // The pod's group as the kernel has it.
  linux::CgroupSettings Group(const Json& pod) {
    const std::string uid = pod["metadata"]["uid"];
    const auto settings = Cgroups().Read(absl::StrCat(root_, "/kubepods/burstable/pod", uid));
    EXPECT_TRUE(settings.ok()) << settings.status();
    return settings.value_or(linux::CgroupSettings());
  }
  cri::LinuxContainerResources Limits(const Json& pod, const std::string& name = "main") {
    return Status(IdOf(pod, name)).resources().linux();
  }
  cri::PodSandboxStatus SandboxOf(const Json& pod) {
    cri::ListPodSandboxRequest request;
    (*request.mutable_filter()->mutable_label_selector())["io.kubernetes.pod.uid"] =
        pod["metadata"]["uid"];
    cri::ListPodSandboxResponse response;
    grpc::ClientContext context;
    EXPECT_TRUE(node_.runtime().ListPodSandbox(&context, request, &response).ok());
    EXPECT_EQ(response.items_size(), 1);
    return PodStatus(response.items(0).id());
  }

  static std::string Root() { return absl::StrCat("/plimsoll-agent-resize-test-", getpid()); }

  const std::string root_ = Root();
};

TEST_F(AgentResizeTest, UpAndDownInPlace) {
  const Json before = Run("web", Pod("web", Container("main", Amounts("200m", "32Mi"))));
  EXPECT_EQ(before["metadata"]["generation"], 1);
  EXPECT_EQ(ContainerOf(before)["resources"]["limits"],
            (Json{{"cpu", "200m"}, {"memory", "32Mi"}}));
  for (const auto& [cpu, memory, quota, mebibytes] :
       {std::tuple("500m", "64Mi", 50'000, 64), {"100m", "16Mi", 10'000, 16}}) {
    const auto resized =
        Resize("web", "main",
               {{"requests", {{"cpu", "60m"}}}, {"limits", {{"cpu", cpu}, {"memory", memory}}}});
    ASSERT_TRUE(resized.ok()) << resized.status();
    EXPECT_EQ((*resized)["spec"]["containers"][0]["resources"]["limits"]["cpu"], cpu);
    ASSERT_TRUE(agent_.Await("web", IsResized));
    const Json after = agent_.Pod("web");
    EXPECT_EQ(IdOf(after), IdOf(before));
    EXPECT_EQ(ContainerOf(after)["restartCount"], 0);
    EXPECT_EQ(Limits(after).cpu_quota(), quota);
    EXPECT_EQ(Limits(after).memory_limit_in_bytes(), mebibytes * kMiB);
    EXPECT_EQ(Group(after).cpu_quota_us, quota);
    EXPECT_EQ(Group(after).memory_limit_bytes, mebibytes * kMiB);
    EXPECT_EQ(ContainerOf(after)["resources"],
              (Json{{"requests", {{"cpu", "60m"}, {"memory", "8Mi"}}},
                    {"limits", {{"cpu", cpu}, {"memory", memory}}}}));
    EXPECT_EQ(ContainerOf(after)["allocatedResources"], (Json{{"cpu", "60m"}, {"memory", "8Mi"}}));
    // The runtime knows the whole pod's new needs.
    EXPECT_EQ(SandboxOf(after)
                  .pod_resources()
                  .containers(0)
                  .kubernetes_resources()
                  .limits()
                  .at("memory")
                  .string(),
              memory);
  }
  EXPECT_EQ(agent_.Pod("web")["metadata"]["generation"], 3);
  EXPECT_EQ(agent_.Pod("web")["status"]["observedGeneration"], 3);
  EXPECT_EQ(Events("web", "ResizeStarted"), 2);
  EXPECT_EQ(Events("web", "ResizeCompleted"), 2);
  EXPECT_EQ(Events("web", "ResizeError"), 0);
}

TEST_F(AgentResizeTest, OneContainerGoesUpAndTheOtherDown) {
  Run("web", Pod("web", absl::StrCat(Container("main", Amounts("100m", "16Mi")), ", ",
                                     Container("side", Amounts("300m", "48Mi")))));
  // A changed manifest.
  Apply(Pod("web", absl::StrCat(Container("main", Amounts("300m", "48Mi")), ", ",
                                Container("side", Amounts("100m", "32Mi")))));
  ASSERT_TRUE(agent_.Await(
      "web", [](const Json& pod) { return pod["metadata"]["generation"] == 2 && IsResized(pod); }));
  const Json pod = agent_.Pod("web");
  EXPECT_EQ(Limits(pod).cpu_quota(), 30'000);
  EXPECT_EQ(Limits(pod).memory_limit_in_bytes(), 48 * kMiB);
  EXPECT_EQ(Limits(pod, "side").cpu_quota(), 10'000);
  EXPECT_EQ(Limits(pod, "side").memory_limit_in_bytes(), 32 * kMiB);
  EXPECT_EQ(Group(pod).cpu_quota_us, 40'000);
  EXPECT_EQ(Group(pod).memory_limit_bytes, 80 * kMiB);
  EXPECT_EQ(ContainerOf(pod)["restartCount"], 0);
  EXPECT_EQ(ContainerOf(pod, "side")["restartCount"], 0);
}

TEST_F(AgentResizeTest, AChangedFileResizesItsPod) {
  agent_.WriteManifest("web.yaml", Pod("web", Container("main", Amounts("100m", "16Mi"))));
  ASSERT_TRUE(agent_.Await("web", PodIsReady));
  const Json before = agent_.Pod("web");
  agent_.WriteManifest("web.yaml", Pod("web", Container("main", Amounts("200m", "16Mi"))));
  ASSERT_TRUE(agent_.Await("web", [&](const Json& pod) {
    return ContainerOf(pod)["resources"]["limits"]["cpu"] == "200m" && IsResized(pod);
  }));
  EXPECT_EQ(agent_.Pod("web")["metadata"]["uid"], before["metadata"]["uid"]);
  EXPECT_EQ(IdOf(agent_.Pod("web")), IdOf(before));
  // Another field makes another pod, and so does a change that no living pod takes.
  agent_.WriteManifest("web.yaml", Pod("web", Container("main", "{}")));
  ASSERT_TRUE(agent_.Await("web", [&](const Json& pod) {
    return pod["metadata"]["uid"] != before["metadata"]["uid"] && PodIsReady(pod);
  }));
  EXPECT_EQ(agent_.Pod("web")["status"]["qosClass"], "BestEffort");
}

// This many CPUs, less some, are requested by the pod "big".
std::string MostOf(int64_t milli_cpu) {
  return absl::StrCat("{requests: {cpu: ", milli_cpu, "m}}");
}

TEST_F(AgentResizeTest, WhatDoesNotFitNowIsTriedAgain) {
  const auto node = agent_.client().Node();
  ASSERT_TRUE(node.ok()) << node.status();
  const int64_t cpus = std::stol((*node)["status"]["allocatable"]["cpu"].get<std::string>());
  const int64_t most = cpus * 1000 - 500;
  Run("big", Pod("big", Container("main", MostOf(most))));
  Run("web", Pod("web", Container("main", "{requests: {cpu: 100m}}")));
  const auto deferred = Resize("web", "main", {{"requests", {{"cpu", "600m"}}}});
  ASSERT_TRUE(deferred.ok()) << deferred.status();
  const Json pending = ConditionOf(*deferred, "PodResizePending");
  EXPECT_EQ(pending["reason"], "Deferred");
  EXPECT_THAT(pending["message"].get<std::string>(),
              HasSubstr("Node didn't have enough resource: cpu, requested: 600"));
  EXPECT_EQ(Events("web", "ResizeDeferred"), 1);
  // The next agent waits on, and the container keeps what it has.
  agent_.Kill();
  Begin();
  ASSERT_TRUE(agent_.Await("web", PodIsReady));
  EXPECT_EQ(ConditionOf(agent_.Pod("web"), "PodResizePending")["reason"], "Deferred");
  EXPECT_EQ(ContainerOf(agent_.Pod("web"))["resources"]["requests"]["cpu"], "100m");
  EXPECT_EQ(ContainerOf(agent_.Pod("web"))["allocatedResources"]["cpu"], "100m");
  // The other pod shrinks.
  ASSERT_TRUE(Resize("big", "main", {{"requests", {{"cpu", absl::StrCat(most - 300, "m")}}}}).ok());
  ASSERT_TRUE(agent_.Await("web", [](const Json& pod) {
    return IsResized(pod) && ContainerOf(pod)["resources"]["requests"]["cpu"] == "600m";
  }));
  // It goes: the rest is free.
  ASSERT_TRUE(Resize("web", "main", {{"requests", {{"cpu", "1200m"}}}}).ok());
  EXPECT_EQ(ConditionOf(agent_.Pod("web"), "PodResizePending")["reason"], "Deferred");
  ASSERT_TRUE(agent_.client().Delete("default", "big", 0).ok());
  ASSERT_TRUE(agent_.Await("web", [](const Json& pod) {
    return IsResized(pod) && ContainerOf(pod)["resources"]["requests"]["cpu"] == "1200m";
  }));
}

TEST_F(AgentResizeTest, APodThatEndsMakesRoom) {
  const auto node = agent_.client().Node();
  ASSERT_TRUE(node.ok()) << node.status();
  const int64_t cpus = std::stol((*node)["status"]["allocatable"]["cpu"].get<std::string>());
  Apply(
      absl::StrCat("{apiVersion: v1, kind: Pod, metadata: {name: job}, spec: {restartPolicy: "
                   "Never, containers: [{name: main, image: busybox, imagePullPolicy: Never, "
                   "command: [sh, -c, 'while [ ! -e /end ]; do sleep 0.1; done'], resources: ",
                   MostOf(cpus * 1000 - 500), "}]}}"));
  ASSERT_TRUE(agent_.Await("job", PodIsReady));
  Run("web", Pod("web", Container("main", "{requests: {cpu: 100m}}")));
  ASSERT_TRUE(Resize("web", "main", {{"requests", {{"cpu", "1"}}}}).ok());
  EXPECT_EQ(ConditionOf(agent_.Pod("web"), "PodResizePending")["reason"], "Deferred");
  // The container may end before the command does.
  cri::ExecSyncResponse touched;
  EXPECT_TRUE(Exec(IdOf(agent_.Pod("job")), {"touch", "/end"}, &touched).ok());
  ASSERT_TRUE(agent_.Await("web", [](const Json& pod) {
    return IsResized(pod) && ContainerOf(pod)["resources"]["requests"]["cpu"] == "1";
  }));
  EXPECT_EQ(agent_.Phase("job"), "Succeeded");
}

TEST_F(AgentResizeTest, WhatNeverFitsIsInfeasible) {
  Run("web", Pod("web", Container("main", Amounts("100m", "16Mi"))));
  ASSERT_TRUE(
      Resize("web", "main", {{"requests", {{"cpu", "900"}}}, {"limits", {{"cpu", "900"}}}}).ok());
  const Json pod = agent_.Pod("web");
  EXPECT_EQ(ConditionOf(pod, "PodResizePending")["reason"], "Infeasible");
  EXPECT_THAT(ConditionOf(pod, "PodResizePending")["message"].get<std::string>(),
              HasSubstr("requested: 900000"));
  EXPECT_EQ(Limits(pod).cpu_quota(), 10'000);
  EXPECT_EQ(Events("web", "ResizeInfeasible"), 1);
  // The manifest of before: the condition goes.
  Apply(Pod("web", Container("main", Amounts("100m", "16Mi"))));
  ASSERT_TRUE(agent_.Await("web", IsResized));
  EXPECT_EQ(agent_.Pod("web")["metadata"]["generation"], 3);
}

TEST_F(AgentResizeTest, RefusalsChangeNothing) {
  const Json before = Run("web", Pod("web", Container("main", Amounts("100m", "16Mi"))));
  const auto qos = Resize("web", "main", {{"requests", {{"cpu", "100m"}, {"memory", "16Mi"}}}});
  EXPECT_EQ(qos.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(qos.status().message()),
              HasSubstr("Pod QOS Class may not change as a result of resizing"));
  const auto above = Resize("web", "main", {{"requests", {{"cpu", "200m"}}}});
  EXPECT_EQ(above.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(above.status().message()), HasSubstr("limit"));
  const auto gone = Resize("web", "main", {{"limits", {{"memory", nullptr}}}});
  EXPECT_EQ(gone.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(gone.status().message()), HasSubstr("limits cannot be removed"));
  const auto image = agent_.client().Apply(
      Pod("web", absl::StrReplaceAll(Container("main", Amounts("100m", "16Mi")),
                                     {{"image: busybox", "image: other"}})));
  EXPECT_EQ(image.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(image.status().message()),
              HasSubstr("pod updates may not change fields other than"));
  EXPECT_EQ(Resize("nobody", "main", {{"limits", {{"cpu", "1"}}}}).status().code(),
            absl::StatusCode::kNotFound);
  const Json after = agent_.Pod("web");
  EXPECT_EQ(after["spec"], before["spec"]);
  EXPECT_EQ(after["metadata"]["generation"], 1);
  EXPECT_TRUE(IsResized(after));
}

TEST_F(AgentResizeTest, ThePolicyRestartsItsContainerAlone) {
  const std::string policy =
      ", resizePolicy: [{resourceName: memory, restartPolicy: RestartContainer}]";
  const Json before =
      Run("web", Pod("web",
                     absl::StrCat(Container("main", Amounts("100m", "16Mi"), policy), ", ",
                                  Container("side", Amounts("100m", "16Mi"))),
                     "restartPolicy: OnFailure, "));
  // A signal before the trap is lost.
  ExecOutput(
      IdOf(before),
      "until [ $((0x$(grep SigCgt /proc/1/status | cut -f2) & 0x4000)) != 0 ]; do sleep 0.1; "
      "done");
  ASSERT_TRUE(Resize("web", "main", {{"limits", {{"cpu", "200m"}}}}).ok());
  ASSERT_TRUE(agent_.Await("web", [](const Json& pod) {
    return IsResized(pod) && ContainerOf(pod)["resources"]["limits"]["cpu"] == "200m";
  }));
  EXPECT_EQ(IdOf(agent_.Pod("web")), IdOf(before));
  // The program ends with 0, which is no reason not to start it again.
  ASSERT_TRUE(Resize("web", "main", {{"limits", {{"memory", "32Mi"}}}}).ok());
  ASSERT_TRUE(agent_.Await("web", [](const Json& pod) {
    return IsResized(pod) && PodIsReady(pod) &&
           ContainerOf(pod)["resources"]["limits"]["memory"] == "32Mi";
  }));
  const Json after = agent_.Pod("web");
  EXPECT_NE(IdOf(after), IdOf(before));
  EXPECT_EQ(ContainerOf(after)["restartCount"], 1);
  EXPECT_EQ(ContainerOf(after)["lastState"]["terminated"]["exitCode"], 0);
  EXPECT_EQ(IdOf(after, "side"), IdOf(before, "side"));
  EXPECT_EQ(Group(after).memory_limit_bytes, 48 * kMiB);
}

TEST_F(AgentResizeTest, AContainerThatUsesMoreKeepsWhatItHas) {
  const Json before =
      Run("web", Pod("web", absl::StrCat(Container("main", Amounts("100m", "48Mi")), ", ",
                                         Container("side", Amounts("100m", "16Mi")))));
  ExecOutput(IdOf(before), "head -c 25165824 /dev/zero > /dev/shm/used");
  ASSERT_TRUE(Resize("web", "main", {{"limits", {{"memory", "16Mi"}}}}).ok());
  ASSERT_TRUE(agent_.Await("web", [](const Json& pod) {
    return ConditionOf(pod, "PodResizeInProgress").value("reason", "") == "Error";
  }));
  const Json failed = agent_.Pod("web");
  EXPECT_EQ(Limits(failed).memory_limit_in_bytes(), 48 * kMiB);
  EXPECT_EQ(Group(failed).memory_limit_bytes, 64 * kMiB);
  EXPECT_EQ(ContainerOf(failed)["resources"]["limits"]["memory"], "48Mi");
  EXPECT_EQ(ContainerOf(failed)["restartCount"], 0);
  ExecOutput(IdOf(before), "rm /dev/shm/used");
  // Another resize is tried at once.
  ASSERT_TRUE(Resize("web", "side", {{"limits", {{"cpu", "200m"}}}}).ok());
  ASSERT_TRUE(agent_.Await("web", IsResized));
  EXPECT_EQ(Group(agent_.Pod("web")).memory_limit_bytes, 32 * kMiB);
  EXPECT_EQ(ContainerOf(agent_.Pod("web"))["resources"]["limits"]["memory"], "16Mi");
  EXPECT_EQ(ContainerOf(agent_.Pod("web"), "side")["resources"]["limits"]["cpu"], "200m");
}

TEST_F(AgentResizeTest, ANewRunHasTheNewResources) {
  Run("web", Pod("web", Container("main", Amounts("100m", "16Mi"))));
  ASSERT_TRUE(Resize("web", "main", {{"limits", {{"cpu", "300m"}}}}).ok());
  ASSERT_TRUE(agent_.Await("web", IsResized));
  const std::string first = IdOf(agent_.Pod("web"));
  ASSERT_TRUE(StopContainer(first, 0).ok());
  ASSERT_TRUE(
      agent_.Await("web", [&](const Json& pod) { return IdOf(pod) != first && PodIsReady(pod); }));
  const Json pod = agent_.Pod("web");
  EXPECT_EQ(Limits(pod).cpu_quota(), 30'000);
  EXPECT_EQ(ContainerOf(pod)["resources"]["limits"]["cpu"], "300m");
  EXPECT_EQ(Status(IdOf(pod)).kubernetes_resources().limits().at("cpu").string(), "300m");
}

TEST_F(AgentResizeTest, AKilledAgentGoesOnWithAResize) {
  const std::string policy =
      ", resizePolicy: [{resourceName: memory, restartPolicy: RestartContainer}]";
  // A run that ends with 0 for a resize is no reason to end the pod, for the next agent neither.
  const auto pod_of = [&](const std::string& main, const std::string& other) {
    return Pod("web", absl::StrCat(Container("main", main, policy), ", ", Container("side", other)),
               "restartPolicy: OnFailure, ");
  };
  Run("web", pod_of(Amounts("100m", "16Mi"), Amounts("100m", "16Mi")));
  const std::string side = IdOf(agent_.Pod("web"), "side");
  for (int i = 1; i <= 5; ++i) {
    const std::string cpu = absl::StrCat(100 + 50 * i, "m");
    const std::string memory = absl::StrCat(16 + 8 * i, "Mi");
    Apply(pod_of(Amounts("100m", memory), Amounts(cpu, "16Mi")));
    // Each time a little later after the answer.
    usleep(static_cast<useconds_t>(i - 1) * 4000);
    agent_.Kill();
    Begin();
    ASSERT_TRUE(agent_.Await("web", [&](const Json& pod) {
      return PodIsReady(pod) && IsResized(pod) &&
             ContainerOf(pod)["resources"]["limits"]["memory"] == memory &&
             ContainerOf(pod, "side")["resources"]["limits"]["cpu"] == cpu;
    }));
    const Json pod = agent_.Pod("web");
    EXPECT_EQ(ContainerOf(pod)["restartCount"], i);
    EXPECT_EQ(IdOf(pod, "side"), side);
    EXPECT_EQ(Group(pod).memory_limit_bytes, (32 + 8 * i) * kMiB);
  }
}

class AgentResizeOffTest : public AgentResizeTest {
 protected:
  AgentResizeOffTest() : AgentResizeTest("featureGates: {InPlacePodVerticalScaling: false}\n") {}
};

TEST_F(AgentResizeOffTest, PodsKeepWhatTheyHave) {
  const Json before = Run("web", Pod("web", Container("main", Amounts("100m", "16Mi"))));
  const auto patched = Resize("web", "main", {{"limits", {{"cpu", "1"}}}});
  EXPECT_EQ(patched.status().code(), absl::StatusCode::kUnimplemented);
  EXPECT_THAT(std::string(patched.status().message()), HasSubstr("InPlacePodVerticalScaling"));
  const auto applied =
      agent_.client().Apply(Pod("web", Container("main", Amounts("200m", "16Mi"))));
  EXPECT_EQ(applied.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(applied.status().message()), HasSubstr("InPlacePodVerticalScaling"));
  EXPECT_EQ(Limits(before).cpu_quota(), 10'000);
  EXPECT_FALSE(ContainerOf(before).contains("allocatedResources"));
  // A file's pod begins again.
  agent_.WriteManifest("f.yaml", Pod("f", Container("main", Amounts("100m", "16Mi"))));
  ASSERT_TRUE(agent_.Await("f", PodIsReady));
  const std::string uid = agent_.Pod("f")["metadata"]["uid"];
  agent_.WriteManifest("f.yaml", Pod("f", Container("main", Amounts("200m", "16Mi"))));
  ASSERT_TRUE(agent_.Await(
      "f", [&](const Json& pod) { return pod["metadata"]["uid"] != uid && PodIsReady(pod); }));
}

// Without groups of the agent's: the pod's group is the runtime's.
class AgentResizeRuntimesGroupTest : public AgentResizeTest {
 protected:
  AgentResizeRuntimesGroupTest() : AgentResizeTest("cgroupsPerQOS: false\n") {}
};

TEST_F(AgentResizeRuntimesGroupTest, TheAnnouncementResizesThePod) {
  const auto pod_of = [](const std::string& pod, const std::string& cpu) {
    return Pod("web", Container("main", Amounts(cpu, "16Mi")),
               absl::StrCat("resources: {limits: {cpu: ", pod, "}}, "));
  };
  const Json before = Run("web", pod_of("200m", "200m"));
  const auto group = [&] {
    const auto settings =
        Cgroups().Read(absl::StrCat(node_.cgroup_parent(), "/", SandboxOf(before).id()));
    return settings.ok() ? settings->cpu_quota_us.value_or(0) : 0;
  };
  for (const char* cpu : {"400m", "100m"}) {
    Apply(pod_of(cpu, cpu));
    ASSERT_TRUE(agent_.Await("web", [&](const Json& pod) {
      return IsResized(pod) && ContainerOf(pod)["resources"]["limits"]["cpu"] == cpu;
    }));
    EXPECT_EQ(group(), std::string(cpu) == "400m" ? 40'000 : 10'000);
    EXPECT_EQ(IdOf(agent_.Pod("web")), IdOf(before));
  }
}

// With a handler whose update command fails while file "refuse" is there.
class AgentResizeRefusedTest : public AgentResizeTest {
 protected:
  AgentResizeRefusedTest() : AgentResizeRefusedTest(std::make_unique<TestDir>()) {}
  void Write(const std::string& file, const std::string& text) {
    ASSERT_TRUE(directory_->root().ReplaceFile(file, text, 0755).ok());
  }
  // The pictures that the command was given.
  std::string Told() { return directory_->root().Read("told").value_or(""); }

  const std::unique_ptr<TestDir> directory_;

 private:
  explicit AgentResizeRefusedTest(std::unique_ptr<TestDir> directory)
      : AgentResizeTest("", absl::StrCat("runtime_handlers:\n  vm:\n    kind: vm\n    program: ",
                                         directory->path(), "/runtime\n    update_command: [",
                                         directory->path(), "/resize]\n")),
        directory_(std::move(directory)) {
    Write("runtime", absl::StrCat("#!/bin/sh\nexec ", FindProgram("crun").value_or("/usr/bin/crun"),
                                  " \"$@\"\n"));
    Write("resize", absl::StrCat("#!/bin/sh\ncd ", directory_->path(),
                                 "\ncat \"$1\" >> told\n[ ! -e refuse ]\n"));
  }
};

TEST_F(AgentResizeRefusedTest, ARefusedShrinkLeavesTheMachineAsItWas) {
  const Json before =
      Run("web", Pod("web", Container("main", Amounts("100m", "128Mi")), "runtimeClassName: vm, "));
  ExecOutput(IdOf(before), "head -c 41943040 /dev/zero > /dev/shm/used");
  ASSERT_TRUE(Resize("web", "main", {{"limits", {{"memory", "20Mi"}}}}).ok());
  ASSERT_TRUE(Eventually([&] { return Events("web", "ResizeError") >= 2; }));
  EXPECT_EQ(Limits(agent_.Pod("web")).memory_limit_in_bytes(), 128 * kMiB);
  EXPECT_THAT(Told(), HasSubstr(R"("memory_bytes":134217728)"));
  EXPECT_THAT(Told(), Not(HasSubstr(R"("memory_bytes":20971520)")));
  ASSERT_TRUE(Eventually([&] {
    return SandboxOf(before)
               .pod_resources()
               .containers(0)
               .kubernetes_resources()
               .limits()
               .at("memory")
               .string() == "128Mi";
  })) << "announced again";
  ExecOutput(IdOf(before), "rm /dev/shm/used");
  ASSERT_TRUE(agent_.Await("web", IsResized));
  EXPECT_THAT(Told(), HasSubstr(R"("memory_bytes":20971520)"));
  EXPECT_EQ(IdOf(agent_.Pod("web")), IdOf(before));
}

TEST_F(AgentResizeRefusedTest, AnErrorOfTheAnnouncementChangesNothingAndIsTriedAgain) {
  const Json before =
      Run("web", Pod("web", Container("main", Amounts("100m", "16Mi")), "runtimeClassName: vm, "));
  Write("refuse", "");
  ASSERT_TRUE(Resize("web", "main", {{"limits", {{"cpu", "300m"}, {"memory", "32Mi"}}}}).ok());
  ASSERT_TRUE(agent_.Await("web", [](const Json& pod) {
    return ConditionOf(pod, "PodResizeInProgress").value("reason", "") == "Error";
  }));
  const Json failed = agent_.Pod("web");
  EXPECT_FALSE(ConditionOf(failed, "PodResizeInProgress")["message"].get<std::string>().empty());
  EXPECT_GE(Events("web", "ResizeError"), 1);
  EXPECT_EQ(Limits(failed).cpu_quota(), 10'000);
  EXPECT_EQ(Group(failed).cpu_quota_us, 10'000);
  EXPECT_EQ(Group(failed).memory_limit_bytes, 16 * kMiB);
  EXPECT_EQ(ContainerOf(failed)["resources"]["limits"]["cpu"], "100m");
  ASSERT_TRUE(directory_->root().RemoveFile("refuse").ok());
  ASSERT_TRUE(agent_.Await("web", [](const Json& pod) {
    return IsResized(pod) && ContainerOf(pod)["resources"]["limits"]["cpu"] == "300m";
  }));
  EXPECT_EQ(Group(agent_.Pod("web")).memory_limit_bytes, 32 * kMiB);
  EXPECT_EQ(IdOf(agent_.Pod("web")), IdOf(before));
  EXPECT_THAT(Told(), HasSubstr("300m"));
}

}  // namespace
}  // namespace plimsoll::testing
