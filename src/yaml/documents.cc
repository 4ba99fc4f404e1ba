#include "yaml/documents.h"

#include <yaml-cpp/eventhandler.h>

#include <cstdint>
#include <sstream>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"

namespace plimsoll {
namespace {

bool IsNoncharacter(uint32_t code) {
  return (code & 0xfffe) == 0xfffe || (code >= 0xfdd0 && code <= 0xfdef);
}

// Removes the first code point of `text` (RFC 3629); false if it isn't UTF-8.
bool TakeCodePoint(absl::string_view& text, uint32_t& code) {
  const auto first = static_cast<uint8_t>(text[0]);
  if (first >= 0x80 && first < 0xc2) return false;
  const size_t length = first < 0x80 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
  if (length > text.size()) return false;
  code = length == 1 ? first : first & (0x7fu >> length);
  for (size_t i = 1; i < length; ++i) {
    const auto next = static_cast<uint8_t>(text[i]);
    if ((next & 0xc0) != 0x80) return false;
    code = code << 6 | (next & 0x3f);
  }
  text.remove_prefix(length);
  const bool overlong = (length == 3 && code < 0x800) || (length == 4 && code < 0x10000);
  return !overlong && first < 0xf8 && code <= 0x10ffff && (code < 0xd800 || code > 0xdfff);
}

// yaml-cpp goes through the whole mapping at each look at a key: the time grows with the square.
constexpr size_t kMaxKeys = 2000;

// A document takes a kilobyte, and so an empty one takes 200 times its own length.
constexpr int kMaxDocuments = 10'000;

constexpr char kClosesNothing[] = "a closing bracket that closes nothing";

// Throws for a document that begins where the one before it began, for too many documents, for a
// string that is not text, and for a mapping of too many keys.
class DocumentCheck : public YAML::EventHandler {
 public:
  void OnDocumentStart(const YAML::Mark& mark) override {
    if (mark.pos <= last_) {
      throw YAML::ParserException(mark, kClosesNothing);
    }
    if (++documents_ > kMaxDocuments) {
      throw YAML::ParserException(mark, absl::StrCat("more than ", kMaxDocuments, " documents"));
    }
    last_ = mark.pos;
    start_ = mark;
  }
  // The start of the latest document: its "---", where it has one.
  const YAML::Mark& start() const { return start_; }
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t) override { Count(mark); }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t) override { Count(mark); }
  void OnScalar(const YAML::Mark& mark, const std::string&, YAML::anchor_t,
                const std::string& value) override {
    Count(mark);
    absl::string_view rest = value;
    uint32_t code = 0;
    while (!rest.empty()) {
      if (!TakeCodePoint(rest, code)) throw YAML::ParserException(mark, "text that is not UTF-8");
      if (IsNoncharacter(code)) {
        throw YAML::ParserException(mark, "a code point that is no character");
      }
    }
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t,
                       YAML::EmitterStyle::value) override {
    Count(mark);
    open_.push_back({.is_mapping = false});
  }
  void OnSequenceEnd() override { open_.pop_back(); }
  void OnMapStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t,
                  YAML::EmitterStyle::value) override {
    Count(mark);
    open_.push_back({.is_mapping = true});
  }
  void OnMapEnd() override { open_.pop_back(); }

 private:
  struct Collection {
    bool is_mapping = false;
    size_t nodes = 0;  // in a mapping: keys and values in turn
  };

  // Counts a node of the open collection; `mark` is the node's start.
  void Count(const YAML::Mark& mark) {
    if (open_.empty() || ++open_.back().nodes <= 2 * kMaxKeys || !open_.back().is_mapping) return;
    throw YAML::ParserException(mark, absl::StrCat("a mapping of more than ", kMaxKeys, " keys"));
  }

  std::vector<Collection> open_;
  int last_ = -1;
  int documents_ = 0;
  YAML::Mark start_;
};

// Counts open brackets without a parser. yaml-cpp reads them all, far ahead, before it refuses
// their depth. A bracket in a plain string is counted too, and one behind a stray quote may not be:
// a text is refused only at a depth that no real one has.
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
      quote_ = '\0';
    }
    CountIn(line);
    if (depth_ == 0 && quote_ == '\0' && BeginsBlock(line)) block_indent_ = indent;
  }

 private:
  static constexpr int kMaxDepth = 1000;

  // True for a line such as "key: |", of which more indented lines are the string.
  static bool BeginsBlock(absl::string_view line) {
    const size_t last = line.find_last_not_of(" \t+-123456789");
    if (last == absl::string_view::npos || (line[last] != '|' && line[last] != '>')) return false;
    return last == 0 || line[last - 1] == ' ';
  }

  void CountIn(absl::string_view line) {
    constexpr absl::string_view kBeforeQuote = " \t[{,:-?";
    char before = ' ';
    for (size_t i = 0; i < line.size(); before = line[i], ++i) {
      const char c = line[i];
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
    if (depth_ <= kMaxDepth) return;
    YAML::Mark mark;
    mark.line = line_;
    mark.column = static_cast<int>(column);
    throw YAML::ParserException(mark, absl::StrCat("nested deeper than ", kMaxDepth, " levels"));
  }

  int line_ = -1;
  int depth_ = 0;
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
