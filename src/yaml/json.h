// YAML documents as JSON, and back.
#ifndef PLIMSOLL_YAML_JSON_H_
#define PLIMSOLL_YAML_JSON_H_

#include <yaml-cpp/yaml.h>

#include <nlohmann/json.hpp>

namespace plimsoll {

// The JSON of a document of LoadYamlDocuments, with the types of YAML 1.2's core schema. A number
// that isn't an int64_t as JSON writes it (0.5, 1e3, 0400) becomes a string: it keeps its spelling,
// as quantities and modes need. Throws YAML::Exception for a key that is no scalar, and below 1000
// levels.
nlohmann::json JsonOfYaml(const YAML::Node& document);

// A tree that reads like the document which `value` is the JSON of; its nodes have no place. Throws
// YAML::Exception below 1000 levels, and beyond LoadYamlDocuments' bounds of keys, values and text.
YAML::Node YamlOfJson(const nlohmann::json& value);

}  // namespace plimsoll

#endif  // PLIMSOLL_YAML_JSON_H_
