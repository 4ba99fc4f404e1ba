#include "daemon/telemetry/status_pages.h"

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "service/http_client_for_test.h"

namespace plimsoll::daemon {
namespace {

using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;

class StatusPagesTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto served = ServeStatusPages("127.0.0.1:0", Sources());
    ASSERT_TRUE(served.ok()) << served.status();
    server_ = *std::move(served);
  }
  StatusSources Sources() {
    return {.metrics = [this] { return metrics_; },
            .alive = [this] { return alive_; },
            .conditions = [this] { return conditions_; }};
  }
  std::string Get(const std::string& path) const { return HttpGet(server_->port(), path); }

  std::string metrics_;
  absl::Status alive_;
  std::vector<HealthCondition> conditions_;
  std::unique_ptr<HttpServer> server_;
};

TEST_F(StatusPagesTest, EachIsMadeWhenItIsAskedFor) {
  metrics_ = "plimsoll_x 1\n";
  EXPECT_THAT(Get("/metrics"), AllOf(HasSubstr("200 OK"), EndsWith("\r\n\r\nplimsoll_x 1\n")));
  metrics_ = "plimsoll_x 2\n";
  EXPECT_THAT(Get("/metrics?seconds=1"), EndsWith("\r\n\r\nplimsoll_x 2\n"));

  EXPECT_THAT(Get("/healthz"), AllOf(HasSubstr("200 OK"), EndsWith("\r\n\r\nok\n")));
  alive_ = absl::UnavailableError("all workers are taken");
  EXPECT_THAT(Get("/healthz"), AllOf(HasSubstr("503 Service Unavailable"),
                                     EndsWith("\r\n\r\nall workers are taken\n")));
}

TEST_F(StatusPagesTest, ReadyIsWhatHasAllThatIsRequired) {
  conditions_ = {{"Serving", absl::OkStatus()},
                 {"NetworkReady", absl::NotFoundError("no network"), /*is_required=*/false}};
  EXPECT_THAT(Get("/readyz"), AllOf(HasSubstr("200 OK"),
                                    EndsWith("\r\n\r\nready\nServing: yes\n"
                                             "NetworkReady: no (not required): no network\n")));
  conditions_[0].status = absl::UnavailableError("it is stopping");
  EXPECT_THAT(Get("/readyz"), AllOf(HasSubstr("503 Service Unavailable"),
                                    EndsWith("\r\n\r\nnot ready\nServing: no: it is stopping\n"
                                             "NetworkReady: no (not required): no network\n")));
}

TEST_F(StatusPagesTest, OtherPathsSayWhatThereIs) {
  for (const char* path : {"/", "/metrics/", "/healthz/x", "/../metrics", "metrics", "*"}) {
    EXPECT_THAT(Get(path), AllOf(HasSubstr("404 Not Found"),
                                 EndsWith("there is /metrics, /healthz and /readyz\n")))
        << path;
  }
}

TEST_F(StatusPagesTest, AnAddressInUseIsAnError) {
  const auto second = ServeStatusPages(absl::StrCat("127.0.0.1:", server_->port()), Sources());
  EXPECT_TRUE(absl::IsUnavailable(second.status())) << second.status();
  EXPECT_THAT(std::string(second.status().message()),
              HasSubstr("metrics.address: cannot listen on 127.0.0.1:"));
}

}  // namespace
}  // namespace plimsoll::daemon
