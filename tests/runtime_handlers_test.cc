// Configured runtime handlers, with a program in place of a virtual machine's OCI runtime: it notes
// its calls and then leaves the work to crun.
#include <sys/mount.h>
#include <sys/stat.h>

#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/dir_for_test.h"
#include "base/programs/subprocess.h"
#include "gmock/gmock.h"
#include "harness/kernel.h"
#include "harness/node.h"
#include "linux/namespaces/mounts.h"

namespace plimsoll::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// Maps all ids to a range of the machine's.
void MapIds(const std::vector<cri::IDMapping*>& mappings) {
  for (cri::IDMapping* mapping : mappings) {
    mapping->set_host_id(300000);
    mapping->set_length(65536);
  }
}

// A user namespace for the pod. Returns the options, which its containers need too.
cri::NamespaceOption GiveUserNamespace(cri::PodSandboxConfig* config) {
  cri::NamespaceOption* options =
      config->mutable_linux()->mutable_security_context()->mutable_namespace_options();
  cri::UserNamespace* users = options->mutable_userns_options();
  users->set_mode(cri::POD);
  MapIds({users->add_uids(), users->add_gids()});
  return *options;
}

class RuntimeHandlersTest : public NodeTest {
 protected:
  RuntimeHandlersTest() : RuntimeHandlersTest(std::make_unique<TestDir>()) {}
  std::string Noted(const std::string& file) { return directory_->root().Read(file).value_or(""); }
  void Write(const std::string& file, const std::string& text) {
    ASSERT_TRUE(directory_->root().ReplaceFile(file, text, 0755).ok());
  }
  std::string RunOn(const std::string& handler, const cri::PodSandboxConfig& config) {
    cri::RunPodSandboxRequest request;
    *request.mutable_config() = config;
    request.set_runtime_handler(handler);
    cri::RunPodSandboxResponse response;
    grpc::ClientContext context;
    const grpc::Status status = node_.runtime().RunPodSandbox(&context, request, &response);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return response.pod_sandbox_id();
  }
  cri::PodSandboxConfig Announcing(const std::string& cpu, const std::string& memory) {
    cri::PodSandboxConfig config = PodConfig();
    cri::ContainerResourceConfig* web = config.mutable_pod_resources()->add_containers();
    web->set_name("web");
    web->set_type(cri::ContainerResourceConfig::CONTAINER);
    auto& limits = *web->mutable_kubernetes_resources()->mutable_limits();
    limits["cpu"].set_string(cpu);
    limits["memory"].set_string(memory);
    return config;
  }
  cri::ContainerConfig Web(const std::string& script) {
    cri::ContainerConfig config = Shell(script);
    config.mutable_metadata()->set_name("web");
    return config;
  }
  grpc::Status ResizeTo(const std::string& container, const std::string& cpu, int64_t memory) {
    cri::UpdateContainerResourcesRequest request;
    request.set_container_id(container);
    auto& limits = *request.mutable_kubernetes_resources()->mutable_limits();
    limits["cpu"].set_string(cpu);
    limits["memory"].set_string(absl::StrCat(memory));
    request.mutable_linux()->set_memory_limit_in_bytes(memory);
    cri::UpdateContainerResourcesResponse response;
    grpc::ClientContext context;
    return node_.runtime().UpdateContainerResources(&context, request, &response);
  }

 private:
  explicit RuntimeHandlersTest(std::unique_ptr<TestDir> directory)
      : NodeTest(absl::StrCat("runtime_handlers:\n  vm:\n    kind: vm\n    program: ",
                              directory->path(), "/runtime\n    update_command: [",
                              directory->path(), "/resize]\n  fixed: {resources: fixed}\n")),
        directory_(std::move(directory)) {
    const std::string crun = FindProgram("crun").value_or("/usr/bin/crun");
    const std::string& place = directory_->path();
    // The bundle follows --bundle.
    Write("runtime",
          absl::StrCat("#!/bin/sh\necho \"$@\" >> ", place, "/calls\nexec ", crun, " \"$@\"\n"));
    Write("resize",
          absl::StrCat("#!/bin/sh\ncd ", place, "\ncat \"$1\" >> told\n",
                       "if [ -e slow ]; then rm slow; printf $$ > pid; exec sleep 300; fi\n",
                       "[ ! -e refuse ]\n"));
  }
  std::unique_ptr<TestDir> directory_;
};

