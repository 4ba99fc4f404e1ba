// Containers whose program can't be executed: created, then Exited by their start with the reason,
// as kubelet expects (a Job that can't run must fail, not be pending for ever).
#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "harness/kernel.h"
#include "harness/node.h"

namespace plimsoll::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class StartErrorTest : public NodeTest {
 protected:
  // kill -9, followed by another daemon.
  void Kill() {
    node_.KillDaemon();
    const absl::Status started = node_.StartDaemon();
    ASSERT_TRUE(started.ok()) << started;
  }
  // kubelet 1.36's message for the container of a Job.
  cri::ContainerConfig JobsContainer(uint32_t attempt) {
    cri::ContainerConfig config;
    config.mutable_metadata()->set_name("worker");
    config.mutable_metadata()->set_attempt(attempt);
    config.mutable_image()->set_image("busybox");
    config.mutable_image()->set_user_specified_image("busybox");
    config.add_command("/app/no-such-program");
    config.add_args("--once");
    for (const auto& [key, value] : {std::pair("KUBERNETES_SERVICE_PORT", "443"),
                                     std::pair("KUBERNETES_SERVICE_HOST", "10.0.0.1")}) {
      cri::KeyValue* env = config.add_envs();
      env->set_key(key);
      env->set_value(value);
    }
    auto& labels = *config.mutable_labels();
    labels["io.kubernetes.container.name"] = "worker";
    labels["io.kubernetes.pod.name"] = "job-x7k2p";
    labels["io.kubernetes.pod.namespace"] = "default";
    auto& annotations = *config.mutable_annotations();
    annotations["io.kubernetes.container.restartCount"] = absl::StrCat(attempt);
    annotations["io.kubernetes.container.terminationMessagePath"] = "/dev/termination-log";
    annotations["io.kubernetes.container.terminationMessagePolicy"] = "File";
    annotations["io.kubernetes.pod.terminationGracePeriod"] = "30";
    config.set_log_path(absl::StrCat("worker/", attempt, ".log"));
    cri::LinuxContainerResources* resources = config.mutable_linux()->mutable_resources();
    resources->set_cpu_period(100000);
    resources->set_cpu_shares(102);
    resources->set_memory_limit_in_bytes(64 << 20);
    resources->set_oom_score_adj(1000);
    cri::LinuxContainerSecurityContext* security =
        config.mutable_linux()->mutable_security_context();
    security->mutable_namespace_options()->set_pid(cri::CONTAINER);
    security->mutable_run_as_user();
    for (const char* path : {"/proc/acpi", "/proc/kcore", "/proc/keys"}) {
      security->add_masked_paths(path);
    }
    security->mutable_seccomp()->set_profile_type(cri::SecurityProfile::Unconfined);
    return config;
  }
  std::string JobsPod() {
    cri::PodSandboxConfig config = PodConfig();
    config.set_log_directory(absl::StrCat(node_.directory(), "/log-of-pod"));
    EXPECT_TRUE(Host().MakeDirs(config.log_directory() + "/worker", 0755).ok());
    return RunPod(config);
  }
  void ExpectStartError(const std::string& id, const std::string& why) {
    const cri::ContainerStatus status = Status(id);
    EXPECT_EQ(status.state(), cri::CONTAINER_EXITED);
    EXPECT_EQ(status.exit_code(), 128);
    EXPECT_EQ(status.reason(), "StartError");
    EXPECT_THAT(status.message(), HasSubstr(why));
    EXPECT_EQ(status.started_at(), 0);
    EXPECT_GE(status.finished_at(), status.created_at());
  }
  void ExpectStartFails(const std::string& id, const std::string& why) {
    const grpc::Status started = TryStart(id);
    EXPECT_EQ(started.error_code(), grpc::StatusCode::FAILED_PRECONDITION) << why;
    EXPECT_THAT(started.error_message(), HasSubstr(why));
    ExpectStartError(id, why);
  }
  template <typename Response, typename Request, typename Call>
  grpc::Status Ask(Call call, const Request& request, Response* response) {
    grpc::ClientContext context;
    return (node_.runtime().*call)(&context, request, response);
  }
};

