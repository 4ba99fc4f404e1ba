// A wall clock that jumps by hours, forwards and back, while pods run and end. In the virtual
// machine only: other machines keep their time.
#include <time.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "base/monotonic_time.h"
#include "gmock/gmock.h"
#include "harness/kernel.h"
#include "harness/node.h"

namespace plimsoll::testing {
namespace {

using ::testing::ElementsAre;

constexpr absl::Duration kJump = absl::Hours(5);
// Time into a call, which lasts longer.
constexpr absl::Duration kUntilJump = absl::Seconds(1);
// absl::Now() reads the clock every two seconds or so, and extrapolates in between.
constexpr absl::Duration kUntilSeen = absl::Seconds(4);
// Tolerance between the machine's clock and recorded times.
constexpr absl::Duration kTick = absl::Seconds(5);

class ClockTest : public NodeTest {
 protected:
  void SetUp() override {
    if (getenv("PLIMSOLL_VM") == nullptr) GTEST_SKIP() << "sets the machine's clock";
    MonotonicNow();  // this process's monotonic time begins before the first jump
    NodeTest::SetUp();
  }
  void TearDown() override {
    if (jumped_ != absl::ZeroDuration()) JumpAndBeSeen(-jumped_);
    NodeTest::TearDown();
  }
  void Jump(absl::Duration by) {
    timespec now = {};
    ASSERT_EQ(clock_gettime(CLOCK_REALTIME, &now), 0);
    now = absl::ToTimespec(absl::TimeFromTimespec(now) + by);
    ASSERT_EQ(clock_settime(CLOCK_REALTIME, &now), 0) << strerror(errno);
    jumped_ += by;
  }
  // Later calls see the new time.
  void JumpAndBeSeen(absl::Duration by) {
    Jump(by);
    absl::SleepFor(kUntilSeen);
  }
  // The duration of `call`, during which the clock jumps.
  absl::Duration Across(absl::Duration by, const std::function<void()>& call) {
    const absl::Time begin = MonotonicNow();
    std::thread jump([&] {
      absl::SleepFor(kUntilJump);
      Jump(by);
    });
    call();
    const absl::Duration took = MonotonicNow() - begin;
    jump.join();
    absl::SleepFor(kUntilSeen);
    return took;
  }
  static absl::Time Moment(int64_t nanos) { return absl::FromUnixNanos(nanos); }

