// What is no topology, and how machines that tell little are read; whole machines are in
// discover_test.cc.
#include "topology/hwloc_reader.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace plimsoll::topology {
namespace {

using ::testing::HasSubstr;

TEST(HwlocReaderTest, WhatIsNoXmlTopologyIsRefused) {
  for (const char* text : {"", "zones: []", "<topology", "<a></a>"}) {
    const absl::Status status = ReadHwlocXml(text).status();
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << text << ": " << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr("not an XML topology of hwloc 2"));
  }
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
                                       HasSubstr("does not tell the cores of CPUs 0-1")}));
}

}  // namespace
}  // namespace plimsoll::topology
