// QoS classes that a cluster's scheduler gives out: CDI devices of classes.plimsoll.dev.
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/programs/subprocess.h"
#include "classes_fixture.h"

namespace plimsoll::testing {
namespace {

using ::testing::HasSubstr;

constexpr char kSoonCdiName[] = "classes.plimsoll.dev/oom=soon";
constexpr char kSlow[] = "classes.plimsoll.dev/blockio=slow";
constexpr char kFromScheduler[] = "classes:\n  from: scheduler\n";

class ClassDevicesTest : public ClassesTest {
 protected:
  // Restarts the daemon with `now` in place of `before` in its configuration.
  void Reconfigure(const std::string& before, const std::string& now) {
    ASSERT_TRUE(node_.StopDaemon().ok());
    std::ifstream file(node_.config_path());
    std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
    file.close();
    const size_t at = text.find(before);
    ASSERT_NE(at, text.npos) << text;
    std::ofstream(node_.config_path()) << text.replace(at, before.size(), now);
    ASSERT_TRUE(node_.StartDaemon().ok());
  }
  cri::ContainerConfig With(const std::vector<std::string>& devices,
                            const std::string& script = "sleep 1000") {
    cri::ContainerConfig config = Shell(script);
    for (const std::string& device : devices) config.add_cdi_devices()->set_name(device);
    return config;
  }
  // A pod whose annotations ask for the blockio class "medium" for all its containers.
  cri::PodSandboxConfig Annotated(const std::string& source = "api") {
    cri::PodSandboxConfig config = PodConfig();
    (*config.mutable_annotations())["blockio.resources.beta.kubernetes.io/pod"] = "medium";
    (*config.mutable_annotations())["kubernetes.io/config.source"] = source;
    return config;
  }
  std::string PictureOf(const std::string& pod) {
    cri::PodSandboxStatusRequest request;
    request.set_pod_sandbox_id(pod);
    request.set_verbose(true);
    cri::PodSandboxStatusResponse response;
    grpc::ClientContext context;
    EXPECT_TRUE(node_.runtime().PodSandboxStatus(&context, request, &response).ok());
    return response.info().at("podResources");
  }
  grpc::Status Refusal(const std::string& pod, const cri::ContainerConfig& config) {
    std::string id;
    return TryCreate(pod, config, &id);
  }
};

TEST_F(ClassDevicesTest, TheClassHoldsBeforeTheFirstInstruction) {
  const std::string pod = RunPod();
  const std::string id = Start(pod, With({kSoonCdiName, kSlow}, "cat /proc/self/oom_score_adj"));
  EXPECT_EQ(AwaitExit(id).exit_code(), 0);
  EXPECT_EQ(Output(id), "300\n");
  EXPECT_EQ(ClassOf(id), "slow");
  // A device plugin's answer arrives like this.
  cri::ContainerConfig annotated = Shell("sleep 1000");
  (*annotated.mutable_annotations())["cdi.k8s.io/plugin_a"] =
      absl::StrCat(kSoonCdiName, ",", kSlow);
  const std::string other = Start(pod, annotated);
  EXPECT_THAT(ThrottleOf(CgroupOf(pod, other)), HasSubstr("1048576"));
  EXPECT_EQ(ExecOutput(other, "cat /proc/1/oom_score_adj"), "300\n");
}

TEST_F(ClassDevicesTest, AManifestsDeviceCounts) {
  ASSERT_TRUE(files_.root()
                  .ReplaceFile("pod.yaml",
                               "apiVersion: v1\nkind: Pod\nmetadata:\n  name: background\n"
                               "  annotations: {plimsoll.dev/cdi: classes.plimsoll.dev/oom=soon}\n"
                               "spec:\n  restartPolicy: Never\n  containers:\n"
                               "  - {name: a, image: busybox, imagePullPolicy: Never,\n"
                               "     command: [cat, /proc/self/oom_score_adj]}\n")
                  .ok());
  const auto run = RunProgram({.argv = {ProgramPath("plimsoll"), "--address", node_.address(),
                                        "run", files_.path() + "/pod.yaml"}},
                              {.timeout = Patience(absl::Seconds(90))});
  ASSERT_TRUE(run.ok()) << run.status();
  EXPECT_EQ(run->exit.code, 0) << run->err;
  EXPECT_THAT(run->out, HasSubstr("300\n"));
}

// Beside a device that a file describes, and in the picture under the name that the client sent.
TEST_F(ClassDevicesTest, TheDeviceStaysInThePodsPicture) {
  const std::string pod = RunPod();
  const std::string id = Start(pod, With({kSlow}));
  for (int restarts = 0; restarts < 2; ++restarts) {
    EXPECT_THAT(PictureOf(pod), HasSubstr(kSlow));
    EXPECT_EQ(ClassOf(id), "slow");
    EXPECT_THAT(ThrottleOf(CgroupOf(pod, id)), HasSubstr("1048576"));
    ASSERT_TRUE(node_.StopDaemon().ok());
    ASSERT_TRUE(node_.StartDaemon().ok());
  }
  const grpc::Status gpu = Refusal(pod, With({kSlow, "vendor.com/gpu=0"}));
  EXPECT_EQ(gpu.error_code(), grpc::StatusCode::NOT_FOUND);
  EXPECT_THAT(gpu.error_message(), HasSubstr("no CDI device vendor.com/gpu=0"));
}

// kubelet restarts a container by a new one with the same devices.
TEST_F(ClassDevicesTest, TheNextAttemptHasTheClassToo) {
  const std::string pod = RunPod();
  cri::ContainerConfig config = With({"classes.plimsoll.dev/blockio=medium"}, "true");
  const std::string first = Start(pod, config);
  AwaitExit(first);
  config = With({"classes.plimsoll.dev/blockio=medium"});
  config.mutable_metadata()->set_attempt(1);
  const std::string second = Start(pod, config);
  EXPECT_EQ(ClassOf(second), "medium") << "its one place is free again";
}

// A kubelet's update carries no class.
TEST_F(ClassDevicesTest, AnUpdateOfResourcesKeepsTheClass) {
  const std::string pod = RunPod();
  const std::string id = Start(pod, With({kSlow, kSoonCdiName}));
  cri::LinuxContainerResources linux;
  linux.set_cpu_shares(512);
  linux.set_oom_score_adj(7);
  ASSERT_TRUE(TryUpdate(id, linux).ok());
  EXPECT_EQ(ClassOf(id), "slow");
  EXPECT_THAT(ThrottleOf(CgroupOf(pod, id)), HasSubstr("1048576"));
  EXPECT_EQ(ExecOutput(id, "cat /proc/1/oom_score_adj"), "300\n");
}

TEST_F(ClassDevicesTest, SourcesAgreeOrAreRefused) {
  const std::string pod = RunPod(Annotated());
  const std::string id = Start(pod, With({"classes.plimsoll.dev/blockio=medium"}));
  EXPECT_EQ(ClassOf(id), "medium");
  const grpc::Status annotation = Refusal(pod, With({kSlow}));
  EXPECT_EQ(annotation.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_THAT(annotation.error_message(),
              HasSubstr("CDI device classes.plimsoll.dev/blockio=slow asks for class \"slow\" of "
                        "type \"blockio\", but annotation blockio.resources.beta.kubernetes.io/pod "
                        "for class \"medium\""));
  cri::ContainerConfig said = With({kSlow});
  (*said.mutable_class_resources()->mutable_classes())["blockio"] = "free";
  EXPECT_EQ(Refusal(pod, said).error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  (*said.mutable_class_resources()->mutable_classes())["blockio"] = "slow";
  EXPECT_EQ(ClassOf(Start(pod, said)), "slow");
  EXPECT_EQ(Refusal(pod, With({kSlow, "classes.plimsoll.dev/blockio=free"})).error_code(),
            grpc::StatusCode::INVALID_ARGUMENT);
}

TEST_F(ClassDevicesTest, ClassesThatAreNotHereAreNotFound) {
  const std::string pod = RunPod();
  const grpc::Status unknown = Refusal(pod, With({"classes.plimsoll.dev/blockio=fast"}));
  EXPECT_EQ(unknown.error_code(), grpc::StatusCode::NOT_FOUND);
  EXPECT_THAT(unknown.error_message(),
              HasSubstr("CDI device classes.plimsoll.dev/blockio=fast: type \"blockio\" has no "
                        "class \"fast\"; there are: "));
  const grpc::Status type = Refusal(pod, With({"classes.plimsoll.dev/nothing=fast"}));
  EXPECT_EQ(type.error_code(), grpc::StatusCode::NOT_FOUND);
  EXPECT_THAT(type.error_message(), HasSubstr("no class type \"nothing\" for a container"));
  if (!Host().Exists("sys/fs/resctrl/schemata")) {  // configured, but not available here
    const grpc::Status rdt = Refusal(pod, With({"classes.plimsoll.dev/rdt=gold"}));
    EXPECT_EQ(rdt.error_code(), grpc::StatusCode::NOT_FOUND);
    EXPECT_THAT(rdt.error_message(), HasSubstr("(rdt is configured, but: resctrl is not mounted"));
  }
  const grpc::Status of_pods = Refusal(pod, With({"classes.plimsoll.dev/pod.pod-qos=burstable"}));
  EXPECT_EQ(of_pods.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_THAT(of_pods.error_message(), HasSubstr("is a class of pods"));
  // The node loses a class between the scheduler's decision and the container's start.
  ASSERT_TRUE(files_.root().ReplaceFile("blockio.yaml", "Classes: {free: [], medium: []}\n").ok());
  ASSERT_TRUE(Reload().ok());
  const grpc::Status lost = Refusal(pod, With({kSlow}));
  EXPECT_EQ(lost.error_code(), grpc::StatusCode::NOT_FOUND);
  EXPECT_THAT(lost.error_message(),
              HasSubstr("there are: \"free\", \"medium\"; if the scheduler gave the "
                        "class out, this node has lost it since"));
}

TEST_F(ClassDevicesTest, SwitchedOffTheDeviceIsIgnored) {
  Reconfigure("classes:\n", "feature_gates: {ClassResources: false}\nclasses:\n");
  const std::string pod = RunPod();
  const std::string id =
      Start(pod, With({kSlow, kSoonCdiName, "classes.plimsoll.dev/nothing=fast"}));
  EXPECT_EQ(ThrottleOf(CgroupOf(pod, id)), "");
  EXPECT_TRUE(Status(id).class_resources().classes().empty());
}

TEST_F(ClassDevicesTest, FromTheSchedulerNobodyGoesRound) {
  const std::string old_pod = RunPod(Annotated());
  const std::string before = Start(old_pod, Shell("sleep 1000"));
  EXPECT_EQ(ClassOf(before), "medium") << "auto, and nobody has told";
  Reconfigure("classes:\n", kFromScheduler);
  EXPECT_EQ(ClassOf(before), "medium") << "a holder keeps it";
  ASSERT_TRUE(RemoveContainer(before).ok());
  const std::string restarted = Start(old_pod, Shell("sleep 1000"));
  EXPECT_EQ(ClassOf(restarted), "medium") << "so do the later containers of its pod";
  ASSERT_TRUE(RemoveContainer(restarted).ok());
  const std::string pod = RunPod(Annotated());
  const grpc::Status refused = Refusal(pod, Shell("true"));
  EXPECT_EQ(refused.error_code(), grpc::StatusCode::FAILED_PRECONDITION);
  EXPECT_THAT(refused.error_message(),
              HasSubstr("annotation blockio.resources.beta.kubernetes.io/pod asks for class "
                        "\"medium\" of type \"blockio\", which no claim of the container grants"));
  EXPECT_THAT(refused.error_message(), HasSubstr("class.plimsoll.dev/blockio.medium"));
  const std::string id = Start(pod, With({"classes.plimsoll.dev/blockio=medium"}));
  EXPECT_EQ(ClassOf(id), "medium");
  // Static pods by opt-in, messages always.
  cri::ContainerConfig said = Shell("sleep 1000");
  (*said.mutable_class_resources()->mutable_classes())["blockio"] = "free";
  EXPECT_EQ(ClassOf(Start(pod, said)), "free");
  const std::string from_file = RunPod(Annotated("file"));
  EXPECT_EQ(Refusal(from_file, Shell("true")).error_code(), grpc::StatusCode::FAILED_PRECONDITION);
  ASSERT_TRUE(RemoveContainer(id).ok());
  Reconfigure(kFromScheduler, "classes:\n  from: scheduler\n  staticPods: true\n");
  EXPECT_EQ(ClassOf(Start(from_file, Shell("sleep 1000"))), "medium");
  EXPECT_EQ(Refusal(pod, Shell("true")).error_code(), grpc::StatusCode::FAILED_PRECONDITION);
}

// An ephemeral container of kubectl debug: Kubernetes gives it no resources, so no claim.
TEST_F(ClassDevicesTest, FromTheSchedulerAnEphemeralContainerHasNoClass) {
  Reconfigure("classes:\n", kFromScheduler);
  const std::string pod = RunPod(Annotated());
  cri::ContainerConfig debug = Shell("sleep 1000");
  debug.mutable_metadata()->set_name("debug");
  EXPECT_EQ(Refusal(pod, debug).error_code(), grpc::StatusCode::FAILED_PRECONDITION);
  cri::ContainerConfig web = With({"classes.plimsoll.dev/blockio=medium"});
  web.mutable_metadata()->set_name("web");
  const std::string granted = Start(pod, web);
  EXPECT_EQ(ClassOf(granted), "medium");
  EXPECT_NE(ClassOf(Start(pod, debug)), "medium");
}

// An annotation of a pod as a whole: no claim was told for this pod.
TEST_F(ClassDevicesTest, FromTheSchedulerAPodsAnnotationNeedsAClaim) {
  Reconfigure("classes:\n", kFromScheduler);
  cri::PodSandboxConfig config = PodConfig();
  (*config.mutable_annotations())["blockio.class.plimsoll.dev/sandbox"] = "slow";
  std::string id;
  const grpc::Status refused = TryRunPod(config, &id);
  EXPECT_EQ(refused.error_code(), grpc::StatusCode::FAILED_PRECONDITION);
  EXPECT_THAT(refused.error_message(), HasSubstr("class.plimsoll.dev/pod.blockio.slow"));
}

}  // namespace
}  // namespace plimsoll::testing
