#include "linux/schemata.h"

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/status.h"

namespace plimsoll::linux {
namespace {

// Caches have masks; memory bandwidth (MB, AMD's SMBA) has numbers.
bool IsCache(absl::string_view resource) {
  return absl::StartsWith(resource, "L");
}

bool ParseValue(absl::string_view resource, absl::string_view text, uint64_t& value) {
  text = absl::StripAsciiWhitespace(text);
  return IsCache(resource) ? absl::SimpleHexAtoi(text, &value) : absl::SimpleAtoi(text, &value);
}

absl::Status NotUnderstood(absl::string_view line) {
  return absl::InvalidArgumentError(
      absl::StrCat("not understood: \"", line, "\" (\"L3:0=ff;1=ff\" would be)"));
}

}  // namespace

absl::StatusOr<Schemata> ParseSchemata(absl::string_view text) {
  Schemata schemata;
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    line = absl::StripAsciiWhitespace(line);
    if (line.empty()) continue;
    const size_t colon = line.find(':');
    if (colon == absl::string_view::npos || colon == 0) return NotUnderstood(line);
    const std::string resource(line.substr(0, colon));
    std::map<uint64_t, uint64_t>& values = schemata[resource];
    for (const absl::string_view item : absl::StrSplit(line.substr(colon + 1), ';')) {
      const size_t equals = item.find('=');
      uint64_t id = 0;
      uint64_t value = 0;
      if (equals == absl::string_view::npos || !absl::SimpleAtoi(item.substr(0, equals), &id) ||
          !ParseValue(resource, item.substr(equals + 1), value)) {
        return NotUnderstood(line);
      }
      values[id] = value;
    }
  }
  return schemata;
}

std::string SchemataLine(const std::string& resource, const std::map<uint64_t, uint64_t>& values) {
  std::string line = absl::StrCat(resource, ":");
  absl::string_view separator;
  for (const auto& [id, value] : values) {
    absl::StrAppend(&line, separator, id, "=");
    if (IsCache(resource)) {
      absl::StrAppend(&line, absl::Hex(value));
    } else {
      absl::StrAppend(&line, value);
    }
    separator = ";";
  }
  return line;
}

std::string SchemataText(const Schemata& schemata) {
  std::string text;
  for (const auto& [resource, values] : schemata) {
    absl::StrAppend(&text, SchemataLine(resource, values), "\n");
  }
  return text;
}

std::string SchemataValue(absl::string_view resource, uint64_t value) {
  return IsCache(resource) ? absl::StrCat("0x", absl::Hex(value)) : absl::StrCat(value);
}

std::vector<std::string> SchemataDifferences(const Schemata& wanted, const Schemata& actual) {
  std::vector<std::string> differences;
  for (const auto& [resource, values] : wanted) {
    const auto line = actual.find(resource);
    for (const auto& [id, value] : values) {
      if (line == actual.end() || line->second.count(id) == 0) {
        differences.push_back(absl::StrCat(resource, " of cache ", id, " is not there"));
      } else if (const uint64_t is = line->second.at(id); is != value) {
        differences.push_back(absl::StrCat(resource, " of cache ", id, " is ",
                                           SchemataValue(resource, is), ", should be ",
                                           SchemataValue(resource, value)));
      }
    }
  }
  return differences;
}

}  // namespace plimsoll::linux
