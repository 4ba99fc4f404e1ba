#include "dial/http_get.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "dial/server_for_test.h"

namespace plimsoll::dial {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;
using ::testing::StartsWith;

HttpGetRequest RequestTo(const TestServer& server, const std::string& path = "/") {
  return {.tls = false,
          .host = "127.0.0.1",
          .port = server.port(),
          .path = path,
          .headers = {},
          .user_agent = "kube-probe/test"};
}

Until In(absl::Duration time) {
  return {.deadline = SteadyAfter(time), .given_up = nullptr};
}

TEST(HttpGet, TheRequestIsKubelets) {
  TestServer server([](const std::string&) { return Answer(200, "fine"); });
  HttpGetRequest request = RequestTo(server, "/a b?c=d#e");
  request.headers = {{"X-One", "1"}};
  const auto answer = HttpGet(request, In(absl::Seconds(20)));
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_EQ(answer->code, 200);
  EXPECT_EQ(answer->body, "fine");
  ASSERT_THAT(server.requests(), SizeIs(1));
  EXPECT_EQ(server.requests().front(),
            absl::StrCat("GET /a%20b?c=d HTTP/1.1\r\nHost: 127.0.0.1:", server.port(),
                         "\r\nUser-Agent: kube-probe/test\r\nAccept: */*\r\nX-One: 1\r\n"
                         "Connection: close\r\n\r\n"));
}

TEST(HttpGet, HeadersReplaceTheRequestsOwn) {
  TestServer server([](const std::string&) { return Answer(204, ""); });
  HttpGetRequest request = RequestTo(server);
  request.headers = {{"host", "example.org"}, {"User-Agent", ""}, {"accept", "text/html"}};
  ASSERT_TRUE(HttpGet(request, In(absl::Seconds(20))).ok());
  const std::string sent = server.requests().front();
  EXPECT_THAT(sent,
              AllOf(HasSubstr("\r\nHost: example.org\r\n"), HasSubstr("\r\nAccept: text/html\r\n"),
                    Not(HasSubstr("User-Agent")), Not(HasSubstr("host:"))));
}

TEST(HttpGet, RedirectsOnTheSameHostAreFollowed) {
  TestServer end([](const std::string&) { return Answer(200, "end"); });
  TestServer server([&](const std::string& request) {
    if (absl::StartsWith(request, "GET /relative/next")) {
      return Answer(307, "", absl::StrCat("Location: http://127.0.0.1:", end.port(), "/last\r\n"));
    }
    return absl::StartsWith(request, "GET /relative/")
               ? Answer(302, "", "Location: next?a=b\r\n")
               : Answer(301, "", "Location: /relative/first\r\n");
  });
  const auto answer = HttpGet(RequestTo(server), In(absl::Seconds(20)));
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_EQ(answer->code, 200);
  EXPECT_EQ(answer->body, "end");
  EXPECT_THAT(server.requests().back(), StartsWith("GET /relative/next?a=b HTTP/1.1"));
  EXPECT_THAT(end.requests().back(), StartsWith("GET /last HTTP/1.1"));
}

TEST(HttpGet, ARedirectToAnotherHostIsTheAnswer) {
  for (const char* location : {"http://example.org/", "//example.org/a", "mailto:a@b",
                               "http://127.0.0.1:0/", "https://[::1/"}) {
    TestServer server([&](const std::string&) {
      return Answer(302, "elsewhere", absl::StrCat("Location: ", location, "\r\n"));
    });
    const auto answer = HttpGet(RequestTo(server), In(absl::Seconds(20)));
    ASSERT_TRUE(answer.ok()) << answer.status();
    EXPECT_EQ(answer->code, 302) << location;
    EXPECT_EQ(answer->body, "elsewhere");
  }
}

TEST(HttpGet, TenRedirectsAreEnough) {
  TestServer server([](const std::string&) { return Answer(302, "", "Location: /again\r\n"); });
  const auto answer = HttpGet(RequestTo(server), In(absl::Seconds(20)));
  EXPECT_TRUE(absl::IsOutOfRange(answer.status())) << answer.status();
  EXPECT_THAT(answer.status().message(), HasSubstr("stopped after 10 redirects"));
  EXPECT_THAT(server.requests(), SizeIs(10)) << "as Go's client does";
}

TEST(HttpGet, OfAHugeBodyTheBeginningIsRead) {
  TestServer server([](const std::string&) {
    // More than the sockets hold, of which much more is announced.
    return absl::StrCat("HTTP/1.1 200 OK\r\nContent-Length: 9000000000000000000\r\n\r\n",
                        std::string(20'000'000, 'x'));
  });
  const auto answer = HttpGet(RequestTo(server), In(absl::Seconds(20)));
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_EQ(answer->body, std::string(kMostBodyBytes, 'x'));
}

TEST(HttpGet, ChunksAndAnnouncementsAreUnderstood) {
  TestServer server([](const std::string&) {
    return "HTTP/1.1 103 Early Hints\r\nLink: a\r\n\r\n"
           "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n";
  });
  const auto answer = HttpGet(RequestTo(server), In(absl::Seconds(20)));
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_EQ(answer->body, "abcde");
}

TEST(HttpGet, ASilentServerIsGivenUpAtTheDeadline) {
  TestServer server([](const std::string&) { return ""; });
  const auto answer = HttpGet(RequestTo(server), In(absl::Milliseconds(100)));
  EXPECT_TRUE(absl::IsDeadlineExceeded(answer.status())) << answer.status();
}

TEST(HttpGet, AWaitCanBeGivenUp) {
  TestServer server([](const std::string&) { return ""; });
  const auto answer =
      HttpGet(RequestTo(server),
              {.deadline = kNever, .given_up = [&] { return !server.requests().empty(); }});
  EXPECT_TRUE(absl::IsCancelled(answer.status())) << answer.status();
}

TEST(HttpGet, WhatIsNoHttpIsAnError) {
  for (const char* answer : {"SSH-2.0-x\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nab",
                             "HTTP/1.1 200 OK\r\nX: y"}) {
    TestServer server([&](const std::string&) { return answer; });
    const auto got = HttpGet(RequestTo(server), In(absl::Seconds(20)));
    EXPECT_TRUE(absl::IsUnavailable(got.status())) << answer << got.status();
    EXPECT_THAT(got.status().message(), HasSubstr("no whole HTTP answer came"));
  }
}

TEST(HttpGet, AClosedPortNamesItself) {
  uint16_t port = 0;
  {
    const LoopbackListener closed(AF_INET);
    port = closed.port();
  }
  HttpGetRequest request;
  request.host = "127.0.0.1";
  request.port = port;
  const auto answer = HttpGet(request, In(absl::Seconds(20)));
  EXPECT_TRUE(absl::IsUnavailable(answer.status()));
  EXPECT_EQ(answer.status().message(),
            absl::StrCat("connect to 127.0.0.1:", port, ": Connection refused"));
}

TEST(HttpGet, AHostThatIsNoNameIsAnError) {
  HttpGetRequest request;
  request.host = "no host\n";
  request.port = 1;
  const auto answer = HttpGet(request, In(absl::Seconds(20)));
  EXPECT_FALSE(answer.ok());
  EXPECT_THAT(answer.status().message(), HasSubstr("look up host \"no host\\n\""));
}

TEST(HttpGet, TlsTakesAnyCertificate) {
  TestServer server([](const std::string&) { return Answer(200, std::string(9000, 's')); },
                    /*tls=*/true);
  HttpGetRequest request = RequestTo(server);
  request.tls = true;
  const auto answer = HttpGet(request, In(absl::Seconds(20)));
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_EQ(answer->body, std::string(9000, 's'));
  EXPECT_THAT(server.requests().front(), StartsWith("GET / HTTP/1.1\r\n"));
}

TEST(HttpGet, AServerWithoutTlsIsAnError) {
  LoopbackListener listener(AF_INET);
  std::thread server([&] {
    const UniqueFd client = listener.Accept();
    const std::string words = "HTTP/1.1 400 Bad Request\r\n\r\n";
    EXPECT_GT(send(client.get(), words.data(), words.size(), MSG_NOSIGNAL), 0);
  });
  HttpGetRequest request;
  request.tls = true;
  request.host = "127.0.0.1";
  request.port = listener.port();
  const auto answer = HttpGet(request, In(absl::Seconds(20)));
  server.join();
  EXPECT_TRUE(absl::IsUnavailable(answer.status())) << answer.status();
  EXPECT_THAT(answer.status().message(), HasSubstr("TLS: wrong version number"));
}

}  // namespace
}  // namespace plimsoll::dial
