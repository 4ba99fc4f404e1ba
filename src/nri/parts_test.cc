// The small parts of this room, each alone.
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/notification.h"
#include "base/wait_until_for_test.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nri/kept_messages.h"
#include "nri/known_objects.h"
#include "nri/makings.h"
#include "nri/notification_queue.h"
#include "nri/plugin_counts.h"
#include "nri/plugin_events.h"
#include "nri/plugin_name.h"
#include "nri/roster.h"
#include "nri/synchronize_chunks.h"
#include "nri/turn.h"

namespace plimsoll::nri {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

TEST(PluginNameTest, IsTwoDigitsAndAName) {
  EXPECT_EQ(ParsePluginName("07-a.b_c+d-E9")->Full(), "07-a.b_c+d-E9");
  for (const char* bad : {"", "1", "10", "10-", "1-a", "100-a", "x1-a", "10_a", "10-a b", "10-ä"}) {
    EXPECT_EQ(ParsePluginName(bad).status().code(), absl::StatusCode::kInvalidArgument) << bad;
  }
}

TEST(PluginNameTest, PoliciesGoByFullNameThenBaseNameThenDefault) {
  NriSettings config;
  config.policies["10-a"].strikes = 10;
  config.policies["a"].strikes = 20;
  config.default_policy.strikes = 30;
  EXPECT_EQ(PolicyOf(config, {"10", "a"}).strikes, 10);
  EXPECT_EQ(PolicyOf(config, {"11", "a"}).strikes, 20);
  EXPECT_EQ(PolicyOf(config, {"10", "b"}).strikes, 30);
}

TEST(PluginNameTest, PoliciesTakeFromTheDefaultOneWhatTheyDoNotSet) {
  NriSettings config;
  config.default_policy = {.required = true, .strikes = 30};
  config.policies["a"].strikes = 20;
  config.policies["b"].required = false;
  EXPECT_EQ(PolicyOf(config, {"10", "a"}), (PluginPolicy{.required = true, .strikes = 20}));
  EXPECT_EQ(PolicyOf(config, {"10", "b"}), (PluginPolicy{.required = false, .strikes = 30}));
  // A plugin that the configuration names is missed while it is absent.
  EXPECT_THAT(Roster(config).CheckRequired().message(),
              AllOf(HasSubstr("\"a\""), Not(HasSubstr("\"b\""))));
}

TEST(PluginEventsTest, EachEventHasABitAndAName) {
  for (int number = 1; number < static_cast<int>(api::LAST); ++number) {
    const auto subscription = Subscription::Read(1 << (number - 1));
    ASSERT_TRUE(subscription.ok());
    EXPECT_THAT(subscription->Names(), ElementsAre(EventName(static_cast<api::Event>(number))));
    EXPECT_STRNE(EventName(static_cast<api::Event>(number)), "Unknown");
  }
  EXPECT_THAT(Subscription::Read(0)->Names(), SizeIs(14));
  EXPECT_FALSE(Subscription::Read(0)->is_explicit());
  EXPECT_EQ(Subscription::Read(1 << 14).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_FALSE(Subscription::Read(-1).ok());
}

TEST(TurnTest, GoesInTheOrderOfAsking) {
  Turn turn;
  std::vector<int> order;
  std::vector<std::thread> threads;
  turn.Take();
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&, i] {
      const TurnHolder holder(&turn);
      order.push_back(i);
    });
    ASSERT_TRUE(WaitUntil([&] { return turn.waiting() == static_cast<uint64_t>(i) + 2; }));
  }
  turn.Give();
  for (std::thread& thread : threads) thread.join();
  EXPECT_THAT(order, ElementsAre(0, 1, 2, 3, 4, 5, 6, 7));
}

