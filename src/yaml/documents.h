// Parses YAML text into documents.
#ifndef PLIMSOLL_YAML_DOCUMENTS_H_
#define PLIMSOLL_YAML_DOCUMENTS_H_

#include <yaml-cpp/yaml.h>

#include <string>
#include <vector>

namespace plimsoll {

// Thrown for a text that is too large to be read, valid or not.
class YamlTooLarge : public YAML::ParserException {
 public:
  using ParserException::ParserException;
};

// "not valid YAML: <why>", or "too large: <why>" for YamlTooLarge. Without `quotes`, which may show
// text of the file, only "not valid YAML".
std::string YamlFault(const YAML::Exception& error, bool quotes = true);

// YAML::LoadAll with stricter rules; throws what it throws. Further inputs are exceptions here:
// - a bracket that closes nothing ("a: b\n}"): yaml-cpp 0.7 does not consume it and makes documents
//   of it without end;
// - keys and values that are not UTF-8 or hold a code point that Unicode calls no character
// (U+FFFE):
//   yaml-cpp would read them and write others, and protobuf sends no such strings;
// - a mapping of more than 2,000 keys: with 100,000, a file of a megabyte, yaml-cpp takes half a
//   minute;
// - more than 10,000 documents: each takes a kilobyte or more;
// - more than 100,000 values in all documents, with an alias counted as often as it is used, and
//   aliases of more than 16 MiB of text: found before anything is kept of the text;
// - an alias inside the value that it stands for: a reader would go round in it;
// - brackets nested deeper than 1,000 levels: yaml-cpp would take 250 bytes for each before it
//   refuses them.
std::vector<YAML::Node> LoadYamlDocuments(const std::string& text);

// The first document, held to the same rules; null where there is none. Of the text after it, only
// the nesting of brackets is checked; `more` says whether there is any.
YAML::Node LoadFirstYamlDocument(const std::string& text, bool* more);

}  // namespace plimsoll

#endif  // PLIMSOLL_YAML_DOCUMENTS_H_
