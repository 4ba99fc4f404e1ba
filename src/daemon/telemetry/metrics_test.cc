#include "daemon/telemetry/metrics.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace plimsoll::daemon {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

StateCounts SomePods() {
  return {.sandboxes = {{"ready", 2}, {"not_ready", 0}}, .containers = {{"running", 3}}};
}

TEST(MetricsTest, TextHasCallsStatesAndEvents) {
  Metrics metrics("1.2.3", SomePods);
  metrics.ObserveRpc("RuntimeService", "StartContainer", "OK", absl::Milliseconds(3));
  metrics.ObserveRpc("RuntimeService", "StartContainer", "OK", absl::Milliseconds(30));
  metrics.ObserveRpc("RuntimeService", "StartContainer", "NOT_FOUND", absl::Microseconds(100));
  metrics.ObserveRpc("ImageService", "PullImage", "OK", absl::Milliseconds(3));
  metrics.ObserveRpc("NodeService", "PullImage", "OK", absl::Milliseconds(3));
  metrics.ObserveEvent("ContainerOom");
  metrics.ObservePhase("container_create", absl::Milliseconds(7));
  const std::string text = metrics.Text();
  for (const char* line :
       {"plimsoll_build_info{version=\"1.2.3\"} 1\n",
        "plimsoll_rpc_total{code=\"OK\",method=\"StartContainer\",service=\"RuntimeService\"} 2\n",
        "plimsoll_rpc_total{code=\"NOT_FOUND\",method=\"StartContainer\",service="
        "\"RuntimeService\"} 1\n",
        "plimsoll_rpc_duration_seconds_count{method=\"StartContainer\",service=\"RuntimeService\"} "
        "3\n",
        "plimsoll_rpc_duration_seconds_bucket{method=\"StartContainer\",service=\"RuntimeService\","
        "le=\"0.001\"} 1\n",
        "plimsoll_rpc_duration_seconds_bucket{method=\"StartContainer\",service=\"RuntimeService\","
        "le=\"0.005\"} 2\n",
        "plimsoll_rpc_duration_seconds_bucket{method=\"StartContainer\",service=\"RuntimeService\","
        "le=\"+Inf\"} 3\n",
        "plimsoll_rpc_total{code=\"OK\",method=\"PullImage\",service=\"ImageService\"} 1\n",
        "plimsoll_rpc_total{code=\"OK\",method=\"PullImage\",service=\"NodeService\"} 1\n",
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

TEST(MetricsTest, TellsOfPulls) {
  Metrics metrics("1", SomePods);
  EXPECT_THAT(metrics.Text(), AllOf(HasSubstr("plimsoll_image_pulls_total{code=\"OK\"} 0\n"),
                                    HasSubstr("plimsoll_image_pulls_running 0\n")));
  metrics.ObservePullStart();
  metrics.ObservePullStart();
  EXPECT_THAT(metrics.Text(), HasSubstr("plimsoll_image_pulls_running 2\n"));
  metrics.ObservePullEnd(absl::OkStatus(), absl::Seconds(20), 1000);
  metrics.ObservePullEnd(absl::NotFoundError("no such tag"), absl::Milliseconds(200), 24);
  const std::string text = metrics.Text();
  for (const char* line :
       {"plimsoll_image_pulls_running 0\n", "plimsoll_image_pulls_total{code=\"OK\"} 1\n",
        "plimsoll_image_pulls_total{code=\"NOT_FOUND\"} 1\n",
        "plimsoll_image_pull_bytes_total 1024\n",
        "plimsoll_image_pull_duration_seconds_bucket{le=\"0.25\"} 1\n",
        "plimsoll_image_pull_duration_seconds_bucket{le=\"30\"} 2\n",
        "plimsoll_image_pull_duration_seconds_count 2\n"}) {
    EXPECT_THAT(text, HasSubstr(line));
  }
}

TEST(MetricsTest, OnlyWhatStandsInForAnEarlierOneIsARestart) {
  Metrics metrics("1", SomePods);
  metrics.ObserveSandboxStart(0);
  metrics.ObserveContainerStart(0);
  EXPECT_THAT(metrics.Text(), AllOf(HasSubstr("plimsoll_sandbox_restarts_total 0\n"),
                                    HasSubstr("plimsoll_container_restarts_total 0\n")));
  metrics.ObserveSandboxStart(1);
  metrics.ObserveContainerStart(1);
  metrics.ObserveContainerStart(17);
  EXPECT_THAT(metrics.Text(), AllOf(HasSubstr("plimsoll_sandbox_restarts_total 1\n"),
                                    HasSubstr("plimsoll_container_restarts_total 2\n")));
}

TEST(MetricsTest, WhoOnlyLooksAtTheTopologyIsCountedApart) {
  Metrics metrics("1", SomePods);
  metrics.ObserveTopologySent(/*to_client=*/false);
  metrics.ObserveTopologySent(/*to_client=*/false);
  metrics.ObserveTopologySent(/*to_client=*/true);
  EXPECT_THAT(metrics.Text(), AllOf(HasSubstr("\ncri_dynamic_runtime_config_responses_total 1\n"),
                                    HasSubstr("\nplimsoll_topology_observer_responses_total 2\n")));
}

// The number of labels is bounded, whatever reasons come.
TEST(MetricsTest, ExitsAreCountedByKnownReasons) {
  Metrics metrics("1", SomePods);
  metrics.ObserveContainerExit("OOMKilled");
  metrics.ObserveContainerExit("Moonshine");
  metrics.ObserveContainerExit("");
  const std::string text = metrics.Text();
  for (const char* line : {"plimsoll_container_exits_total{reason=\"OOMKilled\"} 1\n",
                           "plimsoll_container_exits_total{reason=\"Completed\"} 0\n",
                           "plimsoll_container_exits_total{reason=\"Other\"} 2\n"}) {
    EXPECT_THAT(text, HasSubstr(line));
  }
  EXPECT_THAT(text, Not(HasSubstr("Moonshine")));
}

TEST(MetricsTest, TellsHowTheStartWent) {
  Metrics metrics("1", SomePods);
  EXPECT_THAT(metrics.Text(), Not(HasSubstr("plimsoll_recover")));
  metrics.ObserveRecovery({absl::Milliseconds(1500), 3, 5, 1});
  const std::string text = metrics.Text();
  for (const char* line :
       {"plimsoll_recovery_duration_seconds 1.5\n",
        "plimsoll_recovered_objects{kind=\"sandbox\"} 3\n",
        "plimsoll_recovered_objects{kind=\"container\"} 5\n", "plimsoll_recovery_troubles 1\n"}) {
    EXPECT_THAT(text, HasSubstr(line));
  }
}

}  // namespace
}  // namespace plimsoll::daemon
