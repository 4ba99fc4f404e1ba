#include "kube/apiserver/json_frames.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"

namespace plimsoll::kube {
namespace {

using nlohmann::json;
using testing::HasSubstr;

// Everything that `text` holds, fed in pieces of `step` bytes.
absl::StatusOr<std::vector<json>> Frames(const std::string& text, size_t step,
                                         const JsonLimits& limits = {}) {
  JsonFrames frames(limits);
  std::vector<json> found;
  for (size_t at = 0; at < text.size(); at += step) {
    frames.Feed(text.substr(at, step));
    while (true) {
      absl::StatusOr<std::optional<json>> next = frames.Next();
      if (!next.ok()) return next.status();
      if (!next->has_value()) break;
      found.push_back(**std::move(next));
    }
  }
  EXPECT_FALSE(frames.is_amid());
  return found;
}

TEST(JsonFrames, FindsObjectsWhereverTheStreamIsCut) {
  const std::string text =
      "{\"a\":\"}\\\"{\\\\\"}\n\n {\"b\":[{},[1,2],\"]\"]}{}\r\n{\n \"pretty\": null\n}\n";
  const std::vector<json> wanted = {{{"a", "}\"{\\"}},
                                    {{"b", {json::object(), {1, 2}, "]"}}},
                                    json::object(),
                                    {{"pretty", nullptr}}};
  for (size_t step = 1; step <= text.size(); ++step) {
    const auto found = Frames(text, step);
    ASSERT_TRUE(found.ok()) << found.status();
    EXPECT_EQ(*found, wanted) << step;
  }
}

TEST(JsonFrames, TakesNothingElse) {
  for (const char* text : {"[]", "\"a\"", "7", "null", "<html>", "}", "{]", "{\"a\":}", "{a}",
                           "{\"\xff\":1}", "{} x", "{\"a\":1,}"}) {
    for (const size_t step : {1u, 100u}) {
      const auto found = Frames(text, step);
      EXPECT_TRUE(absl::IsUnavailable(found.status())) << text;
      EXPECT_THAT(found.status().message(), HasSubstr("no JSON object")) << text;
    }
  }
}

TEST(JsonFrames, HoldsItsLimits) {
  const JsonLimits limits = {.bytes = 60, .depth = 3, .values = 10};
  EXPECT_TRUE(Frames("{\"a\":[[1,2,3,4]]}", 1, limits).ok());
  EXPECT_THAT(Frames("{\"a\":[[[1]]]}", 1, limits).status().message(), HasSubstr("3 levels deep"));
  EXPECT_THAT(Frames("{\"a\":[1,1,1,1,1,1,1,1,1,1]}", 1, limits).status().message(),
              HasSubstr("more than 10 values"));
  EXPECT_THAT(
      Frames(absl::StrCat("{\"a\":\"", std::string(100, 'x')), 1, limits).status().message(),
      HasSubstr("more than 60"));
  // The limit of each object, not of all.
  std::string many;
  for (int i = 0; i < 100; ++i) absl::StrAppend(&many, "{\"a\":[1,2]}\n");
  EXPECT_EQ(Frames(many, 7, limits)->size(), 100u);
  EXPECT_EQ(Frames(many, many.size(), limits)->size(), 100u);
}

TEST(ParseObject, TakesOneWholeObject) {
  EXPECT_EQ(*ParseObject(" {\"a\":1}\n", {}), json({{"a", 1}}));
  EXPECT_THAT(ParseObject("", {}).status().message(), HasSubstr("nothing"));
  EXPECT_THAT(ParseObject("{\"a\":1", {}).status().message(), HasSubstr("no end"));
  EXPECT_THAT(ParseObject("{}{}", {}).status().message(), HasSubstr("more than one"));
  EXPECT_THAT(ParseObject("{}{", {}).status().message(), HasSubstr("more than one"));
  EXPECT_TRUE(absl::IsUnavailable(ParseObject("{}]", {}).status()));
}

}  // namespace
}  // namespace plimsoll::kube
