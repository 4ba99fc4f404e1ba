#include "kube/manifests/text.h"

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace plimsoll::kube {
namespace {

// Spaces at the start of a line.
std::string IndentOf(absl::string_view line) {
  return std::string(line.size() - absl::StripLeadingAsciiWhitespace(line).size(), ' ');
}

std::string FillLine(absl::string_view line, const Holes& holes) {
  const std::string newline = absl::StrCat("\n", IndentOf(line));
  std::vector<std::pair<std::string, std::string>> values;
  for (const auto& [name, value] : holes) {
    values.emplace_back(absl::StrCat("@", name, "@"),
                        absl::StrReplaceAll(absl::StripSuffix(value, "\n"), {{"\n", newline}}));
  }
  return absl::StrReplaceAll(line, values);
}

}  // namespace

std::string CelString(absl::string_view text) {
  std::string literal = "'";
  for (const char c : text) {
    if (c == '\'' || c == '\\') {
      absl::StrAppend(&literal, "\\", std::string(1, c));
    } else if (absl::ascii_isprint(static_cast<unsigned char>(c))) {
      literal.push_back(c);
    } else {
      // Names are validated as ASCII; a stray byte becomes a character that nobody can send.
      absl::StrAppendFormat(&literal, "\\u%04x", static_cast<unsigned char>(c));
    }
  }
  return literal + "'";
}

std::string CelList(const std::vector<std::string>& items) {
  return absl::StrCat("[",
                      absl::StrJoin(items, ", ",
                                    [](std::string* out, const std::string& item) {
                                      absl::StrAppend(out, CelString(item));
                                    }),
                      "]");
}

std::string CelMap(const std::map<std::string, std::string>& entries) {
  if (entries.empty()) return "{}";
  const auto line = [](std::string* out, const std::pair<const std::string, std::string>& entry) {
    absl::StrAppend(out, "  ", CelString(entry.first), ": ",
                    absl::StrReplaceAll(entry.second, {{"\n", "\n  "}}));
  };
  return absl::StrCat("{\n", absl::StrJoin(entries, ",\n", line), "}");
}

std::string Fill(absl::string_view document, const Holes& holes) {
  return absl::StrJoin(absl::StrSplit(document, '\n'), "\n",
                       [&holes](std::string* out, absl::string_view line) {
                         absl::StrAppend(out, FillLine(line, holes));
                       });
}

}  // namespace plimsoll::kube
