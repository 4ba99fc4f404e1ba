#include "linux/name_pattern.h"

#include <fnmatch.h>

#include <algorithm>
#include <string>

#include "absl/strings/match.h"

namespace plimsoll::linux {
namespace {

// The length of the part of `pattern` (not empty) that matches one character.
size_t LengthOfFirst(absl::string_view pattern) {
  if (pattern[0] == '\\') return std::min<size_t>(2, pattern.size());
  if (pattern[0] != '[') return 1;
  size_t end = 1;
  if (end < pattern.size() && pattern[end] == '^') ++end;
  if (end < pattern.size() && pattern[end] == ']') ++end;
  for (; end < pattern.size() && pattern[end] != ']'; ++end) {
    if (pattern[end] == '\\') ++end;
    if (pattern.substr(end, 2) != "[:") continue;
    const size_t close = pattern.find(":]", end + 2);
    if (close != absl::string_view::npos) end = close + 1;
  }
  return end < pattern.size() ? end + 1 : 1;  // an unclosed bracket stands for itself
}

bool MatchesOne(absl::string_view first, char c) {
  std::string text(first);
  if (absl::StartsWith(text, "[!")) text.insert(1, "\\");
  return fnmatch(text.c_str(), std::string(1, c).c_str(), 0) == 0;
}

}  // namespace

bool MatchesName(absl::string_view pattern, absl::string_view name) {
  if (!name.empty() && name[0] == '.' &&
      (pattern.empty() || !MatchesOne(pattern.substr(0, LengthOfFirst(pattern)), '.') ||
       pattern[0] == '*' || pattern[0] == '?' || pattern[0] == '[')) {
    return false;
  }
  // The pattern after the last '*', and the place in the name to try it at next. An earlier '*'
  // need never match more.
  bool has_star = false;
  absl::string_view after_star;
  absl::string_view tried;
  while (!name.empty()) {
    if (!pattern.empty() && pattern[0] == '*') {
      pattern.remove_prefix(1);
      has_star = true;
      after_star = pattern;
      tried = name;
      continue;
    }
    const size_t length = pattern.empty() ? 0 : LengthOfFirst(pattern);
    if (length > 0 && MatchesOne(pattern.substr(0, length), name[0])) {
      pattern.remove_prefix(length);
      name.remove_prefix(1);
      continue;
    }
    if (!has_star) return false;
    tried.remove_prefix(1);
    name = tried;
    pattern = after_star;
  }
  return std::all_of(pattern.begin(), pattern.end(), [](char c) { return c == '*'; });
}

}  // namespace plimsoll::linux
