// For tests: tables of rdt files and their outcome on a machine.
//
// The outcomes are those of containerd's and CRI-O's reading of rdt files, case by case: each line
// was tried with their library (goresctrl) on such a machine. A file that it takes is taken here,
// with the same result and with a warning where it is odd. Where the two differ the table says why.
#ifndef PLIMSOLL_QOS_RDT_DIALECT_FOR_TEST_H_
#define PLIMSOLL_QOS_RDT_DIALECT_FOR_TEST_H_

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "qos/rdt/compile.h"

namespace plimsoll::qos::rdt_dialect {

// Two caches of 20 ways; bandwidth in percent.
inline linux::ResctrlInfo Standard() {
  linux::ResctrlInfo info;
  info.l3 = linux::ResctrlCacheInfo{.ids = {0, 1}, .cbm_mask = 0xfffff, .num_closids = 16};
  info.mb = linux::ResctrlBandwidthInfo{
      .ids = {0, 1}, .min_bandwidth = 10, .bandwidth_gran = 10, .num_closids = 8};
  return info;
}
inline linux::ResctrlInfo WithCdp() {
  linux::ResctrlInfo info = Standard();
  info.l3->cdp = true;
  return info;
}
inline linux::ResctrlInfo WithMbps() {
  linux::ResctrlInfo info = Standard();
  info.mb->mbps = true;
  return info;
}
inline linux::ResctrlInfo OnlyL3() {
  linux::ResctrlInfo info = Standard();
  info.mb.reset();
  return info;
}
inline linux::ResctrlInfo OnlyBandwidth() {
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

inline Read ReadRdt(const std::string& text, const linux::ResctrlInfo& machine) {
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
  const char* warning = "";  // part of a warning; empty: none is expected, or it doesn't matter
};

inline void Check(const std::vector<Case>& cases, const std::string& before,
                  const std::string& after, const linux::ResctrlInfo& machine) {
  for (const Case& each : cases) {
    const Read read = ReadRdt(absl::StrCat(before, each.text, after), machine);
    EXPECT_EQ(read.outcome, each.outcome) << each.text << "\n" << read.error;
    if (*each.warning != '\0') {
      EXPECT_THAT(read.warnings, ::testing::Contains(::testing::HasSubstr(each.warning)))
          << each.text;
    }
  }
}

}  // namespace plimsoll::qos::rdt_dialect

#endif  // PLIMSOLL_QOS_RDT_DIALECT_FOR_TEST_H_
