// ValidatingAdmissionPolicies about pods' classes. They need Kubernetes 1.30: no lists.range, no
// flatten.
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "kube/manifests/class_annotations.h"
#include "kube/manifests/known_classes.h"
#include "kube/manifests/manifests.h"
#include "kube/manifests/policies.h"
#include "kube/manifests/text.h"

namespace plimsoll::kube {
namespace {

constexpr absl::string_view kBinding = R"yaml(---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata:
  name: @policy@
  labels: {app.kubernetes.io/part-of: plimsoll}
spec:
  policyName: @policy@
  validationActions: [@action@]
)yaml";

constexpr absl::string_view kHead = R"yaml(apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata:
  name: @policy@
  labels: {app.kubernetes.io/part-of: plimsoll}
spec:
  failurePolicy: Fail
)yaml";

// Names, by KEP-3008 ("Pod Spec": as labels), or of a class that is known. A level is "pod" for
// the key of the pod's own class.
constexpr absl::string_view kNames = R"yaml(  matchConstraints:
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
  - name: known
    expression: >-
      @known@
  - name: names
    expression: >-
      @names@
  - name: typeNames
    expression: >-
      @type_names@
  - name: asked
    expression: >-
      object.metadata.annotations.filter(k,
        @is_class_key@ && object.metadata.annotations[k] != '').map(k, {
          'key': string(k),
          'class': string(object.metadata.annotations[k]),
          'level': k.endsWith('.class.plimsoll.dev/sandbox') ? 'pod' : 'container',
          'type': string(@type_of_key@)})
  - name: untyped
    expression: >-
      variables.asked.filter(x, !(x.type in variables.known[x.level]))
  - name: malformed
    expression: >-
      variables.asked.filter(x, x.type in variables.known[x.level] &&
        !(x['class'] in variables.known[x.level][x.type]) &&
        !x['class'].matches('^[A-Za-z0-9]([A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?$'))
  - name: unknown
    expression: >-
      variables.asked.filter(x, x.type in variables.known[x.level] &&
        !(x['class'] in variables.known[x.level][x.type]))
  validations:
  - expression: variables.untyped.size() == 0
    reason: Invalid
    message: an annotation names a type of QoS classes that this cluster doesn't have
    messageExpression: >-
      'annotation ' + variables.untyped[0].key + ': this cluster has no type of QoS classes "' +
      variables.untyped[0].type + '" for ' + variables.untyped[0].level + 's; it has ' +
      variables.typeNames[variables.untyped[0].level]
  - expression: variables.malformed.size() == 0
    reason: Invalid
    message: >-
      the value of a class annotation is not the name of a class: 1 to 63 letters, digits, '-', '_'
      and '.', the first and last a letter or digit
    messageExpression: >-
      'annotation ' + variables.malformed[0].key + ': "' + (variables.malformed[0]['class'].size() > 80
      ? variables.malformed[0]['class'].substring(0, 80) + '...' : variables.malformed[0]['class']) +
      '" is not the name of a class: 1 to 63 letters, digits, "-", "_" and ".", the first and last ' +
      'a letter or digit'
  - expression: variables.malformed.size() > 0 || variables.unknown.size() == 0
    reason: Invalid
    message: an annotation names a QoS class that this cluster doesn't have
    messageExpression: >-
      'annotation ' + variables.unknown[0].key + ': type ' + variables.unknown[0].type +
      ' has no class "' + variables.unknown[0]['class'] + '" in this cluster; it has ' +
      variables.names[variables.unknown[0].level][variables.unknown[0].type]
)yaml";

