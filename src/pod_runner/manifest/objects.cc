#include "pod_runner/manifest/objects.h"

#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <new>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/regular_file.h"
#include "base/status.h"
#include "base/text/problems.h"
#include "base/text/utf8.h"
#include "pod_runner/manifest/object_metadata.h"
#include "yaml/documents.h"
#include "yaml/reader.h"

namespace plimsoll::pod {
namespace {

bool IsDataKey(const std::string& key) {
  return !key.empty() && key.size() <= 253 && key != "." && !absl::StartsWith(key, "..") &&
         std::all_of(key.begin(), key.end(), [](char c) {
           return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '-' || c == '_' ||
                  c == '.';
         });
}

// Reads `data` and its like. YamlReader's own words for a wrong value would hold the value.
void ReadData(YamlReader& reader, YamlMapping& mapping, const std::string& field, bool base64,
              Object& object) {
  const auto node = mapping.Get(field);
  if (!node) return;
  reader.Entries(
      *node, field, [&](const std::string& key, const YAML::Node& value, const std::string& path) {
        if (!IsDataKey(key)) {
          reader.Fail(value, path, "a key must be letters, digits, \"-\", \"_\" and \".\"");
          return;
        }
        const bool is_string =
            value.IsScalar() && (value.Tag() != "?" || !IsPlainNonString(value.Scalar()));
        std::string bytes = is_string ? value.Scalar() : "";
        if (!is_string && !value.IsNull()) {
          reader.Fail(value, path, "must be a string: write it with quotes");
          return;
        }
        if (base64 && !absl::Base64Unescape(value.IsNull() ? "" : value.Scalar(), &bytes)) {
          reader.Fail(value, path, "must be base64");
          return;
        }
        object.data[key] = std::move(bytes);
      });
}

// "" where the node has no such word.
std::string WordOf(const YAML::Node& node, const char* key) {
  if (!node.IsMap() || !node[key] || !node[key].IsScalar()) return "";
  return node[key].Scalar();
}

absl::StatusOr<Object> ReadObject(const YAML::Node& node, const std::string& file,
                                  ObjectKind kind) {
  YamlReader reader(file);
  Object object{.kind = kind};
  YamlMapping top(reader, node, "");
  for (const char* key : {"apiVersion", "kind"}) top.Get(key);
  ReadObjectMetadata(reader, top, object.object_namespace, object.name);
  ReadData(reader, top, "data", /*base64=*/kind == ObjectKind::kSecret, object);
  if (kind == ObjectKind::kSecret) {
    ReadData(reader, top, "stringData", /*base64=*/false, object);
    top.String("type", object.type);
  } else {
    Object binary;
    ReadData(reader, top, "binaryData", /*base64=*/true, binary);
    for (auto& [key, bytes] : binary.data) {
      object.binary.insert(key);
      object.data.insert_or_assign(key, std::move(bytes));
    }
  }
  bool immutable = false;
  top.Bool("immutable", immutable);
  top.Finish();
  if (reader.errors().empty()) return object;
  return absl::InvalidArgumentError(absl::StrJoin(reader.errors(), "\n"));
}

}  // namespace

std::string NameOf(ObjectKind kind, absl::string_view object_namespace, absl::string_view name) {
  return absl::StrCat(kind == ObjectKind::kSecret ? "Secret " : "ConfigMap ", object_namespace, "/",
                      name);
}

bool IsText(absl::string_view bytes) {
  return !absl::StrContains(bytes, '\0') && IsUtf8(bytes);
}

bool ConfigObjects::HoldsObjects(absl::string_view name) {
  return !absl::StartsWith(name, ".") &&
         (absl::EndsWith(name, ".yaml") || absl::EndsWith(name, ".yml") ||
          absl::EndsWith(name, ".json"));
}

absl::Status ConfigObjects::Add(absl::string_view text, absl::string_view file) {
  const std::string name(file);
  absl::Status problems;
  try {
    for (const YAML::Node& document : LoadYamlDocuments(std::string(text))) {
      const std::string kind = WordOf(document, "kind");
      if (WordOf(document, "apiVersion") != "v1" || (kind != "ConfigMap" && kind != "Secret")) {
        continue;
      }
      absl::StatusOr<Object> object = ReadObject(
          document, name, kind == "Secret" ? ObjectKind::kSecret : ObjectKind::kConfigMap);
      problems = AlsoTell(problems, object.status());
      if (!object.ok() && HasFurtherProblems(problems)) break;
      if (!object.ok()) continue;
      const std::string full = NameOf(object->kind, object->object_namespace, object->name);
      const auto key = std::tuple(object->kind, object->object_namespace, object->name);
      if (!objects_.emplace(key, *std::move(object)).second) {
        problems = AlsoTell(problems, absl::InvalidArgumentError(
                                          absl::StrCat(name, ": ", full, " is there already")));
      }
    }
  } catch (const YAML::Exception& error) {
    const std::string where = error.mark.is_null() ? name
                                                   : absl::StrCat(name, ":", error.mark.line + 1,
                                                                  ":", error.mark.column + 1);
    return absl::InvalidArgumentError(
        absl::StrCat(where, ": ", YamlFault(error, /*quotes=*/false)));
  } catch (const std::bad_alloc&) {
    return absl::ResourceExhaustedError(absl::StrCat(name, ": there is too little memory for it"));
  }
  return problems;
}

absl::Status ReadObjectFiles(
    const FsRoot& root, const std::string& directory,
    absl::FunctionRef<absl::Status(absl::string_view text, const std::string& path)> read) {
  absl::Status problems;
  PLIMSOLL_ASSIGN_OR_RETURN(const std::vector<std::string> names, root.List(directory));
  for (const std::string& name : names) {
    if (!ConfigObjects::HoldsObjects(name)) continue;
    const std::string path = absl::StrCat(directory, "/", name);
    const absl::StatusOr<std::string> text =
        ReadRegularFile(root, path, ConfigObjects::kMostFileBytes);
    problems = AlsoTell(problems, text.ok() ? read(*text, path) : text.status());
  }
  return problems;
}

absl::StatusOr<ConfigObjects> ConfigObjects::ReadDirectory(const FsRoot& root,
                                                           const std::string& directory) {
  ConfigObjects objects;
  PLIMSOLL_RETURN_IF_ERROR(
      ReadObjectFiles(root, directory, [&objects](absl::string_view text, const std::string& path) {
        return objects.Add(text, path);
      }));
  return objects;
}

const Object* ConfigObjects::Find(ObjectKind kind, absl::string_view object_namespace,
                                  absl::string_view name) const {
  const auto found =
      objects_.find(std::tuple(kind, std::string(object_namespace), std::string(name)));
  return found == objects_.end() ? nullptr : &found->second;
}

absl::StatusOr<const Object*> ConfigObjects::Get(ObjectKind kind,
                                                 absl::string_view object_namespace,
                                                 absl::string_view name) const {
  const Object* object = Find(kind, object_namespace, name);
  if (object != nullptr) return object;
  return absl::NotFoundError(absl::StrCat("there is no ", NameOf(kind, object_namespace, name)));
}

}  // namespace plimsoll::pod