TEST(KnownObjectsTest, AStageIsReachedOnce) {
  KnownObjects known;
  EXPECT_FALSE(known.Advance("c", Stage::kStopped)) << "it isn't known";
  known.Add("c", Stage::kMaking);
  EXPECT_TRUE(known.Advance("c", Stage::kRunning));
  EXPECT_FALSE(known.Advance("c", Stage::kCreated));
  EXPECT_TRUE(known.Advance("c", Stage::kStopped));
  EXPECT_FALSE(known.Advance("c", Stage::kStopped));
  EXPECT_TRUE(known.Forget("c"));
  EXPECT_FALSE(known.Forget("c"));
}

AskedUpdate UpdateOf(const std::string& id) {
  AskedUpdate asked;
  asked.plugin = "10-a";
  asked.update.set_container_id(id);
  return asked;
}

TEST(MakingsTest, UpdatesAreKeptWhileTheMakingLasts) {
  std::vector<std::string> ended;
  Makings makings([&](const std::string& id) { ended.push_back(id); });
  EXPECT_FALSE(makings.Keep(UpdateOf("c1")));
  auto making = makings.Begin("c1");
  EXPECT_TRUE(makings.Keep(UpdateOf("c1")));
  EXPECT_FALSE(makings.Keep(UpdateOf("c2")));
  auto without_updates = makings.Begin("c3");
  without_updates.reset();
  EXPECT_THAT(ended, IsEmpty());
  making.reset();
  EXPECT_THAT(ended, ElementsAre("c1"));
  EXPECT_THAT(makings.TakeKept("c1"), SizeIs(1));
  EXPECT_THAT(makings.TakeKept("c1"), IsEmpty());
  EXPECT_FALSE(makings.Keep(UpdateOf("c1")));
}

