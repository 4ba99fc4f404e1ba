// The class type "pod-qos": Kubernetes' QoS class of a pod, for display (KEP-3008 "Pod QoS class").
// It changes nothing in the kernel; kubelet's choice of cgroups and OOM scores does.
#ifndef PLIMSOLL_QOS_POD_QOS_H_
#define PLIMSOLL_QOS_POD_QOS_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "linux/cgroup/settings.h"
#include "qos/class_type.h"

namespace plimsoll::qos {

inline constexpr char kPodQos[] = "pod-qos";

class PodQosType : public ClassType {
 public:
  std::string name() const override { return kPodQos; }
  Level level() const override { return Level::kPod; }
  bool immutable() const override { return true; }
  bool is_informative() const override { return true; }
  std::string default_class() const override { return ""; }  // see DerivePodQos
  std::vector<ClassInfo> classes() const override;
  absl::Status Assign(const Target&, absl::string_view, absl::string_view) override {
    return absl::OkStatus();
  }
  absl::Status Release(const Target&, absl::string_view) override { return absl::OkStatus(); }
  absl::StatusOr<std::string> Drift(const Target&, absl::string_view) const override {
    return std::string();
  }
};

// "Guaranteed", "Burstable" or "BestEffort", by the group that kubelet puts the pod in
// ("/kubepods/burstable/pod...", "kubepods-besteffort-pod....slice"; a pod right below kubepods is
// Guaranteed). For a pod elsewhere the limits decide: BestEffort without any, Guaranteed with both
// CPU and memory limited and nothing less requested (the shares match the quota), Burstable in
// between.
std::string DerivePodQos(absl::string_view cgroup_parent, const linux::CgroupSettings& resources);

}  // namespace plimsoll::qos

#endif  // PLIMSOLL_QOS_POD_QOS_H_
