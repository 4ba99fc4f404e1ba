#include "kube/metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "service/exposition_for_test.h"

namespace plimsoll::kube {
namespace {

std::string Text() {
  DriverCounts counts;
  counts.calls = {7, 1, 5, 2};
  counts.prepared_claims = 3;
  counts.slice_writes = 4;
  counts.registered = true;
  return MetricsText(counts, *FsRoot::Open("/"));
}

TEST(KubeMetricsTest, CountsAreShown) {
  const std::string text = Text();
  for (const char* line : {"plimsoll_kube_registered 1\n", "plimsoll_kube_runtime_up 0\n",
                           "plimsoll_kube_slices_current 0\n", "plimsoll_kube_claims_prepared 3\n",
                           "plimsoll_kube_slice_writes_total 4\n",
                           "plimsoll_kube_prepare_claims_total{result=\"ok\"} 7\n",
                           "plimsoll_kube_prepare_claims_total{result=\"error\"} 1\n",
                           "plimsoll_kube_unprepare_claims_total{result=\"error\"} 2\n"}) {
    EXPECT_THAT(text, testing::HasSubstr(line));
  }
}

TEST(KubeMetricsTest, ThePageHasEveryMetric) {
  const auto root = FsRoot::Open(PLIMSOLL_SOURCE_DIRECTORY);
  const Exposition page = ReadMetricsPage(root->Read("docs/kube-metrics.md").value_or(""));
  const Exposition served = ParseExposition(Text());
  for (const auto& [name, family] : served) {
    const auto row = page.find(name);
    if (row == page.end()) {
      ADD_FAILURE() << "docs/kube-metrics.md has no row for " << name;
      continue;
    }
    EXPECT_EQ(row->second.type, family.type) << name;
    EXPECT_EQ(row->second.labels, family.labels) << name;
  }
  for (const auto& [name, row] : page) EXPECT_TRUE(served.contains(name)) << name;
}

}  // namespace
}  // namespace plimsoll::kube