// Class resources, however a container came by them.
constexpr absl::string_view kResources = R"yaml(  matchConstraints:
    resourceRules:
    - {apiGroups: [""], apiVersions: ["v1"], operations: [CREATE], resources: [pods]}
  matchConditions:
  - name: asks-for-a-class
    expression: >-
      (object.spec.containers +
      (has(object.spec.initContainers) ? object.spec.initContainers : [])).exists(c,
        has(c.resources) && has(c.resources.limits) &&
        c.resources.limits.exists(k, @is_class_resource@))
  - name: is-not-static
    expression: >-
      !has(object.metadata.annotations) ||
      !('kubernetes.io/config.mirror' in object.metadata.annotations)
  variables:
  - name: resources
    expression: >-
      @resources@
  - name: types
    expression: >-
      @types@
  # Containers with their class resources.
  - name: holders
    expression: >-
      (object.spec.containers +
      (has(object.spec.initContainers) ? object.spec.initContainers : [])).filter(c,
        has(c.resources) && has(c.resources.limits) &&
        c.resources.limits.exists(k, @is_class_resource@))
  - name: strangers
    expression: >-
      variables.holders.map(c, c.resources.limits.filter(k,
        @is_class_resource@ && !(k in variables.resources))).filter(l, l.size() > 0)
  @allowed@
  - name: forbidden
    expression: >-
      variables.holders.map(c, c.resources.limits.filter(k, k in variables.resources &&
        !variables.allowed.exists(a, a == '*' || a == variables.resources[k])))
      .filter(l, l.size() > 0)
  validations:
  - expression: variables.strangers.size() == 0
    reason: Invalid
    message: a container's limits have a QoS class that this cluster doesn't have
    messageExpression: >-
      'resource ' + string(variables.strangers[0][0]) + ': this cluster has no such QoS class; ' +
      'see kubectl get deviceclasses'
  - expression: >-
      variables.holders.all(c, c.resources.limits.all(k, !(k in variables.resources) ||
        quantity(string(c.resources.limits[k])).compareTo(quantity('1')) == 0))
    reason: Invalid
    message: a container asks for a QoS class with another quantity than 1
  - expression: >-
      variables.holders.all(c, c.resources.limits.all(k, !(k in variables.resources) ||
        c.resources.limits.exists_one(q, q in variables.resources &&
          variables.types[q] == variables.types[k])))
    reason: Invalid
    message: >-
      a container asks for two QoS classes of one type, or twice for one: by annotation and by its
      limits, or by class.plimsoll.dev/ and deviceclass.resource.kubernetes.io/
  - expression: >-
      variables.holders.filter(c, c.resources.limits.exists(k, k in variables.resources &&
        variables.types[k].startsWith('pod '))).all(c, c.resources.limits.all(k,
          !(k in variables.resources) || !variables.types[k].startsWith('pod ') ||
          variables.holders.exists_one(d, d.resources.limits.exists(q, q in variables.resources &&
            variables.types[q] == variables.types[k]))))
    reason: Invalid
    message: two containers ask for the QoS class of their pod; one of them is enough
  - expression: variables.forbidden.size() == 0
    reason: Forbidden
    message: the namespace may not use this QoS class
    messageExpression: >-
      'namespace ' + request.namespace + ' may not use QoS class ' +
      variables.resources[variables.forbidden[0][0]] + '; its annotation class.plimsoll.dev/allowed ' +
      (variables.listed ? 'lists: ' + variables.allowed.join(', ') : 'is missing')
)yaml";

// The names that the namespace lists, or "*".
constexpr absl::string_view kAllowed = R"yaml(- name: listed
  expression: >-
    has(namespaceObject.metadata.annotations) &&
    'class.plimsoll.dev/allowed' in namespaceObject.metadata.annotations
- name: allowed
  expression: >-
    variables.listed
    ? string(namespaceObject.metadata.annotations['class.plimsoll.dev/allowed']).split(',').map(s, s.trim())
    : @otherwise@
)yaml";

