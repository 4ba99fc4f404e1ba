#include "qos/class_yaml.h"

#include <algorithm>
#include <map>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/text/closest_word.h"

namespace plimsoll::qos {
namespace {

using Kind = ClassScalar::Kind;

// Bounds on merge keys within merge keys; more is a mapping that holds itself.
constexpr int kDeepestMerge = 20;
constexpr int kMostMerged = 1000;

bool IsMergeKey(const YAML::Node& key) {
  return key.IsScalar() && key.Scalar() == "<<" && (key.Tag() == "?" || key.Tag().empty());
}

class ItemCollector {
 public:
  ItemCollector(YamlReader& reader, std::string path, KeyReading reading)
      : reader_(reader), path_(std::move(path)), reading_(reading) {}

  std::vector<ClassItem> Collect(const YAML::Node& node) {
    if (!node.IsMap()) {
      reader_.Fail(node, path_, "must be a mapping (\"name: ...\")");
      return {};
    }
    Add(node, 0);
    return std::move(items_);
  }

 private:
  // False: stop reading.
  bool Add(const YAML::Node& node, int depth) {
    for (const auto& item : node) {
      if (IsMergeKey(item.first)) {
        if (!Merge(item.first, item.second, depth)) return false;
      } else if (!AddOne(item.first, item.second) && depth > 0) {
        return false;  // merged twice, it would fail for every key
      }
    }
    return true;
  }

  bool AddOne(const YAML::Node& key_node, const YAML::Node& value) {
    if (!key_node.IsScalar()) {
      reader_.Fail(key_node, path_, "keys must be plain words");
      return false;
    }
    const std::string& written = key_node.Scalar();
    const std::string printed = ScalarOf(key_node).text;
    const std::string& key = reading_ == KeyReading::kName ? written : printed;
    if (printed != written) {
      reader_.Note(
          key_node, path_,
          absl::StrCat(
              reading_ == KeyReading::kName ? "containerd and CRI-O read the name " : "the key ",
              written, reading_ == KeyReading::kName ? " as \"" : " is read as \"", printed,
              "\", as YAML 1.1 has it; write it with quotes"));
    }
    const auto [at, is_new] = places_.emplace(key, reader_.Where(key_node, ""));
    if (!is_new) {
      reader_.Fail(key_node, path_,
                   absl::StrCat("\"", key, "\" is there twice; the first: ",
                                at->second.substr(0, at->second.size() - 2)));
      return false;
    }
    items_.push_back({key, key_node, value});
    return true;
  }

  bool Merge(const YAML::Node& key_node, const YAML::Node& value, int depth) {
    if (depth >= kDeepestMerge) {
      reader_.Fail(key_node, path_, "\"<<\" within \"<<\" too often; a mapping may hold itself");
      return false;
    }
    if (value.IsMap()) return AddMerged(key_node, value, depth);
    const bool is_list =
        value.IsSequence() && std::all_of(value.begin(), value.end(),
                                          [](const YAML::Node& each) { return each.IsMap(); });
    if (!is_list) {
      reader_.Fail(key_node, path_, "\"<<\" takes a mapping or a list of mappings");
      return true;
    }
    for (const auto& each : value) {
      if (!AddMerged(key_node, each, depth)) return false;
    }
    return true;
  }

  // Aliases multiply, and empty mappings have no key to be caught as a duplicate.
  bool AddMerged(const YAML::Node& key_node, const YAML::Node& value, int depth) {
    if (++merged_ <= kMostMerged) return Add(value, depth + 1);
    reader_.Fail(key_node, path_,
                 absl::StrCat("\"<<\" brings in more than ", kMostMerged, " mappings"));
    return false;
  }

