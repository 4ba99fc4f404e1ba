// What containerd's and CRI-O's reading of rdt files comes to, case by case: each line was tried
// with their library (goresctrl) on such a machine. A file that it takes is taken here, with the
// same result and with a warning where it is odd. Where the two differ the table says why.
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "qos/rdt_compile.h"

namespace plimsoll::qos {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

// Two caches of 20 ways; bandwidth in percent.
linux::ResctrlInfo Standard() {
  linux::ResctrlInfo info;
  info.l3 = linux::ResctrlCacheInfo{.ids = {0, 1}, .cbm_mask = 0xfffff, .num_closids = 16};
  info.mb = linux::ResctrlBandwidthInfo{
      .ids = {0, 1}, .min_bandwidth = 10, .bandwidth_gran = 10, .num_closids = 8};
  return info;
}
linux::ResctrlInfo WithCdp() {
  linux::ResctrlInfo info = Standard();
  info.l3->cdp = true;
  return info;
}
linux::ResctrlInfo WithMbps() {
  linux::ResctrlInfo info = Standard();
  info.mb->mbps = true;
  return info;
}
linux::ResctrlInfo OnlyL3() {
  linux::ResctrlInfo info = Standard();
  info.mb.reset();
  return info;
}
linux::ResctrlInfo OnlyBandwidth() {
  linux::ResctrlInfo info = Standard();
  info.l3.reset();
  return info;
}

constexpr char kRefused[] = "refused";

struct Read {
  std::string outcome;  // kRefused, or the schemata of the classes: "c L3:0=3;1=3; d ..."
  std::vector<std::string> warnings;
  std::string error;
};

Read ReadRdt(const std::string& text, const linux::ResctrlInfo& machine) {
  const auto config = ParseRdtConfig("rdt.yaml", text);
  if (!config.ok()) return {kRefused, {}, std::string(config.status().message())};
  const auto compiled = CompileRdt(*config, machine);
  if (!compiled.ok()) return {kRefused, {}, std::string(compiled.status().message())};
  std::vector<std::string> classes;
  for (const auto& [name, one] : compiled->classes) {
    std::string lines = absl::StrReplaceAll(linux::SchemataText(one.schemata), {{"\n", " "}});
    if (!lines.empty()) lines.pop_back();
    classes.push_back(absl::StrCat(name, lines.empty() ? "" : " ", lines));
  }
  return {absl::StrJoin(classes, "; "), compiled->warnings, ""};
}

struct Case {
  const char* text;
  const char* outcome;
  const char* warning = "";  // part of one; empty: none is expected, or of no interest
};

void Check(const std::vector<Case>& cases, const std::string& before, const std::string& after,
           const linux::ResctrlInfo& machine) {
  for (const Case& each : cases) {
    const Read read = ReadRdt(absl::StrCat(before, each.text, after), machine);
    EXPECT_EQ(read.outcome, each.outcome) << each.text << "\n" << read.error;
    if (*each.warning != '\0') {
      EXPECT_THAT(read.warnings, Contains(HasSubstr(each.warning))) << each.text;
    }
  }
}

TEST(RdtDialectTest, SharesOfACache) {
  const std::vector<Case> cases = {
      {"\"0x3\"", "c L3:0=3;1=3"},
      {"\"3\"", "c L3:0=8;1=8"},
      {"!!str 3", "c L3:0=8;1=8"},
      {"\"1,0\"", "c L3:0=3;1=3"},
      {"\"0-19\"", "c L3:0=fffff;1=fffff"},
      {"50-60%", "c L3:0=e00;1=e00"},
      {"007%", "c L3:0=3;1=3"},
      {"{}", "c L3:0=fffff;1=fffff"},
      {"null", "c L3:0=fffff;1=fffff"},
      {"{\"0\": 50%}", "c L3:0=3ff;1=fffff"},
      {"{0: 50%}", "c L3:0=3ff;1=fffff"},
      {"{0x1: 50%}", "c L3:0=fffff;1=3ff", "the key 0x1 is read as \"1\""},
      {"{01: 50%}", "c L3:0=fffff;1=3ff", "the key 01 is read as \"1\""},
      {"{\"00\": 50%}", "c L3:0=3ff;1=fffff"},
      {"{\"7\": 50%}", "c L3:0=fffff;1=fffff", "class c names cache ids 7; the machine has 0-1"},
      {"{\"\": 50%}", "c L3:0=fffff;1=fffff", "the key \"\" names no cache id"},
      {"{\"0-127\": 50%}", "c L3:0=3ff;1=3ff"},
      // The library takes either at random; here the narrower key counts.
      {"{0-1: 50%, 1: 20%}", "c L3:0=3ff;1=f", "also named by another key"},
      {"{\"1\": 20%, \"0,1\": 50%}", "c L3:0=3ff;1=f", "also named by another key"},
      {"{all: {Unified: 50%}}", "c L3:0=3ff;1=3ff", "the key \"Unified\" is read as \"unified\""},
      {"{all: {UNIFIED: 50%, unified: 20%}}", "c L3:0=f;1=f", "are all the key \"unified\""},
      {"{all: {unified: 50%, code: 50%, data: 20%}}", "c L3:0=3ff;1=3ff"},
      {"{all: {unified: 50%, code: \"\", data: \"\"}}", "c L3:0=3ff;1=3ff"},
      {"{all: {unified: 50%, foo: 1}}", "c L3:0=3ff;1=3ff", "\"foo\" is passed over"},
      // Numbers where the library wants text.
      {"{all: {unified: 3}}", "c L3:0=8;1=8"},
      {"{all: {unified: 010}}", "c L3:0=100;1=100", "010 without quotes is the number 8"},
      {"{all: {unified: 0b11}}", "c L3:0=8;1=8", "is the number 3"},
      {"{all: {unified: 0o17}}", "c L3:0=8000;1=8000", "is the number 15"},
      {"{all: {unified: 1e1}}", "c L3:0=400;1=400", "is the number 10"},
      {"{all: {unified: 1_0}}", "c L3:0=400;1=400", "is the number 10"},
      {"{all: {unified: 4.0}}", "c L3:0=10;1=10", "is the number 4"},
      {"\"\"", kRefused},
      {"{all: \"\"}", kRefused},
      {"{all: }", kRefused},
      {"{all: {unified: yes}}", kRefused},
      {"{all: {unified: ~}}", kRefused},
      {"{all: {unified: \"\", code: 50%}}", kRefused},
      {"{all: {unified: 50%, code: 50%}}", kRefused},
      {"{all: {code: 50%, data: 20%}}", kRefused},
      {"{all: [1]}", kRefused},
      {"[50%]", kRefused},
      {"true", kRefused},
      {"{yes: 50%}", kRefused},
      {"{\"a\": 50%}", kRefused},
      {"{ALL: 50%}", kRefused},
      {"{all: 50%, All: 20%}", kRefused},
      {"{~: 50%}", kRefused},
      {"{0.5: 50%}", kRefused},
      {"{\"-1\": 50%}", kRefused},
      {"{\"0-\": 50%}", kRefused},
      {"{\"0,\": 50%}", kRefused},
      {"\"0,2\"", kRefused},
      {"\"0-\"", kRefused},
      {"\"0x\"", kRefused},
      {"\"0X3\"", kRefused},
      {"\"0x0\"", kRefused},
      {"\"0xf_f\"", kRefused},
      {"\"20\"", kRefused},
      {"\"64\"", kRefused},
      {"\"0x1fffff\"", kRefused},
      {"0%", kRefused},
      {"0-0%", kRefused},
      {"101%", kRefused},
      {"128%", kRefused},
      {"60-50%", kRefused},
      {"\"50 %\"", kRefused},
      {"\" 50%\"", kRefused},
      {"\"5.5%\"", kRefused},
      {"\"-5%\"", kRefused},
      {"\"+5%\"", kRefused},
      {"2001-01-01", kRefused},
      {"1:30", kRefused},
  };
  Check(cases,
        "partitions:\n  p:\n    l3Allocation: 100%\n    classes:\n      c:\n        l3Allocation: ",
        "\n", OnlyL3());
}

// A mask is what whoever writes 0x3 means: read so, and told what others make of it.
TEST(RdtDialectTest, AMaskWithoutQuotesIsAMaskHereAlone) {
  const std::vector<Case> cases = {
      {"{all: {unified: 0x3}}", "c L3:0=3;1=3",
       "0x3 without quotes is read as the mask 0x3, but containerd and CRI-O read the number 3, so "
       "bit 3 alone, the mask 0x8; write \"0x3\" with quotes"},
      {"{all: {unified: 0xff0}}", "c L3:0=ff0;1=ff0", "read the number 4080 and refuse it"},
      {"{all: 0x3}", "c L3:0=3;1=3", "but containerd and CRI-O refuse it"},
      {"0X3", "c L3:0=3;1=3", "write \"0x3\" with quotes"},
      {"3", "c L3:0=8;1=8", "the list of bits 3, but containerd and CRI-O refuse it"},
      // What is no range for them is one of one here.
      {"\"0-0\"", "c L3:0=1;1=1"},
      {"{\"1-1\": 50%}", "c L3:0=fffff;1=3ff"},
      {"{\"200\": 50%}", "c L3:0=fffff;1=fffff", "names cache ids 200"},
  };
  Check(cases, "partitions: {p: {l3Allocation: 100%, classes: {c: {l3Allocation: ", "}}}}",
        OnlyL3());
}

TEST(RdtDialectTest, TheFileAsAWhole) {
  const std::vector<Case> cases = {
      {"", ""},
      {"# nothing\n", ""},
      {"---\n", ""},
      {"null\n", ""},
      {"{}\n", ""},
      {"partitions:\n", ""},
      {"options:\n", ""},
      {"options: {l2: }\n", ""},
      {"options: {l2: {optional: }}\n", ""},
      {"PARTITIONS: {p: {Classes: {c: }}}\n", "c"},
      {"Options: {L2: {Optional: TRUE}}\n", ""},
      {"partitions: {p: , q: {classes: }}\n", ""},
      {"partitions: {\"\": {classes: {c: {}}}}\n", "c", "a partition should have a name"},
      {"partitions: {p: {classes: {\"\": {}}}}\n", "system/default"},
      {"partitions: {1: {classes: {2: , yes: , 1.50: , 0x10: , 010: }}}\n",
       "010; 0x10; 1.50; 2; yes", "containerd and CRI-O read the name yes as \"true\""},
      {"partitions: {p: {classes: {\"a b\": }}}\n", "a b",
       "the class name \"a b\" is none that every client can send"},
      {"partitions: {p: {classes: {c: }}}\n---\npartitions: {q: {classes: {d: }}}\n", "c",
       "only the first document counts"},
      {"partitions: {p: {classes: {c: }}}\n---\n[\n", "c", "only the first document counts"},
      {"\xef\xbb\xbfpartitions: {}\n", ""},
      {"{\"partitions\": {\"p\": {\"classes\": {\"c\": {}},}}}", "c"},
      {"partitions: {p: {classes: {c: {kubernetes: }}}}\n", "c"},
      {"[]\n", kRefused},
      {"foo\n", kRefused},
      {"a: 1\n", kRefused},
      {"partitions: []\n", kRefused},
      {"partitions: \"\"\n", kRefused},
      {"partitions: {p: {classes: [c]}}\n", kRefused},
      {"partitions: {p: {kubernetes: {}}}\n", kRefused},
      {"partitions: {p: {classes: {c: {l3Schema: 50%}}}}\n", kRefused},
      {"options: {l4: {}}\n", kRefused},
      {"options: {l2: {optionl: true}}\n", kRefused},
      {"partitions: {p: {}, p: {}}\n", kRefused},
      {"partitions: {p: {classes: {c: , c: }}}\n", kRefused},
      {"partitions: {p: {classes: {c: }}, q: {classes: {c: }}}\n", kRefused},
      {"partitions: {p: {classes: {\"\": , system/default: }}}\n", kRefused},
      {"partitions: {p: {classes: {a/b: }}}\n", kRefused},
      {"partitions: {p: {classes: {.: }}}\n", kRefused},
      {"partitions: {p: {l3Allocation: *nope}}\n", kRefused},
      {"partitions:\n\tp: {}\n", kRefused},
      // Taken by the library, but not by the kernel, or no name for a line of text.
      {"partitions: {p: {classes: {info: }}}\n", kRefused},
      {"partitions: {p: {classes: {\"a\\tb\": }}}\n", kRefused},
  };
  linux::ResctrlInfo machine = Standard();
  Check(cases, "", "", machine);
}

TEST(RdtDialectTest, WordsOfYaml11AreBooleans) {
  for (const char* word : {"true", "True", "TRUE", "yes", "y", "Y", "on", "On"}) {
    const auto config =
        ParseRdtConfig("f", absl::StrCat("options: {l2: {optional: ", word, "}}\n"));
    ASSERT_TRUE(config.ok()) << word << config.status();
    EXPECT_TRUE(config->l2_optional) << word;
    EXPECT_EQ(config->warnings.empty(), std::string(word) == "true") << word;
  }
  for (const char* word : {"false", "no", "n", "OFF"}) {
    const auto config = ParseRdtConfig(
        "f", absl::StrCat("partitions: {p: {classes: {c: {kubernetes: {denypodannotation: ", word,
                          "}}}}}\n"));
    ASSERT_TRUE(config.ok()) << word << config.status();
    EXPECT_FALSE(config->partitions.at("p").classes.at("c").deny_pod_annotation) << word;
  }
  for (const char* word : {"\"true\"", "\"yes\"", "1", "yEs", "maybe"}) {
    EXPECT_FALSE(ParseRdtConfig("f", absl::StrCat("options: {l2: {optional: ", word, "}}\n")).ok())
        << word;
  }
}

TEST(RdtDialectTest, MergeKeys) {
  const std::vector<Case> cases = {
      {"a: &a {l3Allocation: 50%}\n  p: {<<: *a, classes: {c: }}", "c L3:0=ffc00;1=ffc00"},
      {"a: {l3Allocation: 50%}\n  p: {<<: {l3Allocation: 20%}, classes: {c: }}",
       "c L3:0=3c00;1=3c00"},
      {"a: {l3Allocation: 50%}\n  p: {<<: [], l3Allocation: 20%, classes: {c: }}",
       "c L3:0=3c00;1=3c00"},
      {"a: &a {l3Allocation: 50%}\n  p: {<<: [*a, {classes: {c: }}]}", "c L3:0=ffc00;1=ffc00"},
      {"a: &a {l3Allocation: 40%}\n  b: &b {<<: *a}\n  p: {l3Allocation: 20%, classes: {c: {<<: "
       "{l3Allocation: 50%}}}}",
       "c L3:0=30000;1=30000"},
      // Strictly read, none overrides another.
      {"a: &a {l3Allocation: 50%}\n  p: {<<: *a, l3Allocation: 20%, classes: {c: }}", kRefused},
      {"a: &a {l3Allocation: 50%}\n  p: {l3Allocation: 20%, <<: *a, classes: {c: }}", kRefused},
      {"a: &a {l3Allocation: 30%}\n  b: &b {l3Allocation: 20%}\n  p: {<<: [*a, *b]}", kRefused},
      {"a: &a {l3Allocation: 30%}\n  b: &b {l3Allocation: 20%}\n  p: {<<: *a, <<: *b}", kRefused},
      {"a: {l3Allocation: 50%}\n  p: {\"<<\": {l3Allocation: 20%}}", kRefused},
      {"a: {l3Allocation: 50%}\n  p: {<<: 3, l3Allocation: 20%}", kRefused},
      {"a: {l3Allocation: 50%}\n  p: {<<: , l3Allocation: 20%}", kRefused},
      {"a: &a {<<: *a}", kRefused},
  };
  Check(cases, "partitions:\n  ", "\n", OnlyL3());
}

TEST(RdtDialectTest, PartitionsAmongThemselves) {
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
       "has no value, which is 100%"},
      {"p: {l3allocation: 50%, classes: {c: }}", "c L3:0=3ff;1=3ff",
       "the key \"l3allocation\" is read as \"l3Allocation\""},
      {"p: {l3Allocation: 50%, L3ALLOCATION: 20%, classes: {c: }}", "c L3:0=3ff;1=3ff",
       "of \"l3Allocation\" alone is the value taken"},
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

TEST(RdtDialectTest, CodeAndData) {
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
      // Refused there for shares that the machine doesn't use, or that others have to have too.
      {"a: {l3Allocation: {all: {unified: 60%, code: 50%, data: 50%}}, classes: {c: }}, "
       "b: {l3Allocation: {all: {unified: 60%, code: 50%, data: 50%}}}",
       "c L3CODE:0=3ff;1=3ff L3DATA:0=3ff;1=3ff",
       "L3 of caches 0-1: the shares of \"unified\" don't add up (together they are 120%)"},
      {"a: {l3Allocation: {all: {unified: 50%, code: 50%, data: 50%}}, classes: {c: }}, "
       "b: {l3Allocation: 50%}",
       "c L3CODE:0=3ff;1=3ff L3DATA:0=3ff;1=3ff",
       "\"code\" is missing of b, others have it: a 50%; containerd and CRI-O refuse the file"},
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
       "c L3:0=3ff;1=3ff", "L3 of cache 1: \"data\" is missing of b"},
  };
  Check(without, "partitions: {", "}", OnlyL3());
  EXPECT_THAT(
      ReadRdt("partitions: {a: {l3Allocation: {all: {unified: 50%, code: 50%, data: 50%}}}}",
              OnlyL3())
          .warnings,
      IsEmpty());
}

