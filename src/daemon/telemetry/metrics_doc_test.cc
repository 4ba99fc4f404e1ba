// Compares docs/metrics.md with the endpoint.
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "base/fs_root.h"
#include "daemon/telemetry/metrics.h"
#include "daemon/telemetry/nri_state.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "qos/fake_type_for_test.h"
#include "service/exposition_for_test.h"

namespace plimsoll::daemon {
namespace {

// Measures the same values as the kernel's resctrl.
class DocumentedType : public qos::FakeType {
 public:
  using qos::FakeType::FakeType;
  std::map<std::string, uint64_t> Measure(absl::string_view, absl::string_view) const override {
    return {{"llc_occupancy_bytes", 1}, {"mbm_total_bytes", 2}, {"mbm_local_bytes", 1}};
  }
};

// Metrics after every event that can be counted.
class MetricsDocTest : public ::testing::Test {
 protected:
  MetricsDocTest() {
    std::vector<std::unique_ptr<qos::ClassType>> types;
    types.push_back(std::make_unique<DocumentedType>(&kernel_, qos::FakeType::Options{}));
    registry_ = *qos::Registry::Create(std::move(types));
    EXPECT_TRUE(
        registry_->Reserve(qos::Level::kContainer, "c1", "container a", {{"rdt", "silver"}}).ok());
    EXPECT_FALSE(registry_->Reserve(qos::Level::kContainer, "c2", "b", {{"rdt", "tin"}}).ok());
    metrics_.SetClasses(registry_.get());
    metrics_.SetLanes([] { return std::map<std::string, LaneCounts>{{"look", {1, 1, 1, 1}}}; });
    metrics_.SetCluster([] { return ClusterCounts{1, 1, 1}; });
    metrics_.SetNri([] {
      nri::PluginReport plugin{.name = "10-a"};
      plugin.requests["CreateContainer"] = {.count = 1};
      return NriMetrics({.is_enabled = true, .plugins = {plugin}});
    });
    metrics_.SetHost(*FsRoot::Open("/"));
    metrics_.ObserveRpc("RuntimeService", "Version", "OK", absl::Milliseconds(1));
    metrics_.ObserveEvent("Warning");
    metrics_.ObserveTopologySent(/*to_client=*/true);
    metrics_.ObservePhase("container_start", absl::Milliseconds(1));
    metrics_.ObserveSandboxStart(1);
    metrics_.ObserveContainerStart(1);
    metrics_.ObserveContainerExit("Error");
    metrics_.ObservePullStart();
    metrics_.ObservePullEnd(absl::OkStatus(), absl::Seconds(1), 10);
    metrics_.ObserveKubelet("answered", absl::Milliseconds(1));
    metrics_.ObserveRecovery({absl::Seconds(1), 1, 1, 1});
    served_ = ParseExposition(metrics_.Text());
    documented_ = ReadMetricsPage(page_);
  }

  const std::string page_ = FsRoot::Open(PLIMSOLL_SOURCE_DIR)->Read("docs/metrics.md").value_or("");
  qos::FakeKernel kernel_;
  std::unique_ptr<qos::Registry> registry_;
  Metrics metrics_{"1", [] {
                     return StateCounts{.sandboxes = {{"Ready", 1}}, .containers = {{"Exited", 1}}};
                   }};
  Exposition served_;
  Exposition documented_;
};

TEST_F(MetricsDocTest, EachMetricIsDocumentedWithTypeAndLabels) {
  for (const auto& [name, family] : served_) {
    const auto row = documented_.find(name);
    if (row == documented_.end()) {
      ADD_FAILURE() << "docs/metrics.md has no row for " << name;
      continue;
    }
    EXPECT_EQ(row->second.type, family.type) << name;
    EXPECT_EQ(row->second.labels, family.labels) << name;
  }
}

TEST_F(MetricsDocTest, EachRowIsOfAMetric) {
  EXPECT_GT(documented_.size(), 30u);
  for (const auto& [name, row] : documented_) {
    EXPECT_TRUE(served_.contains(name)) << name << " is documented, and not served";
    EXPECT_FALSE(row.help.empty()) << name;
  }
}

TEST_F(MetricsDocTest, NamesAndHelpAreAsPrometheusWantsThem) {
  for (const auto& [name, family] : served_) {
    EXPECT_FALSE(family.help.empty()) << name;
    EXPECT_FALSE(family.values.empty()) << name;
    EXPECT_EQ(absl::EndsWith(name, "_total"), family.type == "counter") << name;
    if (family.type == "histogram") {
      EXPECT_TRUE(absl::EndsWith(name, "_seconds")) << name;
    }
  }
}

}  // namespace
}  // namespace plimsoll::daemon