  YamlReader& reader_;
  const std::string path_;
  const KeyReading reading_;
  std::vector<ClassItem> items_;
  std::map<std::string, std::string> places_;
  int merged_ = 0;
};

}  // namespace

std::optional<std::string> TextOf(YamlReader& reader, const YAML::Node& node,
                                  absl::string_view path) {
  if (node.IsNull()) return "";
  if (!node.IsScalar()) return reader.AsText(node, path);
  const ClassScalar scalar = ScalarOf(node);
  if (scalar.kind == Kind::kText) return reader.AsText(node, path);
  return scalar.text;
}

std::optional<bool> BoolOf(YamlReader& reader, const YAML::Node& node, absl::string_view path) {
  const ClassScalar scalar = ScalarOf(node);
  if (scalar.kind != Kind::kBool) {
    reader.Fail(node, path, "must be true or false");
    return std::nullopt;
  }
  if (scalar.text != node.Scalar()) {
    reader.Note(node, path, absl::StrCat(node.Scalar(), " is read as ", scalar.text));
  }
  return scalar.text == "true";
}

std::vector<ClassItem> ItemsOf(YamlReader& reader, const YAML::Node& node, const std::string& path,
                               KeyReading reading) {
  return ItemCollector(reader, path, reading).Collect(node);
}

ClassFields::ClassFields(YamlReader& reader, const YAML::Node& node, std::string path)
    : reader_(reader),
      path_(std::move(path)),
      items_(ItemsOf(reader, node, path_, KeyReading::kValue)) {}

std::string ClassFields::PathOf(absl::string_view name) const {
  return path_.empty() ? std::string(name) : absl::StrCat(path_, ".", name);
}

std::optional<YAML::Node> ClassFields::GetOrNull(const std::string& name) {
  known_.push_back(name);
  const ClassItem* last = nullptr;
  std::vector<std::string> spellings;
  for (const ClassItem& item : items_) {
    if (!absl::EqualsIgnoreCase(item.key, name)) continue;
    spellings.push_back(absl::StrCat("\"", item.key, "\""));
    if (last == nullptr || item.key > last->key) last = &item;
  }
  if (last == nullptr) return std::nullopt;
  if (spellings.size() > 1) {
    reader_.Note(last->key_node, path_,
                 absl::StrCat(absl::StrJoin(spellings, " and "), " are all the key \"", name,
                              "\"; only the value of \"", last->key,
                              "\" counts, where containerd and CRI-O merge the values"));
  } else if (last->key != name) {
    reader_.Note(last->key_node, path_,
                 absl::StrCat("the key \"", last->key, "\" is read as \"", name, "\""));
  }
  return last->value;
}

std::optional<YAML::Node> ClassFields::Get(const std::string& name) {
  const auto value = GetOrNull(name);
  return value && value->IsNull() ? std::nullopt : value;
}

void ClassFields::Bool(const std::string& name, bool& out) {
  const auto value = Get(name);
  if (!value) return;
  out = BoolOf(reader_, *value, PathOf(name)).value_or(out);
}

std::vector<const ClassItem*> ClassFields::Unknown() const {
  std::vector<const ClassItem*> unknown;
  for (const ClassItem& item : items_) {
    const bool is_known = absl::c_any_of(
        known_, [&](const std::string& name) { return absl::EqualsIgnoreCase(item.key, name); });
    if (!is_known) unknown.push_back(&item);
  }
  return unknown;
}

void ClassFields::Finish() {
  for (const ClassItem* item : Unknown()) {
    const std::string closest = ClosestWord(item->key, known_);
    std::vector<std::string> valid = known_;
    absl::c_sort(valid);
    const std::string right = closest.empty()
                                  ? absl::StrCat("known here: ", absl::StrJoin(valid, ", "))
                                  : absl::StrCat("did you mean \"", closest, "\"?");
    reader_.Fail(item->key_node, path_, absl::StrCat("unknown field \"", item->key, "\"; ", right));
  }
}

void ClassFields::PassOverUnknown() {
  for (const ClassItem* item : Unknown()) {
    reader_.Note(item->key_node, path_,
                 absl::StrCat("the unknown field \"", item->key, "\" is passed over"));
  }
}

}  // namespace plimsoll::qos
