#include "agent/probes/grpc_health.h"

#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <atomic>
#include <memory>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/loopback_listener_for_test.h"
#include "grpc/health/v1/health.grpc.pb.h"
#include "plimsoll/v1/topology.grpc.pb.h"

namespace plimsoll::agent {
namespace {

using ::testing::HasSubstr;
using Response = grpc::health::v1::HealthCheckResponse;
using Result = ProbeOutcome::Result;

class FakeHealth : public grpc::health::v1::Health::Service {
 public:
  grpc::Status Check(grpc::ServerContext* context,
                     const grpc::health::v1::HealthCheckRequest* request,
                     Response* response) override {
    const auto agent = context->client_metadata().find("user-agent");
    if (agent != context->client_metadata().end()) {
      user_agent = std::string(agent->second.data(), agent->second.size());
    }
    if (request->service() == "hangs") {
      asked = true;
      while (!context->IsCancelled()) absl::SleepFor(absl::Milliseconds(1));
      return grpc::Status::CANCELLED;
    }
    if (request->service() == "unheard-of") return {grpc::StatusCode::NOT_FOUND, "unknown service"};
    response->set_status(request->service() == "sick" ? Response::NOT_SERVING : Response::SERVING);
    return grpc::Status::OK;
  }
  std::atomic<bool> asked = false;
  std::string user_agent;
};

class GrpcHealthTest : public testing::Test {
 protected:
  // `serves`: the health service; else another one.
  void Begin(bool serves) {
    grpc::ServerBuilder builder;
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port_);
    if (serves) {
      builder.RegisterService(&health_);
    } else {
      builder.RegisterService(&other_);
    }
    server_ = builder.BuildAndStart();
    ASSERT_NE(server_, nullptr);
  }
  ProbeOutcome Check(const std::string& service, absl::Duration timeout = absl::Seconds(20)) {
    return CheckGrpcHealth(absl::StrCat("127.0.0.1:", port_), service, timeout,
                           [this] { return given_up_.load(); });
  }

  FakeHealth health_;
  plimsoll::v1::TopologyProviderService::Service other_;
  std::unique_ptr<grpc::Server> server_;
  int port_ = 0;
  std::atomic<bool> given_up_ = false;
};

TEST_F(GrpcHealthTest, TheServersStateIsTheResult) {
  Begin(true);
  EXPECT_EQ(Check("").result, Result::kSuccess);
  EXPECT_THAT(health_.user_agent, HasSubstr("kube-probe/"));
  const ProbeOutcome sick = Check("sick");
  EXPECT_EQ(sick.result, Result::kFailure);
  EXPECT_EQ(sick.words, "service unhealthy (responded with \"NOT_SERVING\")");
  const ProbeOutcome unknown = Check("unheard-of");
  EXPECT_EQ(unknown.result, Result::kFailure);
  EXPECT_EQ(unknown.words, "health rpc failed: unknown service");
}

TEST_F(GrpcHealthTest, AServerWithoutTheProtocolHasFailed) {
  Begin(false);
  const ProbeOutcome outcome = Check("");
  EXPECT_EQ(outcome.result, Result::kFailure);
  EXPECT_THAT(outcome.words, HasSubstr("does not implement the grpc health protocol"));
}

TEST_F(GrpcHealthTest, ASlowServerHasFailed) {
  Begin(true);
  const ProbeOutcome outcome = Check("hangs", absl::Milliseconds(100));
  EXPECT_EQ(outcome.result, Result::kFailure);
  EXPECT_EQ(outcome.words, "timeout: health rpc did not complete within 100ms");
}

TEST_F(GrpcHealthTest, ACheckCanBeGivenUp) {
  Begin(true);
  const ProbeOutcome outcome =
      CheckGrpcHealth(absl::StrCat("127.0.0.1:", port_), "hangs", absl::Seconds(60),
                      [this] { return health_.asked.load(); });
  EXPECT_EQ(outcome.result, Result::kUnknown);
}

TEST_F(GrpcHealthTest, AClosedPortHasFailed) {
  {
    const LoopbackListener closed(AF_INET);
    port_ = closed.port();
  }
  const ProbeOutcome outcome = Check("");
  EXPECT_EQ(outcome.result, Result::kFailure);
  EXPECT_THAT(outcome.words, HasSubstr("failed to connect service \"127.0.0.1:"));
}

}  // namespace
}  // namespace plimsoll::agent