TEST_F(RuntimeHandlersTest, AVirtualMachinesRuntimeMakesTheContainerAndKnowsTheSize) {
  const std::string pod = RunOn("vm", Announcing("1500m", "64Mi"));
  EXPECT_EQ(PodStatus(pod).runtime_handler(), "vm");
  const std::string id = Start(pod, Web("echo runs; sleep 1000"));
  EXPECT_THAT(Noted("calls"), HasSubstr("create"));
  EXPECT_THAT(Noted("calls"), HasSubstr(id));
  const std::string spec = Host()
                               .Read(absl::StrCat(node_.run_directory().substr(1),
                                                  "/oci/containers/", id, "/config.json"))
                               .value_or("");
  EXPECT_THAT(spec, HasSubstr(R"("io.kubernetes.cri.sandbox-cpu-quota":"150000")"));
  EXPECT_THAT(spec, HasSubstr(R"("io.kubernetes.cri.sandbox-memory":"67108864")"));
  EXPECT_THAT(spec, HasSubstr(R"("io.katacontainers.config.hypervisor.default_vcpus":"2")"));
  EXPECT_EQ(ExecOutput(id, "echo entered"), "entered\n");
}

TEST_F(RuntimeHandlersTest, OneThatWasNotStartedIsStillNotAfterARestart) {
  const std::string id = Create(RunOn("vm", Announcing("1", "64Mi")), Web("echo started"));
  node_.KillDaemon();
  ASSERT_TRUE(node_.StartDaemon().ok());
  EXPECT_EQ(Status(id).state(), cri::CONTAINER_CREATED);
  ASSERT_TRUE(TryStart(id).ok());
  EXPECT_EQ(AwaitExit(id).exit_code(), 0);
  EXPECT_EQ(Output(id), "started\n");
}

TEST_F(RuntimeHandlersTest, TheHandlerGoesAlongOrNothingChanges) {
  const std::string id = Start(RunOn("vm", Announcing("1", "64Mi")), Web("sleep 1000"));
  const grpc::Status done = ResizeTo(id, "3", 128 * kMiB);
  ASSERT_TRUE(done.ok()) << done.error_message();
  EXPECT_THAT(Noted("told"), HasSubstr(R"("size":{"vcpus":3,"memory_bytes":134217728)"));
  EXPECT_EQ(Status(id).resources().linux().memory_limit_in_bytes(), 128 * kMiB);
  Write("refuse", "");
  const grpc::Status refused = ResizeTo(id, "4", 256 * kMiB);
  EXPECT_EQ(refused.error_code(), grpc::StatusCode::FAILED_PRECONDITION);
  EXPECT_THAT(refused.error_message(), HasSubstr("the update command of runtime handler vm"));
  EXPECT_EQ(Status(id).resources().linux().memory_limit_in_bytes(), 128 * kMiB);
  EXPECT_EQ(Status(id).kubernetes_resources().limits().at("cpu").string(), "3");
}

// A client that announces the smaller pod first, as kubelet does.
TEST_F(RuntimeHandlersTest, ARefusedShrinkLeavesTheMachineAsItWas) {
  const std::string pod = RunOn("vm", Announcing("1", "128Mi"));
  cri::ContainerConfig config = Web("sleep 1000");
  config.mutable_linux()->mutable_resources()->set_memory_limit_in_bytes(128 * kMiB);
  const std::string id = Start(pod, config);
  ExecOutput(id, "head -c 41943040 /dev/zero > /dev/shm/used");
  const auto announce = [&](const std::string& memory) {
    cri::UpdatePodSandboxResourcesRequest request;
    request.set_pod_sandbox_id(pod);
    *request.mutable_pod_resources() = Announcing("1", memory).pod_resources();
    cri::UpdatePodSandboxResourcesResponse response;
    grpc::ClientContext context;
    return node_.runtime().UpdatePodSandboxResources(&context, request, &response);
  };
  const std::string large = R"("size":{"vcpus":1,"memory_bytes":134217728)";
  for (int tries = 0; tries < 2; ++tries) {
    const grpc::Status announced = announce("20Mi");
    ASSERT_TRUE(announced.ok()) << announced.error_message();
    const grpc::Status refused = ResizeTo(id, "1", 20 * kMiB);
    EXPECT_EQ(refused.error_code(), grpc::StatusCode::FAILED_PRECONDITION);
    EXPECT_EQ(Status(id).resources().linux().memory_limit_in_bytes(), 128 * kMiB);
    node_.KillDaemon();
    ASSERT_TRUE(node_.StartDaemon().ok());
  }
  EXPECT_THAT(Noted("told"), HasSubstr(large));
  EXPECT_THAT(Noted("told"), Not(HasSubstr(R"("memory_bytes":20971520)")));
  ASSERT_TRUE(announce("64Mi").ok());
  EXPECT_THAT(Noted("told"), Not(HasSubstr(R"("memory_bytes":67108864)")));
  const grpc::Status shrunk = ResizeTo(id, "1", 64 * kMiB);
  ASSERT_TRUE(shrunk.ok()) << shrunk.error_message();
  EXPECT_THAT(Noted("told"), HasSubstr(R"("memory_bytes":67108864)"));
}

