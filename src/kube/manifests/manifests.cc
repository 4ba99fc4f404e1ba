#include "kube/manifests/manifests.h"

#include <algorithm>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "base/status.h"
#include "base/text/printable.h"
#include "kube/manifests/documents.h"
#include "kube/manifests/policies.h"
#include "qos/class_name.h"

namespace plimsoll::kube {
namespace {

constexpr std::pair<absl::string_view, ManifestPart> kParts[] = {
    {"classes", ManifestPart::kClasses}, {"policies", ManifestPart::kPolicies},
    {"rbac", ManifestPart::kRbac},       {"daemonset", ManifestPart::kDaemonSet},
    {"quota", ManifestPart::kQuota},
};

absl::Status Refused(absl::string_view what, absl::string_view value, absl::string_view valid) {
  return absl::InvalidArgumentError(
      absl::StrCat(what, " \"", Printable(value.substr(0, 320)), "\" is not valid: ", valid));
}

bool IsDnsLabel(absl::string_view name) {
  const auto inner = [](char c) {
    return absl::ascii_islower(static_cast<unsigned char>(c)) ||
           absl::ascii_isdigit(static_cast<unsigned char>(c)) || c == '-';
  };
  return !name.empty() && name.size() <= 63 && name.front() != '-' && name.back() != '-' &&
         absl::c_all_of(name, inner);
}

// Text that stands in YAML without an escape.
bool IsPlain(absl::string_view text, absl::string_view signs) {
  return !text.empty() && text.size() <= 512 && absl::c_all_of(text, [signs](char c) {
    return absl::ascii_isalnum(static_cast<unsigned char>(c)) || absl::StrContains(signs, c);
  });
}

absl::Status CheckPath(absl::string_view what, absl::string_view path) {
  const std::vector<absl::string_view> parts = absl::StrSplit(path, '/');
  if (absl::StartsWith(path, "/") && path.size() > 1 && path.back() != '/' &&
      IsPlain(path, "/._-") && !absl::c_linear_search(parts, "..")) {
    return absl::OkStatus();
  }
  return Refused(what, path,
                 "an absolute path of letters, digits, '.', '_' and '-', without a slash at its "
                 "end, is");
}

absl::Status CheckClass(const qos::ClassId& id) {
  PLIMSOLL_RETURN_IF_ERROR(qos::ValidateName("class type", id.type));
  return qos::ValidateName("class", id.name);
}

absl::Status CheckOptions(const ManifestOptions& options) {
  if (!IsDnsLabel(options.name_space)) {
    return Refused("namespace", options.name_space,
                   "1 to 63 lower-case letters, digits and '-', neither first nor last, are");
  }
  if (!IsPlain(options.image, "./:@_-")) {
    return Refused("image", options.image,
                   "a reference as registry.example.com/plimsoll-kube:1 is");
  }
  PLIMSOLL_RETURN_IF_ERROR(CheckPath("kubelet's directory", options.kubelet_root));
  PLIMSOLL_RETURN_IF_ERROR(CheckPath("directory of plimsolld's socket", options.socket_dir));
  if (!options.node_label.empty() &&
      !(IsPlain(options.node_label, "/._-=") && absl::c_count(options.node_label, '=') == 1 &&
        options.node_label.front() != '=')) {
    return Refused("node label", options.node_label, "KEY=VALUE is");
  }
  if (options.classes.size() > kMostClasses) {
    return absl::InvalidArgumentError(absl::StrCat(options.classes.size(), " classes are given; ",
                                                   kMostClasses, " are possible"));
  }
  for (const qos::ClassId& id : options.classes) PLIMSOLL_RETURN_IF_ERROR(CheckClass(id));
  return absl::OkStatus();
}

bool Wants(const ManifestOptions& options, ManifestPart part) {
  return options.parts.empty() ? part != ManifestPart::kQuota : options.parts.contains(part);
}

}  // namespace

bool NeedsClasses(const ManifestOptions& options) {
  return Wants(options, ManifestPart::kClasses) || Wants(options, ManifestPart::kPolicies) ||
         Wants(options, ManifestPart::kQuota);
}

absl::StatusOr<std::string> Manifests(const ManifestOptions& options) {
  PLIMSOLL_RETURN_IF_ERROR(CheckOptions(options));
  std::vector<qos::ClassId> classes = options.classes;
  absl::c_sort(classes);
  classes.erase(std::unique(classes.begin(), classes.end()), classes.end());

  std::vector<std::string> documents;
  if (Wants(options, ManifestPart::kClasses)) {
    for (const qos::ClassId& id : classes) documents.push_back(DeviceClass(id));
  }
  if (Wants(options, ManifestPart::kPolicies)) {
    documents.push_back(MutationPolicy(classes));
    for (std::string& policy : PodPolicies(classes, options.closed)) {
      documents.push_back(std::move(policy));
    }
  }
  if (Wants(options, ManifestPart::kRbac)) {
    documents.push_back(Namespace(options.name_space));
    documents.push_back(Rbac(options.name_space));
    for (std::string& policy : OwnNodePolicies(options.name_space)) {
      documents.push_back(std::move(policy));
    }
  }
  if (Wants(options, ManifestPart::kDaemonSet)) documents.push_back(DaemonSet(options));
  if (Wants(options, ManifestPart::kQuota)) documents.push_back(Quota(classes));
  return absl::StrJoin(documents, "---\n");
}

absl::StatusOr<ManifestPart> ParseManifestPart(absl::string_view name) {
  for (const auto& [known, part] : kParts) {
    if (known == name) return part;
  }
  return Refused("part", name, "classes, policies, rbac, daemonset and quota are");
}

absl::StatusOr<qos::ClassId> ParseClass(qos::Level level, absl::string_view text) {
  const std::pair<absl::string_view, absl::string_view> parts =
      absl::StrSplit(text, absl::MaxSplits('=', 1));
  if (!absl::StrContains(text, '=')) return Refused("class", text, "TYPE=CLASS is");
  const qos::ClassId id = {level, std::string(parts.first), std::string(parts.second)};
  PLIMSOLL_RETURN_IF_ERROR(CheckClass(id));
  return id;
}

}  // namespace plimsoll::kube
