#include "runtime/updates/handler_updates.h"

#include "absl/strings/str_cat.h"
#include "base/wait_until_for_test.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/handlers/handler.h"
#include "runtime/objects/parts_fixture_for_test.h"
#include "runtime/objects/sandbox_place.h"

namespace plimsoll::runtime {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class HandlerUpdatesTest : public PartsTest {
 protected:
  HandlerUpdatesTest() {
    EXPECT_TRUE(run_.MakeDirs("sandboxes/pod").ok());
    options_.handlers = &handlers_;
    Run("cat \"$1\" >> " + dir_.path() + "/told");
    SandboxRecord record = SandboxOf("pod");
    record.spec.runtime_handler = "vm";
    handlers_["vm"].is_vm = true;
    sandbox_ = Add(record);
  }
  // The update command is a shell script of this text.
  void Run(const std::string& body) {
    EXPECT_TRUE(
        dir_.root().ReplaceFile("command", absl::StrCat("#!/bin/sh\n", body, "\n"), 0755).ok());
    handlers_["vm"].update_command = {dir_.path() + "/command"};
  }
  absl::Status Tell() {
    HandlerTurn turn(sandbox_->turns, "pod");
    PLIMSOLL_RETURN_IF_ERROR(turn.status());
    report_ = {};
    const SandboxRecord now = sandbox_->Snapshot();
    return updates_.ReportBefore(now, {now}, turn, &report_);
  }
  // Reports an update that announces `memory` for all.
  absl::Status Tell(const std::string& memory) {
    HandlerTurn turn(sandbox_->turns, "pod");
    report_ = {};
    const SandboxRecord now = sandbox_->Snapshot();
    return updates_.ReportBefore(now, {Announcing(now, memory)}, turn, &report_);
  }
  void Announce(const std::string& memory) {
    absl::MutexLock lock(&sandbox_->mutex);
    sandbox_->record = Announcing(sandbox_->record, memory);
  }
  static SandboxRecord Announcing(SandboxRecord record, const std::string& memory) {
    AnnouncedContainer web = {.name = "web", .type = AnnouncedContainer::Type::kContainer};
    web.kubernetes_resources.limits["memory"] = memory;
    record.spec.pod_resources = {.containers = {web}};
    return record;
  }
  void Close(bool is_made) { updates_.Close("pod", is_made, &report_); }
  // The handler may have been told values that aren't in force.
  bool IsMarked() const { return run_.Exists(WantedFileOf("pod")); }
  std::string Told() const { return dir_.root().Read("told").value_or(""); }

