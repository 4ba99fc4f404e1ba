// The ValidatingAdmissionPolicies that hold each plimsoll-kube to its node.
#include <string>
#include <vector>

#include "kube/manifests/manifests.h"
#include "kube/manifests/policies.h"
#include "kube/manifests/text.h"

namespace plimsoll::kube {
namespace {

// RBAC can't say "the Node that the token is bound to". The API server takes that node from the
// token (Kubernetes 1.30), so that a token carried to another machine writes nothing else.
constexpr absl::string_view kOwnNodePolicy = R"yaml(apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata:
  name: @policy@
  labels: {app.kubernetes.io/part-of: plimsoll}
spec:
  failurePolicy: Fail
  matchConstraints:
    resourceRules:
    @rules@
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
  @validations@
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata:
  name: @policy@
  labels: {app.kubernetes.io/part-of: plimsoll}
spec:
  policyName: @policy@
  validationActions: [Deny]
)yaml";

constexpr absl::string_view kSliceRules = R"yaml(- apiGroups: [resource.k8s.io]
  apiVersions: ["v1"]
  operations: [CREATE, UPDATE, DELETE]
  resources: [resourceslices]
)yaml";
constexpr absl::string_view kSlices = R"yaml(- expression: >-
    variables.objects.all(o, o.spec.driver == 'classes.plimsoll.dev' &&
      has(o.spec.nodeName) && o.spec.nodeName == variables.node &&
      o.spec.pool.name == variables.node)
  reason: Forbidden
  message: a plimsoll-kube may write only its own node's ResourceSlices of classes.plimsoll.dev
)yaml";

constexpr absl::string_view kTopologyRules = R"yaml(- apiGroups: [topology.node.k8s.io]
  apiVersions: ["*"]
  operations: [CREATE, UPDATE, DELETE]
  resources: [noderesourcetopologies]
)yaml";
constexpr absl::string_view kTopology =
    R"yaml(- expression: variables.objects.all(o, o.metadata.name == variables.node)
  reason: Forbidden
  message: a plimsoll-kube may write only its own node's NodeResourceTopology
)yaml";

// A Node's spec can't be told from another's change by RBAC either: labels and annotations below
// plimsoll.dev/, and conditions of its own, are all that may differ.
constexpr absl::string_view kNodeRules = R"yaml(- apiGroups: [""]
  apiVersions: ["v1"]
  operations: [CREATE, UPDATE, DELETE]
  resources: [nodes, nodes/status]
)yaml";
constexpr absl::string_view kNode =
    R"yaml(- expression: variables.objects.all(o, o.metadata.name == variables.node)
  reason: Forbidden
  message: a plimsoll-kube may write only its own Node
- expression: >-
    object != null && oldObject != null && object.?spec == oldObject.?spec &&
    object.metadata.?finalizers == oldObject.metadata.?finalizers &&
    object.metadata.?ownerReferences == oldObject.metadata.?ownerReferences
  reason: Forbidden
  message: a plimsoll-kube may not change a node's spec
- expression: >-
    [object.metadata.?labels.orValue({}), oldObject.metadata.?labels.orValue({})].all(m,
      m.all(k, k.startsWith('plimsoll.dev/') ||
        (object.metadata.?labels[?k] == oldObject.metadata.?labels[?k])))
  reason: Forbidden
  message: a plimsoll-kube may change a node's labels below plimsoll.dev/ only
- expression: >-
    [object.metadata.?annotations.orValue({}), oldObject.metadata.?annotations.orValue({})].all(m,
      m.all(k, k.startsWith('plimsoll.dev/') ||
        (object.metadata.?annotations[?k] == oldObject.metadata.?annotations[?k])))
  reason: Forbidden
  message: a plimsoll-kube may change a node's annotations below plimsoll.dev/ only
- expression: >-
    dyn(object).?status.?capacity == dyn(oldObject).?status.?capacity &&
    dyn(object).?status.?allocatable == dyn(oldObject).?status.?allocatable &&
    dyn(object).?status.?addresses == dyn(oldObject).?status.?addresses &&
    dyn(object).?status.?daemonEndpoints == dyn(oldObject).?status.?daemonEndpoints &&
    dyn(object).?status.?nodeInfo == dyn(oldObject).?status.?nodeInfo &&
    dyn(object).?status.?images == dyn(oldObject).?status.?images &&
    dyn(object).?status.?volumesAttached == dyn(oldObject).?status.?volumesAttached
  reason: Forbidden
  message: a plimsoll-kube may change a node's conditions only
- expression: >-
    dyn(object).?status.?conditions.orValue([]).all(c, c.type.startsWith('Plimsoll') ||
      dyn(oldObject).?status.?conditions.orValue([]).exists(d, c == d)) &&
    dyn(oldObject).?status.?conditions.orValue([]).all(c, c.type.startsWith('Plimsoll') ||
      dyn(object).?status.?conditions.orValue([]).exists(d, c == d))
  reason: Forbidden
  message: a plimsoll-kube may change a node's conditions Plimsoll... only
)yaml";

constexpr absl::string_view kEventRules = R"yaml(- apiGroups: [events.k8s.io]
  apiVersions: ["v1"]
  operations: [CREATE, UPDATE]
  resources: [events]
)yaml";
constexpr absl::string_view kEvents = R"yaml(- expression: >-
    has(object.regarding) && object.regarding.?kind.orValue('') == 'Node' &&
    object.regarding.?name.orValue('') == variables.node
  reason: Forbidden
  message: a plimsoll-kube may write only Events about its own Node
)yaml";

}  // namespace

std::vector<std::string> OwnNodePolicies(const std::string& name_space) {
  const auto policy = [&](const std::string& name, absl::string_view rules,
                          absl::string_view validations) {
    return Fill(kOwnNodePolicy, {{"policy", name},
                                 {"rules", std::string(rules)},
                                 {"validations", std::string(validations)},
                                 {"namespace", name_space},
                                 {"account", kServiceAccount}});
  };
  return {policy("own-slices.plimsoll.dev", kSliceRules, kSlices),
          policy("own-topology.plimsoll.dev", kTopologyRules, kTopology),
          policy("own-node.plimsoll.dev", kNodeRules, kNode),
          policy("own-events.plimsoll.dev", kEventRules, kEvents)};
}

}  // namespace plimsoll::kube
