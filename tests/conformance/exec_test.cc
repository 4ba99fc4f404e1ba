// ExecSync.
#include <thread>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "conformance/cri_test.h"

namespace plimsoll::conformance {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

class ExecSyncTest : public CriTest {
 protected:
  void SetUp() override {
    CriTest::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    container_ = Start(RunPod(), Sleeper());
  }
  std::string container_;
};

PROMISE_TEST(ExecSyncTest, GivesBothStreamsAndTheExitCode,
             "ExecSync gives what the command wrote to standard output and standard error, apart, "
             "and its exit code") {
  const auto response =
      TryExec(container_, {"/bin/sh", "-c", "echo out; echo err >&2; echo more; exit 3"});
  ASSERT_OK(response);
  EXPECT_EQ(response->stdout(), "out\nmore\n");
  EXPECT_EQ(response->stderr(), "err\n");
  EXPECT_EQ(response->exit_code(), 3);
}

PROMISE_TEST(ExecSyncTest, SilenceIsEmpty,
             "A command that writes nothing gives empty output and 0") {
  const auto response = TryExec(container_, {"/bin/true"});
  ASSERT_OK(response);
  EXPECT_THAT(response->stdout(), IsEmpty());
  EXPECT_THAT(response->stderr(), IsEmpty());
  EXPECT_EQ(response->exit_code(), 0);
}

PROMISE_TEST(ExecSyncTest, DeathBySignalIs128AndItsNumber,
             "A command that dies of signal n has exit code 128+n") {
  for (const auto& [signal, code] : {std::pair("KILL", 137), {"TERM", 143}}) {
    const auto response =
        TryExec(container_, {"/bin/sh", "-c", absl::StrCat("kill -", signal, " $$; sleep 1000")});
    ASSERT_OK(response);
    EXPECT_EQ(response->exit_code(), code) << signal;
  }
}

PROMISE_TEST(ExecSyncTest, NoShellIsInvolved,
             "The words of cmd are the command's arguments as they are") {
  const auto response = TryExec(container_, {"/bin/printf", "%s|", "a b", "$HOME", "*", "\"", ""});
  ASSERT_OK(response);
  EXPECT_EQ(response->stdout(), "a b|$HOME|*|\"||");
}

PROMISE_TEST(ExecSyncTest, LargeOutputIsWhole,
             "Output of some MiB comes back whole, both streams at once") {
  const auto response = TryExec(container_, {"/bin/sh", "-c",
                                             "head -c 3000000 /dev/zero | tr '\\0' o; "
                                             "head -c 2000000 /dev/zero | tr '\\0' e >&2"});
  ASSERT_OK(response);
  EXPECT_TRUE(response->stdout() == std::string(3000000, 'o')) << response->stdout().size();
  EXPECT_TRUE(response->stderr() == std::string(2000000, 'e')) << response->stderr().size();
}

PROMISE_TEST(ExecSyncTest, BytesComeBackAsTheyAre, "Output may hold any bytes") {
  const auto response = TryExec(container_, {"/bin/printf", "a\\000\\377\\r\\nb"});
  ASSERT_OK(response);
  EXPECT_EQ(response->stdout(), std::string("a\0\377\r\nb", 6));
}

PROMISE_TEST(ExecSyncTest, TheTimeoutEndsTheCommand,
             "A command that runs longer than the timeout is killed, and the answer is "
             "DEADLINE_EXCEEDED; the container goes on") {
  const absl::Time before = absl::Now();
  const auto response = TryExec(container_, {"/bin/sh", "-c", "sleep 66666"}, 1);
  EXPECT_TRUE(absl::IsDeadlineExceeded(response.status())) << response.status();
  EXPECT_GE(absl::Now() - before, absl::Milliseconds(900));
  EXPECT_TRUE(Eventually([&] {
    return Exec(container_, "ps | grep -c '[s]leep 66666' || true") == "0\n";
  })) << Exec(container_, "ps");
  EXPECT_EQ(Status(container_).state(), cri::CONTAINER_RUNNING);
}

PROMISE_TEST(ExecSyncTest, NoTimeoutIsNone, "A timeout of 0 is none") {
  const auto response = TryExec(container_, {"/bin/sh", "-c", "sleep 3; echo done"}, 0);
  ASSERT_OK(response);
  EXPECT_EQ(response->stdout(), "done\n");
}

PROMISE_TEST(ExecSyncTest, RunsWhereAndAsTheContainerDoes,
             "The command has the container's namespaces, root, working directory, environment and "
             "user") {
  cri::ContainerConfig config =
      Shell("echo mine > /tmp/mark; trap 'exit 0' TERM; touch /tmp/ready; sleep 100000 & wait");
  config.set_working_dir("/var");
  cri::KeyValue* env = config.add_envs();
  env->set_key("COLOUR");
  env->set_value("red");
  Security(&config)->mutable_run_as_user()->set_value(1234);
  const std::string id = Start(RunPod(), config);
  AwaitFile(id, "/tmp/ready");
  EXPECT_EQ(Exec(id, "cat /tmp/mark; pwd; echo $COLOUR; id -u"), "mine\n/var\nred\n1234\n");
  for (const char* ns : {"pid", "mnt", "ipc", "net", "uts"}) {
    EXPECT_EQ(Exec(container_, absl::StrCat("readlink /proc/self/ns/", ns)),
              Exec(container_, absl::StrCat("readlink /proc/1/ns/", ns)))
        << ns;
  }
}

PROMISE_TEST(ExecSyncTest, AMissingCommandIsNamed,
             "A command that isn't there is an error, or exit code 126 or 127, with its name") {
  const auto response = TryExec(container_, {"/no/such/command"});
  if (response.ok()) {
    EXPECT_TRUE(response->exit_code() == 126 || response->exit_code() == 127)
        << response->exit_code();
    EXPECT_THAT(response->stderr(), HasSubstr("/no/such/command"));
  } else {
    EXPECT_THAT(std::string(response.status().message()), HasSubstr("/no/such/command"));
  }
}

PROMISE_TEST(ExecSyncTest, NeedsARunningContainer,
             "ExecSync in a container that isn't RUNNING, or isn't there, is an error") {
  const std::string created = Create(RunPod(), Sleeper());
  EXPECT_FALSE(TryExec(created, {"/bin/true"}).ok());
  ASSERT_OK(StopContainer(container_, 0));
  EXPECT_FALSE(TryExec(container_, {"/bin/true"}).ok());
  const auto unknown = TryExec(std::string(64, '0'), {"/bin/true"});
  EXPECT_TRUE(absl::IsNotFound(unknown.status())) << unknown.status();
}

PROMISE_TEST(ExecSyncTest, NoCommandIsRefused, "ExecSync without a command is an error") {
  const auto response = TryExec(container_, {});
  EXPECT_FALSE(response.ok());
  EXPECT_THAT(response.status().message(), Not(IsEmpty()));
}

PROMISE_TEST(ExecSyncTest, ManyAtOnce, "Commands in one container run side by side") {
  constexpr size_t kCommands = 12;
  std::vector<std::string> outputs(kCommands);
  std::vector<std::thread> threads;
  for (size_t i = 0; i < kCommands; ++i) {
    threads.emplace_back([&, i] {
      const auto response =
          TryExec(container_, {"/bin/sh", "-c", absl::StrCat("sleep 0.2; echo ", i)});
      outputs[i] = response.ok() ? response->stdout() : Describe(response.status());
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (size_t i = 0; i < kCommands; ++i) EXPECT_EQ(outputs[i], absl::StrCat(i, "\n"));
}

PROMISE_TEST(ExecSyncTest, EndsWhenItsContainerDoes,
             "A command that still runs when its container ends ends with it, and is answered") {
  std::thread command([&] {
    const auto response = TryExec(container_, {"/bin/sh", "-c", "touch /tmp/runs; sleep 100000"});
    EXPECT_FALSE(response.ok() && response->exit_code() == 0);
    EXPECT_FALSE(absl::IsDeadlineExceeded(response.status())) << response.status();
  });
  AwaitFile(container_, "/tmp/runs");
  EXPECT_OK(StopContainer(container_, 0));
  command.join();
}

}  // namespace
}  // namespace plimsoll::conformance
