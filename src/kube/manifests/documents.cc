#include "kube/manifests/documents.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "kube/manifests/known_classes.h"
#include "kube/manifests/text.h"

namespace plimsoll::kube {
namespace {

// The device's own name as attribute: type and class may be too long for one.
constexpr absl::string_view kDeviceClass = R"yaml(apiVersion: resource.k8s.io/v1
kind: DeviceClass
metadata:
  name: @name@
  labels: {app.kubernetes.io/part-of: plimsoll}
spec:
  extendedResourceName: @resource@
  selectors:
  - cel:
      expression: >-
        device.driver == 'classes.plimsoll.dev' &&
        device.attributes['classes.plimsoll.dev'].device == @device@
)yaml";

// A pod's extended resource counts under the first two keys; a claim under all three.
constexpr absl::string_view kQuota =
    R"yaml(# For a namespace: kubectl apply --namespace NAME -f -. A class is counted by each of its three keys:
# as a resource of containers, as the same by its DeviceClass, and as a claim's device.
apiVersion: v1
kind: ResourceQuota
metadata:
  name: classes.plimsoll.dev
  labels: {app.kubernetes.io/part-of: plimsoll}
spec:
  hard:
    @hard@
)yaml";

constexpr absl::string_view kNamespace = R"yaml(apiVersion: v1
kind: Namespace
metadata:
  name: @namespace@
  labels:
    app.kubernetes.io/part-of: plimsoll
    # For directories of the node, with kubelet's and plimsolld's sockets.
    pod-security.kubernetes.io/enforce: privileged
)yaml";

// Claims are read one by one, as kubelet names them: no list, no watch.
constexpr absl::string_view kRbac = R"yaml(apiVersion: v1
kind: ServiceAccount
metadata:
  name: @account@
  namespace: @namespace@
  labels: {app.kubernetes.io/part-of: plimsoll}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata:
  name: @account@
  labels: {app.kubernetes.io/part-of: plimsoll}
rules:
- apiGroups: [resource.k8s.io]
  resources: [resourceclaims]
  verbs: [get]
- apiGroups: [resource.k8s.io]
  resources: [resourceslices]
  verbs: [get, list, watch, create, update, delete]
- apiGroups: [""]
  resources: [nodes]
  verbs: [get, patch]
- apiGroups: [""]
  resources: [nodes/status]
  verbs: [patch]
- apiGroups: [topology.node.k8s.io]
  resources: [noderesourcetopologies]
  verbs: [get, create, patch, delete]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata:
  name: @account@
  labels: {app.kubernetes.io/part-of: plimsoll}
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: ClusterRole
  name: @account@
subjects:
- {kind: ServiceAccount, name: @account@, namespace: @namespace@}
---
# Events about Nodes are in this namespace.
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata:
  name: @account@
  namespace: default
  labels: {app.kubernetes.io/part-of: plimsoll}
rules:
- apiGroups: [events.k8s.io]
  resources: [events]
  verbs: [create]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata:
  name: @account@
  namespace: default
  labels: {app.kubernetes.io/part-of: plimsoll}
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: Role
  name: @account@
subjects:
- {kind: ServiceAccount, name: @account@, namespace: @namespace@}
)yaml";

// Root without a single capability: kubelet makes plugins_registry with mode 0750 for root. Mounted
// are directories, since a socket that is mounted itself is the old one after a restart.
constexpr absl::string_view kDaemonSet = R"yaml(apiVersion: apps/v1
kind: DaemonSet
metadata:
  name: plimsoll-kube
  namespace: @namespace@
  labels: {app.kubernetes.io/name: plimsoll-kube, app.kubernetes.io/part-of: plimsoll}
spec:
  selector:
    matchLabels: {app.kubernetes.io/name: plimsoll-kube}
  updateStrategy:
    type: RollingUpdate
    rollingUpdate: {maxUnavailable: 10%}
  template:
    metadata:
      labels: {app.kubernetes.io/name: plimsoll-kube, app.kubernetes.io/part-of: plimsoll}
    spec:
      serviceAccountName: @account@
      priorityClassName: system-node-critical
      nodeSelector: {@node_selector@}
      tolerations:
      - {operator: Exists}
      enableServiceLinks: false
      terminationGracePeriodSeconds: 15
      containers:
      - name: plimsoll-kube
        image: @image@
        imagePullPolicy: IfNotPresent
        args:
        - --socket=@socket_dir@/cluster.sock
        - --kubelet-root=@kubelet_root@
        env:
        - name: NODE_NAME
          valueFrom: {fieldRef: {fieldPath: spec.nodeName}}
        resources:
          requests: {cpu: 10m, memory: 32Mi}
          limits: {memory: 64Mi}
        securityContext:
          runAsUser: 0
          runAsGroup: 0
          allowPrivilegeEscalation: false
          readOnlyRootFilesystem: true
          capabilities: {drop: [ALL]}
          seccompProfile: {type: RuntimeDefault}
        volumeMounts:
        - {name: socket, mountPath: @socket_dir@, readOnly: true}
        - {name: registry, mountPath: @kubelet_root@/plugins_registry}
        - {name: plugin, mountPath: @kubelet_root@/plugins/classes.plimsoll.dev}
        - {name: state, mountPath: /var/lib/plimsoll-kube}
      volumes:
      - name: socket
        hostPath: {path: @socket_dir@, type: Directory}
      - name: registry
        hostPath: {path: @kubelet_root@/plugins_registry, type: Directory}
      - name: plugin
        hostPath: {path: @kubelet_root@/plugins/classes.plimsoll.dev, type: DirectoryOrCreate}
      - name: state
        hostPath: {path: /var/lib/plimsoll-kube, type: DirectoryOrCreate}
)yaml";

}  // namespace

std::string DeviceClass(const qos::ClassId& id) {
  return Fill(kDeviceClass, {{"name", qos::DeviceClassName(id)},
                             {"resource", qos::ExtendedResourceName(id)},
                             {"device", CelString(qos::DeviceName(id))}});
}

std::string Quota(const std::vector<qos::ClassId>& classes) {
  std::string hard;
  for (const qos::ClassId& id : classes) {
    const std::string device_class = qos::DeviceClassName(id);
    for (const std::string& key :
         {absl::StrCat("requests.", qos::ExtendedResourceName(id)),
          absl::StrCat("requests.deviceclass.resource.kubernetes.io/", device_class),
          absl::StrCat(device_class, ".deviceclass.resource.k8s.io/devices")}) {
      absl::StrAppend(&hard, key, ": \"0\"\n");
    }
  }
  return Fill(kQuota, {{"hard", hard}});
}

std::string Namespace(const std::string& name) {
  return Fill(kNamespace, {{"namespace", name}});
}

std::string Rbac(const std::string& name_space) {
  return Fill(kRbac, {{"namespace", name_space}, {"account", kServiceAccount}});
}

std::string DaemonSet(const ManifestOptions& options) {
  std::string selector = "kubernetes.io/os: linux";
  if (!options.node_label.empty()) {
    const std::pair<std::string, std::string> label =
        absl::StrSplit(options.node_label, absl::MaxSplits('=', 1));
    absl::StrAppend(&selector, ", ", label.first, ": \"", label.second, "\"");
  }
  return Fill(kDaemonSet, {{"namespace", options.name_space},
                           {"account", kServiceAccount},
                           {"image", absl::StrCat("\"", options.image, "\"")},
                           {"node_selector", selector},
                           {"socket_dir", options.socket_dir},
                           {"kubelet_root", options.kubelet_root}});
}

}  // namespace plimsoll::kube
