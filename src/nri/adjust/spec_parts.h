// The parts of ApplyToSpec (to_spec.h).
#ifndef PLIMSOLL_NRI_ADJUST_SPEC_PARTS_H_
#define PLIMSOLL_NRI_ADJUST_SPEC_PARTS_H_

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "nri/adjust/owners.h"
#include "nri/v1alpha1/api.pb.h"
#include "runtime/spec/container_spec.h"

namespace plimsoll::nri {

class SpecTarget {
 public:
  // Both must outlive it.
  SpecTarget(const Owners* owners, runtime::ContainerSpec* spec) : owners_(*owners), spec_(*spec) {}

  runtime::ContainerSpec& spec() const { return spec_; }
  const Owners& owners() const { return owners_; }

  // "plugin 10-a: env \"FOO\" <why>" with the field's or key's owner.
  absl::Status Wrong(absl::string_view path, absl::string_view key, absl::string_view why) const;
  absl::Status Impossible(absl::string_view path, absl::string_view key,
                          absl::string_view why) const;
  absl::Status Unsupported(absl::string_view path, absl::string_view key,
                           absl::string_view why) const;

 private:
  std::string Message(absl::string_view path, absl::string_view key, absl::string_view why) const;

  const Owners& owners_;
  runtime::ContainerSpec& spec_;
};

// "name" of "-name"; false for text without the mark.
bool TakeRemovalMark(absl::string_view* text);
// Whether text is an absolute path that the kernel takes.
bool IsAbsolutePath(absl::string_view text);

// Environment, arguments, hooks, rlimits, OOM score, annotations, CDI devices.
absl::Status ApplyProcess(const api::ContainerAdjustment& adjustment, const SpecTarget& target);
// Mounts and devices. A rule of the device cgroup whose device is not there has no effect.
absl::Status ApplyFiles(const api::ContainerAdjustment& adjustment, const SpecTarget& target);
// Refuses a rule of the device cgroup, unless it says the permissions of a device that the
// adjustment has.
absl::Status CheckDeviceRule(const api::LinuxDeviceCgroup& rule,
                             const api::LinuxContainerAdjustment& linux, const SpecTarget& target);
// Priority of I/O, scheduler and memory policy.
absl::Status ApplyScheduling(const api::LinuxContainerAdjustment& linux, const SpecTarget& target);
// Namespaces, kernel parameters, network devices and the group's path.
absl::Status ApplyNamespaces(const api::LinuxContainerAdjustment& linux, const SpecTarget& target);
// Resources and classes.
absl::Status ApplyResources(const api::LinuxContainerAdjustment& linux, const SpecTarget& target);
absl::Status ApplySeccomp(const api::LinuxSeccomp& policy, const SpecTarget& target);

}  // namespace plimsoll::nri

#endif  // PLIMSOLL_NRI_ADJUST_SPEC_PARTS_H_
