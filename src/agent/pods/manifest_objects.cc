#include "agent/pods/manifest_objects.h"

#include <yaml-cpp/yaml.h>

#include <new>
#include <string>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "yaml/documents.h"
#include "yaml/reader.h"

namespace plimsoll::agent {
namespace {

// Thrown by Convert, which recurses; yaml-cpp throws anyway.
struct Unconvertible {
  std::string reason;
};

// A quantity like 0.5 or 1e3 becomes a string: as a JSON number it would lose its spelling.
nlohmann::json ScalarOf(const YAML::Node& node) {
  const std::string& text = node.Scalar();
  if (node.Tag() != "?" || !IsPlainNonString(text)) return text;
  if (text == "true" || text == "false") return text == "true";
  int64_t number = 0;
  if (absl::SimpleAtoi(text, &number) && absl::StrCat(number) == text) return number;
  if (text.empty() || text == "~" || text == "null") return nullptr;
  return text;
}

// The number of values and their depth are bounded: LoadYamlDocuments follows aliases too.
nlohmann::json Convert(const YAML::Node& node) {
  switch (node.Type()) {
    case YAML::NodeType::Sequence: {
      nlohmann::json list = nlohmann::json::array();
      for (const YAML::Node& item : node) list.push_back(Convert(item));
      return list;
    }
    case YAML::NodeType::Map: {
      nlohmann::json object = nlohmann::json::object();
      for (const auto& entry : node) {
        if (!entry.first.IsScalar()) throw Unconvertible{"has a key that is no scalar"};
        object[entry.first.Scalar()] = Convert(entry.second);
      }
      return object;
    }
    case YAML::NodeType::Scalar:
      return ScalarOf(node);
    default:
      return nullptr;
  }
}

}  // namespace

absl::StatusOr<std::vector<nlohmann::json>> ManifestObjects(absl::string_view text,
                                                            absl::string_view file) {
  try {
    std::vector<nlohmann::json> objects;
    for (const YAML::Node& document : LoadYamlDocuments(std::string(text))) {
      if (!document.IsNull()) objects.push_back(Convert(document));
    }
    return objects;
  } catch (const Unconvertible& error) {
    return absl::InvalidArgumentError(absl::StrCat(file, ": ", error.reason));
  } catch (const YAML::Exception& error) {
    return absl::InvalidArgumentError(absl::StrCat(file, ": ", error.what()));
  } catch (const std::bad_alloc&) {
    return absl::ResourceExhaustedError(absl::StrCat(file, ": there is too little memory for it"));
  }
}

}  // namespace plimsoll::agent
