#include "qos/rdt/compile.h"

#include <algorithm>

#include "base/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace plimsoll::qos {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

using linux::ResctrlBandwidthInfo;
using linux::ResctrlCacheInfo;
using linux::ResctrlInfo;

// Two sockets, L3 of 20 ways each, MB by percent.
ResctrlInfo Machine() {
  ResctrlInfo info;
  info.l3 = ResctrlCacheInfo{.ids = {0, 1}, .cbm_mask = 0xfffff, .num_closids = 16};
  info.mb = ResctrlBandwidthInfo{
      .ids = {0, 1}, .min_bandwidth = 10, .bandwidth_gran = 10, .num_closids = 8};
  return info;
}

RdtConfig Config(const std::string& text) {
  auto config = ParseRdtConfig("rdt.yaml", text);
  EXPECT_TRUE(config.ok()) << config.status();
  return config.ok() ? *std::move(config) : RdtConfig();
}

RdtCompiled Compiled(const std::string& text, const ResctrlInfo& machine = Machine()) {
  auto compiled = CompileRdt(Config(text), machine);
  EXPECT_TRUE(compiled.ok()) << compiled.status();
  return compiled.ok() ? *std::move(compiled) : RdtCompiled();
}

absl::Status CompileErrorOf(const std::string& text, const ResctrlInfo& machine = Machine(),
                            const std::vector<std::string>& foreign = {}) {
  return CompileRdt(Config(text), machine, foreign).status();
}

std::string Lines(const RdtCompiled& compiled, const std::string& name) {
  const auto found = compiled.classes.find(name);
  return found == compiled.classes.end() ? "no such class"
                                         : linux::SchemataText(found->second.schemata);
}

constexpr char kTwo[] = R"(
partitions:
  exclusive:
    l3Allocation: 60%
    mbAllocation: [100%]
    classes:
      gold: {l3Allocation: 100%}
      silver:
        l3Allocation: {all: 50%, 1: 50-100%}
        mbAllocation: [50%]
        kubernetes: {denyPodAnnotation: true}
  shared:
    l3Allocation: 40%
    mbAllocation: [50%]
    classes:
      bronze: {l3Allocation: "0-3", mbAllocation: [30%]}
      system/default: {}
)";

TEST(RdtCompileTest, ClassesBecomeSchemata) {
  const RdtCompiled compiled = Compiled(kTwo);
  EXPECT_EQ(Lines(compiled, "gold"), "L3:0=fff;1=fff\nMB:0=100;1=100\n");
  EXPECT_EQ(Lines(compiled, "silver"), "L3:0=3f;1=fe0\nMB:0=50;1=50\n");
  EXPECT_EQ(Lines(compiled, "bronze"), "L3:0=f000;1=f000\nMB:0=20;1=20\n");
  EXPECT_EQ(Lines(compiled, kRdtRootClass), "L3:0=ff000;1=ff000\nMB:0=50;1=50\n");
  EXPECT_TRUE(compiled.classes.at("silver").deny_pod_annotation);
  EXPECT_EQ(compiled.classes.at("silver").partition, "exclusive");
  EXPECT_EQ(compiled.classes.at("silver").Meaning(), "L3 0=0x3f,1=0xfe0; MB 0=50,1=50");
  EXPECT_EQ(linux::SchemataText(compiled.partitions[1].schemata),
            "L3:0=ff000;1=ff000\nMB:0=50;1=50\n");
}

TEST(RdtCompileTest, WhatNobodyRestrictsIsNotWritten) {
  const RdtCompiled compiled = Compiled("partitions: {p: {classes: {a: {}}}}");
  EXPECT_EQ(Lines(compiled, "a"), "");
  EXPECT_EQ(compiled.classes.at("a").Meaning(), "not restricted");
  EXPECT_THAT(compiled.warnings, IsEmpty());
  // A silent partition beside one with MB is not limited, but says so.
  const RdtCompiled mixed =
      Compiled("partitions: {p: {mbAllocation: 20%, classes: {a: }}, q: {classes: {b: }}}");
  EXPECT_EQ(Lines(mixed, "a"), "MB:0=20;1=20\n");
  EXPECT_EQ(Lines(mixed, "b"), "MB:0=100;1=100\n");
}

