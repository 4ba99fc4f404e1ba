// The daemon's pages over HTTP: its metrics, liveness and readiness.
#include <sys/socket.h>

#include <cstdio>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/programs/subprocess.h"
#include "harness/kernel.h"
#include "harness/metrics.h"
#include "harness/node.h"
#include "service/exposition_for_test.h"

namespace plimsoll::testing {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

class MetricsTest : public NodeTest {
 protected:
  MetricsTest() : NodeTest(MetricsConfig()) {}

  static Exposition Metrics() {
    const std::string answer = ReadMetrics();
    EXPECT_THAT(answer, StartsWith("HTTP/1.1 200 "));
    const size_t end = answer.find("\r\n\r\n");
    return ParseExposition(end == std::string::npos ? "" : answer.substr(end + 4));
  }
  static double Value(const std::string& line) { return MetricValue(line); }
  static double Calls(const std::string& service, const std::string& method,
                      const std::string& code) {
    return Value(absl::StrCat("plimsoll_rpc_total{code=\"", code, "\",method=\"", method,
                              "\",service=\"", service, "\"}"));
  }
  plimsoll::v1::DaemonStatusResponse DaemonStatus() {
    grpc::ClientContext context;
    plimsoll::v1::DaemonStatusResponse response;
    const grpc::Status status = node_.node().DaemonStatus(&context, {}, &response);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return response;
  }
  std::string StatusCommand() {
    const auto result = RunProgram(
        {.argv = {ProgramPath("plimsoll"), "--address", node_.address(), "daemon", "status"}});
    EXPECT_TRUE(result.ok()) << result.status();
    return result.ok() ? result->out : "";
  }
};

TEST_F(MetricsTest, WhatIsServedIsDocumented) {
  const std::string pod = RunPod();
  ExecOutput(Start(pod, Shell("sleep 1000")), "true");
  AwaitExit(Start(pod, Shell("exit 1")));
  const std::string page = *Host().Read(SourcePath("docs/metrics.md"));
  const Exposition rows = ReadMetricsPage(page);
  const Exposition metrics = Metrics();
  for (const auto& [name, family] : metrics) {
    const auto row = rows.find(name);
    if (row == rows.end()) {
      ADD_FAILURE() << "docs/metrics.md has no row for " << name;
      continue;
    }
    EXPECT_EQ(family.type, row->second.type) << name;
    for (const std::string& label : family.labels) {
      EXPECT_TRUE(row->second.labels.contains(label)) << name << " has the label " << label;
    }
  }
  const std::set<std::string> phases = FirstColumn(page, "phase");
  for (const char* phase : {"sandbox_cgroup", "container_create", "container_start"}) {
    const std::string count =
        absl::StrCat("plimsoll_start_phase_duration_seconds_count{phase=\"", phase, "\"}");
    EXPECT_GE(metrics.at("plimsoll_start_phase_duration_seconds").values.at(count), 1) << phase;
  }
  for (const auto& [line, value] : metrics.at("plimsoll_start_phase_duration_seconds").values) {
    if (!absl::StrContains(line, "_count{")) continue;
    const size_t from = line.find("phase=\"") + 7;
    const std::string phase = line.substr(from, line.find('"', from) - from);
    EXPECT_TRUE(phases.contains(phase)) << "docs/metrics.md has no phase " << phase;
  }
}

TEST_F(MetricsTest, CallsAreCountedWhateverBecomesOfThem) {
  const auto call = [](auto& stub, auto method, const auto& request, auto response) {
    grpc::ClientContext context;
    return (stub.*method)(&context, request, &response);
  };
  using Runtime = cri::RuntimeService::Stub;
  EXPECT_TRUE(
      call(node_.runtime(), &Runtime::Version, cri::VersionRequest(), cri::VersionResponse()).ok());
  EXPECT_EQ(Calls("RuntimeService", "Version", "OK"), 1);
  cri::ContainerStatusRequest nobody;
  nobody.set_container_id("0123456789abcdef");
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(
        call(node_.runtime(), &Runtime::ContainerStatus, nobody, cri::ContainerStatusResponse())
            .error_code(),
        grpc::StatusCode::NOT_FOUND);
  }
  EXPECT_EQ(Calls("RuntimeService", "ContainerStatus", "NOT_FOUND"), 2);
  // Refused before any handler runs.
  EXPECT_EQ(call(node_.runtime(), &Runtime::CheckpointContainer, cri::CheckpointContainerRequest(),
                 cri::CheckpointContainerResponse())
                .error_code(),
            grpc::StatusCode::UNIMPLEMENTED);
  EXPECT_EQ(Calls("RuntimeService", "CheckpointContainer", "UNIMPLEMENTED"), 1);
  EXPECT_EQ(Value("plimsoll_rpc_duration_seconds_count{method=\"CheckpointContainer\",service="
                  "\"RuntimeService\"}"),
            1);
  EXPECT_TRUE(call(node_.images(), &cri::ImageService::Stub::ImageFsInfo, cri::ImageFsInfoRequest(),
                   cri::ImageFsInfoResponse())
                  .ok());
  EXPECT_EQ(Calls("ImageService", "ImageFsInfo", "OK"), 1);
  DaemonStatus();
  EXPECT_EQ(Calls("NodeService", "DaemonStatus", "OK"), 1);
}

