#include "agent/api/server.h"

#include <sys/stat.h>

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/notification.h"
#include "absl/time/clock.h"
#include "agent/http/raw_client_for_test.h"
#include "base/dir_for_test.h"
#include "base/socket_probe.h"
#include "base/wait_until_for_test.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace plimsoll::agent {
namespace {

using ::testing::HasSubstr;

// A second on a machine without other work.
constexpr absl::Duration kSoon = absl::Seconds(5);

// Answers with the request's body, or its target; "/stream" never ends.
void Echo(const HttpRequest& request, Answer& answer) {
  if (request.target == "/stream") {
    if (!answer.Begin(kTextType, /*lasting=*/true)) return;
    answer.Write("begun\n");
    while (answer.Rest(absl::Milliseconds(50))) {
    }
    return;
  }
  if (request.target == "/flood") {
    if (!answer.Begin(kTextType, /*lasting=*/true)) return;
    const std::string much(64 * 1024, 'x');
    while (answer.Write(much)) {
    }
    return;
  }
  answer.SendText(200, kTextType, request.body.empty() ? request.target : request.body);
}

class ApiServerTest : public ::testing::Test {
 protected:
  void Start(ServerLimits limits = {}, ApiServer::Handler handler = Echo) {
    auto server = ApiServer::Start(Options(limits), std::move(handler));
    ASSERT_TRUE(server.ok()) << server.status();
    server_ = *std::move(server);
  }
  ServerOptions Options(ServerLimits limits = {}) const {
    ServerOptions options;
    options.socket.path = path_;
    options.limits = limits;
    return options;
  }

