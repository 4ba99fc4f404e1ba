// Reading class files as containerd and CRI-O read them. Their library (sigs.k8s.io/yaml) takes
// YAML 1.1 to JSON and that to Go's structures, so: keys of known fields in any case, merge keys
// ("<<"), `yes` and `off` for booleans, and where text is wanted a number as it is printed, not as
// it is written (0x10 is "16"). What is taken for something else than it looks like is a note.
//
//   ClassFields fields(reader, node, "partitions.a");
//   if (const auto classes = fields.Get("classes")) ...
//   fields.Finish();
#ifndef PLIMSOLL_QOS_CLASS_YAML_H_
#define PLIMSOLL_QOS_CLASS_YAML_H_

#include <yaml-cpp/yaml.h>

#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "yaml/reader.h"

namespace plimsoll::qos {

// A scalar, by YAML 1.1.
struct ClassScalar {
  enum class Kind { kText, kNumber, kBool, kNull };
  Kind kind = Kind::kText;
  // Where text is wanted: of a number the shortest decimal ("16", "50.5", "1e+30"), of a boolean
  // "true" or "false", of nothing "".
  std::string text;
};
// `node` is a scalar or null.
ClassScalar ScalarOf(const YAML::Node& node);

// Text, also of a number, a boolean or nothing. nullopt after Fail for a list or a mapping, and for
// text with a NUL.
std::optional<std::string> TextOf(YamlReader& reader, const YAML::Node& node,
                                  absl::string_view path);
// nullopt after Fail. Words other than true and false are a note.
std::optional<bool> BoolOf(YamlReader& reader, const YAML::Node& node, absl::string_view path);

// One key of a mapping and its value.
struct ClassItem {
  std::string key;
  YAML::Node key_node;
  YAML::Node value;
};

// What a key that YAML 1.1 takes for a number or a boolean (yes, 0x10) is, with a note.
enum class KeyReading {
  kName,   // what is written; containerd and CRI-O name it as they print it ("true", "16")
  kValue,  // what they print
};

// What a mapping has, in the order of the file, with what "<<" brings in. Fails for what is no
// mapping and for a key that is there twice, also by "<<": the parser of containerd and CRI-O lets
// none override another.
std::vector<ClassItem> ItemsOf(YamlReader& reader, const YAML::Node& node, const std::string& path,
                               KeyReading reading);

// A mapping whose keys are known. Ask for each, then Finish or PassOverUnknown.
class ClassFields {
 public:
  ClassFields(YamlReader& reader, const YAML::Node& node, std::string path);

  // The value of a key, in whatever case it is written; nullopt where it is absent or null. Of
  // several spellings the last in the order of bytes counts, as in Go; a note says so.
  std::optional<YAML::Node> Get(const std::string& name);
  // The same, but null is a value.
  std::optional<YAML::Node> GetOrNull(const std::string& name);
  void Bool(const std::string& name, bool& out);
  std::string PathOf(absl::string_view name) const;

  // Fails for keys that nobody asked for; or notes them, where containerd and CRI-O pass them over.
  void Finish();
  void PassOverUnknown();

 private:
  std::vector<const ClassItem*> Unknown() const;

  YamlReader& reader_;
  const std::string path_;
  std::vector<ClassItem> items_;
  std::vector<std::string> known_;
};

}  // namespace plimsoll::qos

#endif  // PLIMSOLL_QOS_CLASS_YAML_H_
