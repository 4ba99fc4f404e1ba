#include "kube/apiserver/watched.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/notification.h"
#include "base/wait_until_for_test.h"
#include "kube/apiserver/fake_api_client_for_test.h"

namespace plimsoll::kube {
namespace {

using nlohmann::json;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr char kClaims[] = "/apis/resource.k8s.io/v1/resourceclaims";
constexpr char kOfDefault[] = "/apis/resource.k8s.io/v1/namespaces/default/resourceclaims/";

class WatchedTest : public ::testing::Test {
 protected:
  void Start(WatchedOptions options = {}) {
    options.path = kClaims;
    options.retry = {.first = absl::Milliseconds(1),
                     .longest = absl::Milliseconds(4),
                     .jitter = [] { return 0; }};
    options.on_change = [this](const ObjectChange& change) {
      constexpr const char* kSigns[] = {"+", "~", "-"};
      const absl::MutexLock lock(&mutex_);
      told_.push_back(absl::StrCat(kSigns[static_cast<int>(change.kind)], change.key, "=",
                                   change.object->value("spec", 0)));
    };
    options.on_listed = [this] {
      const absl::MutexLock lock(&mutex_);
      ++lists_;
    };
    options.on_state = [this](const absl::Status& status) {
      const absl::MutexLock lock(&mutex_);
      states_.push_back(status);
    };
    watched_ = std::make_unique<Watched>(server_, std::move(options));
  }
  ~WatchedTest() override { End(); }
  void End() {
    server_.Stop();
    watched_.reset();
  }
  void Put(const std::string& name, int spec) { server_.Put(kOfDefault + name, {{"spec", spec}}); }
  bool AwaitWatch() {
    return WaitUntil([&] { return server_.watches() == 1; });
  }
  // The reports since the last call, once there are `count`.
  std::vector<std::string> TakeTold(size_t count) {
    EXPECT_TRUE(WaitUntil([&] {
      const absl::MutexLock lock(&mutex_);
      return told_.size() >= count;
    }));
    const absl::MutexLock lock(&mutex_);
    return std::exchange(told_, {});
  }
  bool AwaitLists(int count) {
    return WaitUntil([&] {
      const absl::MutexLock lock(&mutex_);
      return lists_ >= count;
    });
  }
  std::vector<absl::Status> states() {
    const absl::MutexLock lock(&mutex_);
    return states_;
  }