TEST_F(MetricsTest, AStreamIsCountedWhenItEnds) {
  const std::string count =
      "plimsoll_rpc_duration_seconds_count{method=\"GetContainerEvents\",service="
      "\"RuntimeService\"}";
  {
    grpc::ClientContext context;
    const auto stream = node_.runtime().GetContainerEvents(&context, {});
    stream->WaitForInitialMetadata();
    EXPECT_EQ(Value(count), -1) << "it goes on";
    context.TryCancel();
    static_cast<void>(stream->Finish());
  }
  EXPECT_TRUE(Eventually([&] { return Value(count) == 1; }));
}

TEST_F(MetricsTest, StatesExitsAndRestartsAreTold) {
  const std::string pod = RunPod();
  AwaitExit(Start(pod, Shell("exit 3")));
  cri::ContainerConfig again = Shell("sleep 1000");
  again.mutable_metadata()->set_attempt(4);
  Start(pod, again);
  const auto states = [](const std::string& when) {
    EXPECT_EQ(Value("plimsoll_sandboxes{state=\"Ready\"}"), 1) << when;
    EXPECT_EQ(Value("plimsoll_sandboxes{state=\"NotReady\"}"), 0) << when;
    EXPECT_EQ(Value("plimsoll_containers{state=\"Running\"}"), 1) << when;
    EXPECT_EQ(Value("plimsoll_containers{state=\"Exited\"}"), 1) << when;
  };
  states("before");
  EXPECT_EQ(Value("plimsoll_container_exits_total{reason=\"Error\"}"), 1);
  EXPECT_EQ(Value("plimsoll_container_exits_total{reason=\"Completed\"}"), 0);
  EXPECT_EQ(Value("plimsoll_container_restarts_total"), 1);
  EXPECT_EQ(Value("plimsoll_sandbox_restarts_total"), 0);
  EXPECT_EQ(Value("plimsoll_recovered_objects{kind=\"container\"}"), 0);
  const double started = Value("process_start_time_seconds");
  EXPECT_GT(started, 0);

  node_.KillDaemon();
  const absl::Status restarted = node_.StartDaemon();
  ASSERT_TRUE(restarted.ok()) << restarted;
  states("after");
  EXPECT_GT(Value("process_start_time_seconds"), started);
  EXPECT_EQ(Value("plimsoll_recovered_objects{kind=\"sandbox\"}"), 1);
  EXPECT_EQ(Value("plimsoll_recovered_objects{kind=\"container\"}"), 2);
  EXPECT_EQ(Value("plimsoll_recovery_troubles"), 0);
  EXPECT_GT(Value("plimsoll_recovery_duration_seconds"), 0);
  EXPECT_EQ(Value("plimsoll_container_restarts_total"), 0) << "nothing was started";
}

