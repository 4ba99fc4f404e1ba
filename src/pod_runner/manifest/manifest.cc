#include "pod_runner/manifest/manifest.h"

#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <new>
#include <set>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "base/status.h"
#include "base/text/problems.h"
#include "pod_runner/manifest/manifest_annotations.h"
#include "pod_runner/manifest/manifest_classes.h"
#include "pod_runner/manifest/manifest_objects.h"
#include "pod_runner/manifest/manifest_spec.h"
#include "yaml/documents.h"
#include "yaml/error_places.h"
#include "yaml/reader.h"

namespace plimsoll::pod {
namespace {

void ReadMetadata(YamlReader& reader, const YAML::Node& node, Manifest& pod) {
  YamlMapping metadata(reader, node, "metadata");
  metadata.Required("name", pod.name);
  metadata.String("namespace", pod.pod_namespace);
  metadata.StringMap("labels", pod.labels);
  metadata.StringMap("annotations", pod.annotations);
  metadata.Refuse("generateName", "give it a name");
  for (const char* key : {"uid", "resourceVersion", "creationTimestamp", "generation",
                          "deletionTimestamp", "deletionGracePeriodSeconds", "ownerReferences",
                          "finalizers", "managedFields", "selfLink"}) {
    metadata.Ignore(key, "the API server's");
  }
  metadata.Finish();
  if (!pod.name.empty() && !IsDnsName(pod.name, /*dots=*/true)) {
    reader.Fail(
        node, "metadata.name",
        absl::StrCat("\"", pod.name,
                     "\" must be lower-case letters, digits, \"-\" and \".\", at most 253"));
  }
  if (!IsDnsName(pod.pod_namespace, /*dots=*/false)) {
    reader.Fail(node, "metadata.namespace",
                absl::StrCat("\"", pod.pod_namespace,
                             "\" must be at most 63 lower-case letters, digits and \"-\""));
  }
}

// yaml-cpp's words for a tab in the indentation name neither. `line` counts from 0; -1 is none.
absl::string_view TabAdvice(absl::string_view text, int line) {
  const std::vector<absl::string_view> lines = absl::StrSplit(text, '\n');
  const auto at = static_cast<size_t>(line);
  if (line < 0 || at >= lines.size()) return "";
  const absl::string_view blanks = lines[at].substr(0, lines[at].find_first_not_of(" \t"));
  return absl::StrContains(blanks, '\t') ? "; the line begins with a tab: indent it with spaces"
                                         : "";
}

}  // namespace

bool IsDnsName(absl::string_view name, bool dots) {
  if (name.size() > (dots ? 253 : 63)) return false;
  for (const absl::string_view part : absl::StrSplit(name, '.')) {
    const auto valid = [](char c) {
      return absl::ascii_islower(static_cast<unsigned char>(c)) ||
             absl::ascii_isdigit(static_cast<unsigned char>(c)) || c == '-';
    };
    if (part.empty() || part.front() == '-' || part.back() == '-' ||
        !std::all_of(part.begin(), part.end(), valid)) {
      return false;
    }
  }
  return dots || !absl::StrContains(name, '.');
}

absl::StatusOr<Manifest> ReadManifest(const YAML::Node& node, const std::string& file,
                                      ManifestOrigin origin) {
  YamlReader reader(file, /*on_record=*/origin == ManifestOrigin::kRecord);
  Manifest pod;
  pod.file = file;
  const bool is_mapping = node.IsMap();
  YamlMapping top(reader, node, "");
  if (!is_mapping) return reader.status();
  std::string kind, version;
  top.Required("kind", kind);
  top.Required("apiVersion", version);
  if (!kind.empty() && !version.empty() && (kind != "Pod" || version != "v1")) {
    // The fields are those of another kind: no further error.
    reader.Fail(node, "", absl::StrCat("is ", version, " ", kind, "; only v1 Pod can be run"));
    return reader.status();
  }
  if (const auto metadata = top.Get("metadata")) {
    ReadMetadata(reader, *metadata, pod);
  } else {
    reader.Fail(node, "", "\"metadata\" with a \"name\" is missing");
  }
  if (const auto spec = top.Get("spec")) {
    ReadSpec(reader, *spec, pod);
  } else {
    reader.Fail(node, "", "\"spec\" is missing");
  }
  top.Ignore("status", "the API server's");
  top.Finish();
  if (node["spec"]) CheckReferences(reader, node["spec"]);
  ReadAnnotations(reader, node["metadata"], pod);
  CheckClassAnnotations(reader, node["metadata"], pod);
  if (!reader.errors().empty()) {
    return absl::InvalidArgumentError(absl::StrJoin(InOrderOfLines(reader.errors(), file), "\n"));
  }
  pod.notes = reader.notes();
  return pod;
}

absl::Status EachManifest(absl::string_view text, absl::string_view file, ManifestOrigin origin,
                          absl::FunctionRef<void(Manifest, const YAML::Node&)> take) {
  const std::string name(file);
  try {
    std::set<std::pair<std::string, std::string>> names;
    absl::Status problems;
    for (const YAML::Node& document : LoadYamlDocuments(std::string(text))) {
      if (HasFurtherProblems(problems)) break;
      if (document.IsNull()) continue;  // empty, behind the last "---"
      absl::StatusOr<Manifest> pod = ReadManifest(document, name, origin);
      if (!pod.ok()) {
        problems = AlsoTell(problems, pod.status());
        continue;
      }
      if (!names.emplace(pod->pod_namespace, pod->name).second) {
        problems = AlsoTell(
            problems, absl::InvalidArgumentError(absl::StrCat(name, ": two pods are named ",
                                                              pod->pod_namespace, "/", pod->name)));
      }
      take(*std::move(pod), document);
    }
    PLIMSOLL_RETURN_IF_ERROR(problems);
    if (names.empty()) return absl::InvalidArgumentError(absl::StrCat(name, ": holds no pod"));
    return absl::OkStatus();
  } catch (const YAML::Exception& error) {
    std::string where = name;
    if (!error.mark.is_null()) {
      absl::StrAppend(&where, ":", error.mark.line + 1, ":", error.mark.column + 1);
    }
    return absl::InvalidArgumentError(
        absl::StrCat(where, ": ", YamlFault(error), TabAdvice(text, error.mark.line)));
  } catch (const std::bad_alloc&) {
    return absl::ResourceExhaustedError(absl::StrCat(name, ": there is too little memory for it"));
  }
}

absl::StatusOr<std::vector<Manifest>> ParseManifests(absl::string_view text, absl::string_view file,
                                                     ManifestOrigin origin) {
  std::vector<Manifest> pods;
  PLIMSOLL_RETURN_IF_ERROR(
      EachManifest(text, file, origin,
                   [&pods](Manifest pod, const YAML::Node&) { pods.push_back(std::move(pod)); }));
  return pods;
}

}  // namespace plimsoll::pod