TEST_F(RuntimeHandlersTest, AStopOfTheDaemonEndsTheCommandAndTheNextStartTellsWhatHolds) {
  const std::string id = Start(RunOn("vm", Announcing("1", "64Mi")), Web("sleep 1000"));
  const int64_t limit = Status(id).resources().linux().memory_limit_in_bytes();
  Write("slow", "");
  grpc::Status resized;
  std::thread client([&] { resized = ResizeTo(id, "3", 128 * kMiB); });
  EXPECT_TRUE(Eventually([&] { return !Noted("pid").empty(); }));
  const auto stopped = node_.StopDaemon();
  client.join();
  ASSERT_TRUE(stopped.ok()) << stopped.status();
  EXPECT_EQ(stopped->code, 0);
  EXPECT_FALSE(resized.ok());
  EXPECT_FALSE(Host().Exists("proc/" + Noted("pid"))) << "the command outlived the daemon";
  ASSERT_TRUE(node_.StartDaemon().ok());
  const std::string size = R"("size":{"vcpus":)";
  EXPECT_TRUE(Eventually([&] { return absl::StrContains(Noted("told"), size + "1,"); }))
      << Noted("told");
  EXPECT_GT(Noted("told").find(size + "1,"), Noted("told").find(size + "3,"));
  EXPECT_EQ(Status(id).resources().linux().memory_limit_in_bytes(), limit);
}

TEST_F(RuntimeHandlersTest, FixedIsFixedOverARestart) {
  const std::string pod = RunOn("fixed", Announcing("1", "64Mi"));
  cri::ContainerConfig other = Web("sleep 1000");
  (*other.mutable_kubernetes_resources()->mutable_limits())["cpu"].set_string("2");
  std::string id;
  const grpc::Status differs = TryCreate(pod, other, &id);
  EXPECT_EQ(differs.error_code(), grpc::StatusCode::FAILED_PRECONDITION);
  EXPECT_THAT(differs.error_message(), HasSubstr("limit of cpu is 2, announced was 1"));
  id = Start(pod, Web("sleep 1000"));
  ASSERT_TRUE(ResizeTo(id, "500m", 32 * kMiB).ok());
  node_.KillDaemon();
  ASSERT_TRUE(node_.StartDaemon().ok());
  const grpc::Status refused = ResizeTo(id, "500m", 65 * kMiB);
  EXPECT_EQ(refused.error_code(), grpc::StatusCode::FAILED_PRECONDITION);
  EXPECT_THAT(refused.error_message(), HasSubstr("announced were"));
  EXPECT_EQ(Status(id).resources().linux().memory_limit_in_bytes(), 32 * kMiB);
  EXPECT_TRUE(ResizeTo(id, "1", 64 * kMiB).ok());
}

TEST_F(RuntimeHandlersTest, AHandlerThatIsNotConfiguredIsRefused) {
  cri::RunPodSandboxRequest request;
  *request.mutable_config() = PodConfig();
  request.set_runtime_handler("other");
  cri::RunPodSandboxResponse response;
  grpc::ClientContext context;
  const grpc::Status status = node_.runtime().RunPodSandbox(&context, request, &response);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_THAT(status.error_message(), HasSubstr("or one of fixed, vm"));
}

