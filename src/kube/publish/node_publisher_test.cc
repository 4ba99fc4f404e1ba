#include "kube/publish/node_publisher.h"

#include <gtest/gtest.h>

#include "base/wait_until_for_test.h"
#include "kube/apiserver/fake_api_client_for_test.h"
#include "kube/publish/reports_for_test.h"

namespace plimsoll::kube {
namespace {

RoundOptions QuickOptions() {
  RoundOptions options;
  options.publish.labels = {"cpus"};
  options.pace.rest = absl::ZeroDuration();
  options.pace.first_retry = absl::Milliseconds(1);
  options.pace.longest_retry = absl::Milliseconds(1);
  return options;
}

std::string CpusLabel(const FakeApiClient& server) {
  const nlohmann::json node = server.Get("/api/v1/nodes/n1");
  return node["metadata"]
      .value("labels", nlohmann::json::object())
      .value("plimsoll.dev/topology.cpus", "");
}

TEST(NodePublisher, PublishesEachReport) {
  FakeApiClient server;
  server.Put("/api/v1/nodes/n1", {});
  NodePublisher publisher(&server, "n1", QuickOptions());
  publisher.Report(std::make_shared<const NodeReport>(ReportOf(TopologyOf(kCcx))));
  EXPECT_TRUE(WaitUntil([&] { return CpusLabel(server) == "4"; }));
  publisher.Report(nullptr);
  publisher.Report(std::make_shared<const NodeReport>(ReportOf(TopologyOf(kTwoPackages))));
  EXPECT_TRUE(WaitUntil([&] { return CpusLabel(server) == "8"; }));
  publisher.Stop();
  publisher.Stop();
}

TEST(NodePublisher, TriesAgainByItself) {
  FakeApiClient server;
  NodePublisher publisher(&server, "n1", QuickOptions());
  publisher.Report(std::make_shared<const NodeReport>(ReportOf(TopologyOf(kCcx))));
  EXPECT_TRUE(WaitUntil([&] { return server.requests().size() > 2; }));
  server.Put("/api/v1/nodes/n1", {});
  EXPECT_TRUE(WaitUntil([&] { return CpusLabel(server) == "4"; }));
}

TEST(NodePublisher, EndsWithoutAReportAndWithAStoppedClient) {
  FakeApiClient server;
  { const NodePublisher idle(&server, "n1", {}); }
  server.Stop();
  NodePublisher publisher(&server, "n1", QuickOptions());
  publisher.Report(std::make_shared<const NodeReport>(ReportOf(TopologyOf(kCcx))));
  publisher.Stop();
  publisher.Report(nullptr);
  EXPECT_TRUE(server.requests().empty());
}

}  // namespace
}  // namespace plimsoll::kube