  HandlerMap handlers_;
  PodPictures pictures_{options_, &objects_};
  PodHandlers pod_handlers_{options_, &pictures_};
  HandlerUpdates updates_{options_, &objects_, &pictures_, &pod_handlers_};
  std::shared_ptr<Sandbox> sandbox_;
  HandlerUpdates::SizeReport report_;
};

TEST_F(HandlerUpdatesTest, TheCommandIsToldAndTheMarkStandsUntilItHolds) {
  EXPECT_EQ(Tell(), absl::OkStatus());
  EXPECT_TRUE(report_.ran);
  EXPECT_THAT(Told(), HasSubstr(R"({"id":"pod","name":"pod")"));
  EXPECT_TRUE(IsMarked());
  Close(/*is_made=*/true);
  EXPECT_FALSE(report_.is_due);
  EXPECT_FALSE(IsMarked());
}

TEST_F(HandlerUpdatesTest, MoreIsToldBeforeAndLessAfterTheUpdate) {
  Announce("1Gi");
  ASSERT_TRUE(Tell("2Gi").ok());
  EXPECT_TRUE(report_.ran);
  EXPECT_THAT(Told(), HasSubstr("\"memory_bytes\":2147483648"));
  Close(/*is_made=*/false);
  EXPECT_TRUE(report_.is_due);

  updates_.ReportCurrent("pod", "");
  ASSERT_TRUE(dir_.root().RemoveFile("told").ok());
  ASSERT_TRUE(Tell("512Mi").ok());
  EXPECT_FALSE(report_.ran);
  EXPECT_EQ(Told(), "") << "the update may be refused";
  EXPECT_TRUE(IsMarked()) << "a start after a kill tells what is in force";
  Close(/*is_made=*/false);
  EXPECT_FALSE(report_.is_due);
  EXPECT_FALSE(IsMarked());

  ASSERT_TRUE(Tell("512Mi").ok());
  Announce("512Mi");
  Close(/*is_made=*/true);
  ASSERT_TRUE(report_.is_due);
  updates_.ReportCurrent("pod", "");
  EXPECT_THAT(Told(), HasSubstr("\"memory_bytes\":536870912"));
  EXPECT_FALSE(IsMarked());
}

// The size that the handler has is unknown.
TEST_F(HandlerUpdatesTest, WithAMarkFromBeforeLessIsToldOnceMoreAsItWas) {
  Announce("1Gi");
  ASSERT_TRUE(run_.ReplaceFile(WantedFileOf("pod"), "").ok());
  ASSERT_TRUE(Tell("512Mi").ok());
  EXPECT_TRUE(report_.ran);
  EXPECT_THAT(Told(), HasSubstr("\"memory_bytes\":1073741824"));
  Close(/*is_made=*/false);
  EXPECT_TRUE(report_.is_due);
}

TEST_F(HandlerUpdatesTest, AHandlerWithoutACommandIsNotTold) {
  handlers_["vm"].update_command.clear();
  EXPECT_EQ(Tell(), absl::OkStatus());
  EXPECT_FALSE(report_.ran);
  EXPECT_FALSE(IsMarked());
}

TEST_F(HandlerUpdatesTest, ACommandThatFailsMayHaveActed) {
  Run("exit 3");
  const absl::Status failed = Tell();
  EXPECT_TRUE(absl::IsFailedPrecondition(failed)) << failed;
  EXPECT_THAT(failed.message(), HasSubstr("the update command of runtime handler vm: "));
  EXPECT_TRUE(report_.ran);
  EXPECT_TRUE(IsMarked());
}

TEST_F(HandlerUpdatesTest, ACommandThatCantBeStartedHasNot) {
  handlers_["vm"].update_command = {"/none/command"};
  EXPECT_TRUE(absl::IsFailedPrecondition(Tell()));
  EXPECT_FALSE(report_.ran);
  Close(/*is_made=*/false);
  EXPECT_FALSE(report_.is_due);
  EXPECT_FALSE(IsMarked());
}

TEST_F(HandlerUpdatesTest, TheOldValuesAreToldIfOthersMayHaveBeen) {
  updates_.ReportCurrent("pod", "");
  EXPECT_EQ(Told(), "");
  ASSERT_TRUE(Tell().ok());
  const std::string once = Told();
  updates_.ReportCurrent("pod", "");
  EXPECT_EQ(Told(), once + once);
  EXPECT_FALSE(IsMarked());
  updates_.ReportCurrent("unknown", "");
}

TEST_F(HandlerUpdatesTest, AFailureToTellThemIsAWarningAndTheMarkStays) {
  ASSERT_TRUE(Tell().ok());
  Run("exit 3");
  updates_.ReportCurrent("pod", "c");
  EXPECT_THAT(Messages(EventType::kWarning),
              ElementsAre(HasSubstr("tell the runtime handler the pod's present resources")));
  EXPECT_TRUE(IsMarked());
}

TEST_F(HandlerUpdatesTest, APodThatStopsIsNotToldBack) {
  ASSERT_TRUE(Tell().ok());
  const std::string once = Told();
  {
    absl::MutexLock lock(&sandbox_->mutex);
    sandbox_->record.state = SandboxState::kNotReady;
  }
  updates_.ReportCurrent("pod", "");
  EXPECT_EQ(Told(), once);
}

TEST_F(HandlerUpdatesTest, AfterARestartOnlyAMarkedPodIsTold) {
  updates_.ReportCurrentLater("pod");
  ASSERT_TRUE(Tell().ok());
  updates_.ReportCurrentLater("pod");
  EXPECT_TRUE(WaitUntil([this] { return !IsMarked(); }));
  EXPECT_THAT(Messages(EventType::kWarning), IsEmpty());
}

TEST_F(HandlerUpdatesTest, CalledOffUpdatesFail) {
  updates_.CallOffAll();
  EXPECT_TRUE(absl::IsFailedPrecondition(Tell()));
  EXPECT_EQ(Told(), "");
}

TEST_F(HandlerUpdatesTest, OnlyPodsThatAreToldTakeTurns) {
  EXPECT_EQ(*updates_.SandboxThatTakesTurns("pod"), sandbox_);
  EXPECT_EQ(*updates_.SandboxThatTakesTurns("unknown"), nullptr);
  handlers_["vm"].update_command.clear();
  EXPECT_EQ(*updates_.SandboxThatTakesTurns("pod"), nullptr);
  EXPECT_EQ(updates_.TurnsOf(*Add(ContainerOf("c", "pod"))), sandbox_->turns);
  EXPECT_EQ(updates_.TurnsOf(*Add(ContainerOf("stray", "unknown"))), nullptr);
}

}  // namespace
}  // namespace plimsoll::runtime
