// For tests: Prometheus' text format and the tables of docs/metrics.md, parsed into one form.
#ifndef PLIMSOLL_SERVICE_EXPOSITION_FOR_TEST_H_
#define PLIMSOLL_SERVICE_EXPOSITION_FOR_TEST_H_

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"

namespace plimsoll {

struct ExposedFamily {
  std::string type;                      // "counter"
  std::string help;                      // empty: none
  std::set<std::string> labels;          // of any of its values, except a histogram's `le`
  std::map<std::string, double> values;  // keyed by the line without the value; "a{b=\"c\"}"
};
using Exposition = std::map<std::string, ExposedFamily>;  // by name

// The labels of one value, `{a="b",c="d"}`. Values have no quotes or braces here.
inline std::set<std::string> LabelNames(absl::string_view line) {
  std::set<std::string> names;
  const size_t open = line.find('{');
  if (open == absl::string_view::npos) return names;
  for (const absl::string_view pair :
       absl::StrSplit(line.substr(open + 1, line.find('}') - open - 1), "\",")) {
    const std::string name(pair.substr(0, pair.find('=')));
    if (name != "le") names.insert(name);
  }
  return names;
}

// Fails the test for lines without a family.
inline Exposition ParseExposition(const std::string& text) {
  Exposition families;
  std::map<std::string, std::string> help;
  ExposedFamily* current = nullptr;
  std::string current_name;
  for (absl::string_view line : absl::StrSplit(text, '\n', absl::SkipEmpty())) {
    if (absl::ConsumePrefix(&line, "# HELP ")) {
      const std::vector<std::string> words = absl::StrSplit(line, absl::MaxSplits(' ', 1));
      help[words[0]] = words.size() > 1 ? words[1] : "";
    } else if (absl::ConsumePrefix(&line, "# TYPE ")) {
      const std::vector<std::string> words = absl::StrSplit(line, ' ');
      EXPECT_FALSE(families.contains(words[0])) << words[0] << " is there twice";
      current_name = words[0];
      current = &families[current_name];
      current->type = words.back();
      current->help = help[current_name];
    } else if (current == nullptr || !absl::StartsWith(line, current_name)) {
      ADD_FAILURE() << "of no family: " << line;
    } else {
      const size_t space = line.rfind(' ');
      current->labels.merge(LabelNames(line));
      current->values[std::string(line.substr(0, space))] =
          std::stod(std::string(line.substr(space + 1)));
    }
  }
  return families;
}

// "`a`, `b`" becomes {a, b}.
inline std::set<std::string> BetweenTicks(absl::string_view cell) {
  std::set<std::string> words;
  const std::vector<absl::string_view> parts = absl::StrSplit(cell, '`');
  for (size_t i = 1; i < parts.size(); i += 2) words.insert(std::string(parts[i]));
  return words;
}

// Every row "| `name` | type | labels | meaning |" of a page's tables.
inline Exposition ReadMetricsPage(const std::string& markdown) {
  Exposition families;
  for (const absl::string_view line : absl::StrSplit(markdown, '\n')) {
    const std::vector<absl::string_view> cells = absl::StrSplit(line, '|');
    if (cells.size() != 6 || !absl::StrContains(cells[1], '`')) continue;
    const std::string name = *BetweenTicks(cells[1]).begin();
    EXPECT_FALSE(families.contains(name)) << name << " is there twice";
    ExposedFamily& family = families[name];
    family.type = std::string(absl::StripAsciiWhitespace(cells[2]));
    family.labels = BetweenTicks(cells[3]);
    family.help = std::string(absl::StripAsciiWhitespace(cells[4]));
  }
  return families;
}

// The first column of the table whose first header cell is `header`.
inline std::set<std::string> FirstColumn(const std::string& markdown, const std::string& header) {
  std::set<std::string> names;
  bool inside = false;
  for (const absl::string_view line : absl::StrSplit(markdown, '\n')) {
    if (absl::StartsWith(line, absl::StrCat("| ", header, " |"))) {
      inside = true;
    } else if (!absl::StartsWith(line, "|")) {
      inside = false;
    } else if (inside && absl::StartsWith(line, "| `")) {
      const std::vector<absl::string_view> cells = absl::StrSplit(line, '|');
      names.merge(BetweenTicks(cells[1]));
    }
  }
  return names;
}

}  // namespace plimsoll

#endif  // PLIMSOLL_SERVICE_EXPOSITION_FOR_TEST_H_
