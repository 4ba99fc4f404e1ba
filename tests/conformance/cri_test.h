// The base of the suite's tests: a fixture with calls to the runtime, and a macro that names the
// promise of the contract that a test checks.
//
//   class SandboxTest : public CriTest {};
//   PROMISE_TEST(SandboxTest, StopsTwice, "StopPodSandbox of a stopped sandbox is no error") {
//     const std::string pod = RunPod();
//     for (int i = 0; i < 2; ++i) EXPECT_OK(StopPod(pod));
//   }
#ifndef PLIMSOLL_TESTS_CONFORMANCE_CRI_TEST_H_
#define PLIMSOLL_TESTS_CONFORMANCE_CRI_TEST_H_

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "conformance/client.h"
#include "conformance/session.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

// `promise`: the contract's promise, a sentence without its full stop; --list prints it.
#define PROMISE_TEST(fixture, name, promise)                                   \
  [[maybe_unused]] static const bool fixture##_##name##_has_promise =          \
      ::plimsoll::conformance::RememberPromise(#fixture "." #name, (promise)); \
  TEST_F(fixture, name)

#define EXPECT_OK(expression) \
  EXPECT_EQ(::plimsoll::conformance::Describe(expression), "OK") << #expression " "
#define ASSERT_OK(expression) \
  ASSERT_EQ(::plimsoll::conformance::Describe(expression), "OK") << #expression " "

namespace plimsoll::conformance {

// Keyed by "Fixture.Name". Returns true.
bool RememberPromise(const char* test, const char* promise);
std::string PromiseOf(const std::string& test);

// "OK" or the error.
std::string Describe(const absl::Status& status);
template <typename Value>
std::string Describe(const absl::StatusOr<Value>& result) {
  return Describe(result.status());
}

// Polls until the condition holds; false after that time (longer by the run's patience).
bool Eventually(const std::function<bool()>& condition, absl::Duration within = absl::Seconds(20));

// A line of a container's log.
struct LogLine {
  std::string time;    // as written in the log
  std::string stream;  // "stdout", "stderr"
  std::string tag;     // "F", "P"
  std::string text;
};

// Each test starts without pods of the run, and removes its own at the end. A function without
// "Try" in its name fails the test if its call fails.
class CriTest : public ::testing::Test {
 protected:
  CriTest() : session_(*Session::Current()), client_(session_.client()) {}
  void SetUp() override;
  void TearDown() override;

  // True if the runtime has no such call, for which a test is skipped; never for the build's own
  // plimsolld, which has all of them.
  bool IsLacking(const absl::Status& status) const {
    return absl::IsUnimplemented(status) && !session_.own_runtime();
  }

  // A pod with a name of its own, on the host's network, which every runtime has.
  cri::PodSandboxConfig PodConfig();
  // A pod with a network of its own.
  cri::PodSandboxConfig NetworkPodConfig();
  // A container that runs `script` in sh, with the suite's image.
  cri::ContainerConfig Shell(const std::string& script);
  // A container that runs until it is stopped, and then ends at once.
  cri::ContainerConfig Sleeper();
  // The default security context of a container, with the pod's namespaces.
  static cri::LinuxContainerSecurityContext* Security(cri::ContainerConfig* config) {
    return config->mutable_linux()->mutable_security_context();
  }
  static cri::LinuxSandboxSecurityContext* Security(cri::PodSandboxConfig* config) {
    return config->mutable_linux()->mutable_security_context();
  }

  absl::StatusOr<std::string> TryRunPod(const cri::PodSandboxConfig& config,
                                        const std::string& handler = "");
  absl::StatusOr<std::string> TryCreate(const std::string& pod, const cri::ContainerConfig& config);
  absl::Status TryStart(const std::string& container);
  // The error of creation or else of the start: the runtime decides where a fault shows.
  absl::Status TryCreateAndStart(const std::string& pod, const cri::ContainerConfig& config);
  std::string RunPod(const cri::PodSandboxConfig& config);
  std::string RunPod() { return RunPod(PodConfig()); }
  std::string Create(const std::string& pod, const cri::ContainerConfig& config);
  std::string Start(const std::string& pod, const cri::ContainerConfig& config);
  absl::Status StopContainer(const std::string& container, int64_t timeout_seconds);
  absl::Status RemoveContainer(const std::string& container);
  absl::Status StopPod(const std::string& pod);
  absl::Status RemovePod(const std::string& pod);

  absl::StatusOr<cri::ContainerStatus> TryStatus(const std::string& container);
  cri::ContainerStatus Status(const std::string& container);
  absl::StatusOr<cri::PodSandboxStatus> TryPodStatus(const std::string& pod);
  cri::PodSandboxStatus PodStatus(const std::string& pod);
  // Ids of containers and pods, in the list's order.
  std::vector<std::string> ListContainers(const cri::ContainerFilter& filter);
  std::vector<std::string> ListPods(const cri::PodSandboxFilter& filter);
  // The run's pods.
  std::vector<std::string> PodsOfRun();
  // Waits until it has exited.
  cri::ContainerStatus AwaitExit(const std::string& container);

  absl::StatusOr<cri::ExecSyncResponse> TryExec(const std::string& container,
                                                const std::vector<std::string>& command,
                                                int64_t timeout_seconds = 0);
  // The output of a shell command in the container, which must exit with 0.
  std::string Exec(const std::string& container, const std::string& script);
  // Waits until the file exists in the container.
  void AwaitFile(const std::string& container, const std::string& path);

  // Runs a container in a pod to its end and returns its output on both streams.
  std::string RunToEnd(const cri::ContainerConfig& config, const std::string& pod);
  std::string RunToEnd(const cri::ContainerConfig& config) { return RunToEnd(config, RunPod()); }
  // The log as written so far. A line that isn't of the CRI's form fails the test.
  std::vector<LogLine> Log(const std::string& container);
  // The log's text of one stream, or with an empty name of both.
  std::string Output(const std::string& container, const std::string& stream = "");

  // The runtime's answer to Status.
  cri::StatusResponse RuntimeStatus();
  // Features of the default handler, which has no name.
  cri::RuntimeHandlerFeatures DefaultHandlerFeatures();
  // Empty if the runtime has a pod network, else a reason to skip.
  std::string NoNetwork();
  // The name of an image of the run; empty, with the reason in `*why`, if there can be none.
  std::string Publish(const Recipe& recipe, const std::string& repository, std::string* why,
                      RegistryKind kind = RegistryKind::kPlain);
  absl::StatusOr<std::string> TryPull(const std::string& image, const cri::AuthConfig& auth = {});
  // ImageStatus's answer; an empty id if the image is absent.
  cri::Image ImageStatus(const std::string& image);

  // Makes a new directory on the host for this test; returns its path.
  std::string HostDirectory(const std::string& name);
  static std::string ReadHostFile(const std::string& path);
  static void WriteHostFile(const std::string& path, const std::string& text);

  std::string NextName(const std::string& kind);

  Session& session_;
  Client& client_;

 private:
  std::map<std::string, cri::PodSandboxConfig> pods_;  // by id
};

}  // namespace plimsoll::conformance

#endif  // PLIMSOLL_TESTS_CONFORMANCE_CRI_TEST_H_