  const TestDir dir_;
  const std::string path_ = dir_.path() + "/agent.sock";
  std::unique_ptr<ApiServer> server_;
};

TEST_F(ApiServerTest, OneConnectionServesManyRequests) {
  Start();
  RawClient client(path_);
  for (int i = 0; i < 3; ++i)
    EXPECT_EQ(client.Ask("GET", absl::StrCat("/", i)).body, absl::StrCat("/", i));
  client.Send("GET /a HTTP/1.1\r\n\r\nGET /b HTTP/1.1\r\nConnection: close\r\n\r\n");
  EXPECT_EQ(client.Read().body, "/a");
  EXPECT_EQ(client.Read().body, "/b");
  EXPECT_TRUE(client.AtEnd());
}

TEST_F(ApiServerTest, TheSocketIsThisUsersAlone) {
  Start();
  struct stat info;
  ASSERT_EQ(stat(path_.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600u);
  const auto second = ApiServer::Start(Options(), Echo);
  EXPECT_TRUE(absl::IsFailedPrecondition(second.status())) << second.status();
  server_.reset();
  EXPECT_NE(stat(path_.c_str(), &info), 0);
}

TEST_F(ApiServerTest, ALeftSocketIsReplacedAndARemovedOneComesBack) {
  ASSERT_TRUE(ListenAt({path_, 0600, std::nullopt}).ok());
  Start();
  EXPECT_EQ(RawClient(path_).Ask("GET", "/a").code, 200);
  ASSERT_EQ(unlink(path_.c_str()), 0);
  EXPECT_TRUE(WaitUntil([&] { return ProbeSocket(path_).ok(); }));
  EXPECT_EQ(RawClient(path_).Ask("GET", "/a").code, 200);
}

TEST_F(ApiServerTest, AnImpossiblePathIsRefused) {
  ServerOptions options;
  options.socket.path = "agent.sock";
  EXPECT_TRUE(absl::IsInvalidArgument(ApiServer::Start(options, Echo).status()));
  options.socket.path = dir_.path() + "/none/agent.sock";
  EXPECT_TRUE(absl::IsNotFound(ApiServer::Start(options, Echo).status()));
}

TEST_F(ApiServerTest, ABodyOfFourMebibytesIsTakenAndMoreIsNot) {
  Start();
  RawClient client(path_);
  const std::string most(4 * 1024 * 1024, 'x');
  EXPECT_EQ(client.Ask("POST", "/", most).body.size(), most.size());
  const RawResponse refused = client.Ask("POST", "/", most + "x");
  EXPECT_EQ(refused.code, 413);
  EXPECT_THAT(refused.body, HasSubstr("RequestEntityTooLarge"));
  EXPECT_TRUE(client.AtEnd());
}

TEST_F(ApiServerTest, AChunkedBodyHasTheSameLimit) {
  Start({.request = {.body_bytes = 10}});
  RawClient client(path_);
  client.Send("POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nb\r\nabcdefghijk\r\n");
  EXPECT_EQ(client.Read().code, 413);
}

TEST_F(ApiServerTest, ALongHeaderAndOtherTextAreRefused) {
  Start();
  RawClient long_header(path_);
  EXPECT_EQ(long_header.Ask("GET", "/" + std::string(17 * 1024, 'x')).code, 431);
  RawClient other(path_);
  other.Send("hello\r\n\r\n");
  const RawResponse refused = other.Read();
  EXPECT_EQ(refused.code, 400);
  EXPECT_THAT(refused.body, HasSubstr("\"kind\":\"Status\""));
}

TEST_F(ApiServerTest, ContinueIsToldWhereItIsAwaited) {
  Start();
  RawClient client(path_);
  client.Send("POST / HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n");
  ASSERT_TRUE(client.ReadUntil("HTTP/1.1 100 Continue\r\n\r\n"));
  RawClient plain(path_);
  client.Send("ok");
  EXPECT_TRUE(client.ReadUntil("200 OK"));
}

// A patience far longer than a client takes from its connection to its first byte.
constexpr absl::Duration kShortPatience = absl::Seconds(2);

TEST_F(ApiServerTest, SilentAndSlowClientsLoseTheirConnections) {
  Start({.patience = kShortPatience});
  RawClient silent(path_);
  EXPECT_TRUE(silent.AtEnd());
  RawClient slow(path_);
  slow.Send("POST / HTTP/1.1\r\nContent-Length: 2\r\n\r\no");
  EXPECT_EQ(slow.Read().code, 408);
}

TEST_F(ApiServerTest, HalfAHeaderHoldsAPlaceForAShortTimeAndABodyMayTakeLonger) {
  Start({.patience = absl::Hours(1), .header_patience = absl::Milliseconds(100)});
  RawClient with_body(path_);
  with_body.Send("POST / HTTP/1.1\r\nContent-Length: 2\r\n\r\no");
  RawClient slow(path_);
  slow.Send("GET / HT");
  EXPECT_EQ(slow.Read().code, 408);
  with_body.Send("k");
  EXPECT_EQ(with_body.Read().body, "ok");
}

TEST_F(ApiServerTest, AReaderThatStopsLosesItsStream) {
  std::atomic<bool> ended = false;
  Start({.patience = kShortPatience}, [&ended](const HttpRequest& request, Answer& answer) {
    Echo(request, answer);
    ended = true;
  });
  RawClient client(path_);
  client.Send("GET /flood HTTP/1.1\r\n\r\n");
  EXPECT_TRUE(WaitUntil([&] { return ended.load(); }));
}

TEST_F(ApiServerTest, AClientThatLeavesEndsItsStream) {
  std::atomic<bool> ended = false;
  Start({}, [&ended](const HttpRequest& request, Answer& answer) {
    Echo(request, answer);
    ended = true;
  });
  RawClient client(path_);
  client.Send("GET /stream HTTP/1.1\r\n\r\n");
  ASSERT_TRUE(client.ReadUntil("begun"));
  client.Close();
  EXPECT_TRUE(WaitUntil([&] { return ended.load(); }));
}

TEST_F(ApiServerTest, StreamsLeavePlacesForCalls) {
  Start({.connections = 3, .streams = 2});
  std::vector<std::unique_ptr<RawClient>> streams;
  for (int i = 0; i < 2; ++i) {
    streams.push_back(std::make_unique<RawClient>(path_));
    streams.back()->Send("GET /stream HTTP/1.1\r\n\r\n");
    ASSERT_TRUE(streams.back()->ReadUntil("begun"));
  }
  RawClient further(path_);
  const RawResponse refused = further.Ask("GET", "/stream");
  EXPECT_EQ(refused.code, 429);
  EXPECT_THAT(refused.body, HasSubstr("too many watches"));
  EXPECT_EQ(further.Ask("GET", "/call").code, 200);
  streams.pop_back();
  EXPECT_TRUE(WaitUntil([&] {
    RawClient again(path_);
    further.Close();
    // A refusal closes the connection, so that nothing more is waited for.
    again.Send("GET /stream HTTP/1.1\r\nConnection: close\r\n\r\n");
    return again.ReadUntil("begun");
  }));
}

TEST_F(ApiServerTest, AnIdleConnectionGivesWay) {
  Start({.connections = 2});
  RawClient first(path_);
  RawClient second(path_);
  EXPECT_EQ(first.Ask("GET", "/1").code, 200);
  EXPECT_EQ(second.Ask("GET", "/2").code, 200);
  RawClient third(path_);
  EXPECT_EQ(third.Ask("GET", "/3").body, "/3");
  // An answer may come before its connection counts as idle: either can be idle the longest.
  const bool is_first = first.Ask("GET", "/1").code == 0;
  RawClient& gone = is_first ? first : second;
  RawClient& kept = is_first ? second : first;
  EXPECT_EQ(gone.Ask("GET", "/").code, 0);
  EXPECT_EQ(kept.Ask("GET", "/").code, 200);
}

TEST_F(ApiServerTest, AHundredClientsAreServed) {
  Start({.idle_enough = absl::Seconds(20)});
  std::atomic<int> served = 0;
  std::vector<std::thread> clients;
  for (int i = 0; i < 100; ++i) {
    clients.emplace_back([&, i] {
      RawClient client(path_);
      for (int round = 0; round < 5; ++round) {
        const std::string target = absl::StrCat("/", i, "/", round);
        if (client.Ask("GET", target).body == target) ++served;
      }
    });
  }
  for (std::thread& client : clients) client.join();
  EXPECT_EQ(served, 500);
}

TEST_F(ApiServerTest, ItsEndEndsEverythingSoon) {
  Start();
  std::vector<std::unique_ptr<RawClient>> clients;
  for (const char* text : {"GET /stream HTTP/1.1\r\n\r\n", "GET /flood HTTP/1.1\r\n\r\n", "GET /un",
                           "", "POST / HTTP/1.1\r\nContent-Length: 5\r\n\r\nab"}) {
    clients.push_back(std::make_unique<RawClient>(path_));
    clients.back()->Send(text);
  }
  ASSERT_TRUE(clients[0]->ReadUntil("begun"));
  absl::SleepFor(absl::Milliseconds(100));
  const absl::Time begin = absl::Now();
  server_.reset();
  EXPECT_LT(absl::Now() - begin, kSoon);
}

TEST_F(ApiServerTest, AnOldClientGetsAStreamWithoutChunks) {
  Start({}, [](const HttpRequest&, Answer& answer) {
    answer.Begin(kTextType, /*lasting=*/false);
    answer.Write("text");
    answer.End();
  });
  RawClient client(path_);
  client.Send("GET / HTTP/1.0\r\n\r\n");
  EXPECT_EQ(client.Read().body, "text");
}

}  // namespace
}  // namespace plimsoll::agent
