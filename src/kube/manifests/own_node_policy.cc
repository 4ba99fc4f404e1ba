// The ValidatingAdmissionPolicy that holds each plimsoll-kube to its node.
#include <string>

#include "kube/manifests/manifests.h"
#include "kube/manifests/policies.h"
#include "kube/manifests/text.h"

namespace plimsoll::kube {
namespace {

// RBAC can't say "the Node that the token is bound to". The API server takes that node from the
// token (Kubernetes 1.30), so that a token carried to another machine writes nothing else.
constexpr absl::string_view kPolicy = R"yaml(apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata:
  name: own-node.plimsoll.dev
  labels: {app.kubernetes.io/part-of: plimsoll}
spec:
  failurePolicy: Fail
  matchConstraints:
    resourceRules:
    - apiGroups: [resource.k8s.io]
      apiVersions: ["v1"]
      operations: [CREATE, UPDATE, DELETE]
      resources: [resourceslices]
    - apiGroups: [topology.node.k8s.io]
      apiVersions: ["*"]
      operations: [CREATE, UPDATE, DELETE]
      resources: [noderesourcetopologies]
    - {apiGroups: [""], apiVersions: ["v1"], operations: ["*"], resources: [nodes, nodes/status]}
  matchConditions:
  - name: is-plimsoll-kube
    expression: request.userInfo.username == 'system:serviceaccount:@namespace@:@account@'
  variables:
  - name: node
    expression: >-
      has(request.userInfo.extra) &&
      'authentication.kubernetes.io/node-name' in request.userInfo.extra
      ? request.userInfo.extra['authentication.kubernetes.io/node-name'][0] : ''
  - name: objects
    expression: >-
      (object != null ? [object] : []) + (oldObject != null ? [oldObject] : [])
  validations:
  - expression: variables.node != ''
    reason: Forbidden
    message: the token of this plimsoll-kube is bound to no node; a DaemonSet's token is
  - expression: >-
      request.resource.resource != 'resourceslices' || variables.objects.all(o,
        o.spec.driver == 'classes.plimsoll.dev' && o.spec.?nodeName.orValue('') == variables.node &&
        o.spec.pool.name == variables.node)
    reason: Forbidden
    message: a plimsoll-kube may write only its own node's ResourceSlices of classes.plimsoll.dev
  - expression: >-
      request.resource.resource == 'resourceslices' ||
      variables.objects.all(o, o.metadata.name == variables.node)
    reason: Forbidden
    message: a plimsoll-kube may write only its own node's objects
  # Of a Node: labels and annotations below plimsoll.dev/, and conditions of its own.
  - expression: >-
      request.resource.resource != 'nodes' || (object != null && oldObject != null &&
      object.spec == oldObject.spec &&
      [object.metadata.?labels.orValue({}), oldObject.metadata.?labels.orValue({})].all(m,
        m.all(k, k.startsWith('plimsoll.dev/') || (
          k in object.metadata.?labels.orValue({}) && k in oldObject.metadata.?labels.orValue({}) &&
          object.metadata.labels[k] == oldObject.metadata.labels[k]))) &&
      [object.metadata.?annotations.orValue({}), oldObject.metadata.?annotations.orValue({})].all(m,
        m.all(k, k.startsWith('plimsoll.dev/') || (
          k in object.metadata.?annotations.orValue({}) &&
          k in oldObject.metadata.?annotations.orValue({}) &&
          object.metadata.annotations[k] == oldObject.metadata.annotations[k]))))
    reason: Forbidden
    message: a plimsoll-kube may change a node's labels and annotations below plimsoll.dev/ only
  - expression: >-
      request.resource.resource != 'nodes' || (object != null && oldObject != null &&
      ['capacity', 'allocatable', 'addresses', 'daemonEndpoints', 'nodeInfo'].all(f,
        (f in object.status) == (f in oldObject.status) &&
        (!(f in object.status) || object.status[f] == oldObject.status[f])) &&
      object.status.?conditions.orValue([]).all(c, c.type.startsWith('Plimsoll') ||
        oldObject.status.?conditions.orValue([]).exists(d, c == d)) &&
      oldObject.status.?conditions.orValue([]).all(c, c.type.startsWith('Plimsoll') ||
        object.status.?conditions.orValue([]).exists(d, c == d)))
    reason: Forbidden
    message: a plimsoll-kube may change a node's conditions Plimsoll... only
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata:
  name: own-node.plimsoll.dev
  labels: {app.kubernetes.io/part-of: plimsoll}
spec:
  policyName: own-node.plimsoll.dev
  validationActions: [Deny]
)yaml";

}  // namespace

std::string OwnNodePolicy(const std::string& name_space) {
  return Fill(kPolicy, {{"namespace", name_space}, {"account", kServiceAccount}});
}

}  // namespace plimsoll::kube