// Status counts: who may write a pod's status may write its annotations there. kubelet's own
// updates come this way too, many a minute, and end at the condition.
constexpr absl::string_view kChanges = R"yaml(  matchConstraints:
    resourceRules:
    - apiGroups: [""]
      apiVersions: ["v1"]
      operations: [UPDATE]
      resources: [pods, pods/status, pods/ephemeralcontainers, pods/resize]
  matchConditions:
  - name: has-a-class
    expression: >-
      (has(object.metadata.annotations) &&
      object.metadata.annotations.exists(k, @is_class_key@)) ||
      (has(oldObject.metadata.annotations) &&
      oldObject.metadata.annotations.exists(k, @is_class_key@))
  variables:
  - name: before
    expression: "has(oldObject.metadata.annotations) ? oldObject.metadata.annotations : {}"
  - name: after
    expression: "has(object.metadata.annotations) ? object.metadata.annotations : {}"
  - name: changed
    expression: >-
      variables.before.filter(k, @is_class_key@ &&
        !(k in variables.after && variables.after[k] == variables.before[k])) +
      variables.after.filter(k, @is_class_key@ && !(k in variables.before))
  validations:
  - expression: variables.changed.size() == 0
    reason: Invalid
    message: annotations of QoS classes can't change after the pod's creation
    messageExpression: >-
      'annotation ' + string(variables.changed[0]) +
      ': annotations of QoS classes can\'t change after the pod\'s creation'
)yaml";

// The scheduler's answer may carry annotations for the pod.
constexpr absl::string_view kBindings = R"yaml(  matchConstraints:
    resourceRules:
    - {apiGroups: [""], apiVersions: ["v1"], operations: [CREATE], resources: [pods/binding, bindings]}
  validations:
  - expression: >-
      !has(object.metadata.annotations) ||
      !object.metadata.annotations.exists(k, @is_class_key@)
    reason: Invalid
    message: annotations of QoS classes can't change after the pod's creation
)yaml";

constexpr absl::string_view kHints = R"yaml(  matchConstraints:
    resourceRules:
    - {apiGroups: [""], apiVersions: ["v1"], operations: [CREATE], resources: [pods]}
  matchConditions:
  - name: names-a-class
    expression: >-
      has(object.metadata.annotations) &&
      object.metadata.annotations.exists(k, @is_class_key@)
  variables:
  - name: misplaced
    expression: >-
      object.metadata.annotations.filter(k, @is_class_key@ && !@has_known_place@)
  - name: lost
    expression: >-
      object.metadata.annotations.filter(k, @is_class_key@ && k.contains('/container.') &&
        !(object.spec.containers +
        (has(object.spec.initContainers) ? object.spec.initContainers : [])).exists(c,
          k.endsWith('/container.' + c.name)))
  validations:
  - expression: variables.misplaced.size() == 0
    message: an annotation of QoS classes has no effect
    messageExpression: >-
      'annotation ' + string(variables.misplaced[0]) + ' has no effect: ' +
      'no such place for a QoS class is read'
  - expression: variables.lost.size() == 0
    message: an annotation of QoS classes has no effect
    messageExpression: >-
      'annotation ' + string(variables.lost[0]) + ' has no effect: the pod has no such container'
)yaml";

// Claims by hand. The scheduler's own for extended resources pass here too.
constexpr absl::string_view kClaims = R"yaml(  matchConstraints:
    resourceRules:
    - apiGroups: [resource.k8s.io]
      apiVersions: ["v1"]
      operations: [CREATE]
      resources: [resourceclaims, resourceclaimtemplates]
  variables:
  - name: deviceClasses
    expression: >-
      @device_classes@
  - name: requests
    expression: >-
      (request.resource.resource == 'resourceclaimtemplates' ? object.spec.spec : object.spec)
      .?devices.?requests.orValue([])
  @allowed@
  # For each request, the classes that the namespace may not use. Of a class that the map doesn't
  # have the name itself counts, which no list holds.
  - name: forbidden
    expression: >-
      variables.requests.map(r,
        (has(r.exactly) ? [string(r.exactly.deviceClassName)]
        : r.?firstAvailable.orValue([]).map(s, string(s.deviceClassName)))
        .filter(d, d.endsWith('.classes.plimsoll.dev') && !variables.allowed.exists(a,
          a == '*' || a == (d in variables.deviceClasses ? variables.deviceClasses[d] : d))))
      .filter(l, l.size() > 0)
  validations:
  - expression: variables.forbidden.size() == 0
    reason: Forbidden
    message: the namespace may not use this QoS class
    messageExpression: >-
      'namespace ' + request.namespace + ' may not use DeviceClass ' + variables.forbidden[0][0] +
      '; its annotation class.plimsoll.dev/allowed ' +
      (variables.listed ? 'lists: ' + variables.allowed.join(', ') : 'is missing')
)yaml";

