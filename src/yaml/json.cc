#include "yaml/json.h"

#include <string>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "yaml/document_check.h"
#include "yaml/reader.h"

namespace plimsoll {
namespace {

constexpr int kMaxDepth = 1000;

void CheckDepth(int depth, const YAML::Mark& mark) {
  if (depth <= kMaxDepth) return;
  throw YAML::ParserException(mark, absl::StrCat("nested deeper than ", kMaxDepth, " levels"));
}

nlohmann::json ScalarOf(const YAML::Node& node) {
  const std::string& text = node.Scalar();
  if (node.Tag() != "?" || !IsPlainNonString(text)) return text;
  if (text == "true" || text == "false") return text == "true";
  int64_t number = 0;
  if (absl::SimpleAtoi(text, &number) && absl::StrCat(number) == text) return number;
  if (text.empty() || text == "~" || text == "null") return nullptr;
  return text;
}

nlohmann::json Convert(const YAML::Node& node, int depth) {
  CheckDepth(depth, node.Mark());
  switch (node.Type()) {
    case YAML::NodeType::Sequence: {
      nlohmann::json list = nlohmann::json::array();
      for (const YAML::Node& item : node) list.push_back(Convert(item, depth + 1));
      return list;
    }
    case YAML::NodeType::Map: {
      nlohmann::json object = nlohmann::json::object();
      for (const auto& entry : node) {
        if (!entry.first.IsScalar()) {
          throw YAML::ParserException(entry.first.Mark(), "a key that is no scalar");
        }
        object[entry.first.Scalar()] = Convert(entry.second, depth + 1);
      }
      return object;
    }
    case YAML::NodeType::Scalar:
      return ScalarOf(node);
    default:
      return nullptr;
  }
}

// Builds the tree of one value, and shows each of its nodes to the check first.
class TreeBuilder {
 public:
  YAML::Node Build(const nlohmann::json& value) {
    YAML::Node tree = Begin(value);
    Fill(value, tree, /*depth=*/0);
    return tree;
  }

 private:
  static inline const YAML::Mark kNowhere = YAML::Mark::null_mark();

  // `tag` is the parser's: "!" for a quoted scalar, "?" for a plain one.
  YAML::Node Scalar(const std::string& text, const char* tag) {
    check_.OnScalar(kNowhere, tag, YAML::NullAnchor, text);
    YAML::Node node(text);
    node.SetTag(tag);
    return node;
  }

  // The node of the value, a list or mapping still without its items.
  YAML::Node Begin(const nlohmann::json& value) {
    switch (value.type()) {
      case nlohmann::json::value_t::null:
        check_.OnNull(kNowhere, YAML::NullAnchor);
        return YAML::Node(YAML::NodeType::Null);
      case nlohmann::json::value_t::array:
        check_.OnSequenceStart(kNowhere, "?", YAML::NullAnchor, YAML::EmitterStyle::Default);
        return YAML::Node(YAML::NodeType::Sequence);
      case nlohmann::json::value_t::object:
        check_.OnMapStart(kNowhere, "?", YAML::NullAnchor, YAML::EmitterStyle::Default);
        return YAML::Node(YAML::NodeType::Map);
      case nlohmann::json::value_t::string:
        return Scalar(value.get_ref<const std::string&>(), /*tag=*/"!");
      default:
        return Scalar(value.dump(), /*tag=*/"?");
    }
  }

  // A child is put into its parent before its own items: yaml-cpp copies the list of a child's
  // nodes into the parent's.
  void Fill(const nlohmann::json& value, YAML::Node& node, int depth) {
    CheckDepth(depth, kNowhere);
    if (value.is_array()) {
      for (const nlohmann::json& item : value) {
        YAML::Node child = Begin(item);
        node.push_back(child);
        Fill(item, child, depth + 1);
      }
      check_.OnSequenceEnd();
    } else if (value.is_object()) {
      for (const auto& [key, item] : value.items()) {
        const YAML::Node name = Scalar(key, "!");
        YAML::Node child = Begin(item);
        // The keys of an object differ: no search for an equal one.
        node.force_insert(name, child);
        Fill(item, child, depth + 1);
      }
      check_.OnMapEnd();
    }
  }

  DocumentCheck check_;
};

}  // namespace

nlohmann::json JsonOfYaml(const YAML::Node& document) {
  return Convert(document, /*depth=*/0);
}

YAML::Node YamlOfJson(const nlohmann::json& value) {
  return TreeBuilder().Build(value);
}

}  // namespace plimsoll
