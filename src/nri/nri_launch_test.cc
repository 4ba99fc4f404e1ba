// Pre-installed plugins. The test program is the plugin: see IsPlugin.
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nri/nri_fixture_for_test.h"
#include "nri/plugin_files.h"

namespace plimsoll::nri {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// Writes its configuration and names to a file, and ends where its configuration says so.
class StartedPlugin : public Plugin {
 public:
  std::vector<api::Event> Events() const override { return {api::RUN_POD_SANDBOX}; }
  absl::Status Configure(const api::ConfigureRequest& request) override {
    if (request.config() == "exit") _exit(3);
    if (request.config() == "refuse") return absl::FailedPreconditionError("bad configuration");
    return absl::OkStatus();
  }
  absl::StatusOr<api::RunPodSandboxResponse> RunPodSandbox(
      const api::RunPodSandboxRequest& request) override {
    if (request.pod().id() == "die") _exit(4);
    if (request.pod().id() == "hang") pause();
    return api::RunPodSandboxResponse();
  }
};

// Runs the plugin, and no test, where the script of a test has started this program.
bool IsPlugin() {
  if (std::getenv("PLIMSOLL_TEST_PLUGIN") == nullptr) return false;
  StartedPlugin plugin;
  _exit(RunPlugin(plugin, {}).ok() ? 0 : 1);
}
[[maybe_unused]] const bool kIsPlugin = IsPlugin();

class NriLaunchTest : public NriFixture {
 protected:
  NriLaunchTest() {
    EXPECT_EQ(dir_.root().MakeDirs("plugins", 0755), absl::OkStatus());
    EXPECT_EQ(dir_.root().MakeDirs("conf.d", 0755), absl::OkStatus());
    options_.config.external = false;
  }
  void Install(const std::string& name, mode_t mode = 0755) {
    const absl::StatusOr<std::string> self = FsRoot::Open("/")->ReadLink("proc/self/exe");
    ASSERT_TRUE(self.ok());
    const std::string script = absl::StrCat("#!/bin/sh\nPLIMSOLL_TEST_PLUGIN=1 exec ", *self, "\n");
    ASSERT_EQ(dir_.root().ReplaceFile("plugins/" + name, script, mode), absl::OkStatus());
  }
  void Configure(const std::string& file, const std::string& text) {
    ASSERT_EQ(dir_.root().ReplaceFile("conf.d/" + file, text, 0644), absl::OkStatus());
  }
  static bool Runs(int64_t pid) { return kill(static_cast<pid_t>(pid), 0) == 0; }
};

TEST_F(NriLaunchTest, PluginsAreReadyWhenStartReturns) {
  Install("20-b");
  Install("10-a");
  Start();
  ASSERT_EQ(nri_->Report().size(), 2u);
  for (const PluginReport& report : nri_->Report()) {
    EXPECT_EQ(report.state, PluginState::kReady) << report.name;
    EXPECT_TRUE(report.pre_installed);
    EXPECT_TRUE(Runs(report.pid));
    EXPECT_THAT(report.events, ElementsAre("RunPodSandbox"));
  }
  EXPECT_EQ(RunPod("p1"), absl::OkStatus());
  EXPECT_EQ(ReportOf("10-a").requests["RunPodSandbox"].count, 1u);
  const int64_t pid = ReportOf("10-a").pid;
  nri_->Stop();
  EXPECT_TRUE(WaitUntil([&] { return !Runs(pid); }));
}

TEST_F(NriLaunchTest, AStopEndsTheProcessesOfAScript) {
  const std::string fifo = dir_.path() + "/held";
  ASSERT_EQ(mkfifo(fifo.c_str(), 0600), 0);
  const UniqueFd held(open(fifo.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  const std::string self = FsRoot::Open("/")->ReadLink("proc/self/exe").value_or("");
  const std::string script = absl::StrCat("#!/bin/sh\nsleep 1000 3>&- >", fifo,
                                          " &\nPLIMSOLL_TEST_PLUGIN=1 ", self, "\nwait\n");
  ASSERT_EQ(dir_.root().ReplaceFile("plugins/10-a", script, 0755), absl::OkStatus());
  Start();
  ASSERT_EQ(StateOf("10-a"), PluginState::kReady);
  char byte;
  ASSERT_TRUE(WaitUntil([&] { return read(held.get(), &byte, 1) < 0 && errno == EAGAIN; }));
  nri_->Stop();
  EXPECT_TRUE(WaitUntil([&] { return read(held.get(), &byte, 1) == 0; })) << "sleep goes on";
}

TEST_F(NriLaunchTest, ConfigurationIsThatOfTheFullNameFirst) {
  Install("10-a");
  Configure("a.conf", "exit");
  Configure("10-a.conf", "good");
  Start();
  EXPECT_EQ(StateOf("10-a"), PluginState::kReady);
}

TEST_F(NriLaunchTest, OneThatDiesIsStartedAgain) {
  Install("10-a");
  Start();
  const int64_t first = ReportOf("10-a").pid;
  EXPECT_EQ(RunPod("die"), absl::OkStatus());
  EXPECT_TRUE(WaitUntil(
      [&] { return StateOf("10-a") == PluginState::kReady && ReportOf("10-a").pid != first; }));
  EXPECT_EQ(ReportOf("10-a").restarts, 1);
  EXPECT_FALSE(Runs(first));
}

TEST_F(NriLaunchTest, OneThatHangsIsKilledAfterItsStrikesAndStartedAgain) {
  options_.config.request_timeout_ms = 1000;
  options_.config.default_policy.strikes = 1;
  Install("10-a");
  Start();
  const int64_t first = ReportOf("10-a").pid;
  EXPECT_EQ(RunPod("hang"), absl::OkStatus());
  EXPECT_TRUE(WaitUntil([&] { return !Runs(first); }));
  EXPECT_TRUE(WaitUntil([&] { return StateOf("10-a") == PluginState::kReady; }));
}

TEST_F(NriLaunchTest, OneThatAlwaysEndsIsTriedAgainAndReported) {
  Install("10-a");
  Configure("a.conf", "exit");
  Start();
  EXPECT_NE(StateOf("10-a"), PluginState::kReady);
  EXPECT_TRUE(WaitUntil([&] { return ReportOf("10-a").restarts >= 2; }));
  // A call that fails as the process ends is reported first.
  EXPECT_TRUE(WaitUntil([&] {
    return absl::StrContains(ReportOf("10-a").last_error, "; its process has ended: exit code ");
  })) << ReportOf("10-a").last_error;
  Configure("a.conf", "");
  EXPECT_TRUE(WaitUntil([&] { return StateOf("10-a") == PluginState::kReady; }));
}

TEST_F(NriLaunchTest, ARequiredOneThatIsNotThereFailsRequests) {
  options_.config.default_policy.required = true;
  Install("10-a");
  Configure("a.conf", "refuse");
  Start();
  EXPECT_TRUE(absl::IsUnavailable(RunPod("p1")));
  EXPECT_TRUE(ReportOf("10-a").required);
}

TEST_F(NriLaunchTest, OneThatIsRequiredByItsBaseNameIsReportedOnce) {
  options_.config.policies["a"].required = true;
  Install("10-a");
  Configure("a.conf", "refuse");
  Start();
  ASSERT_EQ(nri_->Report().size(), 1u);
  EXPECT_EQ(nri_->Report()[0].name, "10-a");
  EXPECT_TRUE(nri_->Report()[0].required);
  EXPECT_THAT(RunPod("p1").message(), HasSubstr("plugin \"10-a\" is not connected"));
}

TEST_F(NriLaunchTest, OneThatNeverRegistersIsReportedWithItsEnd) {
  options_.config.policies["a"].required = true;
  Install("10-a");
  ASSERT_TRUE(dir_.root().ReplaceFile("plugins/10-a", "#!/bin/sh\nexit 3\n", 0755).ok());
  Start();
  EXPECT_TRUE(WaitUntil([&] {
    return absl::StrContains(ReportOf("10-a").last_error, "its process has ended: exit code 3");
  }));
  // Required by its base name, it stands there once.
  EXPECT_EQ(nri_->Report().size(), 1u);
  EXPECT_TRUE(ReportOf("10-a").required);
  EXPECT_TRUE(absl::IsUnavailable(RunPod("p1")));
}

TEST_F(NriLaunchTest, FilesThatOthersMayWriteAreNotStarted) {
  Install("10-a", 0775);
  Install("20-b", 0757);
  Install("30-c", 0644);
  Install("not-a-plugin");
  Install("40-ok");
  Start();
  EXPECT_TRUE(WasTold("10-a"));
  EXPECT_THAT(ReportOf("10-a").last_error, HasSubstr("chmod go-w"));
  EXPECT_THAT(ReportOf("20-b").last_error, HasSubstr("chmod go-w"));
  EXPECT_EQ(ReportOf("30-c").name, "");
  EXPECT_TRUE(WasTold("not-a-plugin"));
  EXPECT_EQ(StateOf("40-ok"), PluginState::kReady);
}

TEST_F(NriLaunchTest, TheNameOfAPreInstalledOneIsNotForOthers) {
  options_.config.external = true;
  Install("10-a");
  Configure("a.conf", "exit");
  Start();
  TestPlugin& other = Add("10-a");
  EXPECT_THAT(Connect(other).message(), HasSubstr("10-a"));
}

TEST(PluginFilesTest, AnotherUsersFileIsRefused) {
  TestDir dir;
  ASSERT_EQ(dir.root().MakeDirs("p"), absl::OkStatus());
  const auto open = [&] { return OpenPlugin(dir.root(), "/p", {"10", "a"}).status(); };
  EXPECT_TRUE(absl::IsNotFound(open()));
  ASSERT_EQ(dir.root().ReplaceFile("p/10-a", "#!/bin/true\n", 0755), absl::OkStatus());
  EXPECT_EQ(open(), absl::OkStatus());
  ASSERT_EQ(chown((dir.path() + "/p/10-a").c_str(), 12345, 0), 0);
  EXPECT_THAT(open().message(), AllOf(HasSubstr("user 12345"), HasSubstr("p/10-a")));
  ASSERT_EQ(dir.root().ReplaceFile("p/10-a", "#!/bin/true\n", 0644), absl::OkStatus());
  EXPECT_THAT(open().message(), HasSubstr("not executable"));
  ASSERT_EQ(unlink((dir.path() + "/p/10-a").c_str()), 0);
  ASSERT_EQ(mkfifo((dir.path() + "/p/10-a").c_str(), 0755), 0);
  EXPECT_THAT(open().message(), HasSubstr("a FIFO"));
}

TEST(PluginFilesTest, FindsExecutablesWithNames) {
  TestDir dir;
  std::vector<std::string> warnings;
  const auto find = [&] {
    return FindPlugins(
        dir.root(), "/opt/nri/plugins",
        [&](const std::string& file, const std::string&) { warnings.push_back(file); });
  };
  EXPECT_THAT(*find(), IsEmpty());
  ASSERT_EQ(dir.root().MakeDirs("opt/nri/plugins/05-directory"), absl::OkStatus());
  for (const char* name : {"20-b", "10-a", "x", "README"}) {
    ASSERT_EQ(dir.root().ReplaceFile(absl::StrCat("opt/nri/plugins/", name), "",
                                     std::string(name) == "README" ? 0644 : 0755),
              absl::OkStatus());
  }
  EXPECT_THAT(*find(), ElementsAre(PluginName{"10", "a"}, PluginName{"20", "b"}));
  EXPECT_THAT(warnings, ElementsAre("/opt/nri/plugins/x"));
  // Plugins by name that can't run: a forgotten chmod, a link to nowhere.
  warnings.clear();
  ASSERT_EQ(unlink((dir.path() + "/opt/nri/plugins/x").c_str()), 0);
  ASSERT_EQ(chmod((dir.path() + "/opt/nri/plugins/10-a").c_str(), 0644), 0);
  ASSERT_EQ(symlink("/nowhere", (dir.path() + "/opt/nri/plugins/30-c").c_str()), 0);
  EXPECT_THAT(*find(), ElementsAre(PluginName{"20", "b"}));
  EXPECT_THAT(warnings, ElementsAre("/opt/nri/plugins/10-a", "/opt/nri/plugins/30-c"));
}

TEST(PluginFilesTest, ConfigurationIsOptionalAndBounded) {
  TestDir dir;
  const auto read = [&] { return ReadPluginConfig(dir.root(), "/etc/nri", {"10", "a"}); };
  EXPECT_EQ(*read(), "");
  ASSERT_EQ(dir.root().MakeDirs("etc/nri"), absl::OkStatus());
  ASSERT_EQ(dir.root().ReplaceFile("etc/nri/a.conf", "base"), absl::OkStatus());
  EXPECT_EQ(*read(), "base");
  ASSERT_EQ(dir.root().ReplaceFile("etc/nri/10-a.conf", std::string(2'000'000, 'x')),
            absl::OkStatus());
  EXPECT_TRUE(absl::IsResourceExhausted(read().status()));
}

}  // namespace
}  // namespace plimsoll::nri
