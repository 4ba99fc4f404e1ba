// The reading of blockio files by containerd and CRI-O, case by case: each line was tried with
// their library (goresctrl), like those of rdt/dialect_test.cc.
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "qos/blockio_config.h"

namespace plimsoll::qos {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr char kRefused[] = "refused";

std::string LimitText(const char* name, const std::optional<uint64_t>& limit) {
  return limit ? absl::StrCat(" ", name, "=", *limit) : "";
}

// "slow: [/dev/sda] rbps=5 weight=10; fast:"
std::string TextOf(const BlockioConfig& config) {
  std::vector<std::string> classes;
  for (const BlockioClass& one : config.classes) {
    std::string text = absl::StrCat(one.name, ":");
    for (const BlockioEntry& entry : one.entries) {
      const BlockioLimits& limits = entry.limits;
      absl::StrAppend(
          &text,
          entry.devices.empty() ? "" : absl::StrCat(" [", absl::StrJoin(entry.devices, " "), "]"),
          LimitText("rbps", limits.read_bps), LimitText("wbps", limits.write_bps),
          LimitText("riops", limits.read_iops), LimitText("wiops", limits.write_iops),
          LimitText("weight", limits.weight));
    }
    classes.push_back(std::move(text));
  }
  return absl::StrJoin(classes, "; ");
}

struct Case {
  const char* text;
  const char* outcome;
  const char* warning = "";  // part of a warning; empty: none is expected, or it doesn't matter
};

void Check(const std::vector<Case>& cases, const std::string& before, bool v2 = true) {
  for (const Case& each : cases) {
    const auto config = ParseBlockioConfig(absl::StrCat(before, each.text), "io.yaml", v2);
    EXPECT_EQ(config.ok() ? TextOf(*config) : kRefused, each.outcome) << each.text << "\n"
                                                                      << config.status();
    if (config.ok() && *each.warning != '\0') {
      EXPECT_THAT(config->warnings, Contains(HasSubstr(each.warning))) << each.text;
    }
  }
}

// A file without classes takes all of them away.
TEST(BlockioDialectTest, TheFileAsAWhole) {
  Check(
      {
          {"", "", "io.yaml: is empty, so it defines no classes"},
          {"# nothing\n", "", "is empty"},
          {"---\n", "", "is empty"},
          {"null\n", "", "is empty"},
          {"{}\n", "", "there are no classes in it"},
          {"Classes:\n", "", "there are no classes in it"},
          {"Classes: {}\n", "", "there are no classes in it"},
          {"classes: {}\n", "", "the key \"classes\" is read as \"Classes\""},
          {"CLASSES: {c: }\n", "c:", "the key \"CLASSES\""},
          {"Classes: {c: []}\n", "c:"},
          {"Classes: {c: [{}]}\n", "c:", "sets nothing"},
          {"Classes: {c: [null]}\n", "c:", "sets nothing"},
          {"Classes: {}\nclasses: {c: []}\n", "c:", "only the value of \"classes\" counts"},
          {"Classes: {1: , yes: , 0x10: }\n",
           "1:; yes:; 0x10:", "containerd and CRI-O read the name yes as \"true\""},
          {"Classes: {\"a b\": }\n", "a b:", "not every client can send the class name \"a b\""},
          {"Classes: {-a: }\n", "-a:", "not every client can send the class name \"-a\""},
          {"Classes: {\"\": }\n", "", "a class without a name can't be asked for"},
          {"Classes: {c: [{Weight: 50}]}\n---\nClasses: {}\n", "c: weight=50",
           "only the first document counts"},
          {"Classes: {c: }\n---\n[\n", "c:", "only the first document counts"},
          {"Classes:\n  a: &a [{Weight: 50}]\n  b: *a\n", "a: weight=50; b: weight=50"},
          {"Classes:\n  a: [&a {Weight: 50}]\n  b: [{<<: *a, Devices: [/dev/x]}]\n",
           "a: weight=50; b: [/dev/x] weight=50"},
          {"[]\n", kRefused},
          {"foo\n", kRefused},
          {"Foo: 1\n", kRefused},
          {"Classes: []\n", kRefused},
          {"Classes: foo\n", kRefused},
          {"Classes: {c: {}}\n", kRefused},
          {"Classes: {c: [[]]}\n", kRefused},
          {"Classes: {c: [foo]}\n", kRefused},
          {"Classes: {c: , c: }\n", kRefused},
          {"x: &w {Weight: 50}\nClasses: {c: [*w]}\n", kRefused},
      },
      "");
}

TEST(BlockioDialectTest, Weights) {
  Check(
      {
          {"Weight: 50", "c: weight=50"},
          {"weight: 50", "c: weight=50", "the key \"weight\" is read as \"Weight\""},
          {"{Weight: 50, weight: 60}", "c: weight=60", "only the value of \"weight\" counts"},
          {"Weight: \"50\"", "c: weight=50"},
          {"Weight: 10", "c: weight=10"},
          {"Weight: 1000", "c: weight=1000"},
          {"Weight: 50.5", "c: weight=51"},
          {"Weight: 9.5", "c: weight=10"},
          {"Weight: 1e2", "c: weight=100", "1e2 without quotes is the number 100"},
          {"Weight: 0x64", "c: weight=100", "0x64 without quotes is the number 100"},
          {"Weight: 0100", "c: weight=64", "0100 without quotes is the number 64"},
          {"Weight: 1_00", "c: weight=100", "is the number 100"},
          {"Weight: 0b1100100", "c: weight=100", "is the number 100"},
          {"Weight: +50", "c: weight=50"},
          {"Weight: \"+50\"", "c: weight=50"},
          {"Weight: \"5e1\"", "c: weight=50"},
          {"Weight: \"5E1\"", "c: weight=50"},
          {"Weight: 1k", "c: weight=1000"},
          {"Weight: 0.1k", "c: weight=100"},
          {"Weight: .5k", "c: weight=500"},
          {"Weight: ", "c:", "sets nothing"},
          {"Weight: \"\"", "c:", "sets nothing"},
          {"{Devices: , Weight: 50}", "c: weight=50"},
          // An entry with an empty list of devices is no default either.
          {"{Devices: [], Weight: 50}", "c:", "\"Devices\" names none"},
          {"Weight: 5", kRefused},
          {"Weight: 0", kRefused},
          {"Weight: -1", kRefused},
          {"Weight: 1001", kRefused},
          {"Weight: 100m", kRefused},
          {"Weight: 1K", kRefused},
          {"Weight: yes", kRefused},
          {"Weight: .inf", kRefused},
          {"Weight: 1e500", kRefused},
          {"Weight: [50]", kRefused},
          {"Weight: \" 50\"", kRefused},
          {"Weight: \"50 \"", kRefused},
          {"Weight: \"64 M\"", kRefused},
          {"Weight: \"0x64\"", kRefused},
          {"{Weight: 50, Weight: 60}", kRefused},
          {"Foo: 1", kRefused},
      },
      "Classes:\n  c:\n  - ");
}

TEST(BlockioDialectTest, Throttles) {
  Check(
      {
          {"{Devices: [/dev/x], ThrottleReadBps: 50Mi}", "c: [/dev/x] rbps=52428800"},
          {"{Devices: [/dev/x], ThrottleReadBps: 0}", "c: [/dev/x] rbps=0"},
          {"{Devices: [/dev/x], ThrottleReadBps: 1e3}", "c: [/dev/x] rbps=1000",
           "is the number 1000"},
          {"{Devices: [/dev/x], ThrottleReadBps: 1.5k}", "c: [/dev/x] rbps=1500"},
          {"{Devices: [/dev/x], throttlereadiops: 10k}", "c: [/dev/x] riops=10000",
           "the key \"throttlereadiops\""},
          {"{Devices: [], ThrottleReadBps: 50M}", "c:", "\"Devices\" names none"},
          {"{Devices: [/dev/x]}", "c:", "sets nothing"},
          {"ThrottleReadBps: \"\"", "c:", "sets nothing"},
          // Patterns need not match; the plan warns of those that don't.
          {"{Devices: [nothere], ThrottleReadBps: 50M}", "c: [nothere] rbps=50000000"},
          {"{Devices: [\"[x\"], ThrottleReadBps: 50M}", "c: [[x] rbps=50000000"},
          {"{Devices: [1], ThrottleReadBps: 50M}", "c: [1] rbps=50000000"},
          {"{Devices: [~], ThrottleReadBps: 50M}", "c: [] rbps=50000000"},
          // A value above the kernel's highest becomes that.
          {"{Devices: [/dev/x], ThrottleReadBps: 10E}", "c: [/dev/x] rbps=9223372036854775806",
           "more than the kernel counts"},
          {"{Devices: [/dev/x], ThrottleReadBps: 1e30}", "c: [/dev/x] rbps=9223372036854775806",
           "more than the kernel counts"},
          {"{Devices: [/dev/x], ThrottleReadBps: 9223372036854775807}",
           "c: [/dev/x] rbps=9223372036854775806", "more than the kernel counts"},
          {"{Devices: [/dev/x], ThrottleReadIOPS: 5000000000}", "c: [/dev/x] riops=4294967294",
           "ThrottleReadIOPS: is 5000000000, more than the kernel counts: 4294967294 is set"},
          {"{Devices: [/dev/x], ThrottleReadIOPS: 4294967295}", "c: [/dev/x] riops=4294967294",
           "more than the kernel counts"},
          {"{Devices: /dev/sda, Weight: 50}", kRefused},
          {"{Devices: [[/dev/sda]], Weight: 50}", kRefused},
          {"ThrottleReadBps: 50M", kRefused},
          {"ThrottleReadBps: 0", kRefused},
          {"{Devices: , ThrottleReadBps: 50M}", kRefused},
          {"{Devices: [/dev/x], ThrottleReadBps: -1}", kRefused},
          {"{Devices: [/dev/x], ThrottleReadBps: 50MB}", kRefused},
          {"{Devices: [/dev/x], ThrottleReadBps: 50 M}", kRefused},
          {"{Devices: [/dev/x], ThrottleReadBps: max}", kRefused},
          {"{Devices: [/dev/x], ThrottleReadBps: \"1,000\"}", kRefused},
          {"{Devices: [/dev/x], Weight: 5}", kRefused},
          // The kernel refuses these (io.max), whatever the library says.
          {"{Devices: [/dev/x], ThrottleReadBps: 1}", kRefused},
          {"{Devices: [/dev/x], ThrottleReadBps: 0.5}", kRefused},
          {"{Devices: [/dev/x], ThrottleReadBps: 1e-3}", kRefused},
      },
      "Classes:\n  c:\n  - ");
}

// The files of cgroup v1 take 1.
TEST(BlockioDialectTest, AThrottleOfOneOnCgroupV1) {
  Check(
      {
          {"{Devices: [/dev/x], ThrottleReadBps: 1}", "c: [/dev/x] rbps=1"},
          {"{Devices: [/dev/x], ThrottleWriteBps: 0.5}", "c: [/dev/x] wbps=1"},
          {"{Devices: [/dev/x], ThrottleReadIOPS: 1e-3}", "c: [/dev/x] riops=1"},
          {"{Devices: [/dev/x], ThrottleWriteIOPS: 1m}", "c: [/dev/x] wiops=1"},
      },
      "Classes:\n  c:\n  - ", /*v2=*/false);
}

TEST(BlockioDialectTest, WhatIsUsualIsNotWarnedOf) {
  const auto config = ParseBlockioConfig(
      "Classes:\n  slow:\n  - Weight: 50\n  - Devices: [/dev/sd*]\n    ThrottleReadBps: 50M\n",
      "io.yaml", /*v2=*/true);
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_THAT(config->warnings, IsEmpty());
}

TEST(BlockioDialectTest, AllErrorsAreToldAtOnce) {
  const auto config =
      ParseBlockioConfig("Classes:\n  a: [{Weight: 5}, {Weight: 5000}]\n  b: [{Foo: 1}]\nX: 1\n",
                         "io.yaml", /*v2=*/true);
  const std::string error(config.status().message());
  EXPECT_THAT(error, HasSubstr("io.yaml:2:16: Classes.a[0].Weight: is 5, must be from 10 to 1000"));
  EXPECT_THAT(error, HasSubstr("\nio.yaml:2:29: Classes.a[1].Weight: is 5000"));
  EXPECT_THAT(error, HasSubstr("\nio.yaml:3:8: Classes.b[0]: unknown field \"Foo\""));
  EXPECT_THAT(error, HasSubstr("\nio.yaml:4:1: unknown field \"X\""));
}

}  // namespace
}  // namespace plimsoll::qos
