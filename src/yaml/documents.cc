#include "yaml/documents.h"

#include <yaml-cpp/eventhandler.h>

#include <cstdint>
#include <sstream>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"

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

constexpr char kClosesNothing[] = "a closing bracket that closes nothing";

// Throws for a document that begins where the one before it began, for a string that is not text,
// and for a mapping of too many keys.
class DocumentCheck : public YAML::EventHandler {
 public:
  void OnDocumentStart(const YAML::Mark& mark) override {
    if (mark.pos <= last_) {
      throw YAML::ParserException(mark, kClosesNothing);
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
  YAML::Mark start_;
};

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
  std::istringstream stream(text);
  YAML::Parser parser(stream);
  DocumentCheck check;
  while (parser.HandleNextDocument(check)) {
  }
  return YAML::LoadAll(text);
}

YAML::Node LoadFirstYamlDocument(const std::string& text, bool* more) {
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
