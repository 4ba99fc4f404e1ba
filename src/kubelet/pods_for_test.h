// For tests: pods as kubelet reports them.
#ifndef PLIMSOLL_KUBELET_PODS_FOR_TEST_H_
#define PLIMSOLL_KUBELET_PODS_FOR_TEST_H_

#include <string>

#include "k8s.io/api/core/v1/generated.pb.h"
#include "kubelet/podresources/v1/api.pb.h"
#include "kubelet/pods/v1alpha1/api.pb.h"
#include "runtime/spec/pod_facts.h"

namespace plimsoll::kubelet {

namespace core = ::k8s::io::api::core::v1;

inline const runtime::PodIdentity kWeb = {"uid-1", "web", "shop"};

// The pod `kWeb` with an init container "setup", a sidecar "proxy" and a container "web".
inline core::Pod WebPod() {
  core::Pod pod;
  pod.mutable_metadata()->set_uid(kWeb.uid);
  pod.mutable_metadata()->set_name(kWeb.name);
  pod.mutable_metadata()->set_namespace_(kWeb.pod_namespace);
  core::PodSpec& spec = *pod.mutable_spec();
  core::Container& setup = *spec.add_initcontainers();
  setup.set_name("setup");
  (*setup.mutable_resources()->mutable_limits())["cpu"].set_string("2");
  core::Container& proxy = *spec.add_initcontainers();
  proxy.set_name("proxy");
  proxy.set_restartpolicy("Always");
  (*proxy.mutable_resources()->mutable_requests())["memory"].set_string("0.5Gi");
  core::Container& web = *spec.add_containers();
  web.set_name("web");
  (*web.mutable_resources()->mutable_requests())["cpu"].set_string("0.50");
  (*web.mutable_resources()->mutable_limits())["memory"].set_string("1024Mi");
  return pod;
}

inline core::Container& FirstContainer(core::Pod& pod) {
  return *pod.mutable_spec()->mutable_containers(0);
}

inline std::string AnswerOf(const core::Pod& pod) {
  ::v1alpha1::GetPodResponse response;
  response.set_pod(pod.SerializeAsString());
  return response.SerializeAsString();
}

// Grants to the pod's container "web".
inline ::v1::PodResources WebGrants() {
  ::v1::PodResources grants;
  grants.set_name(kWeb.name);
  grants.set_namespace_(kWeb.pod_namespace);
  ::v1::ContainerResources& web = *grants.add_containers();
  web.set_name("web");
  for (const int64_t cpu : {5, 2, 3}) web.add_cpu_ids(cpu);
  ::v1::ContainerMemory& memory = *web.add_memory();
  memory.set_memory_type("memory");
  memory.set_size(1 << 30);
  memory.mutable_topology()->add_nodes()->set_id(1);
  for (const char* id : {"gpu-1", "gpu-0"}) {
    ::v1::ContainerDevices& devices = *web.add_devices();
    devices.set_resource_name("example.com/gpu");
    devices.add_device_ids(id);
    devices.mutable_topology()->add_nodes()->set_id(id[4] - '0');
  }
  ::v1::ClaimResource& claim = *web.add_dynamic_resources()->add_claim_resources();
  claim.add_cdi_devices()->set_name("classes.plimsoll.dev/rdt=gold");
  return grants;
}

inline std::string AnswerOf(const ::v1::PodResources& grants) {
  ::v1::GetPodResourcesResponse response;
  *response.mutable_pod_resources() = grants;
  return response.SerializeAsString();
}

}  // namespace plimsoll::kubelet

#endif  // PLIMSOLL_KUBELET_PODS_FOR_TEST_H_
