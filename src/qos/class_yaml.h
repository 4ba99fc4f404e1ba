// Reading class files as containerd and CRI-O read them. Their library (sigs.k8s.io/yaml) turns
// YAML 1.1 into JSON and that into Go's structures. So keys of known fields may be in any case,
// merge keys ("<<") work, `yes` and `off` are booleans, and a number where text is wanted is text
// as printed, not as written (0x10 is "16"). A value that reads otherwise than it looks is noted.
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
  // The value where text is wanted: of a number the shortest decimal ("16", "50.5", "1e+30"), of a
  // boolean "true" or "false", of nothing "".
  std::string text;
};
// `node` must be a scalar or null.
ClassScalar ScalarOf(const YAML::Node& node);

// Text of a scalar, also of a number, a boolean or nothing. nullopt after Fail for a list or a
// mapping, and for text with a NUL.
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

// The reading of a key that YAML 1.1 takes for a number or a boolean (yes, 0x10); a note names
// it.
enum class KeyReading {
  kName,   // as written; containerd and CRI-O name it as they print it ("true", "16")
  kValue,  // as containerd and CRI-O print it
};

// The items of a mapping, in the order of the file, merged ones ("<<") included. Fails for a node
// that is no mapping and for a duplicate key, also by "<<": the parser of containerd and CRI-O lets
// none override another.
std::vector<ClassItem> ItemsOf(YamlReader& reader, const YAML::Node& node, const std::string& path,
                               KeyReading reading);

// A mapping whose keys are known. Ask for each, then Finish or PassOverUnknown.
class ClassFields {
 public:
  ClassFields(YamlReader& reader, const YAML::Node& node, std::string path);

  // The value of a key, however its case is written; nullopt where it is absent or null. Of several
  // spellings the last in the order of bytes counts, as in Go; a note says so.
  std::optional<YAML::Node> Get(const std::string& name);
  // The same, but null is a value.
  std::optional<YAML::Node> GetOrNull(const std::string& name);
  void Bool(const std::string& name, bool& out);
  std::string PathOf(absl::string_view name) const;

  // Fail for keys that nobody asked for, or note them where containerd and CRI-O ignore them.
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