TEST(MakingsTest, KeptUpdatesAreBounded) {
  Makings makings([](const std::string&) {});
  const auto making = makings.Begin("c1");
  size_t kept = 0;
  while (kept < 100'000 && makings.Keep(UpdateOf("c1"))) ++kept;
  EXPECT_EQ(kept, 256u);
}
TEST(MakingsTest, KeptUpdatesAreBoundedInBytes) {
  Makings makings([](const std::string&) {});
  const auto making = makings.Begin("c1");
  AskedUpdate large = UpdateOf("c1");
  (*large.update.mutable_linux()->mutable_resources()->mutable_unified())["a"] =
      std::string(500'000, 'x');
  EXPECT_TRUE(makings.Keep(large));
  EXPECT_TRUE(makings.Keep(large));
  EXPECT_FALSE(makings.Keep(large));
  EXPECT_THAT(makings.TakeKept("c1"), SizeIs(2));
  EXPECT_TRUE(makings.Keep(large));
}
TEST(MakingsTest, UpdatesOfAllThatHaveEndedCanBeTakenTogether) {
  Makings makings([](const std::string&) {});
  auto ends = makings.Begin("c1");
  const auto goes_on = makings.Begin("c2");
  EXPECT_TRUE(makings.Keep(UpdateOf("c1")));
  EXPECT_TRUE(makings.Keep(UpdateOf("c2")));
  ends.reset();
  EXPECT_THAT(makings.TakeAllEnded(), SizeIs(1));
  EXPECT_THAT(makings.TakeAllEnded(), IsEmpty());
  EXPECT_THAT(makings.TakeKept("c2"), SizeIs(1));
}

TEST(MakingsTest, AJoinWaitsForUnhookedOnesThatBeganBefore) {
  Makings makings([](const std::string&) {});
  auto hooked = makings.Begin("hooked");
  makings.MarkHooked("hooked");
  const auto never = [] { return false; };
  EXPECT_TRUE(makings.AwaitUnhooked(SteadyNow(), never));
  auto unhooked = makings.Begin("unhooked");
  EXPECT_FALSE(makings.AwaitUnhooked(SteadyNow(), never));
  EXPECT_FALSE(makings.AwaitUnhooked(kNever, [] { return true; }));
  absl::Notification waited;
  std::thread joiner([&] {
    EXPECT_TRUE(makings.AwaitUnhooked(kNever, never));
    waited.Notify();
  });
  unhooked.reset();
  waited.WaitForNotification();
  joiner.join();
  // Nobody knows what a plugin that ended has received.
  makings.ForgetHooked();
  EXPECT_FALSE(makings.AwaitUnhooked(SteadyNow(), never));
}

TEST(MakingsTest, AMakingMayEndAfterTheObject) {
  std::shared_ptr<void> making;
  {
    Makings makings([](const std::string&) { ADD_FAILURE() << "nobody listens"; });
    making = makings.Begin("c1");
    EXPECT_TRUE(makings.Keep(UpdateOf("c1")));
  }
  making.reset();
}

Notification Of(const std::string& id) {
  return {Notification::Kind::kContainerStopped, "p", id, {}};
}

TEST(NotificationQueueTest, SaysWhenItIsFullAndDropsAllAtTwiceThat) {
  NotificationQueue queue(3);
  EXPECT_TRUE(queue.Push(Of("1")));
  EXPECT_FALSE(queue.Push(Of("2")));
  EXPECT_FALSE(queue.IsFull());
  EXPECT_TRUE(queue.Push(Of("3")));
  EXPECT_TRUE(queue.IsFull());
  EXPECT_EQ(queue.Pop()->container_id, "1");
  EXPECT_FALSE(queue.IsFull());
  for (int i = 4; i <= 7; ++i) queue.Push(Of(absl::StrCat(i)));
  EXPECT_EQ(queue.size(), 6u);
  EXPECT_FALSE(queue.TakeLost());
  EXPECT_TRUE(queue.Push(Of("8")));
  EXPECT_EQ(queue.size(), 0u);
  EXPECT_FALSE(queue.empty()) << "the loss is news";
  EXPECT_TRUE(queue.TakeLost());
  EXPECT_FALSE(queue.TakeLost());
  EXPECT_TRUE(queue.empty());
  EXPECT_TRUE(queue.Push(Of("9")));
  EXPECT_EQ(queue.Pop()->container_id, "9");
}

TEST(NotificationTest, HasTheStateThatTheEventIsAbout) {
  runtime::ContainerRecord record;
  record.id = "c1";
  record.sandbox_id = "p1";
  record.state = runtime::ContainerState::kExited;
  record.exit_code = 137;
  record.reason = "OOMKilled";
  record.init.pid = 4711;
  runtime::Event event;
  event.type = runtime::EventType::kContainerStarted;
  event.container_id = "c1";
  auto started = Notification::Of(event, {.container = &record});
  ASSERT_TRUE(started.has_value());
  EXPECT_EQ(started->moment.state, api::CONTAINER_RUNNING);
  event.type = runtime::EventType::kContainerStopped;
  api::Container message;
  Notification::Of(event, {.container = &record})->moment.Set(&message);
  EXPECT_EQ(message.state(), api::CONTAINER_STOPPED);
  EXPECT_EQ(message.exit_code(), 137);
  EXPECT_EQ(message.status_reason(), "OOMKilled");
  EXPECT_EQ(message.pid(), 4711u);
  event.type = runtime::EventType::kImagePulled;
  EXPECT_FALSE(Notification::Of(event, {}).has_value());
}

TEST(ObjectsTest, KeepsWhatIsInTheMakingApart) {
  KeptMessages objects;
  api::PodSandbox pod;
  pod.set_id("p1");
  objects.KeepInMaking(pod);
  api::Container container;
  container.set_id("c1");
  objects.KeepInMaking(container);
  EXPECT_THAT(objects.PodsInMaking(), SizeIs(1));
  EXPECT_THAT(objects.ContainersInMaking(), SizeIs(1));
  objects.PodIsVisible("p1");
  objects.Keep(container);
  EXPECT_THAT(objects.PodsInMaking(), IsEmpty());
  EXPECT_THAT(objects.ContainersInMaking(), IsEmpty());
  EXPECT_EQ(objects.Pod("p1")->id(), "p1");
  objects.Forget("c1");
  EXPECT_EQ(objects.Container("c1"), nullptr);
  EXPECT_EQ(objects.size(), 1u);
}

TEST(PluginCountsTest, AnAnswerEndsStrikesAndMessagesAreBounded) {
  PluginCounts counts;
  const absl::Status late = absl::DeadlineExceededError("late");
  EXPECT_EQ(counts.Strike("CreateContainer", absl::Seconds(2), late), 1);
  EXPECT_EQ(counts.Strike("CreateContainer", absl::Seconds(2), late), 2);
  counts.Answered("CreateContainer", absl::Seconds(1),
                  absl::InternalError("a\n" + std::string(100'000, 'x')));
  EXPECT_EQ(counts.Strike("StartContainer", absl::Seconds(2), late), 1);
  EXPECT_EQ(counts.Strike("StopContainer", absl::Seconds(2), late), 2);
  counts.Answered("StartContainer", absl::Seconds(1), absl::OkStatus());
  // An answer to another request ends no row of this kind.
  EXPECT_EQ(counts.Strike("StopContainer", absl::Seconds(2), late), 2);
  counts.Connected();
  PluginReport report;
  counts.Fill(&report);
  EXPECT_EQ(report.strikes, 0);
  EXPECT_EQ(report.requests["CreateContainer"].count, 3u);
  EXPECT_EQ(report.requests["CreateContainer"].strikes, 2u);
  EXPECT_EQ(report.requests["CreateContainer"].errors, 1u);
  EXPECT_EQ(report.requests["CreateContainer"].longest, absl::Seconds(2));
  EXPECT_EQ(report.requests["CreateContainer"].total, absl::Seconds(5));
  EXPECT_EQ(report.last_error, "late");
  counts.Failed("a\n" + std::string(100'000, 'x'));
  counts.Fill(&report);
  EXPECT_LT(report.last_error.size(), 3000u);
  EXPECT_THAT(report.last_error, HasSubstr("a\\n"));
}

api::PodSandbox PodOf(size_t bytes, int number) {
  api::PodSandbox pod;
  pod.set_id(absl::StrCat(number));
  pod.set_name(std::string(bytes, 'x'));
  return pod;
}

TEST(SynchronizeChunksTest, AnEmptyNodeIsOneRequest) {
  const auto requests = ChunksOf({}, {});
  ASSERT_THAT(*requests, SizeIs(1));
  EXPECT_FALSE((*requests)[0].more());
}

TEST(SynchronizeChunksTest, LongListsAreCutAndKeepTheirOrder) {
  std::vector<api::PodSandbox> pods;
  std::vector<api::Container> containers;
  for (int i = 0; i < 100; ++i) {
    pods.push_back(PodOf(900, i));
    containers.emplace_back().set_id(absl::StrCat(i));
  }
  const auto requests = ChunksOf(pods, containers, 10'000);
  ASSERT_TRUE(requests.ok());
  EXPECT_GE(requests->size(), 9u);
  int pod = 0;
  int container = 0;
  for (size_t i = 0; i < requests->size(); ++i) {
    const api::SynchronizeRequest& request = (*requests)[i];
    EXPECT_EQ(request.more(), i + 1 < requests->size());
    EXPECT_LE(request.ByteSizeLong(), 10'000u);
    for (const auto& one : request.pods()) EXPECT_EQ(one.id(), absl::StrCat(pod++));
    for (const auto& one : request.containers()) EXPECT_EQ(one.id(), absl::StrCat(container++));
  }
  EXPECT_EQ(pod, 100);
  EXPECT_EQ(container, 100);
}

TEST(SynchronizeChunksTest, AnObjectThatNoMessageHoldsIsNamed) {
  EXPECT_THAT(*ChunksOf({PodOf(1'000'000, 1), PodOf(10, 2)}, {}), SizeIs(2));
  const auto too_long = ChunksOf({PodOf(5'000'000, 7)}, {});
  EXPECT_EQ(too_long.status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(too_long.status().message(), HasSubstr("pod 7"));
}

}  // namespace
}  // namespace plimsoll::nri
