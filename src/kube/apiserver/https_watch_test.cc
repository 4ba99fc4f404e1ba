// Watches of servers that behave, and of others.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/notification.h"
#include "base/wait_until_for_test.h"
#include "kube/apiserver/https_fixture_for_test.h"
#include "kube/apiserver/watched.h"

namespace plimsoll::kube {
namespace {

using nlohmann::json;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

constexpr char kWatch[] = "/api/v1/nodes?watch=true&allowWatchBookmarks=true&resourceVersion=7";

std::string EventText(const std::string& type, const std::string& name, int version) {
  const json object = {{"metadata", {{"name", name}, {"resourceVersion", absl::StrCat(version)}}}};
  return json{{"type", type}, {"object", object}}.dump() + "\n";
}

class HttpsWatchTest : public HttpsTest {
 protected:
  // Watches to the end and keeps the events.
  absl::Status Watch(const std::string& path = kWatch) {
    told_.clear();
    return client_->Watch(path, [this](const WatchEvent& event) {
      const std::string name = event.object["metadata"].value("name", "");
      told_.push_back(absl::StrCat(event.type, " ", name));
      return name != "last";
    });
  }
  // A server whose watch has these bytes in its body.
  void StartWatchWith(const std::string& body, ApiClientOptions options = {}) {
    client_.reset();
    StartWith(absl::StrCat(kTestChunksHead, TestChunk(body), kTestLastChunk), std::move(options));
  }
  std::vector<std::string> told_;
};

TEST_F(HttpsWatchTest, PassesEventsOnHoweverTheyComeInPieces) {
  const std::string events = EventText("ADDED", "a", 8) + EventText("MODIFIED", "a", 9) +
                             EventText("BOOKMARK", "", 10) + EventText("DELETED", "a", 11);
  for (const size_t step : {1u, 50u, 10'000u}) {
    std::string answer = kTestChunksHead;
    for (size_t at = 0; at < events.size(); at += step) {
      answer += TestChunk(events.substr(at, step));
    }
    client_.reset();
    StartWith(answer + kTestLastChunk);
    EXPECT_TRUE(Watch().ok());
    EXPECT_THAT(told_, ElementsAre("ADDED a", "MODIFIED a", "BOOKMARK ", "DELETED a"));
  }
}

TEST_F(HttpsWatchTest, AsksTheServerToEndItInTime) {
  StartWatchWith(EventText("ADDED", "a", 8));
  EXPECT_TRUE(Watch().ok());
  EXPECT_TRUE(Watch(absl::StrCat(kWatch, "&timeoutSeconds=7")).ok());
  const std::vector<std::string> requests = server_->requests();
  EXPECT_THAT(requests[0], StartsWith(absl::StrCat("GET ", kWatch, "&timeoutSeconds=")));
  const int seconds = std::stoi(requests[0].substr(requests[0].find("Seconds=") + 8));
  EXPECT_GE(seconds, 300);
  EXPECT_LE(seconds, 600);
  EXPECT_THAT(requests[1], HasSubstr("&timeoutSeconds=7 HTTP"));
  EXPECT_EQ(server_->connections(), 2);
}

TEST_F(HttpsWatchTest, EndsWithTheUsersWish) {
  Start([](HttpsTestServer::Peer& peer, const std::string&) {
    peer.Send(kTestChunksHead);
    peer.Send(TestChunk(EventText("ADDED", "last", 8) + EventText("ADDED", "unseen", 9)));
    peer.AwaitEnd();
    return false;
  });
  EXPECT_TRUE(Watch().ok());
  EXPECT_THAT(told_, ElementsAre("ADDED last"));
}

TEST_F(HttpsWatchTest, CallsGoOnBesideIt) {
  absl::Notification begun;
  Start([](HttpsTestServer::Peer& peer, const std::string& request) {
    if (!absl::StrContains(request, "watch")) return peer.Send(TestAnswer(200, json::object()));
    peer.Send(kTestChunksHead + TestChunk(EventText("ADDED", "a", 8)));
    peer.AwaitEnd();
    return false;
  });
  std::thread watcher([&] {
    EXPECT_TRUE(absl::IsCancelled(client_->Watch(kWatch, [&](const WatchEvent&) {
      begun.Notify();
      return true;
    })));
  });
  begun.WaitForNotification();
  EXPECT_TRUE(Ask().ok());
  client_->Stop();
  watcher.join();
}

TEST_F(HttpsWatchTest, AVersionThatIsGone) {
  const json gone = TestFailure(410, "Expired", "too old resource version: 7 (100)");
  StartWatchWith(EventText("ADDED", "a", 8) + json{{"type", "ERROR"}, {"object", gone}}.dump());
  const absl::Status in_stream = Watch();
  EXPECT_TRUE(absl::IsOutOfRange(in_stream));
  EXPECT_THAT(told_, ElementsAre("ADDED a"));
  client_.reset();
  StartWith(TestAnswer(410, gone));
  const absl::Status at_once = Watch();
  EXPECT_TRUE(absl::IsOutOfRange(at_once));
  for (const absl::Status& status : {in_stream, at_once}) {
    EXPECT_EQ(status.message(), absl::StrCat("watch ", kWatch,
                                             ": too old resource version: 7 (100) (HTTP code 410, "
                                             "Expired)"));
  }
}

TEST_F(HttpsWatchTest, AWatchThatIsCut) {
  const std::string event = EventText("ADDED", "a", 8);
  // In the middle of an event, and between two of them without a last chunk.
  StartWatchWith(event + event.substr(0, 20));
  EXPECT_THAT(Watch().message(), HasSubstr("in the middle of an event"));
  client_.reset();
  StartWith(kTestChunksHead + TestChunk(event), {}, /*stays=*/false);
  EXPECT_TRUE(absl::IsUnavailable(Watch()));
  EXPECT_THAT(told_, ElementsAre("ADDED a"));
}

TEST_F(HttpsWatchTest, WhatIsNoEvent) {
  for (const char* text :
       {"[]", "{}", "{\"type\":\"ADDED\"}", "{\"type\":7,\"object\":{}}", "<html>",
        "{\"type\":\"ADDED\",\"object\":[]}", "{\"type\":\"GROWN\",\"object\":{}}",
        "{\"type\":\"ERROR\",\"object\":{\"code\":200}}", "{\"kind\":\"NodeList\",\"items\":[]}"}) {
    StartWatchWith(text);
    EXPECT_TRUE(absl::IsUnavailable(Watch())) << text;
    EXPECT_TRUE(told_.empty());
  }
}

TEST_F(HttpsWatchTest, AHugeEvent) {
  ApiClientOptions options;
  options.most_event_bytes = 10'000;
  StartWatchWith(EventText("ADDED", std::string(20'000, 'x'), 8), options);
  EXPECT_THAT(Watch().message(), HasSubstr("more than 9.77 KiB"));
  // All of them together may be as long as they like.
  std::string many;
  for (int i = 0; i < 1000; ++i) many += EventText("ADDED", "a", i);
  StartWatchWith(many, options);
  EXPECT_TRUE(Watch().ok());
  EXPECT_EQ(told_.size(), 1000u);
}

TEST_F(HttpsWatchTest, SilenceWhereBookmarksShouldCome) {
  ApiClientOptions options;
  options.watch_silence = absl::Milliseconds(50);
  Start(
      [](HttpsTestServer::Peer& peer, const std::string&) {
        peer.Send(kTestChunksHead + TestChunk(EventText("ADDED", "a", 8)));
        peer.AwaitEnd();
        return false;
      },
      options);
  const absl::Status status = Watch();
  EXPECT_TRUE(absl::IsUnavailable(status));
  EXPECT_THAT(status.message(), HasSubstr("fallen silent"));
}

TEST_F(HttpsWatchTest, AServerThatDoesntEndIt) {
  ApiClientOptions options;
  options.watch_time = absl::Milliseconds(20);
  options.watch_grace = absl::Milliseconds(50);
  Start(
      [](HttpsTestServer::Peer& peer, const std::string&) {
        bool goes_on = peer.Send(kTestChunksHead);
        while (goes_on) goes_on = peer.Send(TestChunk(EventText("BOOKMARK", "", 8)));
        return false;
      },
      options);
  const absl::Status status = Watch();
  EXPECT_TRUE(absl::IsUnavailable(status));
  EXPECT_THAT(status.message(), HasSubstr("doesn't end the watch"));
}

TEST_F(HttpsWatchTest, ATokenReplacedMeanwhileCountsForTheNextWatch) {
  Start([this](HttpsTestServer::Peer& peer, const std::string& request) {
    if (!absl::StrContains(request, "token-2")) {
      peer.Send(kTestChunksHead);
      Write("token", "token-2");
      return peer.Send(TestChunk(EventText("ADDED", "a", 8)) + kTestLastChunk);
    }
    Write("token", "token-3");
    return peer.Send(TestAnswer(401, json::object()));
  });
  EXPECT_TRUE(Watch().ok());
  // 401 with token-2, then an answer to token-3.
  EXPECT_TRUE(Watch().ok());
  EXPECT_EQ(server_->requests().size(), 3u);
}

TEST_F(HttpsWatchTest, ACollectionIsFollowedOverEveryKindOfEnd) {
  // List, watch that is cut, watch that begins too late, list.
  std::atomic<int> asked = 0;
  Start([&](HttpsTestServer::Peer& peer, const std::string& request) {
    const auto list = [](const char* name, const char* version) {
      return json{{"kind", "NodeList"},
                  {"metadata", {{"resourceVersion", version}}},
                  {"items", {{{"metadata", {{"name", name}}}}}}};
    };
    switch (++asked) {
      case 1:
        return peer.Send(TestAnswer(200, list("a", "7")));
      case 2:
        EXPECT_THAT(request, HasSubstr("resourceVersion=7&"));
        peer.Send(kTestChunksHead + TestChunk(EventText("ADDED", "b", 8)) + "5\r\n{");
        return false;
      case 3:
        EXPECT_THAT(request, HasSubstr("resourceVersion=8&"));
        return peer.Send(TestAnswer(410, TestFailure(410, "Expired", "too old")));
      case 4:
        return peer.Send(TestAnswer(200, list("c", "20")));
      default:
        peer.Send(kTestChunksHead);
        peer.AwaitEnd();
        return false;
    }
  });
  std::vector<std::string> changes;
  WatchedOptions options;
  options.path = "/api/v1/nodes";
  options.retry = {
      .first = absl::Milliseconds(1), .longest = absl::Milliseconds(1), .jitter = [] { return 0; }};
  options.on_change = [&](const ObjectChange& change) {
    changes.push_back(absl::StrCat(static_cast<int>(change.kind), change.key));
  };
  {
    const Watched watched(*client_, options);
    EXPECT_TRUE(WaitUntil([&] { return asked >= 5; }));
    client_->Stop();
  }
  EXPECT_THAT(changes, ElementsAre("0a", "0b", "2a", "2b", "0c"));
}

}  // namespace
}  // namespace plimsoll::kube
