#include "harness/console_blocks.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace plimsoll::testing {
namespace {

using Words = std::vector<std::string>;

constexpr absl::string_view kFence = "```";
constexpr absl::string_view kMarkedFence = "```console run";
constexpr const char* kAnything = "...";
// Tokens that stand for all of a kind. No character of a line is equal to one of them.
constexpr const char* kId = "id";
constexpr const char* kTime = "time";
constexpr const char* kDuration = "duration";

absl::Status Malformed(int line, absl::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat("line ", line, ": ", what));
}

// Whether the text begins as the shape: "0" is a digit, "h" a hexadecimal one, others themselves.
bool HasShape(absl::string_view text, absl::string_view shape) {
  if (text.size() < shape.size()) return false;
  for (size_t i = 0; i < shape.size(); ++i) {
    const auto c = static_cast<unsigned char>(text[i]);
    const bool fits = shape[i] == '0'   ? absl::ascii_isdigit(c)
                      : shape[i] == 'h' ? absl::ascii_isxdigit(c)
                                        : text[i] == shape[i];
    if (!fits) return false;
  }
  return true;
}

// Length of the run of such characters at the text's beginning.
template <typename Predicate>
size_t RunOf(absl::string_view text, Predicate predicate) {
  size_t length = 0;
  while (length < text.size() && predicate(static_cast<unsigned char>(text[length]))) ++length;
  return length;
}

size_t NumberAt(absl::string_view text) {
  size_t length = RunOf(text, absl::ascii_isdigit);
  if (length > 0 && HasShape(text.substr(length), ".0")) {
    length += 1 + RunOf(text.substr(length + 1), absl::ascii_isdigit);
  }
  return length;
}

// Lengths of what stands at the text's beginning; 0: something else.
size_t IdAt(absl::string_view text) {
  constexpr absl::string_view kUuid = "hhhhhhhh-hhhh-hhhh-hhhh-hhhhhhhhhhhh";
  if (HasShape(text, kUuid)) return kUuid.size();
  const size_t digits = RunOf(text, absl::ascii_isxdigit);
  return digits >= 12 && digits == RunOf(text, absl::ascii_isalnum) ? digits : 0;
}

size_t TimeAt(absl::string_view text) {
  size_t length = absl::string_view("0000-00-00T00:00:00").size();
  if (!HasShape(text, "0000-00-00T00:00:00") && !HasShape(text, "0000-00-00 00:00:00")) return 0;
  if (HasShape(text.substr(length), ".0")) {
    length += 1 + RunOf(text.substr(length + 1), absl::ascii_isdigit);
  }
  for (const absl::string_view zone : {"Z", "+00:00", "-00:00", " +00:00", " -00:00"}) {
    if (HasShape(text.substr(length), zone)) return length + zone.size();
  }
  return length;
}

size_t DurationAt(absl::string_view text) {
  constexpr absl::string_view kUnits[] = {"d", "h", "m", "s", "ms", "us"};
  size_t length = 0;
  bool only_minutes = true;
  while (const size_t number = NumberAt(text.substr(length))) {
    size_t unit_at = length + number;
    if (length == 0 && HasShape(text.substr(unit_at), " ")) ++unit_at;
    const size_t letters = RunOf(text.substr(unit_at), absl::ascii_isalpha);
    const absl::string_view unit = text.substr(unit_at, letters);
    if (std::find(std::begin(kUnits), std::end(kUnits), unit) == std::end(kUnits)) return 0;
    only_minutes = only_minutes && unit == "m";
    length = unit_at + letters;
  }
  return only_minutes ? 0 : length;
}

