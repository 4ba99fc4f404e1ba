#include "yaml/documents.h"

#include <sstream>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "yaml/document_check.h"

namespace plimsoll {
namespace {

// Counts open brackets, and the tokens in them, without a parser. yaml-cpp reads an outermost
// bracket to its end before it gives the first value, with a hundred bytes for each token. A
// bracket in a plain string is counted too, and one behind a stray quote may not be: a text is
// refused only at a depth, and a number of tokens, that no real one has.
class BracketCheck {
 public:
  // Takes the next line; throws where brackets are nested too deep.
  void TakeLine(absl::string_view line) {
    ++line_;
    absl::ConsumeSuffix(&line, "\r");
    const size_t indent = line.find_first_not_of(' ');
    if (indent > block_indent_) return;
    block_indent_ = absl::string_view::npos;
    if (absl::StartsWith(line, "---") || absl::StartsWith(line, "...")) {
      depth_ = 0;
      tokens_ = 0;
      quote_ = '\0';
    }
    CountIn(line);
    if (depth_ == 0 && quote_ == '\0' && BeginsBlock(line)) block_indent_ = indent;
  }

 private:
  static constexpr int kMaxDepth = 1000;
  // A value of JSON has at most six: two quotes, a colon and a comma, or its own two brackets.
  static constexpr size_t kMaxTokens = 6 * kMaxYamlValues;

  // True for a line such as "key: |", of which more indented lines are the string.
  static bool BeginsBlock(absl::string_view line) {
    const size_t last = line.find_last_not_of(" \t+-123456789");
    if (last == absl::string_view::npos || (line[last] != '|' && line[last] != '>')) return false;
    return last == 0 || line[last - 1] == ' ';
  }

  void CountIn(absl::string_view line) {
    constexpr absl::string_view kBeforeQuote = " \t[{,:-?";
    constexpr absl::string_view kTokens = ",:?&*!'\"[]{}";
    char before = ' ';
    for (size_t i = 0; i < line.size(); before = line[i], ++i) {
      const char c = line[i];
      if (depth_ > 0 && quote_ == '\0' && absl::StrContains(kTokens, c)) CountToken(i);
      if (quote_ != '\0') {
        const bool twice = c == '\'' && i + 1 < line.size() && line[i + 1] == '\'';
        if (quote_ == '"' ? c == '\\' : twice) {
          if (i + 1 < line.size()) ++i;
        } else if (c == quote_) {
          quote_ = '\0';
        }
      } else if ((c == '"' || c == '\'') && absl::StrContains(kBeforeQuote, before)) {
        quote_ = c;
      } else if (c == '#' && (before == ' ' || before == '\t')) {
        return;
      } else {
        CountBracket(c, i);
      }
    }
  }

  void CountBracket(char c, size_t column) {
    if (c == '[' || c == '{') ++depth_;
    if ((c == ']' || c == '}') && depth_ > 0) --depth_;
    if (depth_ == 0) tokens_ = 0;
    if (depth_ > kMaxDepth)
      Refuse(column, absl::StrCat("nested deeper than ", kMaxDepth, " levels"));
  }

  void CountToken(size_t column) {
    if (++tokens_ > kMaxTokens)
      Refuse(column, absl::StrCat("more than ", kMaxYamlValues, " values"));
  }

  [[noreturn]] void Refuse(size_t column, const std::string& why) const {
    YAML::Mark mark;
    mark.line = line_;
    mark.column = static_cast<int>(column);
    throw YAML::ParserException(mark, why);
  }

  int line_ = -1;
  int depth_ = 0;
  size_t tokens_ = 0;                              // in the outermost open bracket
  char quote_ = '\0';                              // that of the string around; '\0': none
  size_t block_indent_ = absl::string_view::npos;  // of the line that began a block; npos: none
};

void CheckBrackets(absl::string_view text) {
  BracketCheck check;
  for (const absl::string_view line : absl::StrSplit(text, '\n')) check.TakeLine(line);
}

// The first line below `line` that ends a document or begins one; -1: none.
int SeparatorBelow(absl::string_view text, int line) {
  int number = 0;
  for (const absl::string_view each : absl::StrSplit(text, '\n')) {
    const bool separates = absl::StartsWith(each, "---") || absl::StartsWith(each, "...");
    if (number > line && separates) return number;
    ++number;
  }
  return -1;
}

}  // namespace

std::string YamlFault(const YAML::Exception& error, bool quotes) {
  if (dynamic_cast<const YamlTooLarge*>(&error) != nullptr) {
    return absl::StrCat("too large: ", error.msg);
  }
  return quotes ? absl::StrCat("not valid YAML: ", error.msg) : "not valid YAML";
}

std::vector<YAML::Node> LoadYamlDocuments(const std::string& text) {
  CheckBrackets(text);
  std::istringstream stream(text);
  YAML::Parser parser(stream);
  DocumentCheck check;
  while (parser.HandleNextDocument(check)) {
  }
  return YAML::LoadAll(text);
}

YAML::Node LoadFirstYamlDocument(const std::string& text, bool* more) {
  CheckBrackets(text);
  std::istringstream stream(text);
  YAML::Parser parser(stream);
  DocumentCheck check;
  *more = false;
  if (!parser.HandleNextDocument(check)) return YAML::Node(YAML::NodeType::Null);
  // yaml-cpp may take a bracket that closes nothing for a second document.
  const int separator = SeparatorBelow(text, check.start().line);
  try {
    *more = parser.HandleNextDocument(check);
  } catch (const YAML::Exception& error) {
    if (separator < 0 || error.mark.line < separator) throw;
    *more = true;
  }
  if (*more && (separator < 0 || check.start().line < separator)) {
    throw YAML::ParserException(check.start(), kClosesNothing);
  }
  return YAML::Load(text);
}

}  // namespace plimsoll