  FakeApiClient server_;
  absl::Mutex mutex_;
  std::vector<std::string> told_ ABSL_GUARDED_BY(mutex_);
  int lists_ ABSL_GUARDED_BY(mutex_) = 0;
  std::vector<absl::Status> states_ ABSL_GUARDED_BY(mutex_);
  std::unique_ptr<Watched> watched_;
};

TEST_F(WatchedTest, TellsWhatThereIsAndEveryChange) {
  Put("a", 1);
  Start();
  EXPECT_THAT(TakeTold(1), ElementsAre("+default/a=1"));
  ASSERT_TRUE(AwaitWatch());
  EXPECT_TRUE(watched_->listed());
  Put("b", 1);
  Put("a", 2);
  server_.Remove(std::string(kOfDefault) + "b");
  EXPECT_THAT(TakeTold(3), ElementsAre("+default/b=1", "~default/a=2", "-default/b=1"));
  EXPECT_EQ(watched_->Objects().size(), 1u);
  EXPECT_EQ((*watched_->Find("default/a"))["spec"], 2);
  EXPECT_FALSE(watched_->Find("default/b").has_value());
  EXPECT_TRUE(states().empty());
}

TEST_F(WatchedTest, ListsInPages) {
  for (const char* name : {"a", "b", "c", "d", "e"}) Put(name, 1);
  WatchedOptions options;
  options.page = 2;
  Start(std::move(options));
  EXPECT_EQ(TakeTold(5).size(), 5u);
  ASSERT_TRUE(AwaitWatch());
  EXPECT_THAT(server_.TakeLines(), Contains(HasSubstr("?limit=2&continue=4.105")));
}

TEST_F(WatchedTest, AsksForWhatIsSelected) {
  WatchedOptions options;
  options.name = "n1";
  options.field_selector = "spec.driver=d";
  options.label_selector = "a=b";
  Start(std::move(options));
  ASSERT_TRUE(AwaitWatch());
  EXPECT_THAT(server_.TakeLines(),
              ElementsAre(absl::StrCat("GET ", kClaims,
                                       "?limit=16&fieldSelector=spec.driver%3Dd%2C"
                                       "metadata.name%3Dn1&labelSelector=a%3Db"),
                          absl::StrCat("WATCH ", kClaims,
                                       "?watch=true&allowWatchBookmarks=true&resourceVersion=100&"
                                       "fieldSelector=spec.driver%3Dd%2Cmetadata.name%3Dn1&"
                                       "labelSelector=a%3Db")));
}

TEST_F(WatchedTest, ResumesFromABookmark) {
  Start();
  ASSERT_TRUE(AwaitWatch());
  server_.Put("/api/v1/nodes/other", {});  // moves the version on
  server_.TakeLines();
  server_.Bookmark();
  server_.EndWatches();
  std::vector<std::string> lines;
  EXPECT_TRUE(WaitUntil([&] {
    lines = server_.TakeLines();
    return !lines.empty();
  }));
  EXPECT_THAT(lines, ElementsAre(HasSubstr("WATCH")));
  EXPECT_THAT(lines, ElementsAre(HasSubstr("&resourceVersion=101")));
  Put("a", 1);
  EXPECT_THAT(TakeTold(1), ElementsAre("+default/a=1"));
}

TEST_F(WatchedTest, ListsAnewWhenTheVersionIsGone) {
  Put("a", 1);
  Put("b", 1);
  std::atomic<bool> is_armed = false;
  server_.BeforeEach([&](const ApiRequest&) {
    // Between the first watch and the next one, unseen.
    if (!is_armed.exchange(false)) return;
    server_.Remove(std::string(kOfDefault) + "a");
    Put("b", 2);
    Put("c", 3);
    server_.Compact();
  });
  Start();
  TakeTold(2);
  ASSERT_TRUE(AwaitWatch());
  server_.Fail("WATCH", "", absl::UnavailableError("restarts"), 1);
  is_armed = true;
  server_.EndWatches();
  EXPECT_THAT(TakeTold(3), ElementsAre("-default/a=1", "~default/b=2", "+default/c=3"));
  EXPECT_TRUE(AwaitLists(2));
  ASSERT_TRUE(AwaitWatch());
  const auto told = states();
  ASSERT_EQ(told.size(), 3u);
  EXPECT_TRUE(absl::IsUnavailable(told[0]));
  EXPECT_TRUE(absl::IsOutOfRange(told[1]));
  EXPECT_TRUE(told[2].ok());
  End();  // the hook refers to a local
}

TEST_F(WatchedTest, GoesOnAfterAnyError) {
  for (const auto code : {absl::StatusCode::kUnauthenticated, absl::StatusCode::kPermissionDenied,
                          absl::StatusCode::kNotFound, absl::StatusCode::kResourceExhausted,
                          absl::StatusCode::kOutOfRange, absl::StatusCode::kInvalidArgument}) {
    server_.Fail("GET", "", absl::Status(code, "list"));
    server_.Fail("WATCH", "", absl::Status(code, "watch"));
  }
  Start();
  EXPECT_TRUE(WaitUntil([&] { return states().size() >= 12 && server_.watches() == 1; }));
  Put("a", 1);
  EXPECT_THAT(TakeTold(1), ElementsAre("+default/a=1"));
}

TEST_F(WatchedTest, DoubtsAVersionThatFailsAgainAndAgain) {
  Start();
  ASSERT_TRUE(AwaitWatch());
  server_.Fail("WATCH", "", absl::UnavailableError("Too large resource version"), 3);
  server_.EndWatches();
  EXPECT_TRUE(AwaitLists(2));
  EXPECT_TRUE(AwaitWatch());
}

TEST_F(WatchedTest, ACollectionThatIsTooLargeIsNotKept) {
  Put("a", 1);
  Put("b", 1);
  WatchedOptions options;
  options.most_objects = 2;
  Start(std::move(options));
  TakeTold(2);
  ASSERT_TRUE(AwaitWatch());
  Put("c", 1);
  EXPECT_TRUE(WaitUntil([&] { return states().size() >= 3; }));
  EXPECT_EQ(states()[0].code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(watched_->Objects().size(), 2u);
  server_.Remove(std::string(kOfDefault) + "a");
  EXPECT_THAT(TakeTold(2), ElementsAre("-default/a=1", "+default/c=1"));
}

// A server whose answers a test writes: the fake is never wrong.
class Liar : public ApiClient {
 public:
  absl::StatusOr<json> Call(const ApiRequest&, absl::Duration) override {
    const absl::MutexLock lock(&mutex_);
    if (lists_.empty()) return absl::CancelledError("told all");
    json list = lists_.front();
    lists_.erase(lists_.begin());
    return list;
  }
  absl::Status Watch(const std::string&, const std::function<bool(WatchEvent)>& on_event) override {
    for (const WatchEvent& event : events_) {
      if (!on_event(event)) break;
    }
    return absl::OkStatus();
  }
  void Stop() override {}

  absl::Mutex mutex_;
  std::vector<json> lists_;
  std::vector<WatchEvent> events_;
};

json Claim(const std::string& name, const std::string& version) {
  return {{"metadata", {{"name", name}, {"resourceVersion", version}}}};
}

json ListOf(const std::string& version, json items) {
  return {{"kind", "ClaimList"},
          {"metadata", {{"resourceVersion", version}}},
          {"items", std::move(items)}};
}

WatchedOptions OfClaims() {
  WatchedOptions options;
  options.path = "/api/v1/claims";
  options.retry = {
      .first = absl::Milliseconds(1), .longest = absl::Milliseconds(1), .jitter = [] { return 0; }};
  return options;
}

TEST(WatchedLies, AreNoLists) {
  Liar liar;
  json endless = ListOf("1", json::array());
  endless["metadata"]["continue"] = "more";
  liar.lists_ = {json::object(),
                 {{"kind", "Status"}, {"items", json::array()}},
                 ListOf("", json::array()),
                 ListOf("1", "text"),
                 ListOf("1", json::array({1})),
                 ListOf("1", json::array({{{"metadata", {{"name", 7}}}}})),
                 endless};
  WatchedOptions options;
  std::vector<std::string> complaints;
  options.path = "/api/v1/claims";
  options.retry = {.first = absl::Milliseconds(1), .longest = absl::Milliseconds(1), .jitter = {}};
  options.on_state = [&](const absl::Status& status) {
    EXPECT_TRUE(absl::IsUnavailable(status)) << status;
    complaints.emplace_back(status.message());
  };
  {
    const Watched watched(liar, options);
    EXPECT_TRUE(WaitUntil([&] {
      const absl::MutexLock lock(&liar.mutex_);
      return liar.lists_.empty();
    }));
    EXPECT_FALSE(watched.listed());
  }
  EXPECT_EQ(complaints.size(), 7u);
}

TEST(WatchedLies, AServerThatGoesBackInTimeIsAskedAnew) {
  Liar liar;
  liar.lists_ = {ListOf("100", json::array({Claim("a", "90")})),
                 ListOf("50", json::array({Claim("b", "40")}))};
  liar.events_ = {{"MODIFIED", Claim("a", "80")}, {"MODIFIED", Claim("a", "110")}};
  std::vector<std::string> told;
  std::vector<std::string> complaints;
  WatchedOptions options = OfClaims();
  options.on_change = [&](const ObjectChange& change) {
    told.push_back(absl::StrCat(static_cast<int>(change.kind), " ", change.key, " ",
                                (*change.object)["metadata"]["resourceVersion"].dump()));
  };
  options.on_state = [&](const absl::Status& status) {
    if (!status.ok()) complaints.emplace_back(status.message());
  };
  {
    const Watched watched(liar, options);
    EXPECT_TRUE(WaitUntil([&] {
      const auto claim = watched.Find("a");
      return claim.has_value() && *claim == Claim("a", "110");
    }));
  }
  EXPECT_THAT(told,
              ElementsAre("0 a \"90\"", "2 a \"90\"", "0 b \"40\"", "0 a \"80\"", "1 a \"110\""));
  ASSERT_FALSE(complaints.empty());
  EXPECT_THAT(complaints[0], HasSubstr("went back from resourceVersion 100 to 80"));
}

TEST(WatchedLies, EventsWithoutNameOrVersionAreNotTaken) {
  for (const WatchEvent& event :
       {WatchEvent{"ADDED", json(7)}, WatchEvent{"ADDED", Claim("", "110")},
        WatchEvent{"BOOKMARK", Claim("a", "")}, WatchEvent{"DELETED", json::object()}}) {
    Liar liar;
    liar.lists_ = {ListOf("100", json::array())};
    liar.events_ = {event};
    absl::Status complaint;
    absl::Notification complained;
    WatchedOptions options = OfClaims();
    options.on_change = [](const ObjectChange&) { ADD_FAILURE(); };
    options.on_state = [&](const absl::Status& status) {
      if (status.ok() || complained.HasBeenNotified()) return;
      complaint = status;
      complained.Notify();
    };
    const Watched watched(liar, options);
    complained.WaitForNotification();
    EXPECT_TRUE(absl::IsUnavailable(complaint)) << complaint;
  }
}

}  // namespace
}  // namespace plimsoll::kube