TEST(RdtCompileTest, CodeAndDataHaveMasksOfTheirOwnWithCdp) {
  constexpr char kText[] = R"(
partitions:
  a:
    l3Allocation: {all: {unified: 50%, code: 25%, data: 75%}}
    classes: {x: {l3Allocation: {all: {unified: 100%, code: 100%, data: 50%}}}, y: {}}
  b:
    l3Allocation: 25%
)";
  ResctrlInfo machine = Machine();
  EXPECT_EQ(Lines(Compiled(kText, machine), "x"), "L3:0=3ff;1=3ff\n");
  machine.l3->cdp = true;
  const RdtCompiled compiled = Compiled(kText, machine);
  EXPECT_EQ(Lines(compiled, "x"), "L3CODE:0=1f;1=1f\nL3DATA:0=ff;1=ff\n");
  EXPECT_EQ(Lines(compiled, "y"), "L3CODE:0=1f;1=1f\nL3DATA:0=7fff;1=7fff\n");
  // b's code begins at 25% of the ways, where a's data still are.
  EXPECT_THAT(compiled.warnings,
              Contains(HasSubstr("L3 of caches 0-1: code of partition b and data of partition a "
                                 "have ways in common")));
}

TEST(RdtCompileTest, BandwidthIsTheProductOrTheSmaller) {
  constexpr char kText[] = R"(
partitions:
  p:
    mbAllocation: [50%, 1000MBps]
    classes:
      a: {mbAllocation: [30%, 500MBps]}
      b: {mbAllocation: [100%, 2000MBps]}
      c: {mbAllocation: {1: [1%, 7MBps]}}
)";
  ResctrlInfo machine = Machine();
  machine.mb->bandwidth_gran = 5;
  const RdtCompiled percent = Compiled(kText, machine);
  EXPECT_EQ(Lines(percent, "a"), "MB:0=15;1=15\n");
  EXPECT_EQ(Lines(percent, "b"), "MB:0=50;1=50\n");
  EXPECT_EQ(Lines(percent, "c"), "MB:0=50;1=10\n");  // at least min_bandwidth
  EXPECT_THAT(percent.warnings,
              ElementsAre("class c: MB of cache 1: 0.5% asked, 10.0% given (10%)"));
  machine.mb->mbps = true;
  const RdtCompiled mbps = Compiled(kText, machine);
  EXPECT_EQ(Lines(mbps, "a"), "MB:0=500;1=500\n");
  EXPECT_EQ(Lines(mbps, "b"), "MB:0=1000;1=1000\n");
  EXPECT_EQ(Lines(mbps, "c"), "MB:0=1000;1=7\n");
}