TEST_F(MetricsTest, APullThatFailsIsCounted) {
  EXPECT_EQ(Value("plimsoll_image_pulls_total{code=\"OK\"}"), 0);
  grpc::ClientContext context;
  cri::PullImageRequest request;
  cri::PullImageResponse response;
  request.mutable_image()->set_image("127.0.0.1:1/nobody/listens:1");
  EXPECT_FALSE(node_.images().PullImage(&context, request, &response).ok());
  EXPECT_EQ(Value("plimsoll_image_pulls_total{code=\"UNAVAILABLE\"}"), 1);
  EXPECT_EQ(Value("plimsoll_image_pull_duration_seconds_count"), 1);
  EXPECT_EQ(Value("plimsoll_image_pulls_running"), 0);
  EXPECT_EQ(Value("plimsoll_image_pull_bytes_total"), 0);
  // With kubelet's name for the error.
  EXPECT_EQ(Calls("ImageService", "PullImage", "UNKNOWN"), 1);
}

TEST_F(MetricsTest, ReadinessFollowsWhatPodsNeed) {
  const std::string ready = ReadPage("/readyz");
  EXPECT_THAT(ready,
              AllOf(StartsWith("HTTP/1.1 200 "), HasSubstr("\r\n\r\nready\nRecovered: yes\n"),
                    HasSubstr("\nServing: yes\n"), HasSubstr("\nRuntimeReady: yes\n"),
                    HasSubstr("\nStoreWritable: yes\n"),
                    HasSubstr("\nNetworkReady: no (not required): NetworkPluginNotReady: ")));
  EXPECT_THAT(DaemonStatus().not_ready(), IsEmpty());
  EXPECT_THAT(DaemonStatus().metrics_url(), StartsWith("http://127."));
  EXPECT_THAT(StatusCommand(), HasSubstr(DaemonStatus().metrics_url()));

  const std::string away = node_.state_directory() + ".away";
  ASSERT_EQ(rename(node_.state_directory().c_str(), away.c_str()), 0);
  const std::string gone = ReadPage("/readyz");
  const std::string alive = ReadPage("/healthz");
  const auto told = DaemonStatus();
  const std::string printed = StatusCommand();
  ASSERT_EQ(rename(away.c_str(), node_.state_directory().c_str()), 0);
  const std::string why =
      absl::StrCat("DirectoryUnusable: state directory ", node_.state_directory());
  EXPECT_THAT(gone, AllOf(StartsWith("HTTP/1.1 503 "), HasSubstr("\r\n\r\nnot ready\n"),
                          HasSubstr("\nRuntimeReady: no: " + why)));
  EXPECT_THAT(alive, AllOf(StartsWith("HTTP/1.1 200 "), HasSubstr("\r\n\r\nok\n")));
  EXPECT_THAT(told.not_ready(), ElementsAre(StartsWith("RuntimeReady: " + why)));
  EXPECT_THAT(printed, HasSubstr("no: RuntimeReady: " + why));
  EXPECT_THAT(ReadPage("/readyz"), StartsWith("HTTP/1.1 200 "));
}

TEST_F(MetricsTest, HostileClientsAreInNobodysWay) {
  const std::string garbage(5000, '\x16');
  const std::string request = "GET /metrics HTTP/1.1\r\n\r\n";
  std::vector<UniqueFd> hostile;
  for (int i = 0; i < 120; ++i) {
    hostile.push_back(ConnectToPages());
    const std::string& text = i % 3 == 0 ? garbage : request;
    if (i % 3 != 2) {
      static_cast<void>(send(hostile.back().get(), text.data(), text.size(), MSG_NOSIGNAL));
    }
    if (i % 30 == 29) {
      EXPECT_THAT(ReadPage("/healthz"), StartsWith("HTTP/1.1 200 "));
    }
  }
  EXPECT_THAT(ReadPage("/readyz"), StartsWith("HTTP/1.1 200 "));
  // They hold up no calls on the socket either.
  EXPECT_THAT(DaemonStatus().version(), Not(IsEmpty()));
}

}  // namespace
}  // namespace plimsoll::testing
