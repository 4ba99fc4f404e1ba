// Calls of a server that behaves.
#include "kube/apiserver/https_client.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/no_descriptors_for_test.h"
#include "base/wait_until_for_test.h"
#include "kube/apiserver/https_fixture_for_test.h"

namespace plimsoll::kube {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

class HttpsClientTest : public HttpsTest {};

TEST_F(HttpsClientTest, SendsWhatAServerNeeds) {
  StartWith(TestAnswer(200, json{{"kind", "Node"}}));
  const auto answer = client_->Call({.path = "/api/v1/nodes/n1?x=y"});
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_EQ((*answer)["kind"], "Node");
  EXPECT_EQ(server_->requests().at(0),
            absl::StrCat("GET /api/v1/nodes/n1?x=y HTTP/1.1\r\nHost: 127.0.0.1:", server_->port(),
                         "\r\nUser-Agent: plimsoll-kube\r\nAccept: application/json\r\n"
                         "Authorization: Bearer token-1\r\n\r\n"));
}

TEST_F(HttpsClientTest, SendsBodiesOfAnyMethod) {
  StartWith(TestAnswer(201, json{{"kind", "Node"}}));
  ApiRequest request;
  request.method = "PATCH";
  request.path = "/x";
  request.body = {{"a", "b"}};
  request.content_type = "application/merge-patch+json";
  EXPECT_TRUE(client_->Call(request).ok());
  EXPECT_THAT(server_->requests().at(0),
              AllOf(StartsWith("PATCH /x "),
                    HasSubstr("\r\nContent-Type: application/merge-patch+json\r\n"),
                    EndsWith("\r\nContent-Length: 9\r\n\r\n{\"a\":\"b\"}")));
  EXPECT_TRUE(Ask("POST").ok());
  EXPECT_THAT(server_->requests().at(1), EndsWith("\r\nContent-Length: 0\r\n\r\n"));
  EXPECT_TRUE(Ask("PUT", {{"big", std::string(100'000, 'x')}}).ok());
  EXPECT_EQ(server_->connections(), 1);
}

TEST_F(HttpsClientTest, GoesBelowThePrefixOfTheServer) {
  StartWith(TestAnswer(200, json::object()));
  ApiServerAddress address = AddressOf(server_->port());
  address.prefix = "/clusters/c1";
  Use(address);
  EXPECT_TRUE(Ask().ok());
  EXPECT_THAT(server_->requests().at(0), StartsWith("GET /clusters/c1/api/v1/x HTTP"));
}

TEST_F(HttpsClientTest, AnEmptyAnswerIsAnEmptyObject) {
  StartWith("HTTP/1.1 204 No Content\r\n\r\n");
  EXPECT_EQ(*Ask("DELETE"), json::object());
}

TEST_F(HttpsClientTest, ReadsChunksToo) {
  StartWith(absl::StrCat(kTestChunksHead, TestChunk("{\"a\":"), TestChunk("1}\n"), kTestLastChunk));
  EXPECT_EQ(*Ask(), json({{"a", 1}}));
}

TEST_F(HttpsClientTest, TellsTheServersWords) {
  StartWith(TestAnswer(409, TestFailure(409, "Conflict", "the object has been modified")));
  const absl::Status status = Fail("PUT");
  EXPECT_TRUE(absl::IsAborted(status));
  EXPECT_EQ(status.message(),
            "PUT /api/v1/x: the object has been modified (HTTP code 409, Conflict)");
  EXPECT_TRUE(absl::IsAborted(Fail("PUT")));
  EXPECT_EQ(server_->connections(), 1);
}

TEST_F(HttpsClientTest, ConnectsAnewWhereTheServerHasClosed) {
  Start([](HttpsTestServer::Peer& peer, const std::string&) {
    peer.Send(TestAnswer(200, json::object()));
    return false;
  });
  for (const char* method : {"GET", "POST", "PUT"}) {
    EXPECT_TRUE(Ask(method).ok());
    // The connection's end arrives before the next call looks at it, or the call finds out.
    if (absl::string_view(method) == "GET") server_->CloseAll();
  }
  EXPECT_EQ(server_->connections(), 3);
}

TEST_F(HttpsClientTest, RepeatsACallWhoseIdleConnectionBreaksButNoPost) {
  // Takes a second request on a connection, and closes instead of an answer.
  std::atomic<int> asked = 0;
  Start([&](HttpsTestServer::Peer& peer, const std::string&) {
    return ++asked % 2 == 1 ? peer.Send(TestAnswer(200, json::object())) : false;
  });
  EXPECT_TRUE(Ask().ok());
  EXPECT_TRUE(Ask("PATCH").ok());
  EXPECT_EQ(server_->connections(), 2);
  EXPECT_EQ(asked, 3);
  EXPECT_TRUE(absl::IsUnavailable(Fail("POST")));
  EXPECT_EQ(asked, 4);
}

TEST_F(HttpsClientTest, CallsRunSideBySide) {
  std::atomic<int> under_way = 0;
  Start([&](HttpsTestServer::Peer& peer, const std::string&) {
    ++under_way;
    // Each waits for the other.
    return WaitUntil([&] { return under_way == 2; }) && peer.Send(TestAnswer(200, json::object()));
  });
  std::thread other([&] { EXPECT_TRUE(Ask().ok()); });
  EXPECT_TRUE(Ask().ok());
  other.join();
}

TEST_F(HttpsClientTest, WaitsAsLongAsItIsTold) {
  for (const std::string& after :
       {std::string("1"),
        absl::FormatTime("%a, %d %b %Y %H:%M:%S GMT", absl::Now(), absl::UTCTimeZone())}) {
    for (const int code : {429, 503}) {
      std::atomic<int> asked = 0;
      Start([&](HttpsTestServer::Peer& peer, const std::string&) {
        return peer.Send(++asked == 1 ? TestAnswer(code, json::object(),
                                                   absl::StrCat("Retry-After: ", after, "\r\n"))
                                      : TestAnswer(200, json::object()));
      });
      EXPECT_TRUE(Ask("POST").ok());
      EXPECT_EQ(asked, 2);
      server_.reset();
    }
  }
}

TEST_F(HttpsClientTest, WaitsNoLongerThanItsPatience) {
  StartWith(
      TestAnswer(429, TestFailure(429, "TooManyRequests", "slow down"), "Retry-After: 3600\r\n"));
  const absl::Status status = Fail();
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(status.message(), HasSubstr("slow down"));
  // Used up.
  StartWith(TestAnswer(429, json::object(), "Retry-After: 2\r\n"));
  EXPECT_EQ(Fail("GET", absl::Milliseconds(3900)).code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(server_->requests().size(), 2u);
  // Without a time, whoever asked decides.
  StartWith(TestAnswer(503, json::object()));
  EXPECT_TRUE(absl::IsUnavailable(Fail()));
  EXPECT_EQ(server_->requests().size(), 1u);
}

TEST_F(HttpsClientTest, ReadsTheTokenAnew) {
  StartWith(TestAnswer(200, json::object()));
  EXPECT_TRUE(Ask().ok());
  Write("token", "token-2");
  EXPECT_TRUE(Ask().ok());
  EXPECT_THAT(server_->requests().at(1), HasSubstr("Authorization: Bearer token-2\r\n"));
  EXPECT_EQ(server_->connections(), 1);
}

TEST_F(HttpsClientTest, AsksOnceMoreIfTheTokenIsReplacedMeanwhile) {
  Start([this](HttpsTestServer::Peer& peer, const std::string& request) {
    if (absl::StrContains(request, "token-3")) return peer.Send(TestAnswer(200, json::object()));
    // A token that is always too late would otherwise be asked with for ever.
    Write("token", absl::StrContains(request, "token-2") ? "token-4" : "token-2");
    return peer.Send(TestAnswer(401, TestFailure(401, "Unauthorized", "Unauthorized")));
  });
  EXPECT_TRUE(absl::IsUnauthenticated(Fail()));
  EXPECT_EQ(server_->requests().size(), 2u);
  Write("token", "token-3");
  EXPECT_TRUE(Ask().ok());
}

TEST_F(HttpsClientTest, ARefusedTokenIsTriedOnce) {
  StartWith(TestAnswer(401, TestFailure(401, "Unauthorized", "who is token-1?")));
  const absl::Status status = Fail();
  EXPECT_TRUE(absl::IsUnauthenticated(status));
  EXPECT_EQ(server_->requests().size(), 1u);
  EXPECT_EQ(status.message(), "GET /api/v1/x: who is <the token>? (HTTP code 401, Unauthorized)");
}

TEST_F(HttpsClientTest, WithoutATokenThereIsNoRequest) {
  StartWith(TestAnswer(200, json::object()));
  for (const std::string& token :
       {std::string(), std::string(" \n"), std::string("secret one"), std::string("secret\nX: y"),
        std::string("secret\xff"), std::string(40'000, 's')}) {
    Write("token", token);
    const absl::Status status = Fail();
    EXPECT_TRUE(absl::IsUnauthenticated(status)) << status;
    EXPECT_THAT(status.message(), AllOf(HasSubstr("/token"), Not(HasSubstr("secret"))));
  }
  EXPECT_TRUE(dir_.root().RemoveFile("token").ok());
  EXPECT_TRUE(absl::IsUnauthenticated(Fail()));
  EXPECT_TRUE(server_->requests().empty());
}

TEST_F(HttpsClientTest, AsksForNoProxy) {
  StartWith(TestAnswer(200, json::object()));
  for (const char* name : {"HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"}) {
    setenv(name, "http://127.0.0.1:1", 1);
  }
  EXPECT_TRUE(Ask().ok());
  for (const char* name : {"HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"}) unsetenv(name);
}

TEST_F(HttpsClientTest, RefusesPathsThatWouldBreakTheRequest) {
  StartWith(TestAnswer(200, json::object()));
  for (const std::string& path :
       {std::string(), std::string("api"), std::string("/a b"), std::string("/a\r\nX: y"),
        std::string("/a#b"), "/" + std::string(20'000, 'x')}) {
    EXPECT_TRUE(absl::IsInvalidArgument(client_->Call({.path = path}).status())) << path;
    EXPECT_TRUE(
        absl::IsInvalidArgument(client_->Watch(path, [](const WatchEvent&) { return true; })));
  }
  ApiRequest request;
  request.method = "GET /y HTTP/1.1\r\n";
  request.path = "/x";
  EXPECT_TRUE(absl::IsInvalidArgument(client_->Call(request).status()));
  EXPECT_TRUE(server_->requests().empty());
}

TEST_F(HttpsClientTest, StopEndsCallsForGood) {
  std::atomic<bool> asked = false;
  Start([&](HttpsTestServer::Peer& peer, const std::string&) {
    asked = true;
    peer.AwaitEnd();
    return false;
  });
  std::thread stopper([&] {
    EXPECT_TRUE(WaitUntil([&] { return asked.load(); }));
    client_->Stop();
  });
  EXPECT_TRUE(absl::IsCancelled(Fail()));
  stopper.join();
  EXPECT_TRUE(absl::IsCancelled(Fail()));
  EXPECT_EQ(server_->requests().size(), 1u);
}

TEST_F(HttpsClientTest, StopEndsAWaitForRetryAfter) {
  std::atomic<bool> asked = false;
  Start([&](HttpsTestServer::Peer& peer, const std::string&) {
    asked = true;
    return peer.Send(TestAnswer(429, json::object(), "Retry-After: 3600\r\n"));
  });
  std::thread stopper([&] {
    EXPECT_TRUE(WaitUntil([&] { return asked.load(); }));
    client_->Stop();
  });
  EXPECT_TRUE(absl::IsCancelled(Fail("GET", absl::InfiniteDuration())));
  stopper.join();
}

TEST_F(HttpsClientTest, WithoutADescriptorThereIsNoClient) {
  // Made before: the sanitizer of undefined behaviour needs a descriptor to look at this object.
  const auto address = AddressOf(1);
  const NoDescriptors none;
  const auto client = MakeApiClient(address);
  EXPECT_EQ(client.status().code(), absl::StatusCode::kResourceExhausted);
}

}  // namespace
}  // namespace plimsoll::kube