// Characters of a line, and in place of some of them what stands for all of a kind.
Words TokensOf(absl::string_view line) {
  line = absl::StripAsciiWhitespace(line);
  Words tokens;
  bool in_word = false;
  while (!line.empty()) {
    size_t length = 1;
    std::string token(line.substr(0, 1));
    if (absl::StartsWith(line, kAnything)) {
      length = RunOf(line, [](unsigned char c) { return c == '.'; });
      length += RunOf(line.substr(length), absl::ascii_isspace);
      token = kAnything;
    } else if (const size_t blanks = RunOf(line, absl::ascii_isspace)) {
      length = blanks;
      token = " ";
    } else if (!in_word) {
      for (const auto& [found, kind] : {std::pair(TimeAt(line), kTime), std::pair(IdAt(line), kId),
                                        std::pair(DurationAt(line), kDuration)}) {
        if (found == 0) continue;
        length = found;
        token = kind;
        break;
      }
    }
    in_word = absl::ascii_isalnum(static_cast<unsigned char>(line[length - 1]));
    tokens.push_back(std::move(token));
    line.remove_prefix(length);
  }
  return tokens;
}

// Whether the words are those of the pattern, where "..." stands for any number of words.
template <typename Equal>
bool Matches(const Words& pattern, const Words& words, Equal equal) {
  size_t at = 0;
  size_t after_last = pattern.size() + 1;  // after the last "..." so far; beyond the end: none yet
  size_t retry = 0;                        // the word up to which that "..." reaches
  for (size_t word = 0; word < words.size();) {
    if (at < pattern.size() && pattern[at] == kAnything) {
      after_last = ++at;
      retry = word;
    } else if (at < pattern.size() && equal(pattern[at], words[word])) {
      ++at;
      ++word;
    } else if (after_last <= pattern.size()) {
      at = after_last;
      word = ++retry;
    } else {
      return false;
    }
  }
  while (at < pattern.size() && pattern[at] == kAnything) ++at;
  return at == pattern.size();
}

bool IsLine(absl::string_view shown, absl::string_view printed) {
  return Matches(TokensOf(shown), TokensOf(printed),
                 [](const std::string& a, const std::string& b) { return a == b; });
}

template <typename Lines>
Words WithoutEmptyLines(const Lines& lines) {
  Words kept;
  for (const absl::string_view line : lines) {
    const absl::string_view text = absl::StripAsciiWhitespace(line);
    if (!text.empty()) kept.emplace_back(text);
  }
  return kept;
}

// A line of a marked block.
absl::Status AddLine(absl::string_view line, int number, bool continued,
                     std::vector<ShownCommand>& commands, bool begins_block) {
  if (continued) {
    absl::StrAppend(&commands.back().command, "\n", line);
  } else if (absl::ConsumePrefix(&line, "# ") || absl::ConsumePrefix(&line, "$ ")) {
    commands.push_back({.line = number, .command = std::string(line), .output = {}});
  } else if (begins_block) {
    return Malformed(number, "a marked block begins with a command");
  } else {
    commands.back().output.emplace_back(line);
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::vector<ShownCommand>> MarkedCommands(absl::string_view page) {
  std::vector<ShownCommand> commands;
  bool in_fence = false;
  bool marked = false;
  bool continued = false;
  int number = 0;
  int begin = 0;
  for (const absl::string_view line : absl::StrSplit(page, '\n')) {
    ++number;
    const absl::string_view text = absl::StripAsciiWhitespace(line);
    if (absl::StartsWith(text, kFence)) {
      if (continued) return Malformed(number, "the block ends within a command");
      if (in_fence && marked && number == begin + 1) return Malformed(begin, "an empty block");
      in_fence = !in_fence;
      marked = in_fence && text == kMarkedFence;
      begin = number;
    } else if (marked) {
      const absl::Status added = AddLine(line, number, continued, commands, number == begin + 1);
      if (!added.ok()) return added;
      const bool is_command = continued || commands.back().line == number;
      continued = is_command && absl::EndsWith(line, "\\");
    }
  }
  if (marked) return Malformed(begin, "the block has no end");
  return commands;
}

bool IsOutput(const std::vector<std::string>& shown, absl::string_view printed) {
  const Words lines = WithoutEmptyLines(shown);
  if (lines.empty()) return true;
  const std::vector<absl::string_view> printed_lines = absl::StrSplit(printed, '\n');
  return Matches(lines, WithoutEmptyLines(printed_lines), IsLine);
}

bool ShowsError(const std::vector<std::string>& shown) {
  return std::any_of(shown.begin(), shown.end(),
                     [](const std::string& line) { return absl::StartsWith(line, "plimsoll: "); });
}

}  // namespace plimsoll::testing
