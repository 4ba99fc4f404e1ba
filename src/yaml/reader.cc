#include "yaml/reader.h"

#include <algorithm>
#include <array>
#include <set>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/text/closest_word.h"
#include "base/text/printable.h"

namespace plimsoll {
namespace {

bool IsPlain(const YAML::Node& node) {
  return node.Tag() == "?";
}

bool IsEmptyValue(const YAML::Node& node) {
  return node.IsNull() || (node.IsScalar() && node.Scalar() == "false") ||
         (!node.IsScalar() && node.size() == 0);
}

std::string KnownText(std::vector<std::string> known) {
  if (known.empty()) return "there are no fields here";
  std::sort(known.begin(), known.end());
  known.erase(std::unique(known.begin(), known.end()), known.end());
  return absl::StrCat("known here: ", absl::StrJoin(known, ", "));
}

// For the kernel, paths, words of commands and values of variables end at the first NUL.
constexpr char kHasNul[] = "must not have a NUL";

bool HasNul(const YAML::Node& node) {
  return node.Scalar().find('\0') != std::string::npos;
}

const char* TypeName(const YAML::Node& node) {
  switch (node.Type()) {
    case YAML::NodeType::Scalar:
      return IsPlain(node) && IsPlainNonString(node.Scalar()) ? "a number or boolean" : "a string";
    case YAML::NodeType::Sequence:
      return "a list";
    case YAML::NodeType::Map:
      return "a mapping";
    default:
      return "nothing";
  }
}

}  // namespace

bool IsPlainNonString(absl::string_view scalar) {
  constexpr std::array<absl::string_view, 13> kWords = {
      "", "~", "null", "true", "false", "yes", "no", "on", "off", ".nan", ".inf", "-.inf", "+.inf"};
  const std::string lower = absl::AsciiStrToLower(scalar);
  if (std::find(kWords.begin(), kWords.end(), lower) != kWords.end()) return true;
  if (!absl::ascii_isdigit(static_cast<unsigned char>(scalar[0])) &&
      absl::string_view("+-.").find(scalar[0]) == absl::string_view::npos) {
    return false;
  }
  double number = 0;
  uint64_t hex = 0;
  return absl::SimpleAtod(scalar, &number) ||
         (absl::StartsWith(scalar, "0x") && absl::SimpleHexAtoi(scalar, &hex));
}

std::string YamlReader::Where(const YAML::Node& node, absl::string_view path) const {
  const YAML::Mark mark = node.IsDefined() ? node.Mark() : YAML::Mark::null_mark();
  std::string where = file_;
  if (!mark.is_null()) absl::StrAppend(&where, ":", mark.line + 1, ":", mark.column + 1);
  absl::StrAppend(&where, ": ", path, path.empty() ? "" : ": ");
  return where;
}

void YamlReader::Fail(const YAML::Node& node, absl::string_view path, absl::string_view message) {
  if (full()) return;
  if (errors_.size() == kMostProblems) {
    errors_.emplace_back(kFurtherProblems);
    return;
  }
  errors_.push_back(Printable(absl::StrCat(Where(node, path), message)));
  if (status_.ok()) status_ = absl::InvalidArgumentError(errors_.front());
}

void YamlReader::Note(const YAML::Node& node, absl::string_view path, absl::string_view message) {
  notes_.push_back(Printable(absl::StrCat(Where(node, path), message)));
}

std::optional<std::string> YamlReader::AsString(const YAML::Node& node, absl::string_view path) {
  if (!node.IsScalar()) {
    Fail(node, path, absl::StrCat("must be a string, is ", TypeName(node)));
    return std::nullopt;
  }
  if (IsPlain(node) && IsPlainNonString(node.Scalar())) {
    Fail(node, path, absl::StrCat("must be a string; write \"", node.Scalar(), "\" with quotes"));
    return std::nullopt;
  }
  if (HasNul(node)) {
    Fail(node, path, kHasNul);
    return std::nullopt;
  }
  return node.Scalar();
}

std::optional<std::string> YamlReader::AsText(const YAML::Node& node, absl::string_view path) {
  if (!node.IsScalar()) {
    Fail(node, path, absl::StrCat("must be a number or a string, is ", TypeName(node)));
    return std::nullopt;
  }
  if (HasNul(node)) {
    Fail(node, path, kHasNul);
    return std::nullopt;
  }
  return node.Scalar();
}

std::optional<int64_t> YamlReader::AsInt(const YAML::Node& node, absl::string_view path) {
  int64_t value = 0;
  // A record has a number of odd spelling (0080, +5) as a string (JsonOfYaml).
  const bool may_be_number = node.IsScalar() && (IsPlain(node) || on_record_);
  if (!may_be_number || !absl::SimpleAtoi(node.Scalar(), &value)) {
    Fail(node, path,
         absl::StrCat("must be a whole number", node.IsScalar()
                                                    ? absl::StrCat(", is \"", node.Scalar(), "\"")
                                                    : absl::StrCat(", is ", TypeName(node))));
    return std::nullopt;
  }
  return value;
}

std::optional<bool> YamlReader::AsBool(const YAML::Node& node, absl::string_view path) {
  if (node.IsScalar() && IsPlain(node)) {
    if (node.Scalar() == "true") return true;
    if (node.Scalar() == "false") return false;
  }
  Fail(node, path, "must be true or false");
  return std::nullopt;
}

void YamlReader::Each(const YAML::Node& node, absl::string_view path,
                      const std::function<void(const YAML::Node&, const std::string&)>& read) {
  if (!node.IsSequence()) {
    Fail(node, path, absl::StrCat("must be a list (\"- ...\"), is ", TypeName(node)));
    return;
  }
  const size_t size = node.size();
  for (size_t i = 0; i < size && !full(); ++i) read(node[i], absl::StrCat(path, "[", i, "]"));
}

void YamlReader::Entries(
    const YAML::Node& node, absl::string_view path,
    const std::function<void(const std::string&, const YAML::Node&, const std::string&)>& read) {
  if (!node.IsMap()) return Fail(node, path, "expected a mapping");
  std::set<std::string> seen;
  for (const auto& entry : node) {
    if (full()) return;
    const std::optional<std::string> key = AsText(entry.first, path);
    if (!key.has_value()) return;
    const std::string value_path = absl::StrCat(path, ".", *key);
    if (!seen.insert(*key).second) return Fail(entry.first, value_path, "is there twice");
    read(*key, entry.second, value_path);
  }
}

void YamlReader::Strings(const YAML::Node& node, absl::string_view path,
                         std::vector<std::string>& out) {
  Each(node, path, [&](const YAML::Node& item, const std::string& item_path) {
    if (auto text = AsString(item, item_path)) out.push_back(*std::move(text));
  });
}

void YamlReader::StringMap(const YAML::Node& node, absl::string_view path,
                           std::map<std::string, std::string>& out) {
  if (!node.IsMap()) {
    Fail(node, path, absl::StrCat("must be a mapping (\"key: value\"), is ", TypeName(node)));
    return;
  }
  for (const auto& item : node) {
    if (full()) return;
    const std::string key = item.first.Scalar();
    auto text = AsString(item.second, absl::StrCat(path, ".", key));
    if (text && !out.emplace(key, *std::move(text)).second) {
      Fail(item.first, path, absl::StrCat("key \"", key, "\" is there twice"));
    }
  }
}

YamlMapping::YamlMapping(YamlReader& reader, const YAML::Node& node, std::string path)
    : reader_(reader), node_(node), path_(std::move(path)) {
  if (node_.IsMap()) return;
  reader_.Fail(node_, path_,
               absl::StrCat("must be a mapping (\"key: value\"), is ", TypeName(node_)));
  node_ = YAML::Node(YAML::NodeType::Null);  // a stand-in without keys
}

std::string YamlMapping::PathOf(absl::string_view key) const {
  return path_.empty() ? std::string(key) : absl::StrCat(path_, ".", key);
}

std::optional<YAML::Node> YamlMapping::Get(const std::string& key) {
  known_.push_back(key);
  // Not operator[]: it adds keys to a node that isn't const.
  for (const auto& item : node_) {
    if (item.first.IsScalar() && item.first.Scalar() == key && !item.second.IsNull()) {
      return item.second;
    }
  }
  return std::nullopt;
}

void YamlMapping::String(const std::string& key, std::string& out) {
  if (const auto value = Get(key)) {
    if (auto text = reader_.AsString(*value, PathOf(key))) out = *std::move(text);
  }
}

void YamlMapping::Required(const std::string& key, std::string& out) {
  const auto value = Get(key);
  if (!value) {
    // The error of a node that is no mapping was reported before.
    if (!node_.IsMap()) return;
    reader_.Fail(node_, path_, absl::StrCat("\"", key, "\" is missing"));
    return;
  }
  if (auto text = reader_.AsString(*value, PathOf(key))) out = *std::move(text);
  if (out.empty()) reader_.Fail(*value, PathOf(key), "must not be empty");
}

void YamlMapping::Int(const std::string& key, std::optional<int64_t>& out, int64_t min,
                      int64_t max) {
  const auto value = Get(key);
  if (!value) return;
  const auto number = reader_.AsInt(*value, PathOf(key));
  if (!number) return;
  if (*number < min || *number > max) {
    reader_.Fail(*value, PathOf(key),
                 min == max ? absl::StrCat("must be ", min)
                            : absl::StrCat("must be from ", min, " to ", max));
  }
  out = *number;
}

void YamlMapping::Bool(const std::string& key, bool& out) {
  std::optional<bool> value;
  OptionalBool(key, value);
  out = value.value_or(out);
}

void YamlMapping::OptionalBool(const std::string& key, std::optional<bool>& out) {
  if (const auto value = Get(key)) out = reader_.AsBool(*value, PathOf(key));
}

void YamlMapping::OneOf(const std::string& key, std::string& out,
                        const std::vector<std::string>& values) {
  const auto value = Get(key);
  if (!value) return;
  auto text = reader_.AsString(*value, PathOf(key));
  if (!text) return;
  if (std::find(values.begin(), values.end(), *text) == values.end()) {
    reader_.Fail(*value, PathOf(key),
                 absl::StrCat("\"", *text, "\" is not one of ",
                              absl::StrJoin(values, ", ", [](std::string* all, const auto& one) {
                                absl::StrAppend(all, one.empty() ? "\"\"" : one);
                              })));
    return;
  }
  out = *std::move(text);
}

void YamlMapping::Strings(const std::string& key, std::vector<std::string>& out) {
  if (const auto value = Get(key)) reader_.Strings(*value, PathOf(key), out);
}

void YamlMapping::StringMap(const std::string& key, std::map<std::string, std::string>& out) {
  if (const auto value = Get(key)) reader_.StringMap(*value, PathOf(key), out);
}

void YamlMapping::Each(const std::string& key,
                       const std::function<void(const YAML::Node&, const std::string&)>& read) {
  if (const auto value = Get(key)) reader_.Each(*value, PathOf(key), read);
}

void YamlMapping::Refuse(const std::string& key, absl::string_view why) {
  const auto value = Get(key);
  if (value && !IsEmptyValue(*value)) {
    reader_.Fail(*value, PathOf(key), absl::StrCat("not supported: ", why));
  }
}

void YamlMapping::Ignore(const std::string& key, absl::string_view why) {
  const auto value = Get(key);
  if (value && !IsEmptyValue(*value)) {
    reader_.Note(*value, PathOf(key), absl::StrCat("ignored: ", why));
  }
}

void YamlMapping::Finish() {
  std::vector<std::string> seen;
  bool has_told_known = false;
  for (const auto& item : node_) {
    if (reader_.full()) return;
    if (!item.first.IsScalar()) {
      reader_.Fail(item.first, path_, "keys must be plain words");
      return;
    }
    const std::string& key = item.first.Scalar();
    if (std::find(seen.begin(), seen.end(), key) != seen.end()) {
      reader_.Fail(item.first, path_, absl::StrCat("\"", key, "\" is there twice"));
    }
    seen.push_back(key);
    if (std::find(known_.begin(), known_.end(), key) != known_.end()) continue;
    const std::string closest = ClosestWord(key, known_);
    std::string right;
    if (!closest.empty()) {
      right = absl::StrCat("; did you mean \"", closest, "\"?");
    } else if (!std::exchange(has_told_known, true)) {
      right = absl::StrCat("; ", KnownText(known_));
    }
    reader_.Fail(item.first, path_, absl::StrCat("unknown field \"", key, "\"", right));
  }
}

}  // namespace plimsoll
