#include "pictures/topology.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "topology/machine/hwloc_reader.h"
#include "topology/make_zones.h"

namespace plimsoll::pictures {
namespace {

using resources::CpuSet;
using ::testing::HasSubstr;
using ::testing::Not;
using topology::MakeZones;
using topology::ReadHwlocSynthetic;
using topology::Topology;
using topology::Zone;

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
    std::erase_if(zone.attributes,
                  [](const auto& each) { return each.first != topology::kCpuIds; });
    std::erase_if(zone.resources, [](const auto& each) { return each.name != topology::kCpu; });
    zone.costs.clear();
  }
  std::erase_if(topology.zones, [](const Zone& zone) { return zone.type == topology::kNumaNode; });
  for (Zone& zone : topology.zones) {
    if (zone.type == topology::kPackage) zone.parent = topology::kRootName;
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
  // Two CPUs and a line of the legend are not for pods.
  EXPECT_EQ(Count(svg, "class=\"others\""), 3u);
  EXPECT_EQ(Count(svg, "class=\"w0\""), 3u);  // web: two CPUs and the legend
  EXPECT_EQ(Count(svg, "class=\"w1\""), 2u);
  EXPECT_EQ(Count(svg, "class=\"w2\""), 0u) << "one that may use all has no colour";
  EXPECT_THAT(svg, HasSubstr(">any: all of them</text>"));
  EXPECT_EQ(Count(svg, "<g"), Count(svg, "</g>"));
}

TEST(DrawTest, AnSvgHasATitleASizeAndALegend) {
  const std::string svg = TopologySvg(TwoPackages(), *CpuSet::Parse("2-7"), {On("web", "2-3")});
  EXPECT_THAT(svg, ::testing::StartsWith("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<svg "));
  EXPECT_THAT(svg, HasSubstr("class=\"title\">Topology: 2 packages, "));
  EXPECT_THAT(svg, HasSubstr("8 CPUs"));
  EXPECT_THAT(svg, ::testing::ContainsRegex(
                       "aria-label=\"Topology: .*\" width=\"[0-9]+\" height=\"[0-9]+\" "
                       "viewBox=\"0 0 [0-9]+ [0-9]+\""));
  EXPECT_THAT(svg, HasSubstr("prefers-color-scheme: dark"));
  EXPECT_THAT(svg, HasSubstr("class=\"head\">CPUs and their holders</text>"));
  EXPECT_THAT(svg, HasSubstr("<title>CPU 0, not for pods</title>"));
  EXPECT_THAT(svg, HasSubstr("<title>CPU 2, web</title>"));
}

TEST(DrawTest, TextFitsAHundredColumnsAndAmountsAreForPeople) {
  Zone root = {.name = topology::kRootName, .type = topology::kMachine};
  Zone package = {.name = "package-0", .type = topology::kPackage};
  for (const char* name : {"boot-id", "machine-id", "cpu-features", "cpu-model"}) {
    root.attributes[name] = std::string(36, 'x');
    package.attributes[name] = std::string(60, 'y');
  }
  const Zone node = {.name = "numa-0",
                     .type = topology::kNumaNode,
                     .parent = "package-0",
                     .attributes = {{topology::kCpuIds, "0-3"}},
                     .resources = {{topology::kMemory, *resources::Quantity::Parse("11645700Ki")},
                                   {topology::kCpu, *resources::Quantity::Parse("4")},
                                   {"hugepages-2Mi", {}}}};
  const std::string text =
      TopologyText({{root, package, node}}, {On(std::string(80, 'w'), "1", "1 GiB")});
  EXPECT_THAT(text, HasSubstr("memory 11.1 GiB  cpu 4  hugepages-2Mi 0"));
  EXPECT_THAT(text, HasSubstr("\n│    cpu-features="));
  EXPECT_THAT(text, HasSubstr("\n   │    cpu-model="));
  EXPECT_THAT(text, HasSubstr("\n             memory 1 GiB\n"));
  size_t columns = 0;
  for (const char c : text) {
    if (c == '\n')
      columns = 0;
    else if ((static_cast<unsigned char>(c) & 0xc0) != 0x80)
      ++columns;
    EXPECT_LE(columns, 100u) << text;
  }
}

TEST(DrawTest, NamesDoNotBreakAnSvg) {
  const std::string svg =
      TopologySvg({{Zone{.name = "<a>&\""}}}, {}, {On("\"/><script>", "1"), On("web\x1b", "1")});
  EXPECT_THAT(svg, HasSubstr("&lt;a&gt;&amp;&quot;"));
  EXPECT_THAT(svg, HasSubstr("web?"));
  EXPECT_THAT(svg, Not(HasSubstr("<script>")));
}

}  // namespace
}  // namespace plimsoll::pictures
