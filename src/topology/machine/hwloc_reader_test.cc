// Tests invalid topologies, and machines with little information; discover_test.cc has whole
// machines.
#include "topology/machine/hwloc_reader.h"

#include <cstdint>
#include <string>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "topology/make_zones.h"
#include "topology/validate.h"

namespace plimsoll::topology {
namespace {

using ::testing::HasSubstr;

TEST(HwlocReaderTest, WhatIsNoXmlTopologyIsRefused) {
  for (const char* text : {"", "zones: []", "<topology", "<a></a>"}) {
    const absl::Status status = ReadHwlocXml(text).status();
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << text << ": " << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr("not an XML topology of hwloc 2 or 3"));
  }
}

// Output of hwloc 3's lstopo.
constexpr char kFormat3[] = R"(<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE topology SYSTEM "hwloc2.dtd">
<topology version="3.0">
  <object type="Machine" os_index="0" cpuset="0x00000003" complete_cpuset="0x00000003" allowed_cpuset="0x00000003" nodeset="0x00000003" complete_nodeset="0x00000003" allowed_nodeset="0x00000003" gp_index="1" id="obj1">
    <info name="DMIProductName" value="a &gt; b"/>
    <object type="Package" os_index="0" cpuset="0x00000001" complete_cpuset="0x00000001" nodeset="0x00000001" complete_nodeset="0x00000001" gp_index="2" id="obj2">
      <info name="CPUModel" value="Fast 1000"/>
      <object type="NUMANode" os_index="0" cpuset="0x00000001" complete_cpuset="0x00000001" nodeset="0x00000001" complete_nodeset="0x00000001" gp_index="8" id="obj8" local_memory="1073741824"/>
      <object type="L3Cache" os_index="0" cpuset="0x00000001" complete_cpuset="0x00000001" nodeset="0x00000001" complete_nodeset="0x00000001" gp_index="3" id="obj3" cache_size="16777216" depth="3" cache_linesize="64" cache_associativity="16" cache_type="0">
        <object type="Core" os_index="0" cpuset="0x00000001" complete_cpuset="0x00000001" nodeset="0x00000001" complete_nodeset="0x00000001" gp_index="4" id="obj4">
          <object type="PU" os_index="0" cpuset="0x00000001" complete_cpuset="0x00000001" nodeset="0x00000001" complete_nodeset="0x00000001" gp_index="5" id="obj5"/>
        </object>
      </object>
    </object>
    <object type="Package" os_index="1" cpuset="0x00000002" complete_cpuset="0x00000002" nodeset="0x00000002" complete_nodeset="0x00000002" gp_index="12" id="obj12">
      <object type="NUMANode" os_index="1" cpuset="0x00000002" complete_cpuset="0x00000002" nodeset="0x00000002" complete_nodeset="0x00000002" gp_index="18" id="obj18" local_memory="2147483648"/>
      <object type="Core" os_index="0" cpuset="0x00000002" complete_cpuset="0x00000002" nodeset="0x00000002" complete_nodeset="0x00000002" gp_index="14" id="obj14">
        <object type="PU" os_index="1" cpuset="0x00000002" complete_cpuset="0x00000002" nodeset="0x00000002" complete_nodeset="0x00000002" gp_index="15" id="obj15"/>
      </object>
    </object>
    <object type="Bridge" gp_index="44" id="obj44" bridge_type="0-1" depth="0" bridge_pci="0000:[00-00]">
      <object type="OSDev" gp_index="52" id="obj52" name="mem2" subtype="CXLMem" osdev_type="64">
        <info name="CXLRAMSize" value="262144KiB"/>
      </object>
    </object>
  </object>
  <distances2 type="NUMANode" nbobjs="2" kind="5" name="NUMALatency" indexing="os">
    <indexes length="4">0 1 </indexes>
    <u64values length="12">10 21 21 10 </u64values>
  </distances2>
  <support name="discovery.pu"/>
  <memtier kinds="1" nodeset="0x00000003"/>
  <cpukind cpuset="0x00000001" forced_efficiency="718">
    <info name="LinuxCapacity" value="718"/>
    <info name="CPUPart" value="0xd87"/>
  </cpukind>
  <cpukind cpuset="0x00000002" forced_efficiency="1024">
    <info name="LinuxCapacity" value="1024"/>
    <info name="CPUPart" value="0xd85"/>
  </cpukind>
  <info name="Backend" value="Linux"/>
  <info name="Architecture" value="aarch64"/>
  <pci_locality domain="0x0" bus_min="0x0" bus_max="0x0" cpuset="0x00000003"/>
</topology>
)";

