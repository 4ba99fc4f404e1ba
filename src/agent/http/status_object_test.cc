#include "agent/http/status_object.h"

#include "gtest/gtest.h"

namespace plimsoll::agent {
namespace {

TEST(StatusObject, AnErrorComesBackAsItWas) {
  for (int code = 1; code <= 16; ++code) {
    const absl::Status error(static_cast<absl::StatusCode>(code), "pod \"web\"\nsecond line");
    const ApiError sent = ApiErrorOf(error);
    EXPECT_GE(sent.code, 400);
    EXPECT_EQ(StatusOfResponse(sent.code, StatusObject(sent).dump()), error);
  }
}

TEST(StatusObject, HasKubernetesFields) {
  const auto object = StatusObject(ApiErrorOf(absl::NotFoundError("no pod default/web")));
  EXPECT_EQ(object, nlohmann::json({{"kind", "Status"},
                                    {"apiVersion", "v1"},
                                    {"metadata", nlohmann::json::object()},
                                    {"status", "Failure"},
                                    {"message", "no pod default/web"},
                                    {"reason", "NotFound"},
                                    {"code", 404}}));
}

TEST(StatusObject, OtherBodiesBecomeTheMessage) {
  EXPECT_EQ(StatusOfResponse(503, "at rest\n"), absl::UnavailableError("at rest"));
  EXPECT_EQ(StatusOfResponse(502, ""),
            absl::InternalError("the agent answered with HTTP code 502"));
  EXPECT_TRUE(absl::IsNotFound(StatusOfResponse(404, R"({"kind": "Pod"})")));
  EXPECT_TRUE(absl::IsInvalidArgument(StatusOfResponse(422, R"({"kind": "Status"})")));
  EXPECT_TRUE(absl::IsFailedPrecondition(
      StatusOfResponse(409, R"({"kind": "Status", "reason": 7, "message": []})")));
  EXPECT_EQ(StatusOfResponse(418, "").code(), absl::StatusCode::kUnknown);
}

}  // namespace
}  // namespace plimsoll::agent
