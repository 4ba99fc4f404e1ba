#include "kube/apiserver/api_error.h"

#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"

namespace plimsoll::kube {
namespace {

TEST(ApiError, MeansWhatTheClientPromises) {
  struct Case {
    const char* method;
    int code;
    const char* reason;
    absl::StatusCode wanted;
  };
  using Code = absl::StatusCode;
  for (const Case& each :
       {Case{"GET", 400, "BadRequest", Code::kInvalidArgument},
        Case{"GET", 401, "Unauthorized", Code::kUnauthenticated},
        Case{"GET", 403, "Forbidden", Code::kPermissionDenied},
        Case{"GET", 404, "NotFound", Code::kNotFound},
        Case{"PUT", 405, "MethodNotAllowed", Code::kInvalidArgument},
        Case{"POST", 409, "AlreadyExists", Code::kAlreadyExists},
        Case{"POST", 409, "Conflict", Code::kAborted}, Case{"PUT", 409, "Conflict", Code::kAborted},
        Case{"GET", 410, "Expired", Code::kOutOfRange},
        Case{"PUT", 413, "RequestEntityTooLarge", Code::kInvalidArgument},
        Case{"PUT", 422, "Invalid", Code::kInvalidArgument},
        Case{"GET", 429, "TooManyRequests", Code::kResourceExhausted},
        Case{"GET", 500, "InternalError", Code::kUnavailable},
        Case{"GET", 503, "ServiceUnavailable", Code::kUnavailable},
        Case{"GET", 504, "Timeout", Code::kUnavailable},
        Case{"GET", 302, "", Code::kUnavailable}}) {
    const nlohmann::json object = {
        {"kind", "Status"}, {"message", "words"}, {"reason", each.reason}, {"code", each.code}};
    const absl::Status status = ErrorOfAnswer(each.method, each.code, object.dump());
    EXPECT_EQ(status.code(), each.wanted) << status;
    const std::string reason = *each.reason == 0 ? "" : absl::StrCat(", ", each.reason);
    EXPECT_EQ(status.message(), absl::StrCat("words (HTTP code ", each.code, reason, ")"));
    if (each.code >= 400) {
      EXPECT_EQ(ErrorOfStatus(each.method, object), status);
    }
  }
}

TEST(ApiError, TakesAnyBodyForAMessage) {
  EXPECT_EQ(ErrorOfAnswer("GET", 502, "<p>Bad\n Gateway</p>\n").message(),
            "<p>Bad\\n Gateway</p> (HTTP code 502)");
  EXPECT_EQ(ErrorOfAnswer("GET", 503, "").message(), "the server gave no reason (HTTP code 503)");
  EXPECT_EQ(ErrorOfAnswer("POST", 409, "").code(), absl::StatusCode::kAlreadyExists);
  EXPECT_LT(ErrorOfAnswer("GET", 500, std::string(100'000, 'x')).message().size(), 1100u);
}

TEST(ApiError, AStatusThatLiesIsStillAnError) {
  for (const nlohmann::json& object :
       {nlohmann::json(), nlohmann::json(7), nlohmann::json({{"code", 200}}),
        nlohmann::json({{"code", "410"}, {"message", 7}}), nlohmann::json({{"code", -1}})}) {
    EXPECT_EQ(ErrorOfStatus("GET", object).code(), absl::StatusCode::kUnavailable) << object;
  }
  EXPECT_EQ(ErrorOfStatus("GET", {{"code", 410}}).code(), absl::StatusCode::kOutOfRange);
}

TEST(ApiError, OfARedirectTheHostIsTold) {
  struct Case {
    const char* location;
    const char* told;
  };
  for (const Case& each : {Case{"https://login.example:8443/a?b=secret", "\"login.example:8443\""},
                           Case{"https://me:secret@a.example", "\"a.example\""},
                           Case{"//b.example?secret", "\"b.example\""}, Case{"/y", "another path"},
                           Case{"", "another path"}, Case{"https://a\x1b[m/", "\"a\\x1b[m\""}}) {
    const absl::Status status = ErrorOfRedirect(302, each.location);
    EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
    EXPECT_NE(status.message().find(absl::StrCat("redirects to ", each.told, ", ")),
              absl::string_view::npos)
        << status;
    EXPECT_EQ(status.message().find("secret"), absl::string_view::npos) << status;
  }
  const std::string longest = absl::StrCat("https://", std::string(100'000, 'x'));
  EXPECT_LT(ErrorOfRedirect(301, longest).message().size(), 500u);
}

TEST(RetryAfter, IsSecondsOrADate) {
  const absl::Time now = absl::FromUnixSeconds(1445412480);  // 2015-10-21 07:28:00
  EXPECT_EQ(RetryAfter("7", now), absl::Seconds(7));
  EXPECT_EQ(RetryAfter(" 0 ", now), absl::ZeroDuration());
  EXPECT_EQ(RetryAfter("999999999", now), absl::Hours(24));
  EXPECT_EQ(RetryAfter("Wed, 21 Oct 2015 07:28:03 GMT", now), absl::Seconds(3));
  EXPECT_EQ(RetryAfter("Wed, 21 Oct 2015 07:27:00 GMT", now), absl::ZeroDuration());
  EXPECT_EQ(RetryAfter("Wed, 21 Oct 2099 07:27:00 GMT", now), absl::Hours(24));
  for (const char* none : {"", "-1", "soon", "1.5", "Wed, 21 Oct 2015", "99999999999999999999"}) {
    EXPECT_EQ(RetryAfter(none, now), std::nullopt) << none;
  }
}

}  // namespace
}  // namespace plimsoll::kube