// Four handlers beside the default: their features are those of their programs.
class HandlerFeaturesTest : public NodeTest {
 protected:
  HandlerFeaturesTest() : HandlerFeaturesTest(std::make_unique<TestDir>()) {}
  void SetUp() override {
    // Open to all, as user namespaces need it.
    ASSERT_EQ(chmod(node_.directory().c_str(), 0711), 0);
    NodeTest::SetUp();
  }
  std::string Program(const std::string& name) {
    return absl::StrCat(directory_->path(), "/", name);
  }
  std::map<std::string, cri::RuntimeHandlerFeatures> Features() {
    cri::StatusResponse response;
    grpc::ClientContext context;
    EXPECT_TRUE(node_.runtime().Status(&context, {}, &response).ok());
    std::map<std::string, cri::RuntimeHandlerFeatures> features;
    for (const cri::RuntimeHandler& handler : response.runtime_handlers()) {
      features[handler.name()] = handler.features();
    }
    return features;
  }
  std::string Limitations() {
    cri::StatusRequest request;
    request.set_verbose(true);
    cri::StatusResponse response;
    grpc::ClientContext context;
    EXPECT_TRUE(node_.runtime().Status(&context, request, &response).ok());
    return response.info().at("limitations");
  }
  grpc::Status TryRunOn(const std::string& handler, const cri::PodSandboxConfig& config,
                        std::string* id) {
    cri::RunPodSandboxRequest request;
    *request.mutable_config() = config;
    request.set_runtime_handler(handler);
    cri::RunPodSandboxResponse response;
    grpc::ClientContext context;
    const grpc::Status status = node_.runtime().RunPodSandbox(&context, request, &response);
    *id = response.pod_sandbox_id();
    return status;
  }

 private:
  explicit HandlerFeaturesTest(std::unique_ptr<TestDir> directory)
      : NodeTest(absl::StrCat(
            "runtime_handlers:\n  ours: {}\n  knows: {program: ", directory->path(),
            "/knows}\n  silent: {program: ", directory->path(),
            "/silent}\n  machine: {kind: vm, program: ", directory->path(), "/knows}\n")),
        directory_(std::move(directory)) {
    WriteProgram("knows", R"({"ociVersionMin": "1.0.0", "mountOptions": ["ro", "rro", "rw"]})");
    WriteProgram("silent", R"({"ociVersionMin": "1.0.0", "mountOptions": ["ro", "rw"]})");
  }
  // Reports these features itself and leaves the rest to crun.
  void WriteProgram(const std::string& name, const std::string& features) {
    const std::string crun = FindProgram("crun").value_or("/usr/bin/crun");
    EXPECT_TRUE(directory_->root()
                    .ReplaceFile(name,
                                 absl::StrCat("#!/bin/sh\nif [ \"$1\" = features ]; then echo '",
                                              features, "'; exit; fi\nexec ", crun, " \"$@\"\n"),
                                 0755)
                    .ok());
  }
  std::unique_ptr<TestDir> directory_;
};

TEST_F(HandlerFeaturesTest, AreThoseOfTheHandlersProgramAndKind) {
  std::map<std::string, cri::RuntimeHandlerFeatures> features = Features();
  ASSERT_EQ(features.size(), 5u);
  EXPECT_TRUE(features[""].recursive_read_only_mounts());
  EXPECT_TRUE(features["ours"].recursive_read_only_mounts());
  EXPECT_TRUE(features["knows"].recursive_read_only_mounts());
  EXPECT_TRUE(features["machine"].recursive_read_only_mounts());
  EXPECT_FALSE(features["silent"].recursive_read_only_mounts());
  EXPECT_THAT(Limitations(), HasSubstr(Program("silent")));
  EXPECT_THAT(Limitations(), Not(HasSubstr(Program("knows"))));
  for (const char* name : {"ours", "knows", "silent"}) {
    EXPECT_EQ(features[name].user_namespaces(), features[""].user_namespaces()) << name;
  }
  EXPECT_FALSE(features["machine"].user_namespaces());
  cri::PodSandboxConfig config = PodConfig();
  GiveUserNamespace(&config);
  std::string id;
  const grpc::Status refused = TryRunOn("machine", config, &id);
  EXPECT_EQ(refused.error_code(), grpc::StatusCode::FAILED_PRECONDITION);
  EXPECT_THAT(refused.error_message(), HasSubstr("runs pods in virtual machines"));
}

