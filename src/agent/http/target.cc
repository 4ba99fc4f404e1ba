#include "agent/http/target.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/status.h"

namespace plimsoll::agent {
namespace {

absl::Status BadTarget(absl::string_view text, absl::string_view rule) {
  return absl::InvalidArgumentError(
      absl::StrCat("request target \"", absl::CHexEscape(text), "\": ", rule));
}

bool IsHexDigit(char c) {
  return absl::ascii_isxdigit(static_cast<unsigned char>(c));
}

// nullopt: a "%" without two hexadecimal digits.
std::optional<std::string> Decode(absl::string_view text, bool plus_is_space) {
  std::string decoded;
  while (!text.empty()) {
    size_t taken = 1;
    if (text[0] == '%') {
      if (text.size() < 3 || !IsHexDigit(text[1]) || !IsHexDigit(text[2])) return std::nullopt;
      uint32_t byte = 0;
      if (!absl::SimpleHexAtoi(text.substr(1, 2), &byte)) return std::nullopt;
      decoded += static_cast<char>(byte);
      taken = 3;
    } else {
      decoded += plus_is_space && text[0] == '+' ? ' ' : text[0];
    }
    text.remove_prefix(taken);
  }
  return decoded;
}

std::string Encode(absl::string_view text) {
  std::string encoded;
  for (const char c : text) {
    const bool plain = absl::ascii_isalnum(static_cast<unsigned char>(c)) ||
                       absl::string_view("-._~").find(c) != absl::string_view::npos;
    if (plain) {
      encoded += c;
    } else {
      absl::StrAppend(&encoded, "%", absl::Hex(static_cast<unsigned char>(c), absl::kZeroPad2));
    }
  }
  return encoded;
}

bool HasControlCharacter(absl::string_view text) {
  return std::any_of(text.begin(), text.end(),
                     [](char c) { return absl::ascii_iscntrl(static_cast<unsigned char>(c)); });
}

absl::StatusOr<std::vector<std::string>> ParsePath(absl::string_view whole,
                                                   absl::string_view path) {
  if (!absl::StartsWith(path, "/")) return BadTarget(whole, "must begin with \"/\"");
  std::vector<std::string> components;
  if (path == "/") return components;
  for (const absl::string_view part : absl::StrSplit(path.substr(1), '/')) {
    std::optional<std::string> component = Decode(part, /*plus_is_space=*/false);
    if (!component.has_value()) return BadTarget(whole, "\"%\" needs two hexadecimal digits");
    if (component->empty() || *component == "." || *component == "..") {
      return BadTarget(whole, "a component of the path is empty, \".\" or \"..\"");
    }
    if (HasControlCharacter(*component)) return BadTarget(whole, "a control character");
    components.push_back(*std::move(component));
  }
  return components;
}

}  // namespace

absl::StatusOr<Target> ParseTarget(absl::string_view text) {
  const std::pair<absl::string_view, absl::string_view> parts =
      absl::StrSplit(text, absl::MaxSplits('?', 1));
  Target target;
  PLIMSOLL_ASSIGN_OR_RETURN(target.path, ParsePath(text, parts.first));
  for (const absl::string_view pair : absl::StrSplit(parts.second, '&', absl::SkipEmpty())) {
    const std::pair<absl::string_view, absl::string_view> words =
        absl::StrSplit(pair, absl::MaxSplits('=', 1));
    std::optional<std::string> name = Decode(words.first, /*plus_is_space=*/true);
    std::optional<std::string> value = Decode(words.second, /*plus_is_space=*/true);
    if (!name.has_value() || !value.has_value()) {
      return BadTarget(text, "\"%\" needs two hexadecimal digits");
    }
    if (absl::StrContains(*name, '\0') || absl::StrContains(*value, '\0')) {
      return BadTarget(text, "a NUL byte in the query");
    }
    target.query.emplace_back(*std::move(name), *std::move(value));
  }
  return target;
}

std::string FormatTarget(const Target& target) {
  std::string text = target.path.empty() ? "/" : "";
  for (const std::string& component : target.path) absl::StrAppend(&text, "/", Encode(component));
  char separator = '?';
  for (const auto& [name, value] : target.query) {
    absl::StrAppend(&text, std::string(1, separator), Encode(name), "=", Encode(value));
    separator = '&';
  }
  return text;
}

}  // namespace plimsoll::agent
