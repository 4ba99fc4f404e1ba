// Requests and responses, as written and as read.
#include <algorithm>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "agent/http/request.h"
#include "agent/http/response.h"
#include "gtest/gtest.h"

namespace plimsoll::agent {
namespace {

// Reads `text` in pieces of `step` bytes. What the reader leaves comes back in `rest`.
absl::StatusOr<HttpRequest> ReadRequest(absl::string_view text, size_t step,
                                        const RequestLimits& limits = {},
                                        std::string* rest = nullptr) {
  RequestReader reader(limits);
  std::string input;
  while (true) {
    const auto whole = reader.Take(&input);
    if (!whole.ok()) return whole.status();
    if (*whole) break;
    if (text.empty()) return absl::UnavailableError("cut");
    absl::StrAppend(&input, text.substr(0, step));
    text.remove_prefix(std::min(step, text.size()));
  }
  if (rest != nullptr) *rest = absl::StrCat(input, text);
  return reader.Release();
}

TEST(HttpRequestTest, IsReadAsItWasWritten) {
  const std::string text =
      FormatRequest("POST", "/api/v1/pods?x=1", "application/json", "{\"a\":1}");
  for (const size_t step : {size_t{1}, size_t{7}, text.size()}) {
    const auto request = ReadRequest(text, step);
    ASSERT_TRUE(request.ok()) << request.status();
    EXPECT_EQ(request->method, "POST");
    EXPECT_EQ(request->target, "/api/v1/pods?x=1");
    EXPECT_EQ(request->body, "{\"a\":1}");
    EXPECT_FALSE(request->keep_alive);
    EXPECT_TRUE(request->takes_chunks);
  }
}

TEST(HttpRequestTest, WhatFollowsARequestStays) {
  std::string rest;
  const auto first = ReadRequest("GET /a HTTP/1.1\r\n\r\nGET /b HTTP/1.1\r\n\r\n", 100, {}, &rest);
  ASSERT_TRUE(first.ok()) << first.status();
  EXPECT_TRUE(first->keep_alive);
  EXPECT_EQ(rest, "GET /b HTTP/1.1\r\n\r\n");
}

TEST(HttpRequestTest, AChunkedBodyIsJoined) {
  const auto request = ReadRequest(
      "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n", 1);
  ASSERT_TRUE(request.ok()) << request.status();
  EXPECT_EQ(request->body, "abcde");
}

TEST(HttpRequestTest, AnOldClientTakesNoChunks) {
  const auto request = ReadRequest("GET / HTTP/1.0\r\n\r\n", 5);
  ASSERT_TRUE(request.ok()) << request.status();
  EXPECT_FALSE(request->takes_chunks);
  EXPECT_FALSE(request->keep_alive);
}

TEST(HttpRequestTest, LimitsHold) {
  const RequestLimits limits = {.header_bytes = 100, .body_bytes = 10};
  const std::string long_header =
      absl::StrCat("GET / HTTP/1.1\r\nA: ", std::string(200, 'x'), "\r\n\r\n");
  for (const size_t step : {size_t{1}, size_t{1000}}) {
    EXPECT_TRUE(absl::IsResourceExhausted(ReadRequest(long_header, step, limits).status()));
    EXPECT_TRUE(absl::IsOutOfRange(
        ReadRequest("POST / HTTP/1.1\r\nContent-Length: 11\r\n\r\n", step, limits).status()));
    EXPECT_TRUE(absl::IsOutOfRange(
        ReadRequest("POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nb\r\nabcdefghijk\r\n",
                    step, limits)
            .status()));
  }
}

TEST(HttpRequestTest, OtherTextIsRefused) {
  for (const char* text :
       {"hello\r\n\r\n", "GET\r\n\r\n", "GET / HTTP/9\r\n\r\n",
        "GET / HTTP/1.1\r\nno colon\r\n\r\n", "POST / HTTP/1.1\r\nContent-Length: -1\r\n\r\n"}) {
    EXPECT_TRUE(absl::IsInvalidArgument(ReadRequest(text, 1000).status())) << text;
  }
}

TEST(HttpRequestTest, ContinueIsAwaitedWithoutTheBodyAlone) {
  RequestReader reader({});
  std::string input = "POST / HTTP/1.1\r\nExpect: 100-Continue\r\nContent-Length: 1\r\n";
  EXPECT_FALSE(*reader.Take(&input));
  EXPECT_FALSE(reader.awaits_continue());
  input += "\r\n";
  EXPECT_FALSE(*reader.Take(&input));
  EXPECT_TRUE(reader.awaits_continue());
  input += "x";
  EXPECT_TRUE(*reader.Take(&input));
  EXPECT_FALSE(reader.awaits_continue());
}

// The body of a response in pieces of `step` bytes, or the error.
absl::StatusOr<std::string> ReadBody(absl::string_view text, size_t step) {
  ResponseReader reader;
  std::string input;
  std::string body;
  while (!text.empty()) {
    absl::StrAppend(&input, text.substr(0, step));
    text.remove_prefix(std::min(step, text.size()));
    const auto whole = reader.Take(&input);
    if (!whole.ok()) return whole.status();
    if (reader.header_done()) body += reader.TakeBody();
    if (*whole) return body;
  }
  const absl::Status end = reader.End();
  if (!end.ok()) return end;
  return body;
}

TEST(HttpResponseTest, EveryKindOfBodyIsRead) {
  const std::string head = FormatHead({.code = 200, .length = 5, .keep_alive = true});
  EXPECT_FALSE(absl::StrContains(head, "Connection: close"));
  for (const size_t step : {size_t{1}, size_t{9}, size_t{1000}}) {
    EXPECT_EQ(*ReadBody(absl::StrCat(head, "hello"), step), "hello");
    EXPECT_EQ(*ReadBody(absl::StrCat(FormatHead({.chunked = true}), FormatChunk("hel"),
                                     FormatChunk(std::string(300, 'x')), kLastChunk),
                        step),
              "hel" + std::string(300, 'x'));
    EXPECT_EQ(*ReadBody(absl::StrCat(FormatHead({}), "until the end"), step), "until the end");
  }
}

TEST(HttpResponseTest, ACutResponseIsAnError) {
  const std::string chunks = absl::StrCat(FormatHead({.chunked = true}), FormatChunk("hel"));
  for (const std::string& text :
       {std::string("HTTP/1.1 200"), absl::StrCat(FormatHead({.length = 5}), "hell"), chunks}) {
    EXPECT_TRUE(absl::IsUnavailable(ReadBody(text, 1000).status())) << text;
  }
  EXPECT_TRUE(absl::IsUnavailable(ReadBody("SSH-2.0-OpenSSH_9.2\r\n", 1000).status()));
}

TEST(HttpResponseTest, FurtherFieldsAreWritten) {
  EXPECT_EQ(FormatHead({.code = 405, .length = 0, .fields = {"Allow: GET"}}),
            "HTTP/1.1 405 Method Not Allowed\r\nContent-Type: application/json\r\nAllow: GET\r\n"
            "Content-Length: 0\r\nConnection: close\r\n\r\n");
}

// Stands for an agent that was killed while it was asked.
TEST(HttpResponseTest, AnEndBeforeTheFirstByteIsAnError) {
  ResponseReader reader;
  EXPECT_EQ(reader.End().code(), absl::StatusCode::kUnavailable);
  EXPECT_FALSE(reader.header_done());
}

}  // namespace
}  // namespace plimsoll::agent
