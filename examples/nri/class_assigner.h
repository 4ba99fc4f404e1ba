// Puts containers into QoS classes by their pod's namespace or label.
#ifndef PLIMSOLL_EXAMPLES_NRI_CLASS_ASSIGNER_H_
#define PLIMSOLL_EXAMPLES_NRI_CLASS_ASSIGNER_H_

#include <string>
#include <vector>

#include "nri/plugin/plugin.h"

namespace plimsoll::examples {

namespace api = nri::api;

// Pods that match get the classes; an empty class leaves the container's as it is.
struct ClassRule {
  std::string pod_namespace;  // empty: any
  std::string label;          // "key" or "key=value"; empty: any
  std::string rdt;
  std::string blockio;
};

bool Matches(const ClassRule& rule, const api::PodSandbox& pod);

class ClassAssigner : public nri::Plugin {
 public:
  std::vector<api::Event> Events() const override { return {api::CREATE_CONTAINER}; }
  // `rules`, in order: the first that matches decides.
  absl::Status Configure(const api::ConfigureRequest& request) override;
  // Moves what runs already, too.
  absl::StatusOr<std::vector<api::ContainerUpdate>> Synchronize(
      const std::vector<api::PodSandbox>& pods,
      const std::vector<api::Container>& containers) override;
  absl::StatusOr<api::CreateContainerResponse> CreateContainer(
      const api::CreateContainerRequest& request) override;

 private:
  // Sets the classes of the pod's rule that `present` lacks. False: nothing is to be set.
  bool Assign(const api::PodSandbox& pod, const api::LinuxResources& present,
              api::LinuxResources* resources) const;

  std::vector<ClassRule> rules_;
};

}  // namespace plimsoll::examples

#endif  // PLIMSOLL_EXAMPLES_NRI_CLASS_ASSIGNER_H_