constexpr char kMissing[] = "command \"/app/no-such-program\" is not in the image";

TEST_F(StartErrorTest, AJobWhoseProgramIsMissingFails) {
  const std::string pod = JobsPod();
  for (uint32_t attempt = 0; attempt < 2; ++attempt) {
    const std::string id = Create(pod, JobsContainer(attempt));
    for (const bool killed : {false, true}) {
      if (killed) Kill();
      const cri::ContainerStatus status = Status(id);
      EXPECT_EQ(status.state(), cri::CONTAINER_CREATED);
      EXPECT_EQ(status.reason(), "");
      EXPECT_THAT(status.message(), HasSubstr(kMissing));
      EXPECT_EQ(status.resources().linux().cpu_shares(), 102);
    }
    ExpectStartFails(id, kMissing);
    Kill();
    ExpectStartError(id, kMissing);
    EXPECT_EQ(Status(id).resources().linux().cpu_shares(), 102);
    EXPECT_EQ(TryStart(id).error_code(), grpc::StatusCode::FAILED_PRECONDITION) << "once";
  }
  EXPECT_EQ(AwaitExit(Start(pod, Shell("exit 3"))).exit_code(), 3) << "the pod's others run";
}

TEST_F(StartErrorTest, EveryFaultOfTheWorkloadIsOne) {
  const std::string bad = absl::StrCat(node_.directory(), "/bad");
  ASSERT_TRUE(Host().MakeDirs(bad, 0755).ok());
  ASSERT_TRUE(Host().ReplaceFile(bad + "/data", "data\n", 0644).ok());
  ASSERT_TRUE(Host().ReplaceFile(bad + "/lost", "#!/no/such/interpreter\n", 0755).ok());
  ASSERT_TRUE(Host().ReplaceFile(bad + "/text", "text\n", 0755).ok());
  const std::string elf("\177ELF\002\002\001", 7);  // of 64 bit, the other byte order
  ASSERT_TRUE(Host().ReplaceFile(bad + "/foreign", elf + std::string(57, '\0'), 0755).ok());
  const std::string pod = RunPod();
  const auto with = [&](const std::string& command) {
    cri::ContainerConfig config = Shell("");
    config.clear_command();
    config.clear_args();
    config.add_command(command);
    cri::Mount* mount = config.add_mounts();
    mount->set_host_path(bad);
    mount->set_container_path("/bad");
    return config;
  };
  std::vector<std::pair<cri::ContainerConfig, std::string>> faults = {
      {with("no-such-program"), "is not in the image"},
      {with("/bad"), "can't be executed"},
      {with("/bad/data"), "can't be executed"},
      {with("/bad/lost"), "the interpreter that it names"},
      {with("/bad/text"), "neither a program nor a script"},
      {with("/bad/foreign"), "of another architecture"},
  };
  for (const char* directory : {"/bad/data", "/bad/data/below"}) {
    faults.emplace_back(with("/bin/true"), "working directory");
    faults.back().first.set_working_dir(directory);
  }
  faults.emplace_back(with("/bin/true"), "larger than the kernel takes");
  cri::KeyValue* env = faults.back().first.add_envs();
  env->set_key("BIG");
  env->set_value(std::string(140'000, 'x'));
  faults.emplace_back(with("/bin/true"), "larger than the kernel takes");
  for (int i = 0; i < 100; ++i) faults.back().first.add_args(std::string(100'000, 'y'));
  for (auto& [config, why] : faults) {
    const std::string id = Create(pod, config);
    if (!id.empty()) ExpectStartFails(id, why);
  }
}

TEST_F(StartErrorTest, WithoutAProcessEverythingElseIsAnswered) {
  const std::string pod = JobsPod();
  const std::string id = Create(pod, JobsContainer(0));
  for (const bool killed : {false, true}) {
    if (killed) Kill();
    cri::ExecSyncResponse output;
    EXPECT_EQ(Exec(id, {"true"}, &output).error_code(), grpc::StatusCode::FAILED_PRECONDITION);
    cri::ContainerStatsRequest stats;
    stats.set_container_id(id);
    cri::ContainerStatsResponse numbers;
    const grpc::Status counted = Ask(&cri::RuntimeService::Stub::ContainerStats, stats, &numbers);
    EXPECT_EQ(counted.error_code(), grpc::StatusCode::FAILED_PRECONDITION);
    EXPECT_THAT(counted.error_message(), HasSubstr(kMissing));
    cri::ListContainerStatsResponse all;
    EXPECT_TRUE(
        Ask(&cri::RuntimeService::Stub::ListContainerStats, cri::ListContainerStatsRequest(), &all)
            .ok());
    EXPECT_THAT(all.stats(), IsEmpty());
    cri::ListContainersResponse list;
    EXPECT_TRUE(
        Ask(&cri::RuntimeService::Stub::ListContainers, cri::ListContainersRequest(), &list).ok());
    ASSERT_THAT(list.containers(), SizeIs(1));
    EXPECT_EQ(list.containers(0).state(), cri::CONTAINER_CREATED);

    cri::LinuxContainerResources resources;
    resources.set_cpu_shares(killed ? 300 : 200);
    const grpc::Status updated = TryUpdate(id, resources);
    EXPECT_TRUE(updated.ok()) << updated.error_message();
    EXPECT_EQ(Status(id).resources().linux().cpu_shares(), killed ? 300 : 200);
  }
  EXPECT_TRUE(StopContainer(id, 60).ok());
  Kill();
  ExpectStartError(id, kMissing);
  EXPECT_EQ(Status(id).resources().linux().cpu_shares(), 300);
  EXPECT_TRUE(RemoveContainer(id).ok());

  const std::string removed = Create(pod, JobsContainer(1));
  Kill();
  EXPECT_TRUE(RemoveContainer(removed).ok());

  const std::string of_pod = Create(pod, JobsContainer(2));
  Kill();
  EXPECT_TRUE(StopPod(pod).ok());
  ExpectStartError(of_pod, kMissing);
}

TEST_F(StartErrorTest, EventsTellACreationAndAStop) {
  const std::string pod = JobsPod();
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() +
                       absl::ToChronoSeconds(Patience(absl::Seconds(60))));
  const auto reader = node_.runtime().GetContainerEvents(&context, {});
  reader->WaitForInitialMetadata();
  std::vector<std::string> ids = {Create(pod, JobsContainer(0))};
  EXPECT_FALSE(TryStart(ids[0]).ok());
  cri::ContainerConfig config = JobsContainer(1);
  config.clear_args();
  config.set_command(0, "/bin/true");
  config.mutable_envs(0)->set_value(std::string(140'000, 'x'));  // which the kernel refuses
  ids.push_back(Create(pod, config));
  EXPECT_FALSE(TryStart(ids[1]).ok());
  for (const std::string& id : ids) {
    for (const auto type : {cri::CONTAINER_CREATED_EVENT, cri::CONTAINER_STOPPED_EVENT}) {
      cri::ContainerEventResponse event;
      ASSERT_TRUE(reader->Read(&event));
      EXPECT_EQ(event.container_id(), id);
      EXPECT_EQ(event.container_event_type(), type) << id;
      for (const cri::ContainerStatus& status : event.containers_statuses()) {
        if (status.id() != id) continue;
        const bool is_over = type == cri::CONTAINER_STOPPED_EVENT;
        EXPECT_EQ(status.state(), is_over ? cri::CONTAINER_EXITED : cri::CONTAINER_CREATED);
        EXPECT_EQ(status.exit_code(), is_over ? 128 : 0);
        EXPECT_EQ(status.reason(), is_over ? "StartError" : "");
      }
    }
  }
  context.TryCancel();
  reader->Finish();
}

}  // namespace
}  // namespace plimsoll::testing