TEST_F(HandlerFeaturesTest, WhatAProgramDoesNotAnnounceIsRefused) {
  const std::string volume = absl::StrCat(node_.directory(), "/volume");
  ASSERT_TRUE(Host().MakeDirs(volume + "/below", 0755).ok());
  ASSERT_EQ(mount("plimsoll-test", (volume + "/below").c_str(), "tmpfs", 0, "size=64k"), 0);
  const absl::Cleanup unmount = [&] {
    // Processes that have just ended may hold it for a moment.
    absl::Status unmounted;
    EXPECT_TRUE(Eventually(
        [&] {
          unmounted = linux::UnmountBelow(Host(), volume);
          return unmounted.ok();
        },
        absl::Seconds(10)))
        << unmounted;
  };
  cri::ContainerConfig config =
      Shell("for at in /v /v/below; do touch $at/x 2>/dev/null; echo $?; done");
  cri::Mount* added = config.add_mounts();
  added->set_host_path(volume);
  added->set_container_path("/v");
  added->set_readonly(true);
  added->set_recursive_read_only(true);
  std::string pod;
  std::string id;
  const grpc::Status ran = TryRunOn("silent", PodConfig(), &pod);
  ASSERT_TRUE(ran.ok()) << ran.error_message();
  const grpc::Status refused = TryCreate(pod, config, &id);
  EXPECT_EQ(refused.error_code(), grpc::StatusCode::FAILED_PRECONDITION);
  EXPECT_THAT(refused.error_message(),
              HasSubstr(absl::StrCat("rro, but ", Program("silent"), " doesn't")));
  const grpc::Status also_ran = TryRunOn("knows", PodConfig(), &pod);
  ASSERT_TRUE(also_ran.ok()) << also_ran.error_message();
  id = Start(pod, config);
  AwaitExit(id);
  EXPECT_EQ(Output(id), "1\n1\n");
  // The mount in the volume is busy while the container's mounts exist.
  EXPECT_TRUE(RemoveContainer(id).ok());
}

// The machine's OCI runtimes, each as a handler: Debian 12's crun 1.8 and runc 1.1.
class OciRuntimesTest : public NodeTest, public ::testing::WithParamInterface<const char*> {
 protected:
  OciRuntimesTest()
      : NodeTest(absl::StrCat("runtime_handlers:\n  it: {program: ",
                              FindProgram(GetParam()).value_or("/missing"), "}\n")) {}
  void SetUp() override {
    // Open to all, as user namespaces need it.
    ASSERT_EQ(chmod(node_.directory().c_str(), 0711), 0);
    NodeTest::SetUp();
  }
  std::string Pod() { return Pod(PodConfig()); }
  std::string Pod(const cri::PodSandboxConfig& config) {
    cri::RunPodSandboxRequest request;
    *request.mutable_config() = config;
    request.set_runtime_handler("it");
    cri::RunPodSandboxResponse response;
    grpc::ClientContext context;
    const grpc::Status status = node_.runtime().RunPodSandbox(&context, request, &response);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return response.pod_sandbox_id();
  }
};

cri::ContainerConfig WithSeccomp(cri::ContainerConfig config,
                                 cri::SecurityProfile::ProfileType type, const std::string& path) {
  cri::SecurityProfile* seccomp =
      config.mutable_linux()->mutable_security_context()->mutable_seccomp();
  seccomp->set_profile_type(type);
  seccomp->set_localhost_ref(path);
  return config;
}

TEST_P(OciRuntimesTest, SeccompHoldsInTheProcessAndInCommands) {
  const std::string look =
      "grep ^Seccomp: /proc/self/status; unshare -U true 2>&1; mkdir /tmp/made 2>&1";
  const std::string wait = look + "; sleep 1000";
  const std::string pod = Pod();
  // The default profile alone refuses a user namespace.
  std::string id = Start(pod, WithSeccomp(Shell(wait), cri::SecurityProfile::RuntimeDefault, ""));
  EXPECT_TRUE(Eventually([&] { return absl::StrContains(Output(id), "unshare"); }));
  EXPECT_THAT(Output(id), HasSubstr("Seccomp:\t2\n"));
  EXPECT_THAT(Output(id), HasSubstr("Operation not permitted"));
  EXPECT_THAT(ExecOutput(id, look + "; true"), HasSubstr("Seccomp:\t2\n"));
  // A profile of one's own refuses a call that needs nothing else.
  const std::string profile = node_.directory() + "/profile.json";
  ASSERT_TRUE(Host()
                  .ReplaceFile(profile, R"({"defaultAction": "SCMP_ACT_ALLOW", "syscalls": [
                      {"names": ["mkdir", "mkdirat"], "action": "SCMP_ACT_ERRNO", "errnoRet": 122}
                      ]})",
                               0600)
                  .ok());
  cri::ContainerConfig local = WithSeccomp(Shell(wait), cri::SecurityProfile::Localhost, profile);
  local.mutable_metadata()->set_name("local");
  id = Start(pod, local);
  EXPECT_TRUE(Eventually([&] { return absl::StrContains(Output(id), "/tmp/made"); }));
  EXPECT_THAT(Output(id), HasSubstr("Seccomp:\t2\n"));
  EXPECT_THAT(Output(id), HasSubstr("quota exceeded"));
  EXPECT_THAT(ExecOutput(id, look + "; true"), HasSubstr("quota exceeded"));
  cri::ContainerConfig open = WithSeccomp(Shell(wait), cri::SecurityProfile::Unconfined, "");
  open.mutable_metadata()->set_name("open");
  id = Start(pod, open);
  EXPECT_THAT(ExecOutput(id, look + "; true"), HasSubstr("Seccomp:\t0\n"));
}

