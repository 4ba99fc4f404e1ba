// The YAML of rdt files as containerd and CRI-O read it, and messages about mistakes in it. See
// dialect_for_test.h.
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "qos/rdt/dialect_for_test.h"

namespace plimsoll::qos::rdt_dialect {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

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
       "not every client can send the class name \"a b\""},
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
      // The library takes these, but the kernel does not, or the name doesn't fit a line of text.
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
      // In strict reading, no key overrides another.
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
  // Errors of the machine are told together too: both levels, several partitions, too many classes.
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
       {"class \"c\" has a share of a resource that partition \"a\" lacks",
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
}  // namespace plimsoll::qos::rdt_dialect