TEST(HwlocReaderTest, ReadsFormat3) {
  const auto machine = ReadHwlocXml(kFormat3);
  ASSERT_TRUE(machine.ok()) << machine.status();
  EXPECT_EQ(machine->cpus.ToString(), "0-1");
  EXPECT_EQ(machine->attributes.at("architecture"), "aarch64");
  ASSERT_EQ(machine->packages.size(), 2u);
  EXPECT_EQ(machine->packages[0].attributes.at("cpu-model"), "Fast 1000");
  ASSERT_EQ(machine->caches.size(), 1u);
  EXPECT_EQ(machine->caches[0].size_bytes, 16u << 20);
  ASSERT_EQ(machine->nodes.size(), 2u);
  EXPECT_EQ(machine->nodes[1].memory_bytes, uint64_t{2} << 30);
  EXPECT_EQ(machine->nodes[0].distances, (std::map<uint32_t, uint32_t>{{0, 10}, {1, 21}}));
  ASSERT_EQ(machine->core_kinds.size(), 2u);
  EXPECT_EQ(machine->core_kinds[0].capacity, 718u);
  EXPECT_EQ(machine->core_kinds[1].part, 0xd85u);
  EXPECT_THAT(machine->missing, ::testing::Contains(HasSubstr("huge pages")));
}

// CPUs and NUMA nodes of an object, as bits.
struct Sets {
  unsigned cpus;
  unsigned nodes;
  unsigned hidden_nodes = 0;  // which the process may not use
};

// An object of hwloc's XML. `index`: -1 for none; `more`: further attributes.
std::string Object(const std::string& type, int index, const Sets& sets,
                   const std::string& inner = "", const std::string& more = "") {
  static int next_index = 1;
  const auto set = [](const char* name, unsigned bits) {
    return absl::StrCat(" ", name, "=\"0x", absl::Hex(bits, absl::kZeroPad8), "\"");
  };
  return absl::StrCat(
      "<object type=\"", type, "\"", index < 0 ? "" : absl::StrCat(" os_index=\"", index, "\""),
      set("cpuset", sets.cpus), set("complete_cpuset", sets.cpus), set("nodeset", sets.nodes),
      set("complete_nodeset", sets.nodes | sets.hidden_nodes), " gp_index=\"", next_index++, "\"",
      more.empty() ? "" : " ", more, inner.empty() ? "/>\n" : ">\n", inner,
      inner.empty() ? "" : "</object>\n");
}

std::string CoreObject(int index, const Sets& sets) {
  return Object("Core", index, sets, Object("PU", index, sets));
}

std::string CacheObject(int level, const Sets& sets, const std::string& inner,
                        const std::string& more = "") {
  return Object(
      absl::StrCat("L", level, "Cache"), -1, sets, inner,
      absl::StrCat(more, more.empty() ? "" : " ", "cache_size=\"1048576\" depth=\"", level,
                   "\" cache_linesize=\"64\" cache_associativity=\"16\" "
                   "cache_type=\"0\""));
}

std::string NodeObject(int index, const Sets& sets) {
  return Object("NUMANode", index, sets, "", "local_memory=\"1073741824\"");
}

std::string TopologyXml(const Sets& sets, const std::string& inner) {
  return absl::StrCat("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<topology version=\"2.0\">\n",
                      Object("Machine", 0, sets, inner), "</topology>\n");
}

// Knights Landing's MCDRAM, as hwloc may show it.
TEST(HwlocReaderTest, ACacheOfTheMemoryIsNoneOfTheCpus) {
  const std::string caches =
      CacheObject(2, {0x3, 1}, CoreObject(0, {0x1, 1}) + CoreObject(1, {0x2, 1})) +
      CacheObject(2, {0xc, 1}, CoreObject(2, {0x4, 1}) + CoreObject(3, {0x8, 1}));
  const Sets all = {0xf, 1};
  const auto groups = [&](const std::string& subtype) {
    const std::string package = NodeObject(0, all) + CacheObject(3, all, caches, subtype);
    const auto machine = ReadHwlocXml(TopologyXml(all, Object("Package", 0, all, package)));
    EXPECT_TRUE(machine.ok()) << machine.status();
    std::vector<std::string> names;
    for (const Zone& zone : MakeZones(*machine).zones) {
      if (IsOfType(zone, kCacheGroup)) names.push_back(zone.name);
    }
    return names;
  };
  EXPECT_THAT(groups(""), ::testing::IsEmpty()) << "an L3 of all CPUs";
  EXPECT_THAT(groups("subtype=\"MemorySideCache\""),
              ::testing::ElementsAre("cache-2-cpu0", "cache-2-cpu2"));
}