  absl::Duration jumped_;
};

TEST_F(ClockTest, AGracePeriodIsNeitherCutShortNorProlonged) {
  const std::string pod = RunPod();
  for (const absl::Duration by : {kJump, -kJump}) {
    SCOPED_TRACE(absl::FormatDuration(by));
    const std::string deaf =
        Start(pod, Shell("trap '' TERM; echo on; while :; do sleep 0.1; done"));
    ASSERT_TRUE(Eventually([&] { return Output(deaf) == "on\n"; }));
    const absl::Duration took = Across(by, [&] { EXPECT_TRUE(StopContainer(deaf, 4).ok()); });
    EXPECT_GE(took, absl::Seconds(4));
    EXPECT_LT(took, Patience(absl::Seconds(10)));
    EXPECT_EQ(Status(deaf).exit_code(), 137);

    const std::string slow =
        Start(pod, Shell("trap 'sleep 3; exit 7' TERM; echo on; while :; do sleep 0.1; done"));
    ASSERT_TRUE(Eventually([&] { return Output(slow) == "on\n"; }));
    EXPECT_LT(Across(by, [&] { EXPECT_TRUE(StopContainer(slow, 100).ok()); }),
              Patience(absl::Seconds(10)));
    EXPECT_EQ(Status(slow).exit_code(), 7) << "it has had its time";
    EXPECT_GE(Status(slow).finished_at(), Status(slow).started_at());
  }
}

TEST_F(ClockTest, ATimeoutOfACommandIsNeitherCutShortNorProlonged) {
  const std::string id = Start(RunPod(), Shell("sleep 1000"));
  for (const absl::Duration by : {kJump, -kJump}) {
    SCOPED_TRACE(absl::FormatDuration(by));
    cri::ExecSyncResponse response;
    const absl::Duration took = Across(by, [&] {
      EXPECT_EQ(Exec(id, {"sleep", "4321"}, &response, 3).error_code(),
                grpc::StatusCode::DEADLINE_EXCEEDED);
    });
    EXPECT_GE(took, absl::Seconds(3));
    EXPECT_LT(took, Patience(absl::Seconds(10)));
    EXPECT_TRUE(Eventually([] { return ProcessesWith("sleep 4321").empty(); }));
    Across(by, [&] {
      const grpc::Status done = Exec(id, {"sh", "-c", "sleep 2; echo done"}, &response, 100);
      EXPECT_TRUE(done.ok()) << done.error_message();
    });
    EXPECT_EQ(response.stdout(), "done\n");
  }
}

TEST_F(ClockTest, PodsAreStoppedAndRemovedAcrossAJump) {
  for (const absl::Duration by : {kJump, -kJump}) {
    SCOPED_TRACE(absl::FormatDuration(by));
    std::vector<std::string> pods;
    std::vector<std::string> containers;
    for (int i = 0; i < 3; ++i) {
      pods.push_back(RunPod());
      containers.push_back(Start(pods.back(), Shell("trap '' TERM; sleep 1000")));
      Start(pods.back(), Shell("exit 3"));
    }
    const absl::Duration took = Across(by, [&] {
      std::vector<std::thread> stops;
      for (const std::string& id : containers) {
        stops.emplace_back([this, id] { EXPECT_TRUE(StopContainer(id, 4).ok()); });
      }
      for (std::thread& stop : stops) stop.join();
    });
    EXPECT_LT(took, Patience(absl::Seconds(10)));
    for (const std::string& pod : pods) {
      grpc::Status status = StopPod(pod);
      EXPECT_TRUE(status.ok()) << status.error_message();
      status = RemovePod(pod);
      EXPECT_TRUE(status.ok()) << status.error_message();
    }
  }
}

// Times are those of the machine's clock then; the order stays.
TEST_F(ClockTest, LogsEventsAndStatusesTellTheTimeOfThen) {
  const std::string pod = RunPod();
  const std::string id = Start(pod, Shell("echo before; trap 'echo after; exit 0' TERM; "
                                          "while :; do sleep 0.1; done"));
  ASSERT_TRUE(Eventually([&] { return Output(id) == "before\n"; }));
  const absl::Time started = absl::Now();
  JumpAndBeSeen(-kJump);
  EXPECT_TRUE(StopContainer(id, 60).ok());
  const absl::Time ended = absl::Now();
  EXPECT_EQ(Output(id), "before\nafter\n");
  std::vector<absl::Time> times;
  const std::string log = *Host().Read(Status(id).log_path());
  for (absl::string_view line : absl::StrSplit(log, '\n', absl::SkipEmpty())) {
    std::string error;
    ASSERT_TRUE(absl::ParseTime(absl::RFC3339_full, line.substr(0, line.find(' ')),
                                &times.emplace_back(), &error))
        << line << error;
  }
  ASSERT_EQ(times.size(), 2u);
  EXPECT_LT(absl::AbsDuration(times[0] - started), Patience(kTick));
  EXPECT_LT(absl::AbsDuration(times[1] - ended), Patience(kTick));
  EXPECT_GE(Status(id).finished_at(), Status(id).started_at()) << "clients take the difference";
  EXPECT_LT(absl::AbsDuration(Moment(Status(id).started_at()) - started), Patience(kTick));

  std::vector<std::string> types;
  std::vector<absl::Time> told;
  grpc::ClientContext context;
  const auto reader = node_.node().ListEvents(&context, plimsoll::v1::ListEventsRequest());
  plimsoll::v1::Event event;
  while (reader->Read(&event)) {
    if (event.container_id() != id) continue;
    types.push_back(event.type());
    told.push_back(Moment(event.timestamp()));
  }
  EXPECT_TRUE(reader->Finish().ok());
  ASSERT_THAT(types, ElementsAre("ContainerCreated", "ContainerStarted", "ContainerStopped"));
  EXPECT_LT(absl::AbsDuration(told.front() - started), Patience(kTick));
  EXPECT_LT(absl::AbsDuration(told.back() - ended), Patience(kTick));
}

// The next daemon finds times in the future in its records.
TEST_F(ClockTest, ADaemonStartsAndServesAfterAJumpBack) {
  const std::string pod = RunPod();
  const std::string runs = Start(pod, Shell("trap 'exit 5' TERM; while :; do sleep 0.1; done"));
  const std::string ended = Start(pod, Shell("exit 3"));
  const int64_t finished_at = AwaitExit(ended).finished_at();
  node_.KillDaemon();
  JumpAndBeSeen(-kJump);
  const absl::Status started = node_.StartDaemon();
  ASSERT_TRUE(started.ok()) << started;
  EXPECT_EQ(Status(ended).exit_code(), 3);
  EXPECT_EQ(Status(ended).finished_at(), finished_at);
  EXPECT_EQ(Status(runs).state(), cri::CONTAINER_RUNNING);
  EXPECT_EQ(ExecOutput(runs, "echo here"), "here\n");
  EXPECT_TRUE(StopContainer(runs, 60).ok());
  EXPECT_EQ(Status(runs).exit_code(), 5);
  EXPECT_GE(Status(runs).finished_at(), Status(runs).started_at());
  const std::string next = Start(pod, Shell("exit 4"));
  EXPECT_EQ(AwaitExit(next).exit_code(), 4);
  // Unused images go, whatever their age is by the clock.
  for (const std::string& id : {runs, ended, next}) EXPECT_TRUE(RemoveContainer(id).ok());
  cri::RemoveImageRequest request;
  request.mutable_image()->set_image("busybox");
  cri::RemoveImageResponse response;
  grpc::ClientContext context;
  EXPECT_TRUE(node_.images().RemoveImage(&context, request, &response).ok());
  EXPECT_TRUE(Host().List(node_.state_directory() + "/images/layers")->empty());
}

}  // namespace
}  // namespace plimsoll::testing
