// Pulls while the wall clock jumps. This program's own clock_gettime(2) overrides the C library's.
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "absl/synchronization/notification.h"
#include "absl/time/clock.h"
#include "base/dir_for_test.h"
#include "base/monotonic_time.h"
#include "gtest/gtest.h"
#include "image/blob_streams.h"
#include "image/shared_pulls.h"

namespace {

std::atomic<time_t> wall_clock_jump = 0;  // seconds

}  // namespace

extern "C" int clock_gettime(clockid_t clock, struct timespec* now) noexcept {
  const long result = syscall(SYS_clock_gettime, clock, now);
  if (result == 0 && clock == CLOCK_REALTIME) now->tv_sec += wall_clock_jump;
  return static_cast<int>(result);
}

namespace plimsoll::image {
namespace {

constexpr time_t kHour = 3600;
constexpr absl::Duration kClockPatience = absl::Seconds(60);
constexpr char kClockDigest[] = "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824";

// Speaks the proxy's protocol, and sends "hello" as every blob in two parts, with a pause between.
constexpr char kSlowProxy[] = R"(
import json, os, socket, time
s = socket.socket(fileno=3)
def say(value=None, pipe=0, fds=[]):
    reply = {"success": True, "value": value, "pipeid": pipe, "error": ""}
    socket.send_fds(s, [json.dumps(reply).encode()], fds)
while text := s.recv(65536):
    method = json.loads(text)["method"]
    if method == "Initialize":
        say("0.2.4")
    elif method == "OpenImage":
        say(1)
    elif method == "GetBlob":
        out, end = os.pipe()
        say(5, 1, [out])
        os.close(out)
        os.write(end, b"hel")
        time.sleep(0.7)
        os.write(end, b"lo")
    elif method == "FinishPipe":
        os.close(end)
        say()
)";

class WallClockTest : public ::testing::Test {
 protected:
  void SetUp() override {
    MonotonicNow();  // begins before the jump
    before_ = absl::Now();
  }
  void TearDown() override {
    wall_clock_jump = 0;
    while (absl::Now() < before_) absl::SleepFor(absl::Milliseconds(50));
  }
  // absl::Now() reads the clock about every two seconds, and counts by itself in between.
  void JumpBack() {
    wall_clock_jump = -kHour;
    while (absl::Now() > before_) absl::SleepFor(absl::Milliseconds(50));
  }

  absl::Time before_;
};

TEST_F(WallClockTest, AStreamThatComesIsNoStallAfterAJumpBack) {
  JumpBack();
  TestDir dir;
  SkopeoProxy::Waiting waiting;
  waiting.stall_timeout = kClockPatience;
  waiting.translate = [](absl::string_view words) { return absl::UnknownError(words); };
  waiting.ended = [](absl::string_view how, absl::string_view) { return absl::UnknownError(how); };
  const BlobStreams streams(
      [waiting](const std::function<bool()>&) {
        Command command;
        command.argv = {"/usr/bin/python3", "-c", kSlowProxy};
        return SkopeoProxy::Start(std::move(command), waiting);
      },
      dir.root(), nullptr);
  const auto text = streams.ReadAll(kClockDigest, 5);
  ASSERT_TRUE(text.ok()) << text.status();
  EXPECT_EQ(*text, "hello");
}

TEST_F(WallClockTest, ADeadlineIsNotPutOffByAJumpBack) {
  SharedPulls pulls;
  SharedPulls::Caller caller;
  caller.key = {"a"};
  caller.what = "pull a";
  caller.timeout = absl::Seconds(1);
  caller.deadline = MonotonicNow() + caller.timeout;
  JumpBack();
  const absl::Time end = MonotonicNow() + absl::Seconds(20);
  const auto image = pulls.Join(
      caller,
      [end](const std::function<bool()>& cancelled, const ProgressFn&) -> absl::StatusOr<Image> {
        while (!cancelled() && MonotonicNow() < end) absl::SleepFor(absl::Milliseconds(20));
        return absl::UnavailableError("nobody has gone");
      });
  EXPECT_TRUE(absl::IsDeadlineExceeded(image.status())) << image.status();
}

}  // namespace
}  // namespace plimsoll::image
