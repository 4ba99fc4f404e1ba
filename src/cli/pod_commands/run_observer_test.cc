#include "cli/pod_commands/run_observer.h"

#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "base/dir_for_test.h"
#include "base/fs_root.h"

namespace plimsoll::cli {
namespace {

// The printed text, each write behind "O " or "E " for its stream.
class RunObserverTest : public ::testing::Test {
 protected:
  RunObserverTest()
      : logs_(*FsRoot::Open("/"), /*colour=*/false, [this](absl::string_view text, bool is_stderr) {
          absl::StrAppend(&printed_, is_stderr ? "E " : "O ", text);
        }) {}

  TestDir dir_;
  std::string printed_;
  LogMux logs_;
};

TEST_F(RunObserverTest, SaysWhatBecomesOfThePod) {
  RunObserver observer(logs_, {.pod = "a web"});
  observer.OnStartRefused("app", "container \"app\": no such program \x1b");
  observer.OnRestart("app", 3, absl::Seconds(10));
  observer.OnRestartLost("app", absl::Seconds(20));
  observer.OnLoopbackAlone("no CNI network: /etc/cni \x1b isn't there");
  observer.OnWarning("clamped \x1b");
  observer.OnDeadline(60);
  observer.OnStop(30);
  observer.OnSlowStop({"app"}, 30);
  observer.OnSlowStop({"app", "db"}, 30);
  observer.OnKill();
  observer.OnMayBeLeft();
  EXPECT_EQ(printed_,
            "E pod a web: container \"app\": no such program \\x1b\n"
            "E pod a web: container app ended with exit code 3; restarting it in 10s\n"
            "E pod a web: container app got no answer as it was restarted; again in 20s\n"
            "E pod a web: note: has loopback alone (no CNI network: /etc/cni \\x1b isn't there)\n"
            "E pod a web: warning: clamped \\x1b\n"
            "E pod a web: has run for its activeDeadlineSeconds (60), and so it ends\n"
            "E pod a web: stopping, at most 30s; Ctrl-C again kills\n"
            "E pod a web: waiting up to 30s for container app to end after the stop signal; "
            "Ctrl-C kills at once\n"
            "E pod a web: waiting up to 30s for containers app, db to end after the stop signal; "
            "Ctrl-C kills at once\n"
            "E pod a web: killing\n"
            "E pod a web: may be left as it is. `plimsoll logs -f 'a web'` follows it, `plimsoll "
            "rm --force 'a web'` removes it.\n");
}

TEST_F(RunObserverTest, PrintsLogsBehindTheContainersName) {
  ASSERT_TRUE(
      dir_.root().ReplaceFile("a.log", "2026-11-21T00:17:09.669794202Z stdout F hello\n").ok());
  RunObserver observer(logs_, {.pod = "web", .prefix = "web/"});
  observer.OnPlan({"app", "longer"});
  observer.OnLogOpen("app", dir_.path() + "/a.log");
  observer.OnLogEnd("app");
  observer.OnLogEnd("app");  // as often as one likes
  EXPECT_EQ(printed_, "O web/app    | hello\n");
}

TEST_F(RunObserverTest, PrintsNoLogsWhereNoneAreWanted) {
  ASSERT_TRUE(
      dir_.root().ReplaceFile("a.log", "2026-11-21T00:17:09.669794202Z stdout F hello\n").ok());
  RunObserver observer(logs_, {.pod = "web", .prefix = "", .show_logs = false});
  observer.OnLogOpen("app", dir_.path() + "/a.log");
  observer.OnLogEnd("app");
  EXPECT_EQ(printed_, "");
}

}  // namespace
}  // namespace plimsoll::cli
