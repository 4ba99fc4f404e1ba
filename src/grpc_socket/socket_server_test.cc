#include "grpc_socket/socket_server.h"

#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "absl/synchronization/notification.h"
#include "base/dir_for_test.h"
#include "base/wait_until_for_test.h"
#include "grpc/health/v1/health.grpc.pb.h"
#include "kubelet/deviceplugin/v1beta1/api.grpc.pb.h"

namespace plimsoll {
namespace {

using ::testing::HasSubstr;

// Any service does: this one refuses each call in its own words, or holds it.
class Refuser final : public ::v1beta1::Registration::Service {
 public:
  grpc::Status Register(grpc::ServerContext* context, const ::v1beta1::RegisterRequest*,
                        ::v1beta1::Empty*) override {
    if (entered != nullptr) {
      entered->Notify();
      WaitUntil([&] { return context->IsCancelled(); });
      was_cancelled = context->IsCancelled();
    }
    return {grpc::StatusCode::ABORTED, "not today"};
  }
  absl::Notification* entered = nullptr;
  bool was_cancelled = false;
};

class SocketServerTest : public testing::Test {
 protected:
  SocketServerTest() {
    options_.file = {absl::StrCat(dir_.path(), "/it.sock"), 0640, std::nullopt};
    options_.name = "test";
    options_.configure = [this](grpc::ServerBuilder& builder) {
      builder.RegisterService(&service_);
    };
    options_.tell = [this](const absl::Status& made) {
      const absl::MutexLock lock(&mutex_);
      told_.push_back(made);
    };
  }
  absl::Status Start() {
    auto server = SocketServer::Start(options_);
    if (server.ok()) server_ = *std::move(server);
    return server.status();
  }
  std::shared_ptr<grpc::Channel> Channel() const {
    grpc::ChannelArguments own;
    own.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    return grpc::CreateCustomChannel("unix:" + options_.file.path,
                                     grpc::InsecureChannelCredentials(), own);
  }
  grpc::Status Call(const std::string& text = "") const {
    grpc::ClientContext context;
    ::v1beta1::RegisterRequest request;
    request.set_endpoint(text);
    ::v1beta1::Empty response;
    return ::v1beta1::Registration::NewStub(Channel())->Register(&context, request, &response);
  }
  std::vector<absl::Status> Told() {
    const absl::MutexLock lock(&mutex_);
    return told_;
  }

  const TestDir dir_;
  Refuser service_;
  absl::Mutex mutex_;
  std::vector<absl::Status> told_ ABSL_GUARDED_BY(mutex_);
  SocketServer::Options options_;
  std::unique_ptr<SocketServer> server_;
};

TEST_F(SocketServerTest, ServesAtAFileOfItsModeUntilItsEnd) {
  ASSERT_TRUE(Start().ok());
  EXPECT_EQ(Call().error_message(), "not today");
  const auto info = dir_.root().Stat("it.sock");
  ASSERT_TRUE(info.ok()) << info.status();
  EXPECT_EQ(info->st_mode & 07777, 0640u);
  server_.reset();
  EXPECT_FALSE(dir_.root().Exists("it.sock"));
}

TEST_F(SocketServerTest, ARequestBeyondTheLimitFailsAlone) {
  options_.request_bytes = 1000;
  ASSERT_TRUE(Start().ok());
  EXPECT_EQ(Call(std::string(2000, 'x')).error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_EQ(Call(std::string(500, 'x')).error_message(), "not today");
}

TEST_F(SocketServerTest, AGateLetsInWhatItHandsOn) {
  int seen = 0;  // of the keeper's thread, until the server's end
  options_.gate = [&seen](SocketServer::Serve serve) {
    return [&seen, serve = std::move(serve)](UniqueFd connection) {
      if (++seen == 1) serve(std::move(connection));
    };
  };
  ASSERT_TRUE(Start().ok());
  EXPECT_EQ(Call().error_message(), "not today");
  EXPECT_EQ(Call().error_code(), grpc::StatusCode::UNAVAILABLE);
  server_.reset();
  EXPECT_GE(seen, 2);
}

TEST_F(SocketServerTest, ASocketThatIsRemovedIsMadeAgain) {
  ASSERT_TRUE(Start().ok());
  ASSERT_TRUE(dir_.root().RemoveFile("it.sock").ok());
  ASSERT_TRUE(WaitUntil([&] { return !Told().empty(); }));
  EXPECT_TRUE(Told().front().ok());
  EXPECT_EQ(Call().error_message(), "not today");
}

TEST_F(SocketServerTest, ASocketThatAProcessLeftBehindIsReplacedAndALivingOnesStays) {
  { const auto left = ListenAt(options_.file); }
  ASSERT_TRUE(dir_.root().Exists("it.sock"));
  ASSERT_TRUE(Start().ok());
  const auto first = std::move(server_);
  const absl::Status second = Start();
  EXPECT_TRUE(absl::IsFailedPrecondition(second)) << second;
  EXPECT_THAT(std::string(second.message()), HasSubstr("another process listens on "));
  EXPECT_EQ(Call().error_message(), "not today");
}

TEST_F(SocketServerTest, AFileThatIsNoSocketStays) {
  ASSERT_TRUE(dir_.root().ReplaceFile("it.sock", "mine").ok());
  EXPECT_TRUE(absl::IsFailedPrecondition(Start()));
  EXPECT_EQ(dir_.root().Read("it.sock").value_or(""), "mine");
}

TEST_F(SocketServerTest, APathThatNoSocketCanHaveIsRefused) {
  options_.file.path = "it.sock";
  EXPECT_TRUE(absl::IsInvalidArgument(Start()));
}

TEST_F(SocketServerTest, AStartThatFailsLeavesNoFile) {
  options_.file.path = dir_.path() + "/none/it.sock";
  EXPECT_THAT(std::string(Start().message()), HasSubstr("listen on "));
  ASSERT_TRUE(dir_.root().MakeDirs("there", 0700).ok());
  options_.file = {dir_.path() + "/there/it.sock", 0600, std::nullopt};
  ASSERT_TRUE(dir_.root().MakeDirs("there/it.sock/below", 0700).ok());
  EXPECT_FALSE(Start().ok());
  EXPECT_FALSE(dir_.root().Exists("there/.it.sock"));
}

TEST_F(SocketServerTest, TheEndCancelsCallsAndWaitsForThem) {
  absl::Notification entered;
  service_.entered = &entered;
  ASSERT_TRUE(Start().ok());
  std::thread client([this] { EXPECT_FALSE(Call().ok()); });
  entered.WaitForNotification();
  server_.reset();
  EXPECT_TRUE(service_.was_cancelled);
  client.join();
}

TEST_F(SocketServerTest, HealthIsToldOfTheServiceThatIsNamed) {
  options_.healthy_service = "v1beta1.Registration";
  ASSERT_TRUE(Start().ok());
  grpc::ClientContext context;
  grpc::health::v1::HealthCheckRequest request;
  request.set_service("v1beta1.Registration");
  grpc::health::v1::HealthCheckResponse response;
  const grpc::Status status =
      grpc::health::v1::Health::NewStub(Channel())->Check(&context, request, &response);
  ASSERT_TRUE(status.ok()) << status.error_message();
  EXPECT_EQ(response.status(), grpc::health::v1::HealthCheckResponse::SERVING);
}

}  // namespace
}  // namespace plimsoll
