// "Reading/writing the schemata file" and the sections around it of the kernel's documentation.
#include "resctrlfs/schemata.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "resctrlfs/fake_tree.h"

namespace plimsoll::resctrlfs {
namespace {

using ::testing::HasSubstr;

TEST(SchemataTest, NamesAreAlignedAndHalvesHaveTheirPlace) {
  FakeTree tree(TwoSockets());
  EXPECT_EQ(tree.Read("schemata"),
            "    MB:0=100;2=100\n"
            "    L3:0=fffff;2=fffff\n");
}

TEST(SchemataTest, CdpHasALineForEachHalf) {
  Layout layout = TwoSockets();
  layout.options.cdp = true;
  layout.caches.push_back({.level = 2, .mask_bits = 8, .cdp_capable = false});
  FakeTree tree(layout);
  EXPECT_EQ(tree.Read("schemata"),
            "    MB:0=100;2=100\n"
            "    L2:0=ff\n"
            "L3DATA:0=fffff;2=fffff\n"
            "L3CODE:0=fffff;2=fffff\n");
  EXPECT_EQ(tree.Read("info/L3DATA/num_closids"), "8\n");
  EXPECT_EQ(tree.Read("info/L3CODE/cbm_mask"), "fffff\n");
  EXPECT_EQ(tree.Read("info/L3/cbm_mask"), "(no such file)");
}

TEST(SchemataTest, OlderKernelsPadValues) {
  Layout layout = TwoSockets();
  layout.traits.padded_values = true;
  FakeTree tree(layout);
  EXPECT_EQ(tree.Write("schemata", "L3:0=f"), 0);
  EXPECT_EQ(tree.Write("schemata", "MB:2=50"), 0);
  EXPECT_EQ(tree.Read("schemata"),
            "    MB:0=100;2= 50\n"
            "    L3:0=0000f;2=fffff\n");
  // The text of a read can be written.
  EXPECT_EQ(tree.WriteRaw("schemata", tree.Read("schemata")), 0) << tree.Status();
}

TEST(SchemataTest, WhatIsNotNamedStays) {
  FakeTree tree(TwoSockets());
  EXPECT_EQ(tree.Write("schemata", "L3:2=3c0;"), 0);
  EXPECT_EQ(tree.Read("schemata"), "    MB:0=100;2=100\n    L3:0=fffff;2=3c0\n");
  EXPECT_EQ(tree.Status(), "ok\n");
  EXPECT_EQ(tree.Write("schemata", "MB:0=31\nL3:0=1"), 0);
  EXPECT_EQ(tree.Read("schemata"), "    MB:0=40;2=100\n    L3:0=1;2=3c0\n");
}

struct BadWrite {
  const char* text;
  const char* status;
};

class BadSchemataTest : public ::testing::TestWithParam<BadWrite> {};

TEST_P(BadSchemataTest, ChangesNothingAndSaysWhy) {
  Layout layout = TwoSockets();
  layout.caches[0].min_mask_bits = 2;
  FakeTree tree(layout);
  const std::string before = tree.Read("schemata");
  EXPECT_EQ(tree.Write("schemata", GetParam().text), EINVAL);
  EXPECT_THAT(tree.Status(), HasSubstr(GetParam().status));
  EXPECT_EQ(tree.Read("schemata"), before);
}

INSTANTIATE_TEST_SUITE_P(
    All, BadSchemataTest,
    ::testing::Values(BadWrite{"L3:0=f7", "not consecutive"}, BadWrite{"L3:0=0", "empty"},
                      BadWrite{"L3:0=100000", "larger"}, BadWrite{"L3:0=1", "2 bits or more"},
                      BadWrite{"L3:0=xyz", "no hexadecimal"}, BadWrite{"L3:0=f;0=f", "twice"},
                      BadWrite{"L3:0=f\nL3:0=3", "twice"}, BadWrite{"MB:0=50;0=50", "twice"},
                      // The kernel has no text for an unknown id.
                      BadWrite{"L3:1=f", "ok\n"}, BadWrite{"L3:a=f", "its id is no number"},
                      BadWrite{"L3: 0=f", "its id is no number"}, BadWrite{"L3:0", "without '='"},
                      BadWrite{"L3:", "Nothing after \"L3:\""}, BadWrite{"L3", "without ':'"},
                      BadWrite{"", "without ':'"}, BadWrite{"L3:0=f\n", "without ':'"},
                      BadWrite{"L4:0=f", "no resource \"L4\""},
                      BadWrite{"L3DATA:0=f", "no resource \"L3DATA\""},
                      BadWrite{"MB:0=5", "outside of 10 to 100"},
                      BadWrite{"MB:0=110", "outside of 10 to 100"},
                      BadWrite{"MB:0=half", "no bandwidth"},
                      // All or nothing, across lines too.
                      BadWrite{"L3:0=f\nMB:0=5", "outside"}));

TEST(SchemataTest, NeedsANewlineAndThenKeepsTheOldStatus) {
  FakeTree tree(TwoSockets());
  EXPECT_EQ(tree.Write("schemata", "L3:0=0"), EINVAL);
  EXPECT_EQ(tree.WriteRaw("schemata", "L3:0=f"), EINVAL);
  EXPECT_THAT(tree.Status(), HasSubstr("empty"));
  EXPECT_EQ(tree.Write("schemata", "L3:0=f"), 0);
  EXPECT_EQ(tree.Status(), "ok\n");
}

TEST(SchemataTest, BlanksAroundNamesAndValuesAreFine) {
  FakeTree tree(TwoSockets());
  EXPECT_EQ(tree.Write("schemata", "  L3:0= f ;2=ff"), 0) << tree.Status();
  EXPECT_EQ(tree.Read("schemata"), "    MB:0=100;2=100\n    L3:0=f;2=ff\n");
}

TEST(SchemataTest, MbpsIsUnlimitedAtFirstAndTakesAnyNumber) {
  Layout layout = TwoSockets();
  layout.options.mba_mbps = true;
  FakeTree tree(layout);
  EXPECT_THAT(tree.Read("schemata"), HasSubstr("    MB:0=4294967295;2=4294967295\n"));
  EXPECT_EQ(tree.Write("schemata", "MB:0=1234"), 0);
  EXPECT_THAT(tree.Read("schemata"), HasSubstr("    MB:0=1234;2=4294967295\n"));
  EXPECT_EQ(tree.Read("mba_MBps_event"), "mbm_local_bytes\n");
  EXPECT_EQ(tree.Write("mba_MBps_event", "mbm_total_bytes"), 0);
  EXPECT_EQ(tree.Read("mba_MBps_event"), "mbm_total_bytes\n");
  EXPECT_EQ(tree.Write("mba_MBps_event", "llc_occupancy"), EINVAL);
}

TEST(SchemataTest, MbpsTakesEffectEvenWhenTheWriteFailsLater) {
  Layout layout = TwoSockets();
  layout.options.mba_mbps = true;
  FakeTree tree(layout);
  EXPECT_EQ(tree.Write("schemata", "MB:0=100\nL3:0=0"), EINVAL);
  EXPECT_THAT(tree.Read("schemata"), HasSubstr("MB:0=100;"));
}

TEST(SizeTest, IsTheBitsShareOfTheCache) {
  FakeTree tree(TwoSockets());
  EXPECT_EQ(tree.Write("schemata", "L3:0=f"), 0);
  EXPECT_EQ(tree.Read("size"), "    MB:0=100;2=100\n    L3:0=4194304;2=20971520\n");
}

}  // namespace
}  // namespace plimsoll::resctrlfs
