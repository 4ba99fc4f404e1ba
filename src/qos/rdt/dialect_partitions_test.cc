// Partitions in rdt files as containerd and CRI-O read them: among themselves, and on machines that
// lack a resource. See dialect_for_test.h.
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "qos/rdt/dialect_for_test.h"

namespace plimsoll::qos::rdt_dialect {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

TEST(RdtDialectPartitionsTest, PartitionsAmongThemselves) {
  const std::vector<Case> cases = {
      {"a: {l3Allocation: 50%, classes: {c: }}, b: {l3Allocation: 50%, classes: {d: }}",
       "c L3:0=3ff;1=3ff; d L3:0=ffc00;1=ffc00"},
      {"a: {l3Allocation: 30%, classes: {c: }}, b: {l3Allocation: 20%, classes: {d: }}",
       "c L3:0=3f;1=3f; d L3:0=3c0;1=3c0"},
      {"a: {l3Allocation: 0%, classes: {c: }}, b: {l3Allocation: 100%, classes: {d: }}",
       "c L3:0=1;1=1; d L3:0=ffffe;1=ffffe", "\"0%\" is nothing at all; the partition gets"},
      {"a: {l3Allocation: 0%, classes: {c: }}, b: {l3Allocation: 50%, classes: {d: }}",
       "c L3:0=1;1=1; d L3:0=3fe;1=3fe"},
      {"a: {l3Allocation: \"0x3\", classes: {c: }}, b: {l3Allocation: \"0xc\", classes: {d: }}",
       "c L3:0=3;1=3; d L3:0=c;1=c"},
      {"p: {l3Allocation: , classes: {c: {l3Allocation: 50%}}}", "c L3:0=3ff;1=3ff",
       "has no value, so it counts as 100%"},
      {"p: {l3allocation: 50%, classes: {c: }}", "c L3:0=3ff;1=3ff",
       "the key \"l3allocation\" is read as \"l3Allocation\""},
      {"p: {l3Allocation: 50%, L3ALLOCATION: 20%, classes: {c: }}", "c L3:0=3ff;1=3ff",
       "only the value of \"l3Allocation\" counts"},
      {"a: {l3Allocation: 60%}, b: {l3Allocation: 60%}", kRefused},
      {"a: {l3Allocation: \"0x3\"}, b: {l3Allocation: 50%}", kRefused},
      {"a: {l3Allocation: \"0x3\"}, b: {l3Allocation: \"0x6\"}", kRefused},
      {"a: {l3Allocation: 10-20%}", kRefused},
      {"a: {l3Allocation: {\"0\": 50%}}, b: {l3Allocation: 50%}", kRefused},
      {"a: {l3Allocation: {}}, b: {l3Allocation: {}}", kRefused},
      {"a: {l3Allocation: 50%}, b: {}", kRefused},
      {"p: {classes: {c: {l3Allocation: 50%}}}", kRefused},
      {"p: {l3Allocation: 50%, l3Allocation: 20%}", kRefused},
      {"a: {l3Allocation: 0%}, b: {l3Allocation: 0%}", kRefused},  // a division by zero there
      {"a: {l3Allocation: \"0x3\"}, b: {l3Allocation: \"0x300000\"}", kRefused},  // by the kernel
  };
  Check(cases, "partitions: {", "}", OnlyL3());
}

TEST(RdtDialectPartitionsTest, CodeAndData) {
  const std::vector<Case> cases = {
      {"a: {l3Allocation: {all: {unified: 50%, code: 50%, data: 40%}}, classes: {c: }}, "
       "b: {l3Allocation: {all: {unified: 50%, code: 50%, data: 60%}}, classes: {d: }}",
       "c L3CODE:0=3ff;1=3ff L3DATA:0=ff;1=ff; d L3CODE:0=ffc00;1=ffc00 L3DATA:0=fff00;1=fff00"},
      {"a: {l3Allocation: {all: {unified: 50%, code: 60%, data: 60%}}}, "
       "b: {l3Allocation: {all: {unified: 50%, code: 60%, data: 60%}}}",
       kRefused},
      {"a: {l3Allocation: {all: {unified: 50%, code: \"0x3\", data: \"0x3\"}}}, "
       "b: {l3Allocation: {all: {unified: 50%, code: 50%, data: \"0xc\"}}}",
       kRefused},
      // The library refuses these for shares that the machine doesn't use, or that other partitions
      // lack.
      {"a: {l3Allocation: {all: {unified: 60%, code: 50%, data: 50%}}, classes: {c: }}, "
       "b: {l3Allocation: {all: {unified: 60%, code: 50%, data: 50%}}}",
       "c L3CODE:0=3ff;1=3ff L3DATA:0=3ff;1=3ff",
       "L3 of caches 0-1: the shares of \"unified\" don't add up (together they are 120%)"},
      {"a: {l3Allocation: {all: {unified: 50%, code: 50%, data: 50%}}, classes: {c: }}, "
       "b: {l3Allocation: 50%}",
       "c L3CODE:0=3ff;1=3ff L3DATA:0=3ff;1=3ff",
       "\"code\" is missing in b, others have it: a 50%; containerd and CRI-O refuse the file"},
  };
  linux::ResctrlInfo machine = WithCdp();
  machine.mb.reset();
  Check(cases, "partitions: {", "}", machine);
  const std::vector<Case> without = {
      {"a: {l3Allocation: {all: {unified: 50%, code: 60%, data: 60%}}, classes: {c: }}, "
       "b: {l3Allocation: {all: {unified: 50%, code: 60%, data: 40%}}}",
       "c L3:0=3ff;1=3ff",
       "L3 of caches 0-1: the shares of \"code\" don't add up (together they are 120%), without "
       "effect on the machine: a 60%, b 60%; containerd and CRI-O refuse the file for it"},
      {"a: {l3Allocation: {all: {unified: 50%, code: \"0x3\", data: 1%}}, classes: {c: }}, "
       "b: {l3Allocation: {all: {unified: 50%, code: \"0x6\", data: 1%}}}",
       "c L3:0=3ff;1=3ff", "\"code\" don't add up (they overlap)"},
      {"a: {l3Allocation: {all: {unified: 50%, code: 1%, data: \"0x3\"}}, classes: {c: }}, "
       "b: {l3Allocation: {all: {unified: 50%, code: 1%, data: 50%}}}",
       "c L3:0=3ff;1=3ff", "\"data\" don't add up (some are masks and some percentages)"},
      {"a: {l3Allocation: {all: {unified: 50%, code: 50%, data: 50%}}, classes: {c: }}, "
       "b: {l3Allocation: {1: 50%, 0: {unified: 50%, code: 50%, data: 50%}}}",
       "c L3:0=3ff;1=3ff", "L3 of cache 1: \"data\" is missing in b"},
      {"a: {l3Allocation: {all: {unified: 50%, code: \"0x5\", data: \"0x3\"}}, classes: {c: }}",
       "c L3:0=3ff;1=3ff",
       "partitions.a.l3Allocation.all.code: \"0x5\" has gaps; containerd and CRI-O refuse the "
       "file"},
      {"a: {l3Allocation: {all: {unified: 50%, code: 10-20%, data: 50%}}, classes: {c: }}",
       "c L3:0=3ff;1=3ff",
       "the shares of \"code\" don't add up (a partition has a range of percentages), without"},
  };
  Check(without, "partitions: {", "}", OnlyL3());
  linux::ResctrlInfo two_bits = OnlyL3();
  two_bits.l3->min_cbm_bits = 2;
  Check(
      {{"a: {l3Allocation: {all: 50%}, classes: {c: {l3Allocation: {all: {unified: 50%, code: "
        "\"0x1\", data: \"0x3\"}}}}}",
        "c L3:0=1f;1=1f",
        "partitions.a.classes.c.l3Allocation.all.code: \"0x1\" has fewer than 2 bits; containerd"}},
      "partitions: {", "}", two_bits);
  EXPECT_THAT(
      ReadRdt("partitions: {a: {l3Allocation: {all: {unified: 50%, code: 50%, data: 50%}}}}",
              OnlyL3())
          .warnings,
      IsEmpty());
  // A mask beyond the ways is taken there where nothing uses it.
  EXPECT_THAT(
      ReadRdt("partitions: {a: {l3Allocation: {all: {unified: 50%, code: \"0x100000\", data: "
              "50%}}, classes: {c: }}}",
              OnlyL3())
          .warnings,
      Not(Contains(HasSubstr("refuse the file"))));
}

// The library parses every value, also one that no cache of the machine has.
TEST(RdtDialectPartitionsTest, ValuesThatNoCacheHas) {
  const std::vector<Case> cases = {
      {"p: {l3Allocation: {0: 50%, 1: 50%, all: \"0x5\"}, classes: {c: }}",
       "c L3:0=3ff;1=3ff MB:0=100;1=100",
       "partitions.p.l3Allocation.all: \"0x5\" has gaps; containerd and CRI-O refuse the file"},
      {"p: {l3Allocation: 100%, classes: {c: {l3Allocation: {9: \"0x5\"}}}}",
       "c L3:0=fffff;1=fffff MB:0=100;1=100", "l3Allocation.9: \"0x5\" has gaps; containerd and"},
      {"p: {l2Allocation: \"0x5\", classes: {c: }}", "c",
       "partitions.p.l2Allocation: \"0x5\" has gaps; containerd and CRI-O refuse the file"},
      {"p: {l2Allocation: 10-20%, classes: {c: }}", "c",
       "\"10-20%\": a partition can't have a range of percentages; it is an error where"},
      {"p: {l3Allocation: {0: 50%, 1: 50%, 7: 10-20%}, classes: {c: }}",
       "c L3:0=3ff;1=3ff MB:0=100;1=100", "\"10-20%\": a partition can't have a range"},
      {"p: {mbAllocation: {all: [9MBps], 0: [50%], 1: [50%]}, classes: {c: }}", "c MB:0=50;1=50",
       "mbAllocation.all: there is no value in %; containerd and CRI-O refuse the file for it"},
      {"p: {mbAllocation: [100%], classes: {c: {mbAllocation: {7: [9MBps]}}}}", "c MB:0=100;1=100",
       "mbAllocation.7: there is no value in %; containerd and CRI-O refuse the file for it"},
      {"p: {mbAllocation: {0: [50%], 200: [50%]}, classes: {c: }}", "c MB:0=50;1=100",
       "the cache ids \"200\" are refused by containerd and CRI-O, which know those up to 127"},
  };
  for (const Case& each : cases) {
    const Read read = ReadRdt(absl::StrCat("partitions: {", each.text, "}"), Standard());
    EXPECT_EQ(absl::StrReplaceAll(each.outcome, {{" MB:0=100;1=100", ""}}),
              absl::StrReplaceAll(read.outcome, {{" MB:0=100;1=100", ""}}))
        << each.text << "\n"
        << read.error;
    EXPECT_THAT(read.warnings, Contains(HasSubstr(each.warning))) << each.text;
  }
  // Bandwidth counts in percent there where the machine has none.
  EXPECT_THAT(
      ReadRdt("partitions: {p: {mbAllocation: [9MBps], classes: {c: }}}", OnlyL3()).warnings,
      Contains(HasSubstr("mbAllocation: there is no value in %; containerd and CRI-O")));
}

// A class's key without a value is 100% of what its partition must have.
TEST(RdtDialectPartitionsTest, ClassKeyWithoutValue) {
  const std::vector<Case> cases = {
      {"p: {l3Allocation: 50%, classes: {c: {l3Allocation: }}}", "c L3:0=3ff;1=3ff",
       "partitions.p.classes.c.l3Allocation: has no value, so it counts as 100%"},
      {"p: {classes: {c: {l3Allocation: }}}", kRefused},
      {"p: {classes: {c: {mbAllocation: null}}}", kRefused},
  };
  Check(cases, "partitions: {", "}", OnlyL3());
}

TEST(RdtDialectPartitionsTest, WhatTheMachineLacksIsForClassesToNeed) {
  const std::vector<Case> cases = {
      {"p: {l3Allocation: 50%, classes: {c: }}", "c MB:0=100;1=100",
       "no class has one of its own, so that is no error"},
      {"p: {l3Allocation: 60%, classes: {c: }}, q: {l3Allocation: 60%}", "c MB:0=100;1=100"},
      {"p: {l3Allocation: 60%, mbAllocation: [50%], classes: {c: }}, q: {}", "c MB:0=50;1=50"},
      {"p: {l3Allocation: \"0x1\", mbAllocation: [50%], classes: {c: }}, q: {l3Allocation: "
       "\"0x1\"}",
       "c MB:0=50;1=50"},
      {"p: {l2Allocation: 50%}", ""},
      {"p: {l3Allocation: 50%, classes: {c: {l3Allocation: 50%}}}", kRefused},
      {"p: {l2Allocation: 50%, classes: {c: {l2Allocation: 50%}}}", kRefused},
  };
  linux::ResctrlInfo machine = OnlyBandwidth();
  for (Case each : cases) {
    const Read read = ReadRdt(absl::StrCat("partitions: {", each.text, "}"), machine);
    // A resource that nobody restricts has no line.
    const std::string outcome = read.outcome == "c" ? "c MB:0=100;1=100" : read.outcome;
    EXPECT_EQ(outcome, each.outcome) << each.text << "\n" << read.error;
    if (*each.warning != '\0') {
      EXPECT_THAT(read.warnings, Contains(HasSubstr(each.warning))) << each.text;
    }
  }
  EXPECT_EQ(ReadRdt("partitions: {p: {mbAllocation: [50%], classes: {c: }}}", OnlyL3()).outcome,
            "c");
  EXPECT_EQ(ReadRdt("partitions: {p: {mbAllocation: [50%], classes: {c: {mbAllocation: [50%]}}}}",
                    OnlyL3())
                .outcome,
            kRefused);
  EXPECT_EQ(ReadRdt("options: {l3: {optional: true}}\n"
                    "partitions: {p: {l3Allocation: 50%, classes: {c: {l3Allocation: 50%}}}}",
                    OnlyBandwidth())
                .outcome,
            "c");
}

}  // namespace
}  // namespace plimsoll::qos::rdt_dialect
