#include "topology/draw.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "topology/hwloc_reader.h"
#include "topology/make_zones.h"

namespace plimsoll::topology {
namespace {

using resources::CpuSet;
using ::testing::HasSubstr;
using ::testing::Not;

Topology TwoPackages() {
  return MakeZones(*ReadHwlocSynthetic("pack:2 core:2 pu:2"));
}
Workload On(const std::string& name, const std::string& cpus, const std::string& memory = "") {
  return {name, *CpuSet::Parse(cpus), memory};
}
size_t Count(absl::string_view text, absl::string_view word) {
  size_t count = 0;
  for (size_t at = text.find(word); at != absl::string_view::npos; at = text.find(word, at + 1)) {
    ++count;
  }
  return count;
}

TEST(DrawTest, WorkloadsAreWhereTheirCpusAre) {
  Topology topology = TwoPackages();
  for (Zone& zone : topology.zones) {
    std::erase_if(zone.attributes, [](const auto& each) { return each.first != kCpuIds; });
    std::erase_if(zone.resources, [](const auto& each) { return each.name != kCpu; });
    zone.costs.clear();
  }
  std::erase_if(topology.zones, [](const Zone& zone) { return zone.type == kNumaNode; });
  for (Zone& zone : topology.zones) {
    if (zone.type == kPackage) zone.parent = kRootName;
  }
  EXPECT_EQ(TopologyText(topology, {On("core", "0-1", "1Gi"), On("both", "2,4"), On("all", "0-7"),
                                    On("package", "1-2"), On("more", "0-15")}),
            R"(root Machine
│  ● both  cpus 2,4
├─ package-0 Package
│  │  ● package  cpus 1-2
│  ├─ core-0-0 Core  cpu 2  cpu-ids=0-1
│  │     ● core  cpus 0-1  memory 1Gi
│  └─ core-0-1 Core  cpu 2  cpu-ids=2-3
└─ package-1 Package
   ├─ core-1-2 Core  cpu 2  cpu-ids=4-5
   └─ core-1-3 Core  cpu 2  cpu-ids=6-7
● all  cpus all
● more  cpus all
)");
}

TEST(DrawTest, AnSvgHasABoxForEachZoneAndACellForEachCpu) {
  const Topology topology = TwoPackages();
  const std::string svg = TopologySvg(topology, *CpuSet::Parse("2-7"),
                                      {On("web", "2-3"), On("db", "3"), On("any", "2-7")});
  for (const Zone& zone : topology.zones) EXPECT_THAT(svg, HasSubstr(">" + zone.name));
  for (int cpu = 0; cpu < 8; ++cpu) EXPECT_EQ(Count(svg, absl::StrCat(">", cpu, "</text>")), 1u);
  // Two CPUs and a line of the legend are not pods'.
  EXPECT_EQ(Count(svg, "fill=\"#cccccc\""), 3u);
  EXPECT_EQ(Count(svg, "fill=\"#e69f00\""), 3u);  // web: two CPUs and the legend
  EXPECT_EQ(Count(svg, "fill=\"#56b4e9\""), 2u);
  EXPECT_EQ(Count(svg, "fill=\"#009e73\""), 0u) << "one that may use all has no colour";
  EXPECT_THAT(svg, HasSubstr(">any: all of them</text>"));
  EXPECT_EQ(Count(svg, "<g "), Count(svg, "</g>"));
}

TEST(DrawTest, NamesDoNotBreakAnSvg) {
  const std::string svg =
      TopologySvg({{Zone{.name = "<a>&\""}}}, {}, {On("\"/><script>", "1"), On("web\x1b", "1")});
  EXPECT_THAT(svg, HasSubstr("&lt;a&gt;&amp;&quot;"));
  EXPECT_THAT(svg, HasSubstr("web?"));
  EXPECT_THAT(svg, Not(HasSubstr("<script>")));
}

}  // namespace
}  // namespace plimsoll::topology
