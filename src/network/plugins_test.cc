#include "network/plugins.h"

#include <signal.h>
#include <sys/stat.h>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "base/wait_until_for_test.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "network/plugins_for_test.h"
#include "network/result.h"

namespace plimsoll::network {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

class PluginsTest : public ::testing::Test {
 protected:
  Plugins Make(absl::Duration timeout = absl::Seconds(60)) {
    return Plugins(*FsRoot::Open("/"), {scripts_.path() + "/none", scripts_.bin()}, timeout,
                   [this](const std::string& text) { told_.push_back(text); });
  }
  static PluginCall Call(const std::string& input = "{}") {
    return {.command = "ADD",
            .container_id = "c1",
            .netns = "/run/ns",
            .ifname = "eth0",
            .args = "A=1",
            .input = input};
  }
  ScriptedPlugins scripts_;
  std::vector<std::string> told_;
};

TEST_F(PluginsTest, ItGetsItsParametersAndNothingElse) {
  ASSERT_EQ(setenv("PLIMSOLL_TEST_SECRET", "x", 1), 0);
  scripts_.Write("good", "echo out; echo warning >&2");
  const auto printed = Make().Run("good", Call(R"({"a": 1})"));
  ASSERT_TRUE(printed.ok()) << printed.status();
  EXPECT_EQ(*printed, "out\n");
  EXPECT_EQ(scripts_.InputOf("good", "ADD"), Json({{"a", 1}}));
  const auto environment = scripts_.EnvironmentOf("good", "ADD");
  for (const std::string& expected :
       {std::string("CNI_COMMAND=ADD"), std::string("CNI_CONTAINERID=c1"),
        std::string("CNI_NETNS=/run/ns"), std::string("CNI_IFNAME=eth0"),
        std::string("CNI_ARGS=A=1"),
        absl::StrCat("CNI_PATH=", scripts_.path(), "/none:", scripts_.bin())}) {
    EXPECT_THAT(environment, Contains(expected));
  }
  EXPECT_THAT(environment, Each(Not(StartsWith("PLIMSOLL_"))));
  EXPECT_THAT(told_, ::testing::ElementsAre("plugin good ADD: warning"));
}

TEST_F(PluginsTest, ADelWithoutANamespaceHasAnEmptyOne) {
  scripts_.Write("good", "");
  PluginCall call = Call();
  call.command = "DEL";
  call.netns.clear();
  ASSERT_TRUE(Make().Run("good", call).ok());
  EXPECT_THAT(scripts_.EnvironmentOf("good", "DEL"), Contains("CNI_NETNS="));
}

TEST_F(PluginsTest, ItsErrorIsTheError) {
  scripts_.Write("bad", R"(echo '{"code": 11, "msg": "busy"}'; exit 1)");
  const auto printed = Make().Run("bad", Call());
  EXPECT_TRUE(absl::IsUnavailable(printed.status())) << printed.status();
  EXPECT_EQ(printed.status().message(), "plugin bad ADD: busy (code 11)");
}

TEST_F(PluginsTest, WithoutAnErrorObjectItsWordsAre) {
  scripts_.Write("bad", "echo garbage; echo 'panic: oh' >&2; exit 3");
  const auto printed = Make().Run("bad", Call());
  EXPECT_TRUE(absl::IsInternal(printed.status())) << printed.status();
  EXPECT_EQ(printed.status().message(), "plugin bad ADD: exit code 3: panic: oh");
  scripts_.Write("bad", "kill -9 $$");
  EXPECT_THAT(Make().Run("bad", Call()).status().message(),
              AllOf(HasSubstr("killed by signal 9"), HasSubstr("said nothing")));
}

TEST_F(PluginsTest, OneThatHangsIsKilledWithAllItStarted) {
  scripts_.Write("hang", absl::StrCat("trap '' TERM\nsleep 1000 &\necho $! > ", scripts_.path(),
                                      "/pid\nwait"));
  const auto printed = Make(absl::Seconds(3)).Run("hang", Call());
  EXPECT_TRUE(absl::IsDeadlineExceeded(printed.status())) << printed.status();
  EXPECT_THAT(std::string(printed.status().message()), StartsWith("plugin hang ADD: "));
  const auto text = scripts_.root().Read("pid");
  ASSERT_TRUE(text.ok()) << "the machine gave the script no three seconds";
  pid_t pid = 0;
  ASSERT_TRUE(absl::SimpleAtoi(absl::StripAsciiWhitespace(*text), &pid));
  EXPECT_TRUE(WaitUntil([&] {
    const auto state = FsRoot::Open("/")->Read(absl::StrCat("proc/", pid, "/stat"));
    return !state.ok() || state->find(") Z ") != std::string::npos;
  }));
}

TEST_F(PluginsTest, ItMayHaveLessTime) {
  scripts_.Write("hang", "sleep 1000");
  const auto printed = Make().Run("hang", Call(), absl::Milliseconds(1));
  EXPECT_TRUE(absl::IsDeadlineExceeded(printed.status())) << printed.status();
}

TEST_F(PluginsTest, MegabytesAreCutOff) {
  scripts_.Write("much", "head -c 5000000 /dev/zero | tr '\\0' x");
  const auto printed = Make().Run("much", Call());
  EXPECT_TRUE(absl::IsInternal(printed.status())) << printed.status();
  EXPECT_THAT(printed.status().message(), HasSubstr("printed more than"));
  scripts_.Write("much", "head -c 5000000 /dev/zero | tr '\\0' x >&2; echo {}");
  const auto fine = Make().Run("much", Call());
  ASSERT_TRUE(fine.ok()) << fine.status();
  ASSERT_EQ(told_.size(), 1u);
  EXPECT_LT(told_[0].size(), 1100u);
}

TEST_F(PluginsTest, StandardInputThatNobodyReadsIsNoError) {
  ASSERT_TRUE(
      scripts_.root().ReplaceFile("bin/deaf", "#!/bin/sh\nexec 0<&-\necho {}\n", 0755).ok());
  const auto printed = Make().Run("deaf", Call(std::string(1 << 20, ' ')));
  ASSERT_TRUE(printed.ok()) << printed.status();
  EXPECT_EQ(*printed, "{}\n");
}

TEST_F(PluginsTest, AProgramIsLookedForInTheDirectoriesOnly) {
  EXPECT_TRUE(absl::IsNotFound(Make().Find("sh").status()));
  EXPECT_THAT(Make().Find("sh").status().message(),
              AllOf(HasSubstr("plugin sh"), HasSubstr(scripts_.bin())));
  ASSERT_TRUE(scripts_.root().MakeDirs("bin/directory").ok());
  EXPECT_THAT(Make().Find("directory").status().message(), HasSubstr("no regular file"));
  scripts_.Write("plain", "", 0644);
  EXPECT_THAT(Make().Find("plain").status().message(), HasSubstr("can't be executed"));
  scripts_.Write("open", "", 0777);
  EXPECT_THAT(Make().Find("open").status().message(), HasSubstr("written by everybody"));
  scripts_.Write("good", "");
  EXPECT_EQ(*Make().Find("good"), scripts_.bin() + "/good");
}

TEST_F(PluginsTest, TheFirstDirectoryCounts) {
  scripts_.Write("good", "echo second");
  ASSERT_TRUE(scripts_.root().MakeDirs("none", 0755).ok());
  ASSERT_TRUE(scripts_.root().ReplaceFile("none/good", "#!/bin/sh\necho first\n", 0755).ok());
  EXPECT_EQ(*Make().Run("good", Call()), "first\n");
}

}  // namespace
}  // namespace plimsoll::network