TEST(RdtDialectTest, Bandwidth) {
  const std::vector<Case> cases = {
      {"[50%]", "c MB:0=50;1=50"},
      {"[50%, 1000MBps]", "c MB:0=50;1=50"},
      {"[1000MBps, 50%]", "c MB:0=50;1=50"},
      {"{all: [50%]}", "c MB:0=50;1=50"},
      {"{0: [20%]}", "c MB:0=20;1=100"},
      {"{}", "c MB:0=100;1=100"},
      {"[0%]", "c MB:0=10;1=10"},
      {"[5%]", "c MB:0=10;1=10"},
      {"[50%, 20%]", "c MB:0=50;1=50",
       "\"20%\" is the second value of its unit, and is passed over"},
      {"[50XBps, 50%]", "c MB:0=50;1=50", "\"50XBps\" is not a memory bandwidth"},
      {"[50%, 50XBps]", "c MB:0=50;1=50", "is passed over"},
      {"[50mbps, 50%]", "c MB:0=50;1=50", "\"50mbps\" is not a memory bandwidth"},
      {"[50MB, 20%]", "c MB:0=20;1=20", "\"50MB\" is not a memory bandwidth"},
      {"[\"50%\", \"\"]", "c MB:0=50;1=50", "is passed over"},
      {"[50%, null]", "c MB:0=50;1=50", "is passed over"},
      {"[\"50%\", \"x\", \"y\"]", "c MB:0=50;1=50", "\"y\" is not a memory bandwidth"},
      {"{all: [50, 50%]}", "c MB:0=50;1=50", "\"50\" is not a memory bandwidth"},
      {"{all: [true, 50%]}", "c MB:0=50;1=50", "\"true\" is not a memory bandwidth"},
      {"{\"0-1\": [20%], \"1\": [30%]}", "c MB:0=20;1=30", "also named by another key"},
      // Of the unit that doesn't count anything will do.
      {"[4294967296MBps, 50%]", "c MB:0=50;1=50", "an error where this unit counts"},
      {"[xMBps, 50%]", "c MB:0=50;1=50", "an error where this unit counts"},
      {"[50%, xMBps]", "c MB:0=50;1=50", "an error where this unit counts"},
      {"[1000MBps]", kRefused},
      {"[50]", kRefused},
      {"[\"50\"]", kRefused},
      {"[50XBps]", kRefused},
      {"[]", kRefused},
      {"[null]", kRefused},
      {"{all: }", kRefused},
      {"{all: []}", kRefused},
      {"[128%]", kRefused},
      {"[\"50 %\"]", kRefused},
      {"[\"5.5%\"]", kRefused},
      {"[\"+5%\"]", kRefused},
      {"[x%]", kRefused},
      {"[x%, 50%]", kRefused},
      {"[x%, 1000MBps]", kRefused},
      {"[[50%]]", kRefused},
      {"[{a: 1}]", kRefused},
      {"[101%]", kRefused},       // by the kernel
      {"50%", "c MB:0=50;1=50"},  // refused there
  };
  Check(cases, "partitions: {p: {mbAllocation: [100%], classes: {c: {mbAllocation: ", "}}}}",
        OnlyBandwidth());
  const std::vector<Case> mbps = {
      {"[50%, 1000MBps]", "c MB:0=1000;1=1000"},
      {"[1000MBps]", "c MB:0=1000;1=1000"},
      {"[0MBps]", "c MB:0=0;1=0"},
      {"[4294967295MBps]", "c MB:0=100000;1=100000"},
      {"[1000MBps, x%]", "c MB:0=1000;1=1000", "an error where this unit counts"},
      {"[101%, 1000MBps]", "c MB:0=1000;1=1000"},
      {"[999%, 1000MBps]", "c MB:0=1000;1=1000"},
      {"{}", "c MB:0=100000;1=100000"},
      {"[50%]", kRefused},
      {"[4294967296MBps]", kRefused},
      {"[50%, xMBps]", kRefused},
  };
  linux::ResctrlInfo machine = WithMbps();
  machine.l3.reset();
  Check(mbps,
        "partitions: {p: {mbAllocation: [100%, 100000MBps], classes: {c: {mbAllocation: ", "}}}}",
        machine);
}

