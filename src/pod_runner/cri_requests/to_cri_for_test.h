// For tests: a pod and what ToCri needs beside it.
#ifndef PLIMSOLL_POD_RUNNER_CRI_REQUESTS_TO_CRI_FOR_TEST_H_
#define PLIMSOLL_POD_RUNNER_CRI_REQUESTS_TO_CRI_FOR_TEST_H_

#include <string>

#include "gtest/gtest.h"
#include "pod_runner/cri_requests/to_cri.h"
#include "pod_runner/manifest/manifest.h"

namespace plimsoll::pod {

inline constexpr char kUsualPod[] = R"yaml(apiVersion: v1
kind: Pod
metadata:
  name: web
  annotations: {plimsoll.dev/cpuset: "0-1", plimsoll.dev/cpuset.app: "1"}
spec:
  volumes: [{name: data, emptyDir: {}}]
  securityContext: {runAsUser: 1000}
  initContainers:
    - {name: init, image: i}
  containers:
    - name: app
      image: app:1
      command: ["sh", "-c", "echo $(WHO)"]
      env: [{name: WHO, value: me}]
      volumeMounts: [{name: data, mountPath: /data, subPath: x, readOnly: true}]
      resources:
        requests: {cpu: 100m, memory: 1Gi}
        limits: {cpu: 500m, memory: 1536Mi}
      securityContext: {runAsUser: 0, runAsGroup: 5, allowPrivilegeEscalation: false}
)yaml";

inline Manifest ParsePod(const std::string& text) {
  const auto pods = ParseManifests(text, "pod.yaml");
  EXPECT_TRUE(pods.ok()) << pods.status();
  return pods.ok() ? pods->front() : Manifest();
}

inline PodContext UsualContext() {
  PodContext context;
  context.uid = "0000-uid";
  context.log_directory = "/logs";
  context.volumes = {{"data", "/host/data"}};
  context.memory_capacity_bytes = int64_t{4} << 30;
  context.host_dns = ParseResolvConf("nameserver 10.0.0.1\nsearch local\n");
  return context;
}

// The text with `to` in place of the first `from`.
inline std::string Replaced(std::string text, const std::string& from, const std::string& to) {
  const size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

}  // namespace plimsoll::pod

#endif  // PLIMSOLL_POD_RUNNER_CRI_REQUESTS_TO_CRI_FOR_TEST_H_
