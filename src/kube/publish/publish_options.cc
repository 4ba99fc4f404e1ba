#include "kube/publish/publish_options.h"

#include <set>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "base/text/printable.h"
#include "base/text/problems.h"

namespace plimsoll::kube {
namespace {

absl::Status CheckWord(absl::string_view key, const std::string& word,
                       const std::vector<std::string>& valid) {
  if (absl::c_linear_search(valid, word)) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(key, ": \"", Printable(word), "\" is none of \"",
                                                 absl::StrJoin(valid, "\", \""), "\""));
}

absl::Status CheckFacts(absl::string_view key, const std::vector<std::string>& facts,
                        const std::vector<std::string>& valid) {
  absl::Status problems;
  std::set<std::string> seen;
  for (const std::string& fact : facts) {
    problems = AlsoTell(problems, CheckWord(key, fact, valid));
    if (seen.insert(fact).second) continue;
    problems = AlsoTell(problems, absl::InvalidArgumentError(absl::StrCat(
                                      key, ": \"", Printable(fact), "\" stands there twice")));
  }
  return problems;
}

}  // namespace

const std::vector<std::string>& LabelFacts() {
  static const auto& facts = *new std::vector<std::string>{
      "classes",  "runtime-version", "cpus",         "cores",       "core-types",
      "packages", "numa-nodes",      "memory-nodes", "cache-groups"};
  return facts;
}

const std::vector<std::string>& AnnotationFacts() {
  static const auto& facts = *new std::vector<std::string>{"classes", "topology"};
  return facts;
}

absl::Status CheckPublishOptions(const PublishOptions& options) {
  absl::Status problems = CheckFacts("publish.labels", options.labels, LabelFacts());
  problems =
      AlsoTell(problems, CheckFacts("publish.annotations", options.annotations, AnnotationFacts()));
  if (!options.topology_manager_policy.empty()) {
    problems = AlsoTell(problems,
                        CheckWord("publish.topologyManager.policy", options.topology_manager_policy,
                                  {"none", "best-effort", "restricted", "single-numa-node"}));
  }
  if (!options.topology_manager_scope.empty()) {
    problems = AlsoTell(problems, CheckWord("publish.topologyManager.scope",
                                            options.topology_manager_scope, {"container", "pod"}));
    if (options.topology_manager_policy.empty()) {
      problems = AlsoTell(
          problems,
          absl::InvalidArgumentError(absl::StrCat(
              "publish.topologyManager.scope: \"", Printable(options.topology_manager_scope),
              "\" needs publish.topologyManager.policy beside it: a scope says nothing "
              "without the policy")));
    }
  }
  return problems;
}

}  // namespace plimsoll::kube
