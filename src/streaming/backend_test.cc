#include "streaming/backend.h"

#include <atomic>
#include <thread>

#include "absl/synchronization/notification.h"
#include "absl/time/clock.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/commands.h"

namespace plimsoll::streaming {
namespace {

using ::testing::HasSubstr;

// Commands whose PodSocket takes until `go`.
class SlowCommands final : public runtime::Commands {
 public:
  absl::StatusOr<runtime::ExecResult> ExecSync(absl::string_view,
                                               const runtime::ExecRequest&) override {
    return absl::UnimplementedError("");
  }
  absl::StatusOr<std::unique_ptr<runtime::RunningCommand>> StartExec(
      absl::string_view, const runtime::ExecRequest&) override {
    return absl::UnimplementedError("");
  }
  absl::StatusOr<runtime::AttachedContainer> Attach(absl::string_view, bool) override {
    return absl::UnimplementedError("");
  }
  absl::StatusOr<UniqueFd> PodSocket(absl::string_view, int) override {
    called.Notify();
    go.WaitForNotification();
    ended = true;
    return UniqueFd();
  }
  absl::Status ReopenLog(absl::string_view) override { return absl::OkStatus(); }

  absl::Notification called;
  absl::Notification go;
  std::atomic<bool> ended = false;
};

TEST(EngineBackend, LetsGoAfterTheCallsUnderWay) {
  SlowCommands commands;
  EngineBackend backend(&commands);
  std::thread caller([&] { EXPECT_TRUE(backend.PodSocket("pod", 0).ok()); });
  commands.called.WaitForNotification();
  std::thread leaver([&] {
    backend.LetGo();
    EXPECT_TRUE(commands.ended);
  });
  absl::SleepFor(absl::Milliseconds(20));  // the longer, the surer an early return is seen
  commands.go.Notify();
  caller.join();
  leaver.join();
  const absl::Status late = backend.PodSocket("pod", 0).status();
  EXPECT_TRUE(absl::IsUnavailable(late)) << late;
  EXPECT_THAT(std::string(late.message()), HasSubstr("restarted"));
  EXPECT_TRUE(absl::IsUnavailable(backend.Exec({}).status()));
  EXPECT_TRUE(absl::IsUnavailable(backend.Attach({}).status()));
}

}  // namespace
}  // namespace plimsoll::streaming
