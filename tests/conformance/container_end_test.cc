// Ends of containers: exit codes, signals, stops and their grace, reasons, removal, restarts.
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "conformance/cri_test.h"

namespace plimsoll::conformance {
namespace {

using ::testing::HasSubstr;
using ::testing::UnorderedElementsAreArray;

class ContainerEndTest : public CriTest {
 protected:
  // A container that reports "ready" by a file, and exits with `code` on `signal`.
  cri::ContainerConfig EndsAt(const std::string& signal, int code) {
    return Shell(absl::StrCat("trap 'exit ", code, "' ", signal,
                              "; touch /tmp/ready; while :; do sleep 0.05; done"));
  }
  std::string StartReady(const cri::ContainerConfig& config) {
    const std::string id = Start(RunPod(), config);
    AwaitFile(id, "/tmp/ready");
    return id;
  }
  // In the host's PID namespace the process isn't process 1, to which the kernel delivers only
  // signals that it handles.
  cri::ContainerStatus EndInHostPidNamespace(const std::string& script) {
    cri::PodSandboxConfig pod = PodConfig();
    Security(&pod)->mutable_namespace_options()->set_pid(cri::NODE);
    return AwaitExit(Start(RunPod(pod), Shell(script)));
  }
};

PROMISE_TEST(ContainerEndTest, SuccessIsCompleted,
             "A container that ends with 0 has exit code 0 and the reason Completed") {
  const cri::ContainerStatus status = AwaitExit(Start(RunPod(), Shell("true")));
  EXPECT_EQ(status.exit_code(), 0);
  EXPECT_EQ(status.reason(), "Completed");
}

PROMISE_TEST(ContainerEndTest, FailureIsError,
             "A container that ends with another code has that code and the reason Error") {
  const std::string pod = RunPod();
  for (const int code : {1, 42, 255}) {
    const cri::ContainerStatus status = AwaitExit(Start(pod, Shell(absl::StrCat("exit ", code))));
    EXPECT_EQ(status.exit_code(), code);
    EXPECT_EQ(status.reason(), "Error");
  }
}

PROMISE_TEST(ContainerEndTest, DeathBySignalIs128AndItsNumber,
             "A container whose process dies of signal n has exit code 128+n") {
  EXPECT_EQ(EndInHostPidNamespace("kill -KILL $$; sleep 1000").exit_code(), 137);
  EXPECT_EQ(EndInHostPidNamespace("kill -TERM $$; sleep 1000").exit_code(), 143);
  EXPECT_EQ(EndInHostPidNamespace("kill -USR1 $$; sleep 1000").exit_code(), 138);
  EXPECT_EQ(EndInHostPidNamespace("kill -SEGV $$; sleep 1000").exit_code(), 139);
}

PROMISE_TEST(ContainerEndTest, AnOomKillIsToldOfItsLimit,
             "A container that dies by its memory limit has exit code 137 and the reason "
             "OOMKilled") {
  cri::ContainerConfig config = Shell("exec tail -c 1000000000 /dev/zero > /dev/null");
  config.mutable_linux()->mutable_resources()->set_memory_limit_in_bytes(20 << 20);
  const cri::ContainerStatus status = AwaitExit(Start(RunPod(), config));
  EXPECT_EQ(status.exit_code(), 137);
  EXPECT_EQ(status.reason(), "OOMKilled");
}

PROMISE_TEST(ContainerEndTest, StopSendsTermAndWaits,
             "StopContainer sends SIGTERM, waits for the end, and returns when the container is "
             "EXITED") {
  const std::string id = StartReady(EndsAt("TERM", 7));
  ASSERT_OK(StopContainer(id, 60));
  const cri::ContainerStatus status = Status(id);
  EXPECT_EQ(status.state(), cri::CONTAINER_EXITED);
  EXPECT_EQ(status.exit_code(), 7);
}

PROMISE_TEST(ContainerEndTest, StopKillsAfterTheGracePeriod,
             "StopContainer kills what still runs after the timeout, and not before") {
  const std::string id =
      StartReady(Shell("trap '' TERM; touch /tmp/ready; while :; do sleep 0.05; done"));
  const absl::Time before = absl::Now();
  ASSERT_OK(StopContainer(id, 2));
  EXPECT_GE(absl::Now() - before, absl::Milliseconds(1900));
  EXPECT_EQ(Status(id).state(), cri::CONTAINER_EXITED);
  EXPECT_EQ(Status(id).exit_code(), 137);
}

PROMISE_TEST(ContainerEndTest, StopWithoutGraceKillsAtOnce,
             "StopContainer with a timeout of 0 kills without a stop signal before") {
  const std::string id = StartReady(EndsAt("TERM", 7));
  ASSERT_OK(StopContainer(id, 0));
  EXPECT_EQ(Status(id).state(), cri::CONTAINER_EXITED);
  EXPECT_EQ(Status(id).exit_code(), 137);
}

PROMISE_TEST(ContainerEndTest, StopEndsAllItsProcesses,
             "After StopContainer no process of the container is left, whatever session it is in") {
  cri::PodSandboxConfig config = PodConfig();
  Security(&config)->mutable_namespace_options()->set_pid(cri::POD);
  const std::string pod = RunPod(config);
  const std::string watcher = Start(pod, Sleeper());
  const std::string id =
      Start(pod, Shell("setsid sleep 77777 & setsid sh -c 'sleep 77778 &'; touch /tmp/ready; "
                       "sleep 77779"));
  AwaitFile(id, "/tmp/ready");
  const std::string count = "ps | grep -c '[s]leep 7777' || true";
  EXPECT_NE(Exec(watcher, count), "0\n");
  ASSERT_OK(StopContainer(id, 0));
  EXPECT_TRUE(Eventually([&] { return Exec(watcher, count) == "0\n"; })) << Exec(watcher, "ps");
  EXPECT_EQ(Status(watcher).state(), cri::CONTAINER_RUNNING);
}

PROMISE_TEST(ContainerEndTest, StopMayBeAskedAgain,
             "StopContainer of a container that has exited is no error and changes nothing") {
  const std::string id = Start(RunPod(), Shell("exit 9"));
  const cri::ContainerStatus exited = AwaitExit(id);
  for (int i = 0; i < 2; ++i) EXPECT_OK(StopContainer(id, 1));
  EXPECT_EQ(Status(id).exit_code(), 9);
  EXPECT_EQ(Status(id).finished_at(), exited.finished_at());
}

PROMISE_TEST(ContainerEndTest, StopOfARemovedOneIsNoError,
             "StopContainer of a container that has been removed is no error") {
  const std::string id = Start(RunPod(), Shell("true"));
  AwaitExit(id);
  ASSERT_OK(RemoveContainer(id));
  EXPECT_OK(StopContainer(id, 1));
}

PROMISE_TEST(ContainerEndTest, TheConfigsStopSignalIsSent,
             "stop_signal of the container's config is what StopContainer sends, and status shows "
             "it") {
  cri::ContainerConfig config = EndsAt("USR1", 5);
  config.set_stop_signal(cri::SIGNAL_SIGUSR1);
  const std::string id = StartReady(config);
  if (Status(id).stop_signal() == cri::SIGNAL_RUNTIME_DEFAULT) {
    GTEST_SKIP() << "ContainerStatus shows no stop signal: the runtime is older than the field";
  }
  EXPECT_EQ(Status(id).stop_signal(), cri::SIGNAL_SIGUSR1);
  ASSERT_OK(StopContainer(id, 60));
  EXPECT_EQ(Status(id).exit_code(), 5);
}

PROMISE_TEST(ContainerEndTest, TheImagesStopSignalIsSent,
             "Without one in the config, StopContainer sends the image's stop signal") {
  std::string why;
  Recipe recipe;
  recipe.stop_signal = "SIGUSR2";
  const std::string image = Publish(recipe, "stopsignal:v1", &why);
  if (image.empty()) GTEST_SKIP() << why;
  ASSERT_OK(TryPull(image));
  cri::ContainerConfig config = EndsAt("USR2", 6);
  config.mutable_image()->set_image(image);
  const std::string id = StartReady(config);
  ASSERT_OK(StopContainer(id, 60));
  EXPECT_EQ(Status(id).exit_code(), 6);
}

PROMISE_TEST(ContainerEndTest, TheConfigsStopSignalGoesBeforeTheImages,
             "Where config and image both have a stop signal, the config's is sent") {
  std::string why;
  Recipe recipe;
  recipe.stop_signal = "SIGUSR2";
  const std::string image = Publish(recipe, "stopsignal:v2", &why);
  if (image.empty()) GTEST_SKIP() << why;
  ASSERT_OK(TryPull(image));
  cri::ContainerConfig config = EndsAt("USR1", 5);
  config.mutable_image()->set_image(image);
  config.set_stop_signal(cri::SIGNAL_SIGUSR1);
  const std::string id = StartReady(config);
  if (Status(id).stop_signal() == cri::SIGNAL_RUNTIME_DEFAULT) {
    GTEST_SKIP() << "ContainerStatus shows no stop signal: the runtime is older than the field";
  }
  ASSERT_OK(StopContainer(id, 60));
  EXPECT_EQ(Status(id).exit_code(), 5);
}

PROMISE_TEST(ContainerEndTest, RemovalEndsARunningOne,
             "RemoveContainer of a running container ends it by force and removes it") {
  const std::string id = Start(RunPod(), Sleeper());
  ASSERT_OK(RemoveContainer(id));
  EXPECT_TRUE(absl::IsNotFound(TryStatus(id).status())) << TryStatus(id).status();
}

PROMISE_TEST(ContainerEndTest, RemovalTakesOneThatNeverRan,
             "RemoveContainer of a container that was created and not started removes it") {
  const std::string id = Create(RunPod(), Sleeper());
  ASSERT_OK(RemoveContainer(id));
  EXPECT_TRUE(absl::IsNotFound(TryStatus(id).status())) << TryStatus(id).status();
}

PROMISE_TEST(ContainerEndTest, RemovalMayBeAskedAgain,
             "RemoveContainer of a container that has been removed is no error") {
  const std::string id = Start(RunPod(), Shell("true"));
  AwaitExit(id);
  for (int i = 0; i < 3; ++i) EXPECT_OK(RemoveContainer(id));
}

PROMISE_TEST(ContainerEndTest, TheLogOutlivesTheContainer,
             "RemoveContainer leaves the log, which is kubelet's") {
  const std::string id = Start(RunPod(), Shell("echo last words"));
  const std::string path = AwaitExit(id).log_path();
  ASSERT_OK(RemoveContainer(id));
  EXPECT_THAT(ReadHostFile(path), HasSubstr("last words"));
}

PROMISE_TEST(ContainerEndTest, ARestartStormIsKeptApart,
             "A container that is made again each time it ends, attempt by attempt, is listed once "
             "for each attempt, each with its own exit code; nothing fails") {
  constexpr int kAttempts = 20;
  const std::string pod = RunPod();
  const std::string name = NextName("restarting");
  std::vector<std::string> ids;
  for (int attempt = 0; attempt < kAttempts && !HasFailure(); ++attempt) {
    cri::ContainerConfig config = Shell(absl::StrCat("exit ", attempt));
    config.mutable_metadata()->set_name(name);
    config.mutable_metadata()->set_attempt(static_cast<uint32_t>(attempt));
    config.set_log_path(absl::StrCat(name, "-", attempt, ".log"));
    ids.push_back(Start(pod, config));
    EXPECT_EQ(AwaitExit(ids.back()).exit_code(), attempt);
  }
  for (size_t i = 0; i < ids.size(); ++i) {
    EXPECT_EQ(Status(ids[i]).exit_code(), static_cast<int>(i));
    EXPECT_EQ(Status(ids[i]).metadata().attempt(), i);
  }
  cri::ContainerFilter filter;
  filter.set_pod_sandbox_id(pod);
  EXPECT_THAT(ListContainers(filter), UnorderedElementsAreArray(ids));
}

PROMISE_TEST(ContainerEndTest, OneThatEndsAtOnceIsNotMissed,
             "A container that has ended before StartContainer returns is EXITED with its code, "
             "and StartContainer is no error") {
  const std::string pod = RunPod();
  for (int i = 0; i < 10; ++i) {
    cri::ContainerConfig config = Shell("");
    config.clear_command();
    config.add_command("/bin/false");
    const cri::ContainerStatus status = AwaitExit(Start(pod, config));
    EXPECT_EQ(status.exit_code(), 1);
    EXPECT_GT(status.started_at(), 0);
  }
}

PROMISE_TEST(
    ContainerEndTest, AProgramThatIsNotThereIsAnEnd,
    "A container whose program isn't in its image is created; StartContainer fails, and "
    "the container is EXITED with code 128 and reason StartError, as a Job needs to fail") {
  cri::ContainerConfig config = Shell("");
  config.clear_command();
  config.clear_args();
  config.add_command("/no/such/program");
  const std::string id = Create(RunPod(), config);
  ASSERT_FALSE(id.empty());
  EXPECT_EQ(Status(id).state(), cri::CONTAINER_CREATED);
  EXPECT_FALSE(TryStart(id).ok());
  const cri::ContainerStatus status = AwaitExit(id);
  EXPECT_EQ(status.exit_code(), 128);
  EXPECT_EQ(status.reason(), "StartError");
  EXPECT_THAT(status.message(), HasSubstr("/no/such/program"));
  EXPECT_GT(status.finished_at(), 0);
}

}  // namespace
}  // namespace plimsoll::conformance
