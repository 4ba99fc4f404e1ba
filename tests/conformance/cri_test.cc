#include "conformance/cri_test.h"

#include <unistd.h>

#include <atomic>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/status.h"

namespace plimsoll::conformance {
namespace {

using ::testing::IsEmpty;

std::map<std::string, std::string>& Promises() {
  static auto& promises = *new std::map<std::string, std::string>();
  return promises;
}

// Another thread cleans up and ends the process: results from here on would be false.
void WaitIfClosed() {
  while (Session::Current()->closed()) absl::SleepFor(absl::Seconds(1));
}

}  // namespace

bool RememberPromise(const char* test, const char* promise) {
  Promises()[test] = promise;
  return true;
}

std::string PromiseOf(const std::string& test) {
  const auto found = Promises().find(test);
  return found == Promises().end() ? "" : found->second;
}

std::string Describe(const absl::Status& status) {
  return status.ToString(absl::StatusToStringMode::kWithNoExtraData);
}

bool Eventually(const std::function<bool()>& condition, absl::Duration within) {
  const absl::Time deadline = absl::Now() + Session::Current()->Patience(within);
  while (!condition()) {
    WaitIfClosed();
    if (absl::Now() > deadline) return false;
    absl::SleepFor(absl::Milliseconds(10));
  }
  return true;
}

void CriTest::SetUp() {
  WaitIfClosed();
  const absl::StatusOr<std::string> image = session_.BaseImage();
  if (absl::IsFailedPrecondition(image.status())) GTEST_SKIP() << image.status().message();
  ASSERT_OK(image);
}

void CriTest::TearDown() {
  WaitIfClosed();
  EXPECT_OK(session_.RemovePods());
  EXPECT_THAT(PodsOfRun(), IsEmpty());
}

std::string CriTest::NextName(const std::string& kind) {
  // Unique across tests: a name may stay taken while its old owner is being removed.
  static std::atomic<int> number = 0;
  return absl::StrCat(kind, "-", session_.run(), "-", ++number);
}

cri::PodSandboxConfig CriTest::PodConfig() {
  const std::string name = NextName("pod");
  cri::PodSandboxConfig config;
  config.mutable_metadata()->set_name(name);
  config.mutable_metadata()->set_namespace_("conformance");
  config.mutable_metadata()->set_uid(absl::StrCat("uid-", name));
  config.set_log_directory(session_.directory().PathOf(absl::StrCat("logs/", name)));
  EXPECT_OK(session_.directory().MakeDirs(absl::StrCat("logs/", name), 0755));
  (*config.mutable_labels())[kRunLabel] = session_.run();
  cri::NamespaceOption* namespaces = Security(&config)->mutable_namespace_options();
  namespaces->set_network(cri::NODE);
  namespaces->set_pid(cri::CONTAINER);
  return config;
}

cri::PodSandboxConfig CriTest::NetworkPodConfig() {
  cri::PodSandboxConfig config = PodConfig();
  Security(&config)->mutable_namespace_options()->set_network(cri::POD);
  config.set_hostname(config.metadata().name());
  return config;
}

cri::ContainerConfig CriTest::Shell(const std::string& script) {
  const std::string name = NextName("container");
  cri::ContainerConfig config;
  config.mutable_metadata()->set_name(name);
  config.mutable_image()->set_image(session_.BaseImage().value_or(""));
  for (const char* word : {"/bin/sh", "-c"}) config.add_command(word);
  config.add_command(script);
  config.set_log_path(absl::StrCat(name, ".log"));
  config.mutable_linux();
  return config;
}

cri::ContainerConfig CriTest::Sleeper() {
  // A shell that is process 1 gets only the signals that it handles; they interrupt wait.
  return Shell("trap 'exit 0' TERM; sleep 100000 & wait");
}

absl::StatusOr<std::string> CriTest::TryRunPod(const cri::PodSandboxConfig& config,
                                               const std::string& handler) {
  cri::RunPodSandboxRequest request;
  *request.mutable_config() = config;
  request.set_runtime_handler(handler);
  PLIMSOLL_ASSIGN_OR_RETURN(const auto response, client_.Ask<cri::RunPodSandboxResponse>(request));
  pods_[response.pod_sandbox_id()] = config;
  return response.pod_sandbox_id();
}

std::string CriTest::RunPod(const cri::PodSandboxConfig& config) {
  const absl::StatusOr<std::string> id = TryRunPod(config);
  EXPECT_OK(id) << "RunPodSandbox";
  return id.value_or("");
}

absl::StatusOr<std::string> CriTest::TryCreate(const std::string& pod,
                                               const cri::ContainerConfig& config) {
  cri::CreateContainerRequest request;
  request.set_pod_sandbox_id(pod);
  *request.mutable_config() = config;
  const auto of_pod = pods_.find(pod);
  *request.mutable_sandbox_config() = of_pod == pods_.end() ? PodConfig() : of_pod->second;
  // For each container kubelet names the pod's namespaces that it shares.
  cri::LinuxContainerSecurityContext& security = *Security(request.mutable_config());
  if (!security.has_namespace_options()) {
    *security.mutable_namespace_options() =
        request.sandbox_config().linux().security_context().namespace_options();
  }
  PLIMSOLL_ASSIGN_OR_RETURN(const auto response,
                            client_.Ask<cri::CreateContainerResponse>(request));
  return response.container_id();
}

std::string CriTest::Create(const std::string& pod, const cri::ContainerConfig& config) {
  const absl::StatusOr<std::string> id = TryCreate(pod, config);
  EXPECT_OK(id) << "CreateContainer";
  return id.value_or("");
}

absl::Status CriTest::TryStart(const std::string& container) {
  cri::StartContainerRequest request;
  request.set_container_id(container);
  return client_.Ask<cri::StartContainerResponse>(request).status();
}

absl::Status CriTest::TryCreateAndStart(const std::string& pod,
                                        const cri::ContainerConfig& config) {
  PLIMSOLL_ASSIGN_OR_RETURN(const std::string id, TryCreate(pod, config));
  return TryStart(id);
}

std::string CriTest::Start(const std::string& pod, const cri::ContainerConfig& config) {
  const std::string id = Create(pod, config);
  if (!id.empty()) {
    EXPECT_OK(TryStart(id)) << "StartContainer";
  }
  return id;
}

absl::Status CriTest::StopContainer(const std::string& container, int64_t timeout_seconds) {
  cri::StopContainerRequest request;
  request.set_container_id(container);
  request.set_timeout(timeout_seconds);
  return client_.Ask<cri::StopContainerResponse>(request).status();
}

absl::Status CriTest::RemoveContainer(const std::string& container) {
  cri::RemoveContainerRequest request;
  request.set_container_id(container);
  return client_.Ask<cri::RemoveContainerResponse>(request).status();
}

absl::Status CriTest::StopPod(const std::string& pod) {
  cri::StopPodSandboxRequest request;
  request.set_pod_sandbox_id(pod);
  return client_.Ask<cri::StopPodSandboxResponse>(request).status();
}

absl::Status CriTest::RemovePod(const std::string& pod) {
  cri::RemovePodSandboxRequest request;
  request.set_pod_sandbox_id(pod);
  return client_.Ask<cri::RemovePodSandboxResponse>(request).status();
}

absl::StatusOr<cri::ContainerStatus> CriTest::TryStatus(const std::string& container) {
  cri::ContainerStatusRequest request;
  request.set_container_id(container);
  PLIMSOLL_ASSIGN_OR_RETURN(const auto response,
                            client_.Ask<cri::ContainerStatusResponse>(request));
  return response.status();
}

cri::ContainerStatus CriTest::Status(const std::string& container) {
  const auto status = TryStatus(container);
  EXPECT_OK(status) << "ContainerStatus of " << container;
  return status.value_or(cri::ContainerStatus());
}

absl::StatusOr<cri::PodSandboxStatus> CriTest::TryPodStatus(const std::string& pod) {
  cri::PodSandboxStatusRequest request;
  request.set_pod_sandbox_id(pod);
  PLIMSOLL_ASSIGN_OR_RETURN(const auto response,
                            client_.Ask<cri::PodSandboxStatusResponse>(request));
  return response.status();
}

cri::PodSandboxStatus CriTest::PodStatus(const std::string& pod) {
  const auto status = TryPodStatus(pod);
  EXPECT_OK(status) << "PodSandboxStatus of " << pod;
  return status.value_or(cri::PodSandboxStatus());
}

std::vector<std::string> CriTest::ListContainers(const cri::ContainerFilter& filter) {
  cri::ListContainersRequest request;
  *request.mutable_filter() = filter;
  const auto response = client_.Ask<cri::ListContainersResponse>(request);
  EXPECT_OK(response) << "ListContainers";
  std::vector<std::string> ids;
  if (!response.ok()) return ids;
  for (const cri::Container& container : response->containers()) ids.push_back(container.id());
  return ids;
}

std::vector<std::string> CriTest::ListPods(const cri::PodSandboxFilter& filter) {
  cri::ListPodSandboxRequest request;
  *request.mutable_filter() = filter;
  const auto response = client_.Ask<cri::ListPodSandboxResponse>(request);
  EXPECT_OK(response) << "ListPodSandbox";
  std::vector<std::string> ids;
  if (!response.ok()) return ids;
  for (const cri::PodSandbox& pod : response->items()) ids.push_back(pod.id());
  return ids;
}

std::vector<std::string> CriTest::PodsOfRun() {
  cri::PodSandboxFilter filter;
  (*filter.mutable_label_selector())[kRunLabel] = session_.run();
  return ListPods(filter);
}

cri::ContainerStatus CriTest::AwaitExit(const std::string& container) {
  cri::ContainerStatus status;
  EXPECT_TRUE(Eventually(
      [&] {
        status = Status(container);
        return status.state() == cri::CONTAINER_EXITED || HasFailure();
      },
      absl::Seconds(60)))
      << "container " << container << " has not exited";
  return status;
}

}  // namespace plimsoll::conformance
