// The MutatingAdmissionPolicy: class annotations become extended resources.
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "kube/manifests/class_annotations.h"
#include "kube/manifests/known_classes.h"
#include "kube/manifests/policies.h"
#include "kube/manifests/text.h"

namespace plimsoll::kube {
namespace {

// The order of operations counts: a key is added to limits that are there. A key that is there
// stays as it is, so that a second pass changes nothing. A pod's class is asked by the first
// container: its claim is the pod's, whichever container it is for.
constexpr absl::string_view kMutationPolicy = R"yaml(apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicy
metadata:
  name: classes.plimsoll.dev
  labels: {app.kubernetes.io/part-of: plimsoll}
spec:
  failurePolicy: Fail
  reinvocationPolicy: IfNeeded
  matchConstraints:
    resourceRules:
    - {apiGroups: [""], apiVersions: ["v1"], operations: [CREATE], resources: [pods]}
  matchConditions:
  - name: names-a-class
    expression: >-
      has(object.metadata.annotations) &&
      object.metadata.annotations.exists(k, @is_class_key@)
  - name: is-not-static
    expression: >-
      !has(object.metadata.annotations) ||
      !('kubernetes.io/config.mirror' in object.metadata.annotations)
  variables:
  - name: given
    expression: object.metadata.annotations
  - name: specs
    expression: >-
      object.spec.containers +
      (has(object.spec.initContainers) ? object.spec.initContainers : [])
  - name: paths
    expression: >-
      lists.range(object.spec.containers.size()).map(i, '/spec/containers/' + string(i)) +
      (has(object.spec.initContainers)
      ? lists.range(object.spec.initContainers.size()).map(i, '/spec/initContainers/' + string(i))
      : [])
  - name: known
    expression: >-
      @known@
  @types@
  # For each container, the resources that it lacks.
  - name: wanted
    expression: >-
      lists.range(variables.paths.size()).map(i,
        [@type_variables@].map(asked, asked[i]).filter(r,
          r != '' && !(r in variables.specs[i].?resources.?limits.orValue({}))))
  mutations:
  - patchType: JSONPatch
    jsonPatch:
      expression: >-
        lists.range(variables.paths.size()).filter(i,
          variables.wanted[i].size() > 0 && !has(variables.specs[i].resources)).map(i,
          JSONPatch{op: 'add', path: variables.paths[i] + '/resources', value: {}}) +
        lists.range(variables.paths.size()).filter(i, variables.wanted[i].size() > 0 &&
          !(has(variables.specs[i].resources) && has(variables.specs[i].resources.limits))).map(i,
          JSONPatch{op: 'add', path: variables.paths[i] + '/resources/limits', value: {}}) +
        lists.range(variables.paths.size()).map(i, variables.wanted[i].map(r,
          JSONPatch{
            op: 'add',
            path: variables.paths[i] + '/resources/limits/' + jsonpatch.escapeKey(r),
            value: '1'})).flatten()
---
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicyBinding
metadata:
  name: classes.plimsoll.dev
  labels: {app.kubernetes.io/part-of: plimsoll}
spec:
  policyName: classes.plimsoll.dev
)yaml";

// For each container, the resource of the type's class that the first of its annotations names.
constexpr absl::string_view kContainerType = R"yaml(# @type@
- name: @variable@
  expression: >-
    variables.specs.map(c, [
      @keys@
    ].filter(k, k in variables.given))
    .map(keys, keys.size() == 0 ? '' : string(variables.given[keys[0]]))
    .map(name, name in variables.known.container[@type@]
      ? variables.known.container[@type@][name] : '')
)yaml";

constexpr absl::string_view kPodType = R"yaml(# @type@, of the pod
- name: @variable@
  expression: >-
    variables.paths.map(p, p == '/spec/containers/0' && @key@ in variables.given
      ? string(variables.given[@key@]) : '')
    .map(name, name in variables.known.pod[@type@]
      ? variables.known.pod[@type@][name] : '')
    .map(r, r != '' && variables.specs.exists(c, r in c.?resources.?limits.orValue({}))
      ? '' : r)
)yaml";

std::string ContainerType(const std::string& type, const std::string& variable) {
  return Fill(kContainerType, {{"type", CelString(type)},
                               {"variable", variable},
                               {"keys", absl::StrJoin(ContainerKeysInCel(type, "c.name"), ",\n")}});
}

std::string PodType(const std::string& type, const std::string& variable) {
  return Fill(
      kPodType,
      {{"type", CelString(type)}, {"variable", variable}, {"key", CelString(PodKey(type))}});
}

}  // namespace

std::string MutationPolicy(const std::vector<qos::ClassId>& classes) {
  std::string types;
  std::vector<std::string> variables;
  for (const auto& [type, unused] : ByType(classes)) {
    if (!CanBeInKey(type.second)) continue;
    const std::string variable = absl::StrCat("type", variables.size());
    absl::StrAppend(&types, type.first == qos::Level::kPod ? PodType(type.second, variable)
                                                           : ContainerType(type.second, variable));
    variables.push_back(absl::StrCat("variables.", variable));
  }
  return Fill(kMutationPolicy, {{"is_class_key", IsClassKey("k")},
                                {"known", KnownClassesInCel(classes)},
                                {"types", types},
                                {"type_variables", absl::StrJoin(variables, ", ")}});
}

}  // namespace plimsoll::kube
