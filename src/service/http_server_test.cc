#include "service/http_server.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <atomic>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/no_descriptors_for_test.h"
#include "base/wait_until_for_test.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace plimsoll {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

class HttpServerTest : public ::testing::Test {
 protected:
  void Start(HttpServer::Limits limits = {}) {
    auto server = HttpServer::Start(
        "127.0.0.1:0",
        [](absl::string_view path) -> HttpResponse {
          if (path == "/long") return {200, std::string(5'000'000, 'x')};
          return {200, absl::StrCat("at ", path)};
        },
        limits, [this](absl::string_view) { ++warnings_; });
    ASSERT_TRUE(server.ok()) << server.status();
    server_ = *std::move(server);
  }
  UniqueFd Connect() const {
    UniqueFd fd(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<uint16_t>(server_->port()));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    const timeval patience = {.tv_sec = 20, .tv_usec = 0};
    setsockopt(fd.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
    EXPECT_EQ(connect(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
    return fd;
  }
  static void Send(const UniqueFd& fd, const std::string& text) {
    ASSERT_EQ(send(fd.get(), text.data(), text.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(text.size()));
  }
  // Reads to the connection's end.
  static std::string ReadAll(const UniqueFd& fd) {
    std::string answer;
    char buffer[65536];
    ssize_t n = 0;
    while ((n = recv(fd.get(), buffer, sizeof(buffer), 0)) > 0) {
      answer.append(buffer, static_cast<size_t>(n));
    }
    return answer;
  }
  std::string Ask(const std::string& request) const {
    const UniqueFd fd = Connect();
    Send(fd, request);
    return ReadAll(fd);
  }

  std::atomic<int> warnings_ = 0;
  std::unique_ptr<HttpServer> server_;
};

TEST_F(HttpServerTest, AnswersInHttp) {
  Start();
  const std::string answer = Ask("GET /a?b=c HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 200 OK\r\n"));
  EXPECT_THAT(answer, HasSubstr("Content-Length: 5\r\n"));
  EXPECT_THAT(answer, EndsWith("\r\n\r\nat /a"));
  EXPECT_THAT(Ask("HEAD /a HTTP/1.0\r\n\r\n"), EndsWith("\r\n\r\n"));
  EXPECT_THAT(Ask("POST /a HTTP/1.1\r\n\r\n"), StartsWith("HTTP/1.1 405 "));
  EXPECT_THAT(Ask("rubbish\r\n\r\n"), StartsWith("HTTP/1.1 400 "));
  EXPECT_THAT(Ask(std::string(9000, 'x')), Not(HasSubstr("200 OK")));
}

TEST_F(HttpServerTest, ALongAnswerAndASlowRequestArriveWhole) {
  Start();
  EXPECT_THAT(Ask("GET /long HTTP/1.1\r\n\r\n").size(), ::testing::Gt(5'000'000));
  const UniqueFd slow = Connect();
  for (const char* part : {"GET /sl", "ow HTTP/1.1\r", "\n\r\n"}) Send(slow, part);
  EXPECT_THAT(ReadAll(slow), EndsWith("at /slow"));
}

TEST_F(HttpServerTest, SilentConnectionsAreInNobodysWay) {
  Start();
  std::vector<UniqueFd> silent;
  for (int i = 0; i < 200; ++i) silent.push_back(Connect());
  EXPECT_THAT(Ask("GET /a HTTP/1.1\r\n\r\n"), EndsWith("at /a"));
  // The oldest was closed: its end shows at once.
  EXPECT_EQ(ReadAll(silent.front()), "");
}

// Each has megabytes to read, and leaves them unread.
TEST_F(HttpServerTest, WhoNeverReadsIsInNobodysWay) {
  Start({.connections = 8, .patience = absl::Minutes(1)});
  std::vector<UniqueFd> lazy;
  for (int i = 0; i < 20; ++i) {
    lazy.push_back(Connect());
    Send(lazy.back(), "GET /long HTTP/1.1\r\n\r\n");
    EXPECT_THAT(Ask("GET /a HTTP/1.1\r\n\r\n"), EndsWith("at /a")) << i;
  }
}

TEST_F(HttpServerTest, WhoDripsItsRequestIsInNobodysWay) {
  Start({.connections = 8, .patience = absl::Minutes(1)});
  const std::string request = "GET /drop HTTP/1.1\r\n\r\n";
  std::vector<UniqueFd> slow;
  for (int i = 0; i < 6; ++i) slow.push_back(Connect());
  for (const char byte : request) {
    for (const UniqueFd& fd : slow) Send(fd, std::string(1, byte));
    EXPECT_THAT(Ask("GET /a HTTP/1.1\r\n\r\n"), EndsWith("at /a"));
  }
  for (const UniqueFd& fd : slow) EXPECT_THAT(ReadAll(fd), EndsWith("at /drop"));
}

TEST_F(HttpServerTest, GarbageIsRefusedAndNothingElseHappens) {
  Start();
  const std::string end = "\r\n\r\n";
  const std::string zeros(64, '\0');
  const std::string tls("\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", 11);
  for (const std::string& garbage :
       {end, zeros + end, tls + end, "GET " + end, "GET /a HTTP/9.9 x" + end, "GET /a" + end,
        "PRI * HTTP/2.0" + end, "\xff\xfe\xfd /a HTTP/1.1" + end, "get /a HTTP/1.1" + end,
        std::string(2000, ' ') + end}) {
    const std::string answer = Ask(garbage);
    EXPECT_THAT(answer, ::testing::AnyOf(StartsWith("HTTP/1.1 400 "), StartsWith("HTTP/1.1 405 ")))
        << testing::PrintToString(garbage);
  }
  // An endless request is cut off.
  const UniqueFd endless = Connect();
  const std::string header = "X: " + std::string(1000, 'y') + "\r\n";
  Send(endless, "GET /a HTTP/1.1\r\n");
  for (int i = 0; i < 9; ++i) {
    if (send(endless.get(), header.data(), header.size(), MSG_NOSIGNAL) < 0) break;
  }
  EXPECT_THAT(ReadAll(endless), Not(HasSubstr("200 OK")));
  EXPECT_THAT(Ask("GET /a HTTP/1.1\r\n\r\n"), EndsWith("at /a"));
}

TEST_F(HttpServerTest, WhoSaysNothingIsHungUpOn) {
  Start({.connections = 4, .patience = absl::Milliseconds(50)});
  const UniqueFd silent = Connect();
  EXPECT_EQ(ReadAll(silent), "");
}

// poll(2) takes no more descriptors than the process may have.
TEST_F(HttpServerTest, GoesOnAfterItCouldNotWait) {
  Start();
  const UniqueFd client = Connect();
  {
    const NoDescriptors none;
    Send(client, "GET /a HTTP/1.1\r\n\r\n");
    EXPECT_TRUE(WaitUntil([&] { return warnings_ > 0; }));
  }
  EXPECT_EQ(warnings_, 1);
  EXPECT_THAT(Ask("GET /b HTTP/1.1\r\n\r\n"), EndsWith("at /b"));
}

TEST_F(HttpServerTest, EndsWithOpenConnections) {
  Start();
  const UniqueFd silent = Connect();
  server_.reset();
  EXPECT_EQ(ReadAll(silent), "");
}

TEST(HttpServerAddressTest, FormsAndRefusals) {
  const auto none = [](absl::string_view) { return HttpResponse(); };
  EXPECT_TRUE(HttpServer::Start("localhost:0", none, {}).ok());
  EXPECT_TRUE(absl::IsUnavailable(HttpServer::Start("127.0.0.1", none, {}).status()));
  EXPECT_TRUE(absl::IsUnavailable(HttpServer::Start("127.0.0.1:65536", none, {}).status()));
  EXPECT_TRUE(absl::IsUnavailable(HttpServer::Start(":0", none, {}).status()));
  EXPECT_TRUE(absl::IsUnavailable(HttpServer::Start("203.0.113.1:0", none, {}).status()));
}

}  // namespace
}  // namespace plimsoll
