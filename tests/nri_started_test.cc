// Plugins of the Node Resource Interface that the daemon starts and starts again.
#include <signal.h>

#include <algorithm>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "gmock/gmock.h"
#include "harness/kernel.h"
#include "harness/nri.h"

namespace plimsoll::testing {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;

class NriStartedTest : public NriTest {
 protected:
  explicit NriStartedTest(const std::string& hangs_in = "", const std::string& nri = "")
      : NriTest(nri) {
    Install("50-noter", ProgramPath("nri-test-plugin"));
    Configure("noter", absl::StrCat(nri_files_.path(), "/calls\n", hangs_in));
  }

  std::vector<std::string> Calls() const {
    return absl::StrSplit(nri_files_.root().Read("calls").value_or(""), '\n', absl::SkipEmpty());
  }
  bool AwaitCall(const std::string& call, int count = 1) const {
    return Eventually([&] {
      const std::vector<std::string> calls = Calls();
      return std::count(calls.begin(), calls.end(), call) >= count;
    });
  }
  // The process of its last start.
  pid_t Pid() const {
    pid_t pid = 0;
    for (const std::string& call : Calls()) {
      if (!absl::StartsWith(call, "Configure ")) continue;
      EXPECT_TRUE(absl::SimpleAtoi(call.substr(10), &pid));
    }
    return pid;
  }
  std::vector<std::string> Processes() const {
    return ProcessesWith(nri_files_.path() + "/plugins/50-noter");
  }
};

TEST_F(NriStartedTest, ItIsThereBeforeTheFirstPodAndGoesWithTheDaemon) {
  EXPECT_THAT(Calls(), Contains("Synchronize 0 0"));
  EXPECT_THAT(PluginsJson(), HasSubstr("50-noter"));
  const std::string container = Start(RunPod(), Shell("sleep 1000"));
  EXPECT_EQ(ExecOutput(container, "echo $NOTED"), "1\n");
  EXPECT_EQ(Processes().size(), 1u);
  ASSERT_TRUE(node_.StopDaemon().ok());
  EXPECT_TRUE(Eventually([&] { return Processes().empty(); }));
  EXPECT_THAT(Calls(), Contains("Shutdown"));
  ASSERT_TRUE(node_.StartDaemon().ok());
  EXPECT_TRUE(AwaitCall("Synchronize 1 1"));
}

TEST_F(NriStartedTest, AKilledOneIsStartedAgainAndSynchronised) {
  const std::string container = Start(RunPod(), Shell("sleep 1000"));
  const pid_t pid = Pid();
  ASSERT_GT(pid, 1);
  ASSERT_EQ(kill(pid, SIGKILL), 0);
  ASSERT_TRUE(AwaitCall("Synchronize 1 1"));
  EXPECT_NE(Pid(), pid);
  EXPECT_EQ(Processes().size(), 1u);
  const std::string next = Start(RunPod(), Shell("sleep 1000"));
  EXPECT_EQ(ExecOutput(next, "echo $NOTED"), "1\n");
  EXPECT_THAT(PluginsJson(), HasSubstr("\"restarts\":1"));
}

TEST_F(NriStartedTest, ADaemonKilledLeavesNoPluginBehind) {
  const pid_t pid = Pid();
  node_.KillDaemon();
  // The plugin's connection has ended.
  EXPECT_TRUE(Eventually([&] { return Processes().empty(); }));
  ASSERT_TRUE(node_.StartDaemon().ok());
  EXPECT_TRUE(AwaitCall("Synchronize 0 0", 2));
  EXPECT_NE(Pid(), pid);
  EXPECT_EQ(Processes().size(), 1u);
}

class NriHangsTest : public NriStartedTest {
 protected:
  NriHangsTest() : NriStartedTest("CreateContainer", "  request_timeout_ms: 60000\n") {}
};

TEST_F(NriHangsTest, KilledInItsHookItHoldsNobodyUp) {
  const std::string pod = RunPod();
  std::thread killer([&] {
    EXPECT_TRUE(Eventually([&] {
      for (const std::string& call : Calls()) {
        if (absl::StartsWith(call, "CreateContainer")) return true;
      }
      return false;
    }));
    EXPECT_EQ(kill(Pid(), SIGKILL), 0);
  });
  const std::string container = Start(pod, Shell("sleep 1000"));
  killer.join();
  EXPECT_EQ(ExecOutput(container, "echo ${NOTED-none}"), "none\n");
  EXPECT_TRUE(AwaitCall("Synchronize 1 1"));
}

class NriNamelessTest : public NriTest {
 protected:
  NriNamelessTest() {
    Install("noter", ProgramPath("nri-test-plugin"));     // no index
    Install("60-broken", "/bin/false");                   // never registers
    Install("70-noter", ProgramPath("nri-test-plugin"));  // refuses an empty configuration
  }
};

TEST_F(NriNamelessTest, TheDaemonServesWhateverBecomesOfThem) {
  EXPECT_FALSE(Start(RunPod(), Shell("sleep 1000")).empty());
  EXPECT_THAT(PluginsJson(), HasSubstr("60-broken"));
  // Their ends are logged beside the start, which waits for the ends alone.
  for (const char* name : {"60-broken", "70-noter"}) {
    EXPECT_TRUE(Eventually([&] { return absl::StrContains(node_.Log(), name); })) << node_.Log();
  }
}

}  // namespace
}  // namespace plimsoll::testing
