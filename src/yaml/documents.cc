#include "yaml/documents.h"

#include <yaml-cpp/eventhandler.h>

#include <cstdint>
#include <map>
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

// A value takes some hundred bytes as a node, and as much again as the caller's own.
constexpr size_t kMaxValues = 100'000;

// A reader copies an anchor's text for each alias, so a megabyte could expand without limit.
constexpr size_t kMaxAliasedBytes = size_t{16} << 20;

constexpr char kClosesNothing[] = "a closing bracket that closes nothing";

// Throws for a document that begins where the one before it began, for too many documents, keys and
// values, for aliases that grow too large, and for a string that is not text. It sees each event
// before anything is kept of it.
class DocumentCheck : public YAML::EventHandler {
 public:
  void OnDocumentStart(const YAML::Mark& mark) override {
    if (mark.pos <= last_) {
      throw YAML::ParserException(mark, kClosesNothing);
    }
    if (++documents_ > kMaxDocuments) {
      throw YamlTooLarge(mark, absl::StrCat("more than ", kMaxDocuments, " documents"));
    }
    last_ = mark.pos;
    start_ = mark;
    anchored_.clear();
  }
  // The start of the latest document: its "---", where it has one.
  const YAML::Mark& start() const { return start_; }
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    Count(mark, {.values = 1, .bytes = 0});
    if (anchor != 0) anchored_[anchor] = {.values = 1, .bytes = 0};
  }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    const auto of = anchored_.find(anchor);
    if (of == anchored_.end()) throw YAML::ParserException(mark, "an alias of what it is part of");
    aliased_bytes_ += of->second.bytes;
    if (aliased_bytes_ > kMaxAliasedBytes) {
      throw YamlTooLarge(
          mark, absl::StrCat("aliases of more than ", kMaxAliasedBytes >> 20, " MiB of text"));
    }
    Count(mark, of->second);
  }
  void OnScalar(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor,
                const std::string& value) override {
    const Size size = {.values = 1, .bytes = value.size()};
    Count(mark, size);
    if (anchor != 0) anchored_[anchor] = size;
    absl::string_view rest = value;
    uint32_t code = 0;
    while (!rest.empty()) {
      if (!TakeCodePoint(rest, code)) throw YAML::ParserException(mark, "text that is not UTF-8");
      if (IsNoncharacter(code)) {
        throw YAML::ParserException(mark, "a code point that is no character");
      }
    }
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    Open(mark, anchor, /*is_mapping=*/false);
  }
  void OnSequenceEnd() override { Close(); }
  void OnMapStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    Open(mark, anchor, /*is_mapping=*/true);
  }
  void OnMapEnd() override { Close(); }

 private:
  // Of a node with all below it, aliases followed. A key counts as no value; its text counts.
  struct Size {
    size_t values = 0;
    size_t bytes = 0;
  };
  struct Collection {
    bool is_mapping = false;
    YAML::anchor_t anchor = 0;
    Size before;       // of all nodes before it
    size_t nodes = 0;  // in a mapping: keys and values in turn
  };

  void Open(const YAML::Mark& mark, YAML::anchor_t anchor, bool is_mapping) {
    const Size before = whole_;
    Count(mark, {.values = 1, .bytes = 0});
    open_.push_back({.is_mapping = is_mapping, .anchor = anchor, .before = before});
  }

  void Close() {
    const Collection& closed = open_.back();
    if (closed.anchor != 0) {
      anchored_[closed.anchor] = {.values = whole_.values - closed.before.values,
                                  .bytes = whole_.bytes - closed.before.bytes};
    }
    open_.pop_back();
  }

  // Counts a node of the open collection; `mark` is the node's start.
  void Count(const YAML::Mark& mark, Size size) {
    bool is_key = false;
    if (!open_.empty() && open_.back().is_mapping) {
      is_key = ++open_.back().nodes % 2 == 1;
      if (open_.back().nodes > 2 * kMaxKeys) {
        throw YamlTooLarge(mark, absl::StrCat("a mapping of more than ", kMaxKeys, " keys"));
      }
    }
    whole_.bytes += size.bytes;
    whole_.values += is_key ? 0 : size.values;
    if (whole_.values > kMaxValues) {
      throw YamlTooLarge(mark, absl::StrCat("more than ", kMaxValues, " values, aliases followed"));
    }
  }

  std::vector<Collection> open_;
  std::map<YAML::anchor_t, Size> anchored_;  // of the document's closed nodes
  Size whole_;                               // of all documents so far
  size_t aliased_bytes_ = 0;
  int last_ = -1;
  int documents_ = 0;
  YAML::Mark start_;
};

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
  static constexpr size_t kMaxTokens = 6 * kMaxValues;

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
    if (++tokens_ > kMaxTokens) Refuse(column, absl::StrCat("more than ", kMaxValues, " values"));
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
