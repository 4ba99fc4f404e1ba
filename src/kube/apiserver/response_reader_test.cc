#include "kube/apiserver/response_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"

namespace plimsoll::kube {
namespace {

using testing::HasSubstr;

constexpr uint32_t kHeaderLimit = 200;

struct Read {
  absl::Status status;
  int code = 0;
  bool keeps_alive = false;
  std::string retry_after;
  std::string body;
  std::string rest;
};

// Reads a response that comes in pieces, and then the connection's end.
Read ReadAll(const std::string& text, size_t step) {
  ResponseReader reader(kHeaderLimit);
  Read read;
  for (size_t at = 0; at < text.size(); at += step) {
    read.rest += text.substr(at, step);
    const absl::StatusOr<bool> whole = reader.Take(&read.rest);
    read.status = whole.status();
    if (!whole.ok()) return read;
    read.body += reader.TakeBody();
  }
  read.status = reader.End();
  if (reader.header_done()) {
    read.code = reader.code();
    read.keeps_alive = reader.keeps_alive();
    read.retry_after = reader.retry_after();
  }
  return read;
}

TEST(ResponseReader, ReadsEveryKindOfBody) {
  struct Case {
    const char* text;
    bool keeps_alive;
  };
  for (const size_t step : {1u, 5u, 1000u}) {
    for (const Case& each :
         {Case{"HTTP/1.1 429 No\r\nRetry-After: 7\r\nContent-Length: 5\r\n\r\nhello", true},
          Case{"HTTP/1.1 429 No\r\nRetry-After: 7\r\nTransfer-Encoding: chunked\r\n\r\n"
               "2\r\nhe\r\n3\r\nllo\r\n0\r\n\r\n",
               true},
          Case{"HTTP/1.1 429 No\r\nretry-after: 7\r\nConnection: close\r\nContent-Length: 5\r\n\r\n"
               "hello",
               false},
          Case{"HTTP/1.0 429 No\r\nRetry-After: 7\r\n\r\nhello", false}}) {
      const Read read = ReadAll(each.text, step);
      ASSERT_TRUE(read.status.ok()) << read.status << each.text;
      EXPECT_EQ(read.code, 429);
      EXPECT_EQ(read.body, "hello");
      EXPECT_EQ(read.retry_after, "7");
      EXPECT_EQ(read.keeps_alive, each.keeps_alive) << each.text << step;
    }
  }
}

TEST(ResponseReader, LeavesWhatFollows) {
  EXPECT_EQ(ReadAll("HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nxHTTP", 1000).rest, "HTTP");
}

TEST(ResponseReader, ACutAnywhereIsAnError) {
  for (const std::string& text :
       {std::string("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"),
        std::string(
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n")}) {
    for (size_t size = 0; size < text.size(); ++size) {
      const Read read = ReadAll(text.substr(0, size), 7);
      EXPECT_TRUE(absl::IsUnavailable(read.status)) << text.substr(0, size);
    }
  }
}

TEST(ResponseReader, IsNotDeceivedByLengths) {
  // Nothing is reserved for it.
  EXPECT_TRUE(absl::IsUnavailable(
      ReadAll("HTTP/1.1 200 OK\r\nContent-Length: 9000000000000000000\r\n\r\nx", 9).status));
  for (const char* text :
       {"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffffff\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", "HTTP/9 200 OK\r\n\r\n",
        "SSH-2.0-OpenSSH_9.2\r\n", "HTTP/1.1 20\r\n\r\n"}) {
    EXPECT_TRUE(absl::IsUnavailable(ReadAll(text, 1000).status)) << text;
  }
}

TEST(ResponseReader, BoundsTheHeaderAndEveryLine) {
  const std::string much(1000, 'x');
  for (const std::string& text :
       {absl::StrCat("HTTP/1.1 200 ", much), absl::StrCat("HTTP/1.1 200 OK\r\nA: ", much),
        absl::StrCat("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1;", much)}) {
    for (const size_t step : {20u, 1000u}) {
      const Read read = ReadAll(text, step);
      EXPECT_TRUE(absl::IsUnavailable(read.status)) << text.substr(0, 60);
      EXPECT_THAT(read.status.message(), HasSubstr("header is too long"));
      EXPECT_LE(read.rest.size(), kHeaderLimit + 1000);
    }
  }
}

}  // namespace
}  // namespace plimsoll::kube