TEST_P(OciRuntimesTest, ContainersLiveAsWithTheDefault) {
  const std::string pod = Pod();
  const std::string id = Start(pod, Shell("trap 'echo ended; exit 7' TERM; echo runs; "
                                          "while :; do sleep 0.05; done"));
  EXPECT_TRUE(Eventually([&] { return Output(id) == "runs\n"; })) << Output(id);
  EXPECT_EQ(ExecOutput(id, "echo entered"), "entered\n");
  cri::ContainerConfig other = Shell("echo later");
  other.mutable_metadata()->set_name("other");
  const std::string created = Create(pod, other);
  // The state survives the daemon.
  node_.KillDaemon();
  ASSERT_TRUE(node_.StartDaemon().ok());
  EXPECT_EQ(Status(id).state(), cri::CONTAINER_RUNNING);
  EXPECT_EQ(Status(created).state(), cri::CONTAINER_CREATED);
  ASSERT_TRUE(TryStart(created).ok());
  EXPECT_EQ(AwaitExit(created).exit_code(), 0);
  EXPECT_EQ(Output(created), "later\n");
  EXPECT_EQ(ExecOutput(id, "echo entered again"), "entered again\n");
  ASSERT_TRUE(StopContainer(id, 10).ok());
  EXPECT_EQ(Status(id).exit_code(), 7);
  EXPECT_EQ(Output(id), "runs\nended\n");
  EXPECT_TRUE(RemoveContainer(id).ok());
  const std::string run = absl::StrCat(node_.run_directory().substr(1), "/oci/");
  EXPECT_FALSE(Host().Exists(absl::StrCat(run, "crun/", id)));
  EXPECT_FALSE(Host().Exists(absl::StrCat(run, "containers/", id)));
}

// Plimsoll maps the ids of layers and volumes itself: runc 1.1 has no id-mapped mounts.
TEST_P(OciRuntimesTest, UserNamespacesHaveMappedVolumes) {
  cri::PodSandboxConfig config = PodConfig();
  const cri::NamespaceOption options = GiveUserNamespace(&config);
  const std::string volume = absl::StrCat(node_.directory(), "/volume");
  ASSERT_TRUE(Host().MakeDirs(volume, 0755).ok());
  cri::ContainerConfig web =
      Shell("cat /proc/self/uid_map; touch /v/made; stat -c %u /v/made /bin");
  *web.mutable_linux()->mutable_security_context()->mutable_namespace_options() = options;
  cri::Mount* mount = web.add_mounts();
  mount->set_host_path(volume);
  mount->set_container_path("/v");
  MapIds({mount->add_uidmappings(), mount->add_gidmappings()});
  const std::string id = Start(Pod(config), web);
  EXPECT_EQ(AwaitExit(id).exit_code(), 0) << Output(id);
  EXPECT_THAT(Output(id), HasSubstr("300000      65536\n0\n0\n"));
  const auto made = Host().Stat(volume + "/made");
  ASSERT_TRUE(made.ok()) << made.status();
  EXPECT_EQ(made->st_uid, 0u);
}

INSTANTIATE_TEST_SUITE_P(Programs, OciRuntimesTest, ::testing::Values("crun", "runc"),
                         [](const auto& program) { return std::string(program.param); });

}  // namespace
}  // namespace plimsoll::testing
