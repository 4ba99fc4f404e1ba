#include "kube/program.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/dir_for_test.h"
#include "base/loopback_listener_for_test.h"
#include "base/socket_probe.h"
#include "kube/driver/driver.h"
#include "kube/report_fan.h"
#include "service/http_client_for_test.h"

namespace plimsoll::kube {
namespace {

using ::testing::HasSubstr;

const char* BareEnvironment(const char*) {
  return nullptr;
}

// Neither an API server nor plimsolld answers.
class ProgramTest : public testing::Test {
 protected:
  ProgramTest() {
    config_.node_name = "n1";
    config_.kubeconfig = dir_.root().PathOf("kubeconfig");
    config_.runtime_socket = dir_.root().PathOf("none.sock");
    config_.kubelet_root = dir_.root().PathOf("kubelet");
    config_.state_directory = dir_.root().PathOf("state");
    EXPECT_TRUE(dir_.root()
                    .ReplaceFile("kubeconfig",
                                 "current-context: c\n"
                                 "contexts: [{name: c, context: {cluster: c, user: u}}]\n"
                                 "clusters: [{name: c, cluster: {server: 'https://127.0.0.1:1'}}]\n"
                                 "users: [{name: u, user: {token: secret}}]\n")
                    .ok());
  }

  absl::StatusOr<std::unique_ptr<Program>> Start(std::map<std::string, UniqueFd> sockets = {}) {
    return Program::Start(config_, std::move(sockets), BareEnvironment, &log_);
  }
  std::string Logged() {
    const absl::MutexLock lock(&mutex_);
    return absl::StrJoin(lines_, "\n");
  }

  TestDir dir_;
  KubeProgramConfig config_;
  absl::Mutex mutex_;
  std::vector<std::string> lines_ ABSL_GUARDED_BY(mutex_);
  Log log_{LogFormat::kText, LogLevel::kDebug, [this](LogLevel, const std::string& line) {
             const absl::MutexLock lock(&mutex_);
             lines_.push_back(line);
           }};
};

TEST_F(ProgramTest, ItServesKubeletThoughNobodyElseAnswers) {
  {
    const auto program = Start();
    ASSERT_TRUE(program.ok()) << program.status();
    EXPECT_TRUE(ProbeSocket(RegistrationSocketOf(config_.kubelet_root)).ok());
    EXPECT_TRUE(ProbeSocket(DriverSocketOf(config_.kubelet_root)).ok());
  }
  EXPECT_FALSE(ProbeSocket(RegistrationSocketOf(config_.kubelet_root)).ok());
  EXPECT_THAT(Logged(), testing::Not(HasSubstr("secret")));
}

TEST_F(ProgramTest, OneInstanceUsesAStateDirectory) {
  const auto program = Start();
  ASSERT_TRUE(program.ok()) << program.status();
  const auto second = Start();
  EXPECT_EQ(second.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(second.status().message()), HasSubstr("state directory"));
}

TEST_F(ProgramTest, WithoutAccessToAServerTheKubeconfigIsNamed) {
  config_.kubeconfig = "";
  const auto program = Start();
  EXPECT_EQ(program.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(program.status().message()), HasSubstr("--kubeconfig"));
}

TEST_F(ProgramTest, MetricsAreServed) {
  uint16_t port = 0;
  {
    const LoopbackListener free(AF_INET);
    port = free.port();
  }
  config_.metrics_address = absl::StrCat("127.0.0.1:", port);
  const auto program = Start();
  ASSERT_TRUE(program.ok()) << program.status();
  EXPECT_THAT(HttpGet(port, "/metrics"), HasSubstr("plimsoll_kube_registered 0"));
  EXPECT_THAT(HttpGet(port, "/healthz"), HasSubstr("200 OK"));
  EXPECT_THAT(HttpGet(port, "/"), HasSubstr("404"));
}

TEST_F(ProgramTest, AnAddressThatIsTakenIsNamed) {
  const LoopbackListener taken(AF_INET);
  config_.metrics_address = absl::StrCat("127.0.0.1:", taken.port());
  EXPECT_THAT(std::string(Start().status().message()),
              HasSubstr(absl::StrCat("metricsAddress 127.0.0.1:", taken.port())));
}

TEST_F(ProgramTest, ASocketThatIsNoneOfItsIsTold) {
  std::map<std::string, UniqueFd> sockets;
  sockets["/run/other.sock"] = UniqueFd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  ASSERT_TRUE(Start(std::move(sockets)).ok());
  EXPECT_THAT(Logged(), HasSubstr("passed on socket /run/other.sock, which is none of"));
}

TEST(ReportFanTest, AReceiverGetsTheLastReportAndAllLaterOnes) {
  ReportFan fan;
  std::vector<std::shared_ptr<const NodeReport>> first, second;
  fan.Attach([&](auto report) { first.push_back(report); });
  const auto report = std::make_shared<const NodeReport>();
  fan.Hear(report);
  fan.Attach([&](auto told) { second.push_back(told); });
  fan.Hear(nullptr);
  EXPECT_THAT(first, testing::ElementsAre(report, nullptr));
  EXPECT_THAT(second, testing::ElementsAre(report, nullptr));
  fan.DetachAll();
  fan.Hear(report);
  EXPECT_EQ(first.size(), 2u);
}

}  // namespace
}  // namespace plimsoll::kube
