#include "daemon/metrics.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "base/unique_fd.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace plimsoll::daemon {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

StateCounts SomePods() {
  return {.sandboxes = {{"ready", 2}, {"not_ready", 0}}, .containers = {{"running", 3}}};
}

std::string Get(int port, const std::string& path) {
  const UniqueFd fd(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (connect(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)) != 0) return "";
  const std::string request =
      absl::StrCat("GET ", path, " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
  if (write(fd.get(), request.data(), request.size()) < 0) return "";
  std::string answer;
  char buffer[4096];
  ssize_t length = 0;
  while ((length = read(fd.get(), buffer, sizeof(buffer))) > 0) {
    answer.append(buffer, static_cast<size_t>(length));
  }
  return answer;
}

TEST(MetricsTest, TextHasCallsStatesAndEvents) {
  Metrics metrics("1.2.3", SomePods);
  metrics.ObserveRpc("StartContainer", "OK", absl::Milliseconds(3));
  metrics.ObserveRpc("StartContainer", "OK", absl::Milliseconds(30));
  metrics.ObserveRpc("StartContainer", "NOT_FOUND", absl::Microseconds(100));
  metrics.ObserveEvent("ContainerOom");
  metrics.ObservePhase("container_create", absl::Milliseconds(7));
  const std::string text = metrics.Text();
  for (const char* line :
       {"plimsoll_build_info{version=\"1.2.3\"} 1\n",
        "plimsoll_rpc_total{code=\"OK\",method=\"StartContainer\"} 2\n",
        "plimsoll_rpc_total{code=\"NOT_FOUND\",method=\"StartContainer\"} 1\n",
        "plimsoll_rpc_duration_seconds_count{method=\"StartContainer\"} 3\n",
        "plimsoll_rpc_duration_seconds_bucket{method=\"StartContainer\",le=\"0.001\"} 1\n",
        "plimsoll_rpc_duration_seconds_bucket{method=\"StartContainer\",le=\"0.005\"} 2\n",
        "plimsoll_rpc_duration_seconds_bucket{method=\"StartContainer\",le=\"+Inf\"} 3\n",
        "plimsoll_sandboxes{state=\"ready\"} 2\n", "plimsoll_sandboxes{state=\"not_ready\"} 0\n",
        "plimsoll_containers{state=\"running\"} 3\n",
        "plimsoll_start_phase_duration_seconds_bucket{phase=\"container_create\",le=\"0.01\"} 1\n",
        "plimsoll_events_total{type=\"ContainerOom\"} 1\n"}) {
    EXPECT_THAT(text, HasSubstr(line));
  }
}

TEST(MetricsTest, TellsHowBusyEachKindOfCallIs) {
  Metrics metrics("1", SomePods);
  EXPECT_THAT(metrics.Text(), Not(HasSubstr("plimsoll_calls_running")));
  metrics.SetLanes([] {
    return std::map<std::string, LaneCounts>{{"exec", {64, 64, 7, 19}}, {"look", {16, 1, 0, 0}}};
  });
  const std::string text = metrics.Text();
  for (const char* line :
       {"# TYPE plimsoll_calls_delayed_total counter\n",
        "plimsoll_call_workers{calls=\"exec\"} 64\n", "plimsoll_calls_running{calls=\"exec\"} 64\n",
        "plimsoll_calls_running{calls=\"look\"} 1\n", "plimsoll_calls_waiting{calls=\"exec\"} 7\n",
        "plimsoll_calls_delayed_total{calls=\"exec\"} 19\n"}) {
    EXPECT_THAT(text, HasSubstr(line));
  }
}

TEST(MetricsTest, ServesTheText) {
  Metrics metrics("1", SomePods);
  EXPECT_EQ(metrics.port(), 0);
  const absl::Status status = metrics.Serve("127.0.0.1:0");
  ASSERT_TRUE(status.ok()) << status;
  ASSERT_GT(metrics.port(), 0);
  metrics.ObserveRpc("Version", "OK", absl::Milliseconds(1));
  const std::string answer = Get(metrics.port(), "/metrics");
  EXPECT_THAT(answer, HasSubstr("200 OK"));
  EXPECT_THAT(answer, HasSubstr("plimsoll_rpc_total{code=\"OK\",method=\"Version\"} 1\n"));
  EXPECT_THAT(answer, HasSubstr("plimsoll_containers{state=\"running\"} 3\n"));
}

TEST(MetricsTest, HealthIsAskedForEachTime) {
  absl::Status health;
  Metrics metrics("1", SomePods, [&health] { return health; });
  ASSERT_TRUE(metrics.Serve("127.0.0.1:0").ok());
  EXPECT_THAT(Get(metrics.port(), "/healthz"), HasSubstr("200 OK"));
  health = absl::UnavailableError("it is stopping");
  const std::string answer = Get(metrics.port(), "/healthz");
  EXPECT_THAT(answer, HasSubstr("503 Service Unavailable"));
  EXPECT_THAT(answer, HasSubstr("\r\n\r\nit is stopping\n"));
  EXPECT_THAT(Get(metrics.port(), "/"), HasSubstr("404 Not Found"));
}

TEST(MetricsTest, AnAddressInUseIsAnError) {
  Metrics first("1", SomePods);
  ASSERT_TRUE(first.Serve("127.0.0.1:0").ok());
  Metrics second("1", SomePods);
  const absl::Status status = second.Serve(absl::StrCat("127.0.0.1:", first.port()));
  EXPECT_TRUE(absl::IsUnavailable(status)) << status;
  EXPECT_THAT(status.message(), HasSubstr("metrics.address: cannot listen on 127.0.0.1:"));
  EXPECT_EQ(second.port(), 0);
}

}  // namespace
}  // namespace plimsoll::daemon