TEST(RdtDialectTest, WhatTheMachineLacksIsForClassesToNeed) {
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
    // Where nobody restricts it there is no line for it.
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

TEST(RdtDialectTest, AllErrorsAreToldAtOnce) {
  const Read parsed = ReadRdt(R"(partitions:
  a:
    l3Allocation: 200%
    classes: {x/y: , c: {l3Allocaton: 50%}}
  b: {mbAllocation: [x%]}
option: {}
)",
                              Standard());
  for (const char* part :
       {"rdt.yaml:3:19: partitions.a.l3Allocation: \"200%\" is not a percentage",
        "\nrdt.yaml:4:15: partitions.a.classes.x/y: class names become directories",
        "\nrdt.yaml:4:26: partitions.a.classes.c: unknown field \"l3Allocaton\"",
        "\nrdt.yaml:5:", "\nrdt.yaml:6:1: unknown field \"option\""}) {
    EXPECT_THAT(parsed.error, HasSubstr(part));
  }
  // What is wrong on the machine, too: both levels, several partitions, too many classes.
  linux::ResctrlInfo machine = Standard();
  machine.mb->num_closids = 3;
  const Read compiled = ReadRdt(R"(partitions:
  a:
    l3Allocation: 60%
    mbAllocation: [1000MBps]
    classes: {c: {l2Allocation: 50%}, d: , e: }
  b: {l3Allocation: {0: 60%}}
)",
                                machine);
  for (const char* part :
       {"class \"c\" has a part of what partition \"a\" does not have",
        "L3 of cache 0: partitions have 120% together",
        "L3 of cache 1: partitions have 160% together", "MB of caches 0-1: there is no value in %",
        "no room for e of c, d, e"}) {
    EXPECT_THAT(compiled.error, HasSubstr(part));
  }
}

