#include "yaml/json.h"

#include <string>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "yaml/document_check.h"
#include "yaml/reader.h"

namespace plimsoll {
namespace {

// LoadYamlDocuments has the same bound for brackets.
constexpr int kMaxDepth = 1000;

nlohmann::json ScalarOf(const YAML::Node& node) {
  const std::string& text = node.Scalar();
  if (node.Tag() != "?" || !IsPlainNonString(text)) return text;
  if (text == "true" || text == "false") return text == "true";
  int64_t number = 0;
  if (absl::SimpleAtoi(text, &number) && absl::StrCat(number) == text) return number;
  if (text.empty() || text == "~" || text == "null") return nullptr;
  return text;
}

// Builds the tree of one value, and shows each of its nodes to the check first.
class TreeBuilder {
 public:
  YAML::Node Build(const nlohmann::json& value) {
    if (depth_ > kMaxDepth) {
      throw YAML::ParserException(kNowhere,
                                  absl::StrCat("nested deeper than ", kMaxDepth, " levels"));
    }
    switch (value.type()) {
      case nlohmann::json::value_t::null:
        check_.OnNull(kNowhere, YAML::NullAnchor);
        return YAML::Node(YAML::NodeType::Null);
      case nlohmann::json::value_t::array:
        return List(value);
      case nlohmann::json::value_t::object:
        return Mapping(value);
      case nlohmann::json::value_t::string:
        return Scalar(value.get_ref<const std::string&>(), /*tag=*/"!");
      default:
        return Scalar(value.dump(), /*tag=*/"?");
    }
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

  YAML::Node List(const nlohmann::json& value) {
    check_.OnSequenceStart(kNowhere, "?", YAML::NullAnchor, YAML::EmitterStyle::Default);
    YAML::Node list(YAML::NodeType::Sequence);
    ++depth_;
    for (const nlohmann::json& item : value) list.push_back(Build(item));
    --depth_;
    check_.OnSequenceEnd();
    return list;
  }

  YAML::Node Mapping(const nlohmann::json& value) {
    check_.OnMapStart(kNowhere, "?", YAML::NullAnchor, YAML::EmitterStyle::Default);
    YAML::Node mapping(YAML::NodeType::Map);
    ++depth_;
    for (const auto& [key, item] : value.items()) {
      const YAML::Node name = Scalar(key, "!");
      // The keys of an object differ: no search for an equal one.
      mapping.force_insert(name, Build(item));
    }
    --depth_;
    check_.OnMapEnd();
    return mapping;
  }

  DocumentCheck check_;
  int depth_ = 0;
};

}  // namespace

// The number of values and their depth are bounded: LoadYamlDocuments follows aliases too.
nlohmann::json JsonOfYaml(const YAML::Node& document) {
  switch (document.Type()) {
    case YAML::NodeType::Sequence: {
      nlohmann::json list = nlohmann::json::array();
      for (const YAML::Node& item : document) list.push_back(JsonOfYaml(item));
      return list;
    }
    case YAML::NodeType::Map: {
      nlohmann::json object = nlohmann::json::object();
      for (const auto& entry : document) {
        if (!entry.first.IsScalar()) {
          throw YAML::ParserException(entry.first.Mark(), "a key that is no scalar");
        }
        object[entry.first.Scalar()] = JsonOfYaml(entry.second);
      }
      return object;
    }
    case YAML::NodeType::Scalar:
      return ScalarOf(document);
    default:
      return nullptr;
  }
}

YAML::Node YamlOfJson(const nlohmann::json& value) {
  return TreeBuilder().Build(value);
}

}  // namespace plimsoll
