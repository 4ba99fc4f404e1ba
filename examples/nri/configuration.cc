#include "configuration.h"

#include "absl/strings/str_cat.h"
#include "yaml/documents.h"

namespace plimsoll::examples {

absl::Status ReadConfiguration(
    const std::string& text,
    absl::FunctionRef<void(YamlReader& reader, YamlMapping& configuration)> read) {
  YAML::Node node;
  try {
    const std::vector<YAML::Node> documents = LoadYamlDocuments(text);
    if (!documents.empty()) node = documents[0];
  } catch (const YAML::Exception& error) {
    return absl::InvalidArgumentError(absl::StrCat("configuration: ", error.what()));
  }
  if (node.IsNull()) node = YAML::Node(YAML::NodeType::Map);
  YamlReader reader("configuration");
  YamlMapping configuration(reader, node, "");
  read(reader, configuration);
  configuration.Finish();
  return reader.status();
}

}  // namespace plimsoll::examples
