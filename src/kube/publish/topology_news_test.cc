#include "kube/publish/topology_news.h"

#include <gtest/gtest.h>

#include <vector>

#include "absl/strings/str_cat.h"
#include "kube/publish/reports_for_test.h"

namespace plimsoll::kube {
namespace {

using topology::Topology;

TEST(TopologyNews, NothingIsNoNews) {
  EXPECT_EQ(TopologyNews(HybridWithCxl(), HybridWithCxl()), "");
  Topology other = HybridWithCxl();
  other.zones[3].attributes["max-frequency-mhz"] = "5000";
  EXPECT_EQ(TopologyNews(HybridWithCxl(), other), "");
}

TEST(TopologyNews, TellsWhatCameAndWent) {
  const Topology before = HybridWithCxl();
  Topology after = before;
  after.zones.pop_back();  // numa-1
  after.zones[3] = ZoneOf("core-0-0", topology::kCore, "numa-0", "0");
  after.zones[2] = ZoneOf("numa-0", topology::kNumaNode, "package-0", "", "8Gi");
  EXPECT_EQ(TopologyNews(before, after),
            "CPU 1 went; zone numa-1 went; memory of numa-0: 8Gi instead of 16Gi");
  EXPECT_EQ(TopologyNews(after, before),
            "CPU 1 came; zone numa-1 came; memory of numa-0: 16Gi instead of 8Gi");
}

TEST(TopologyNews, IsBounded) {
  Topology few;
  few.zones = {ZoneOf("root", topology::kMachine, "")};
  Topology many = few;
  for (int i = 0; i < 3000; ++i) {
    many.zones.push_back(
        ZoneOf(absl::StrCat("numa-", i), topology::kNumaNode, "root", absl::StrCat(2 * i), "1Gi"));
  }
  const std::string news = TopologyNews(few, many);
  EXPECT_LT(news.size(), 1000u);
  EXPECT_NE(news.find("and 2990 more came"), std::string::npos) << news;
}

}  // namespace
}  // namespace plimsoll::kube
