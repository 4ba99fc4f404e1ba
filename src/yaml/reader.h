// Strict reading of YAML: every key must be known, every value of the right type. Errors say file,
// line, column, and what would be valid.
//
//   YamlReader reader("pod.yaml");
//   YamlMapping pod(reader, node, "");
//   pod.String("kind", kind);
//   pod.Finish();
//   PLIMSOLL_RETURN_IF_ERROR(reader.status());
//
// The first error becomes the status; reading goes on with defaults, so callers check once. Types
// are those of YAML 1.2's core schema, as Kubernetes reads them: `value: 1` is a number, not a
// string. Only yaml-cpp's own look at a node could throw, which does not happen for nodes of a
// parsed document.
#ifndef PLIMSOLL_YAML_READER_H_
#define PLIMSOLL_YAML_READER_H_

#include <yaml-cpp/yaml.h>

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "base/text/problems.h"

namespace plimsoll {

class YamlReader {
 public:
  // `on_record`: the text was taken before, maybe by an older version. Callers then leave out rules
  // that came later.
  explicit YamlReader(std::string file, bool on_record = false)
      : file_(std::move(file)), on_record_(on_record) {}

  bool on_record() const { return on_record_; }

  const absl::Status& status() const { return status_; }
  // The first kMostProblems errors, and kFurtherProblems behind them when there are more; the very
  // first is the status.
  const std::vector<std::string>& errors() const { return errors_; }
  // True when there are more errors than are told: nothing more needs to be read.
  bool full() const { return errors_.size() > kMostProblems; }
  // Keys that were read but have no effect, for the user to know.
  const std::vector<std::string>& notes() const { return notes_; }

  // Makes "pod.yaml:3:7: spec.containers[0].image: <message>" the status, unless there was an error
  // before.
  void Fail(const YAML::Node& node, absl::string_view path, absl::string_view message);
  void Note(const YAML::Node& node, absl::string_view path, absl::string_view message);
  // "pod.yaml:3:7: spec.containers[0].image: ", for messages of later checks of the value.
  std::string Where(const YAML::Node& node, absl::string_view path) const;

  // A scalar of the type; nullopt after Fail.
  std::optional<std::string> AsString(const YAML::Node& node, absl::string_view path);
  std::optional<int64_t> AsInt(const YAML::Node& node, absl::string_view path);
  std::optional<bool> AsBool(const YAML::Node& node, absl::string_view path);
  // A string or a number, as written.
  std::optional<std::string> AsText(const YAML::Node& node, absl::string_view path);
  // Calls `read` with each element and its path "<path>[i]". This and the next three end early when
  // the reader is full.
  void Each(const YAML::Node& node, absl::string_view path,
            const std::function<void(const YAML::Node&, const std::string&)>& read);
  // Calls `read` with each key and value of a mapping whose keys the user chooses, and the value's
  // path "<path>.<key>". A duplicate key is an error.
  void Entries(const YAML::Node& node, absl::string_view path,
               const std::function<void(const std::string& key, const YAML::Node& value,
                                        const std::string& value_path)>& read);
  void Strings(const YAML::Node& node, absl::string_view path, std::vector<std::string>& out);
  void StringMap(const YAML::Node& node, absl::string_view path,
                 std::map<std::string, std::string>& out);

 private:
  std::string file_;
  bool on_record_;
  absl::Status status_;
  std::vector<std::string> errors_;
  std::vector<std::string> notes_;
};

// One mapping. Ask for every known key, then Finish.
class YamlMapping {
 public:
  YamlMapping(YamlReader& reader, const YAML::Node& node, std::string path);

  // The value of a key, which counts as known from now on. nullopt when it is absent or null.
  std::optional<YAML::Node> Get(const std::string& key);
  std::string PathOf(absl::string_view key) const;
  const std::string& path() const { return path_; }
  const YAML::Node& node() const { return node_; }

  // Each leaves `out` as it is when the key is absent.
  void String(const std::string& key, std::string& out);
  void Required(const std::string& key, std::string& out);  // absent or empty is an error
  void Int(const std::string& key, std::optional<int64_t>& out, int64_t min, int64_t max);
  void Bool(const std::string& key, bool& out);
  void OptionalBool(const std::string& key, std::optional<bool>& out);
  void OneOf(const std::string& key, std::string& out, const std::vector<std::string>& values);
  void Strings(const std::string& key, std::vector<std::string>& out);
  void StringMap(const std::string& key, std::map<std::string, std::string>& out);
  void Each(const std::string& key,
            const std::function<void(const YAML::Node&, const std::string&)>& read);

  // Refuses a key that Kubernetes knows and Plimsoll can't honour: an error when it is present,
  // unless it is an empty list or mapping, or false.
  void Refuse(const std::string& key, absl::string_view why);
  // Accepts a key that has no effect here: a note when it is present.
  void Ignore(const std::string& key, absl::string_view why);

  // Fails for keys that nobody asked for and for duplicate keys.
  void Finish();

 private:
  YamlReader& reader_;
  YAML::Node node_;
  std::string path_;
  std::vector<std::string> known_;
};

// True when a plain scalar is not a string but a number, a boolean or null.
bool IsPlainNonString(absl::string_view scalar);

}  // namespace plimsoll

#endif  // PLIMSOLL_YAML_READER_H_
