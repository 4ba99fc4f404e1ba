// Calls of a server that is slow, cut off, huge, or lies.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "kube/apiserver/https_fixture_for_test.h"

namespace plimsoll::kube {
namespace {

using nlohmann::json;
using testing::HasSubstr;

class HttpsHostileTest : public HttpsTest {};

TEST_F(HttpsHostileTest, AnAnswerThatIsCutAnywhere) {
  const std::string chunks =
      absl::StrCat(kTestChunksHead, TestChunk("{\"a\":"), TestChunk("1}"), kTestLastChunk);
  for (const std::string& whole : {TestAnswer(200, json{{"a", 1}}), chunks}) {
    for (size_t size = 0; size < whole.size(); size += 7) {
      StartWith(whole.substr(0, size), {}, /*stays=*/false);
      const absl::Status status = Fail();
      EXPECT_TRUE(absl::IsUnavailable(status)) << size << status;
      EXPECT_EQ(server_->requests().size(), 1u);
      server_.reset();
    }
  }
}

TEST_F(HttpsHostileTest, AnAnswerThatIsNoObject) {
  for (const char* body : {"<html>", "[]", "7", "{", "{}{}", "{\"a\":tru}", "{\"a\":\"\xff\"}"}) {
    StartWith(TestAnswer(200, std::string(body)));
    const absl::Status status = Fail();
    EXPECT_TRUE(absl::IsUnavailable(status)) << body << status;
    EXPECT_THAT(status.message(), HasSubstr("GET /api/v1/x: the server"));
    server_.reset();
  }
}

TEST_F(HttpsHostileTest, AnAnswerThatIsNoHttp) {
  for (const char* text : {"SSH-2.0-OpenSSH_9.2\r\n\r\n", "HTTP/1.1 20\r\n\r\n",
                           "HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n"}) {
    StartWith(text, {}, /*stays=*/false);
    EXPECT_TRUE(absl::IsUnavailable(Fail())) << text;
    server_.reset();
  }
}

TEST_F(HttpsHostileTest, CodesThatAreNoAnswer) {
  for (const int code : {100, 301, 304, 600, 999}) {
    StartWith(absl::StrCat("HTTP/1.1 ", code, " Word\r\nLocation: /y\r\n\r\n"), {},
              /*stays=*/false);
    EXPECT_TRUE(absl::IsUnavailable(Fail())) << code;
    EXPECT_EQ(server_->requests().size(), 1u);
    server_.reset();
  }
}

TEST_F(HttpsHostileTest, ARedirectIsNotFollowed) {
  StartWith(
      "HTTP/1.1 302 Found\r\nLocation: https://login.example/in\r\nContent-Length: 0\r\n\r\n");
  EXPECT_THAT(Fail().message(), HasSubstr("redirects to \"login.example\""));
  EXPECT_EQ(server_->requests().size(), 1u);
}

TEST_F(HttpsHostileTest, AHugeHeader) {
  StartWith(absl::StrCat("HTTP/1.1 200 OK\r\nX: ", std::string(70 * 1024, 'x'), "\r\n\r\n{}"));
  EXPECT_THAT(Fail().message(), HasSubstr("header is too long"));
}

TEST_F(HttpsHostileTest, AHugeBody) {
  ApiClientOptions options;
  options.most_body_bytes = 100'000;
  const std::string body = absl::StrCat("{\"a\":\"", std::string(200'000, 'x'), "\"}");
  StartWith(TestAnswer(200, body), options);
  EXPECT_THAT(Fail().message(), HasSubstr("longer than 97.7 KiB"));
  // Without end.
  Start(
      [](HttpsTestServer::Peer& peer, const std::string&) {
        bool goes_on = peer.Send(kTestChunksHead);
        while (goes_on) goes_on = peer.Send(TestChunk(std::string(10'000, '{')));
        return false;
      },
      options);
  EXPECT_THAT(Fail().message(), HasSubstr("longer than 97.7 KiB"));
  // The default bound: two answers at a time fit into the service's memory.
  StartWith(TestAnswer(200, absl::StrCat("{\"a\":\"", std::string(4'200'000, 'x'), "\"}")));
  EXPECT_THAT(Fail().message(), HasSubstr("longer than 4 MiB"));
  // A client reads nothing of an error beyond a megabyte.
  StartWith(TestAnswer(500, std::string(2'000'000, 'x')));
  EXPECT_THAT(Fail().message(), HasSubstr("longer than 1 MiB"));
}

TEST_F(HttpsHostileTest, AnObjectThatWouldTakeMuchMemory) {
  std::string deep;
  for (int i = 0; i < 200; ++i) deep += "{\"a\":";
  StartWith(TestAnswer(200, deep));
  EXPECT_THAT(Fail().message(), HasSubstr("100 levels"));
  std::string wide = "{\"a\":[";
  for (int i = 0; i < 110'000; ++i) wide += "0,";
  StartWith(TestAnswer(200, wide + "0]}"));
  EXPECT_THAT(Fail().message(), HasSubstr("100000 values"));
}

TEST_F(HttpsHostileTest, AServerThatSaysNothing) {
  const auto silent = [](HttpsTestServer::Peer& peer, const std::string& begin) {
    peer.Send(begin);
    peer.AwaitEnd();
    return false;
  };
  for (const std::string& begin : {std::string(), std::string("HTTP/1.1 200 OK\r\nContent-"),
                                   std::string("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{")}) {
    Start([&](HttpsTestServer::Peer& peer, const std::string&) { return silent(peer, begin); });
    const absl::Status status = Fail("GET", absl::Milliseconds(100));
    EXPECT_TRUE(absl::IsDeadlineExceeded(status)) << begin << status;
    EXPECT_THAT(status.message(), HasSubstr("GET /api/v1/x: "));
    client_.reset();
    server_.reset();
  }
}

TEST_F(HttpsHostileTest, AServerThatDripsIsNotWaitedForLonger) {
  Start([](HttpsTestServer::Peer& peer, const std::string&) {
    bool goes_on = peer.Send("HTTP/1.1 200 OK\r\n");
    while (goes_on) {
      goes_on = peer.Send("X: y\r\n");
      absl::SleepFor(absl::Milliseconds(5));  // drop by drop
    }
    return false;
  });
  EXPECT_TRUE(absl::IsDeadlineExceeded(Fail("GET", absl::Milliseconds(200))));
}

TEST_F(HttpsHostileTest, AServerThatNeverReads) {
  // Only the handshake is served: then nobody reads.
  HttpsTestServer server(Identity(), [](HttpsTestServer::Peer& peer, const std::string&) {
    peer.AwaitEnd();
    return false;
  });
  server.StopReading();
  Use(AddressOf(server.port()));
  const auto answer = Ask("PUT", {{"a", std::string(20'000'000, 'x')}}, absl::Milliseconds(500));
  EXPECT_TRUE(absl::IsDeadlineExceeded(answer.status())) << answer.status();
  client_.reset();
}

TEST_F(HttpsHostileTest, AnAnswerBeforeTheRequestIsRead) {
  HttpsTestServer server(Identity(), [](HttpsTestServer::Peer&, const std::string&) {
    ADD_FAILURE();
    return false;
  });
  server.AnswerUnread(TestAnswer(413, TestFailure(413, "RequestEntityTooLarge", "too large")));
  Use(AddressOf(server.port()));
  // The answer may be lost with the connection.
  const auto answer = Ask("PUT", {{"a", std::string(20'000'000, 'x')}}, absl::Seconds(20));
  EXPECT_TRUE(absl::IsInvalidArgument(answer.status()) || absl::IsUnavailable(answer.status()))
      << answer.status();
}

TEST_F(HttpsHostileTest, WhatComesUnaskedIsNoAnswer) {
  // A second answer behind the first must not be taken for that of the next call.
  Start([](HttpsTestServer::Peer& peer, const std::string&) {
    return peer.Send(TestAnswer(200, json{{"a", 1}}) + TestAnswer(200, json{{"a", 2}}));
  });
  EXPECT_EQ((*Ask())["a"], 1);
  EXPECT_EQ((*Ask())["a"], 1);
  EXPECT_EQ(server_->connections(), 2);
}

}  // namespace
}  // namespace plimsoll::kube