TEST(RdtDialectTest, NothingOfOthersReachesATerminal) {
  for (const std::string& text :
       {std::string("partitions: {\"a\\x1b[31m\": {l3Allocation: 50%}, b: {l3Allocation: 60%}}"),
        std::string("partitions: {p: {classes: {\"a\\x1b[31m\": }}}"),
        std::string("\"\\x1b[31m\": 1"),
        std::string("partitions: {p: {l3Allocation: \"\\x1b[31m\"}}"),
        std::string("partitions: {p: {l3Allocation: {\"\\x1b[31m\": 1%}}}")}) {
    const Read read = ReadRdt(text, Standard());
    EXPECT_EQ(read.outcome, kRefused);
    EXPECT_THAT(read.error, HasSubstr("\\x1b[31m"));
    EXPECT_THAT(read.error, Not(HasSubstr("\x1b")));
  }
  const Read warned =
      ReadRdt("partitions: {\"a\\x1b\": {l3Allocation: {7: 51%}, classes: {c: }}}", Standard());
  EXPECT_EQ(warned.outcome, "c L3:0=fffff;1=fffff") << warned.error;
  for (const std::string& warning : warned.warnings) EXPECT_THAT(warning, Not(HasSubstr("\x1b")));
  EXPECT_THAT(warned.warnings, Contains(HasSubstr("partition a\\x1b names cache ids 7")));
}

}  // namespace
}  // namespace plimsoll::qos
