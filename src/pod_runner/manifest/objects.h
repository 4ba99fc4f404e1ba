// ConfigMaps and Secrets from a directory of manifests, in place of an API server's.
//
//   <directory>/*.yaml, *.yml, *.json     one or more objects each; other files are left alone
//
// No error holds a value of a Secret.
#ifndef PLIMSOLL_POD_RUNNER_MANIFEST_OBJECTS_H_
#define PLIMSOLL_POD_RUNNER_MANIFEST_OBJECTS_H_

#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/fs_root.h"
#include "pod_runner/manifest/env_source.h"

namespace plimsoll::pod {

// A v1 ConfigMap or Secret.
struct Object {
  ObjectKind kind = ObjectKind::kConfigMap;
  std::string object_namespace = "default";
  std::string name;
  std::string type;                         // of a Secret
  std::map<std::string, std::string> data;  // bytes, decoded
  std::set<std::string> binary;             // keys of a ConfigMap's binaryData: no variables
};

// "ConfigMap shop/settings"
std::string NameOf(ObjectKind kind, absl::string_view object_namespace, absl::string_view name);

// True for UTF-8 without NUL: an argument of a program.
bool IsText(absl::string_view bytes);

// Calls `read` with the text and the path of every file of the directory, in the order of names.
// Errors of all files together; a FIFO or a device in a file's place is one, and holds nobody up.
absl::Status ReadObjectFiles(
    const FsRoot& root, const std::string& directory,
    absl::FunctionRef<absl::Status(absl::string_view text, const std::string& path)> read);

// A value; safe to read from several threads.
class ConfigObjects {
 public:
  // An API server's limit of one object, which base64 makes a third larger.
  static constexpr size_t kMostFileBytes = size_t{4} << 20;

  // True for the name of a file that is read.
  static bool HoldsObjects(absl::string_view name);

  // INVALID_ARGUMENT has every problem of the text, a line each, as ParseManifests. Documents of
  // another kind are passed over: a directory may hold pods too. So are those behind
  // kMostProblems problems of objects (base/text/problems.h); one that is there already is
  // reported, and the rest is added.
  absl::Status Add(absl::string_view text, absl::string_view file);
  // Reads every file of the directory, in the order of names. Errors of all files together.
  static absl::StatusOr<ConfigObjects> ReadDirectory(const FsRoot& root,
                                                     const std::string& directory);

  // nullptr: there is no such object.
  const Object* Find(ObjectKind kind, absl::string_view object_namespace,
                     absl::string_view name) const;
  // Like Find, but a missing object is NOT_FOUND with its name.
  absl::StatusOr<const Object*> Get(ObjectKind kind, absl::string_view object_namespace,
                                    absl::string_view name) const;
  size_t size() const { return objects_.size(); }

 private:
  std::map<std::tuple<ObjectKind, std::string, std::string>, Object> objects_;
};

}  // namespace plimsoll::pod

#endif  // PLIMSOLL_POD_RUNNER_MANIFEST_OBJECTS_H_
