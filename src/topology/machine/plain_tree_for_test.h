// For tests: a drawn topology with one line for each zone, whatever its length.
#ifndef PLIMSOLL_TOPOLOGY_MACHINE_PLAIN_TREE_FOR_TEST_H_
#define PLIMSOLL_TOPOLOGY_MACHINE_PLAIN_TREE_FOR_TEST_H_

#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"

namespace plimsoll::topology {

// Appends a zone's further lines, which have neither a branch nor a dot, to its first.
inline std::string PlainTree(const std::string& drawn) {
  std::string plain;
  for (absl::string_view line : absl::StrSplit(drawn, '\n', absl::SkipEmpty())) {
    const bool is_first =
        plain.empty() || absl::StrContains(line, "─ ") || absl::StrContains(line, "● ");
    if (is_first) {
      absl::StrAppend(&plain, plain.empty() ? "" : "\n", line);
    } else {
      const std::string words = absl::StrReplaceAll(line, {{"│", " "}});
      absl::StrAppend(&plain, "  ", absl::StripAsciiWhitespace(words));
    }
  }
  return plain + "\n";
}

}  // namespace plimsoll::topology

#endif  // PLIMSOLL_TOPOLOGY_MACHINE_PLAIN_TREE_FOR_TEST_H_