// Scheduler and quota count a claim once, however many pods it is reserved for, and kubelet asks
// the driver for the first of them alone. So the scheduler's reservation for a second one is
// refused.
constexpr absl::string_view kSharing = R"yaml(  matchConstraints:
    resourceRules:
    - apiGroups: [resource.k8s.io]
      apiVersions: ["v1"]
      operations: [UPDATE]
      resources: [resourceclaims/status]
  matchConditions:
  - name: gets-one-more-pod
    expression: >-
      object.?status.?reservedFor.orValue([]).size() > 1 &&
      object.?status.?reservedFor.orValue([]).size() >
      oldObject.?status.?reservedFor.orValue([]).size()
  validations:
  - expression: >-
      !object.?status.?allocation.?devices.?results.orValue([]).exists(r,
        r.driver == 'classes.plimsoll.dev')
    reason: Forbidden
    message: >-
      a ResourceClaim with a QoS class is for one pod, as it counts once: give each pod a claim of its
      own by a ResourceClaimTemplate, or ask for the extended resource in a container's limits
)yaml";

// Keys of a container's limits that ask for a class.
constexpr absl::string_view kIsClassResource =
    "(k.startsWith('class.plimsoll.dev/') || (k.startsWith('deviceclass.resource.kubernetes.io/')"
    " && k.endsWith('.classes.plimsoll.dev')))";

std::string Policy(const std::string& name, absl::string_view rest, Holes holes,
                   const std::string& action = "Deny") {
  const Holes own = {{"policy", name}, {"action", action}};
  holes.insert(holes.begin(), own.begin(), own.end());
  return Fill(absl::StrCat(kHead, rest, kBinding), holes);
}

}  // namespace

std::vector<std::string> PodPolicies(const std::vector<qos::ClassId>& classes, bool closed) {
  const Holes keys = {{"is_class_key", IsClassKey("k")},
                      {"has_known_place", HasKnownPlace("k")},
                      {"type_of_key", TypeOfKey("k")}};
  const std::string allowed = Fill(kAllowed, {{"otherwise", closed ? "[]" : "['*']"}});
  Holes names = keys;
  names.emplace_back("known", KnownClassesInCel(classes));
  names.emplace_back("names", NamesInCel(classes));
  names.emplace_back("type_names", TypeNamesInCel(classes));
  return {
      Policy("class-names.plimsoll.dev", kNames, names),
      Policy("class-resources.plimsoll.dev", kResources,
             {{"is_class_resource", std::string(kIsClassResource)},
              {"resources", ResourcesInCel(classes)},
              {"types", ResourceTypesInCel(classes)},
              {"allowed", allowed}}),
      Policy("class-claims.plimsoll.dev", kClaims,
             {{"device_classes", DeviceClassesInCel(classes)}, {"allowed", allowed}}),
      Policy("class-sharing.plimsoll.dev", kSharing, {}),
      Policy("class-changes.plimsoll.dev", kChanges, keys),
      Policy("class-bindings.plimsoll.dev", kBindings, keys),
      Policy("class-hints.plimsoll.dev", kHints, keys, "Warn"),
  };
}

}  // namespace plimsoll::kube