// lstopo's output in a container with cpuset.mems 0-1 of a machine with four packages: two of them
// have no node.
TEST(HwlocReaderTest, NodesThatAreHiddenFromAConfinedProcessAreThoseOfItsCpus) {
  std::string packages;
  for (int i = 0; i < 4; ++i) {
    const unsigned bit = 1u << i;
    const Sets sets = {bit, i < 2 ? bit : 0, bit};
    packages +=
        Object("Package", i, sets, (i < 2 ? NodeObject(i, sets) : "") + CoreObject(i, sets));
  }
  const auto machine = ReadHwlocXml(TopologyXml({0xf, 0x3, 0xc}, packages));
  ASSERT_TRUE(machine.ok()) << machine.status();
  ASSERT_EQ(machine->nodes.size(), 4u);
  for (const NumaNode& node : machine->nodes) {
    EXPECT_EQ(node.cpus.ToString(), absl::StrCat(node.id));
    EXPECT_EQ(node.memory_bytes, node.id < 2 ? uint64_t{1} << 30 : 0);
  }
  EXPECT_THAT(machine->missing,
              ::testing::Contains(HasSubstr("memory of NUMA nodes 2-3 is hidden")));
  EXPECT_EQ(Validate(MakeZones(*machine), nullptr), absl::OkStatus());
}

// The nodes that the process may use have no CPUs of it.
TEST(HwlocReaderTest, AProcessWithTheMemoryOfOtherNodesHasItsCpusNode) {
  const std::string here = Object("Package", 0, {0x1, 0, 0x1}, CoreObject(0, {0x1, 0, 0x1}));
  const std::string there =
      Object("Package", 1, {0, 0x6}, NodeObject(1, {0, 0x2}) + NodeObject(2, {0, 0x4}));
  const auto machine = ReadHwlocXml(TopologyXml({0x1, 0x6, 0x1}, here + there));
  ASSERT_TRUE(machine.ok()) << machine.status();
  const Topology topology = MakeZones(*machine);
  EXPECT_EQ(Validate(topology, nullptr), absl::OkStatus());
  EXPECT_EQ(ReadMaps(topology)->cpus.at(0).numa_node, 0u);
}

// Cut anywhere, the text is refused, and nothing worse happens.
TEST(HwlocReaderTest, APartOfFormat3IsRefused) {
  const absl::string_view whole = kFormat3;
  const size_t end_of_root = whole.find("  <distances2");
  for (size_t length = 0; length + 12 < end_of_root; length += 7) {
    const absl::Status status = ReadHwlocXml(whole.substr(0, length)).status();
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << length << ": " << status;
  }
}

TEST(HwlocReaderTest, FormatsThatAreNotKnownAreNamed) {
  const absl::Status status = ReadHwlocXml("<topology version=\"4.1\"></topology>").status();
  EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("format 4"));
}

TEST(HwlocReaderTest, WhatIsNoSyntheticTopologyIsNamed) {
  const absl::Status status = ReadHwlocSynthetic("core:two").status();
  EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("\"core:two\" is not in hwloc's synthetic notation"));
}

TEST(HwlocReaderTest, XmlIsTheMachineThatItWasWrittenFrom) {
  const auto here = ReadWithHwloc();
  ASSERT_TRUE(here.ok()) << here.status();
  const auto xml = ExportHwlocXml();
  ASSERT_TRUE(xml.ok()) << xml.status();
  const auto read = ReadHwlocXml(*xml);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->cpus, here->cpus);
  EXPECT_EQ(read->cores.size(), here->cores.size());
  EXPECT_EQ(read->nodes.size(), here->nodes.size());
}

TEST(HwlocReaderTest, WhatAMachineDoesNotTellIsSaid) {
  const auto machine = ReadHwlocSynthetic("pu:2");
  ASSERT_TRUE(machine.ok()) << machine.status();
  EXPECT_THAT(machine->missing,
              ::testing::IsSupersetOf({HasSubstr("the machine names no packages"),
                                       HasSubstr("does not show the cores of CPUs 0-1")}));
}

}  // namespace
}  // namespace plimsoll::topology
