// YAML text to documents.
#ifndef PLIMSOLL_YAML_DOCUMENTS_H_
#define PLIMSOLL_YAML_DOCUMENTS_H_

#include <yaml-cpp/yaml.h>

#include <string>
#include <vector>

namespace plimsoll {

// As YAML::LoadAll, and throws what that throws. But yaml-cpp 0.7 does not consume a bracket that
// closes nothing ("a: b\n}"): it makes documents of it without end. Here that is an exception too.
// So are keys and values that are not UTF-8 or hold a code point that Unicode calls no character
// (U+FFFE): yaml-cpp would read them and write others, and protobuf sends no such strings.
// And so is a mapping of more than 2,000 keys: with 100,000, a file of a megabyte, yaml-cpp takes
// half a minute.
std::vector<YAML::Node> LoadYamlDocuments(const std::string& text);

// The first document, held to the same rules. What comes after it is not looked at, whatever it is;
// `more` says that something does. Null where there is no document.
YAML::Node LoadFirstYamlDocument(const std::string& text, bool* more);

}  // namespace plimsoll

#endif  // PLIMSOLL_YAML_DOCUMENTS_H_