TEST(RdtCompileTest, BandwidthNeedsTheUnitThatCounts) {
  ResctrlInfo machine = Machine();
  const auto percent = CompileErrorOf("partitions: {p: {mbAllocation: [1000MBps]}}", machine);
  EXPECT_EQ(percent.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(percent.message(),
              AllOf(HasSubstr("rdt.yaml:1:32: partitions.p.mbAllocation: MB of caches 0-1: there "
                              "is no value in %, the unit of the machine"),
                    HasSubstr("mounted without mba_MBps")));
  machine.mb->mbps = true;
  EXPECT_THAT(
      CompileErrorOf("partitions: {p: {mbAllocation: [50%]}}", machine).message(),
      HasSubstr("no value in MBps, the unit of the machine: resctrl is mounted with mba_MBps"));
  machine.mb->mbps = false;
  machine.mb->vendor_steps = true;
  EXPECT_THAT(
      CompileErrorOf("partitions: {p: {mbAllocation: [50%], classes: {c: {mbAllocation: [50%]}}}}",
                     machine)
          .message(),
      HasSubstr("steps of 1/8 GB/s (AMD)"));
}

TEST(RdtCompileTest, ContradictionsAreNamed) {
  const std::pair<std::string, std::string> cases[] = {
      {"partitions: {a: {l3Allocation: 60%}, b: {l3Allocation: 50%}}",
       "rdt.yaml:1:56: partitions.b.l3Allocation: L3 of caches 0-1: partitions have 110% together, "
       "more than 100%: a 60%, b 50%"},
      {"partitions: {a: {l3Allocation: {0: 60%}}, b: {l3Allocation: 40%}}",
       "L3 of cache 1: partitions have 140% together"},
      {"partitions: {a: {l3Allocation: 60%}, b: {l3Allocation: 0xff}}",
       "partition \"a\" has a percentage (60%) and partition \"b\" a mask (0xff); all need"},
      {"partitions: {a: {l3Allocation: 0xff}, b: {l3Allocation: 7-9}}",
       "partitions \"a\" (0xff) and \"b\" (7-9) overlap"},
      {"partitions: {a: {l3Allocation: 0xff}, b: {}}",
       "rdt.yaml:1:42: partitions.b: partition \"b\" has no l3Allocation, but a has"},
      {"partitions: {a: {l3Allocation: 0x1fffff}}", "is not inside the cache's ways 0xfffff"},
      {"partitions: {a: {l3Allocation: 0x5}}", "has gaps"},
      {"partitions: {a: {classes: {x: {l3Allocation: 50%}}}}",
       "class \"x\" has a share of a resource that partition \"a\" lacks; give the partition "
       "l3Allocation: 100%"},
      {"partitions: {a: {classes: {x: {mbAllocation: 50%}}}}", "give the partition mbAllocation"},
      {"partitions: {a: {l3Allocation: 50%, classes: {x: {l3Allocation: 0xfff}}}}",
       "partitions.a.classes.x.l3Allocation: L3 of caches 0-1, class \"x\": \"0xfff\""},
  };
  for (const auto& [text, expected] : cases) {
    const absl::Status status = CompileErrorOf(text);
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << text;
    EXPECT_THAT(status.message(), HasSubstr(expected));
  }
  ResctrlInfo machine = Machine();
  machine.l3->min_cbm_bits = 8;
  const absl::Status few = CompileErrorOf(
      "partitions: {a: {l3Allocation: 30%}, b: {l3Allocation: 30%}, c: {l3Allocation: 40%}}",
      machine);
  EXPECT_EQ(few.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(few.message(), HasSubstr("can't be divided into a 30%, b 30%, c 40%: 100% of 20 ways "
                                       "are 20, too few for 3 partitions of at least 8"));
}

TEST(RdtCompileTest, WhatTheMachineLacksIsAnErrorUnlessOptional) {
  ResctrlInfo machine = Machine();
  machine.l3.reset();
  const absl::Status status = CompileErrorOf(kTwo, machine);
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(status.message(),
              AllOf(HasSubstr("classes.gold.l3Allocation: resctrl on the machine does not "
                              "divide L3 caches"),
                    HasSubstr("options: {l3: {optional: true}}")));
  const RdtCompiled compiled =
      Compiled(std::string("options: {l3: {optional: true}}") + kTwo, machine);
  EXPECT_EQ(Lines(compiled, "bronze"), "MB:0=20;1=20\n");
  EXPECT_THAT(compiled.warnings,
              Contains(HasSubstr("every l3Allocation of the file is without effect")));
  machine.mb.reset();
  EXPECT_THAT(
      CompileErrorOf("partitions: {p: {mbAllocation: 50%, classes: {c: {mbAllocation: 50%}}}}",
                     machine)
          .message(),
      HasSubstr("does not limit memory bandwidth"));
  // Nobody asks for L2, so its absence needs no warning.
  EXPECT_THAT(Compiled(kTwo).warnings, Not(Contains(HasSubstr("L2"))));
}

TEST(RdtCompileTest, L2IsDividedByItselfAndMayBeMissing) {
  constexpr char kText[] = R"(
options: {l2: {optional: true}, mb: {optional: true}}
partitions:
  a:
    l2Allocation: 50%
    l3Allocation: 40%
    classes: {x: {l2Allocation: 50%}}
  b:
    l2Allocation: 50%
    l3Allocation: 60%
    mbAllocation: [50%]
    classes: {y: {}}
)";
  ResctrlInfo machine = Machine();
  machine.l2 = ResctrlCacheInfo{.ids = {0, 4}, .cbm_mask = 0xff, .num_closids = 8};
  const RdtCompiled compiled = Compiled(kText, machine);
  EXPECT_EQ(Lines(compiled, "x"), "L2:0=3;4=3\nL3:0=ff;1=ff\nMB:0=100;1=100\n");
  EXPECT_EQ(Lines(compiled, "y"), "L2:0=f0;4=f0\nL3:0=fff00;1=fff00\nMB:0=50;1=50\n");
  machine.l2.reset();
  machine.mb.reset();
  const RdtCompiled lacking = Compiled(kText, machine);
  EXPECT_EQ(Lines(lacking, "x"), "L3:0=ff;1=ff\n");
  EXPECT_THAT(lacking.warnings,
              AllOf(Contains(HasSubstr("every l2Allocation of the file is without effect")),
                    Contains(HasSubstr("every mbAllocation of the file is without effect"))));
}

TEST(RdtCompileTest, TooManyClassesAreNamed) {
  ResctrlInfo machine = Machine();
  machine.mb->num_closids = 4;
  EXPECT_TRUE(CompileRdt(Config(kTwo), machine).ok());
  const absl::Status status = CompileErrorOf(kTwo, machine, {"admins"});
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(status.message(),
            "too many rdt classes: the machine has 4 CLOSIDs, one of them for the root group and "
            "groups of others 1 (admins); no room for silver of bronze, gold, silver");
  machine.l3->num_closids = 1;
  EXPECT_THAT(CompileErrorOf(kTwo, machine).message(),
              HasSubstr("no room for bronze, gold, silver"));
}

TEST(RdtCompileTest, WarnsOfWhatTheAdministratorShouldKnow) {
  ResctrlInfo machine = Machine();
  machine.l3->cbm_mask = 0x7ff;
  machine.l3->shareable_bits = 0x600;
  const RdtCompiled compiled = Compiled(R"(
partitions:
  a: {l3Allocation: {all: 50%, 7: 10%}, classes: {x: }}
  b: {l3Allocation: 50%}
)",
                                        machine);
  EXPECT_THAT(
      compiled.warnings,
      ElementsAre(HasSubstr("partition a names cache ids 7; the machine has 0-1"),
                  "partition b: L3 of caches 0-1: devices use the ways 0x600 too (shareable_bits "
                  "0x600), so they are not the partition's alone",
                  HasSubstr("processes without a class use every way"),
                  "partition a: L3 of caches 0-1: 50.0% asked, 45.5% given (5 of 11 ways)",
                  "partition b: L3 of caches 0-1: 50.0% asked, 54.5% given (6 of 11 ways)"));
  // A small rounding is listed only.
  const RdtCompiled small = Compiled("partitions: {a: {l3Allocation: 52%}}");
  EXPECT_EQ(small.roundings.size(), 1u);
  EXPECT_THAT(small.warnings, IsEmpty());
}

TEST(RdtCompileTest, ListsOfCacheIds) {
  EXPECT_EQ(CacheIdList({}), "");
  EXPECT_EQ(CacheIdList({3, 0, 1, 5, 4}), "0-1,3-5");
}

}  // namespace
}  // namespace plimsoll::qos
