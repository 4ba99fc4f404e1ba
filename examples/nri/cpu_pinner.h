// Gives a container that asks for whole CPUs, CPUs of its own.
#ifndef PLIMSOLL_EXAMPLES_NRI_CPU_PINNER_H_
#define PLIMSOLL_EXAMPLES_NRI_CPU_PINNER_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "nri/plugin/plugin.h"
#include "resources/cpu_set.h"

namespace plimsoll::examples {

namespace api = nri::api;

// The whole CPUs that a container asks for in `kubernetes_resources`, the request as its author
// wrote it: shares, which other runtimes show, are a rounded picture of it. 0: none, a part of a
// CPU, or the runtime doesn't know.
int64_t WholeCpus(const api::Container& container);

class CpuPinner : public nri::Plugin {
 public:
  std::vector<api::Event> Events() const override {
    return {api::CREATE_CONTAINER, api::STOP_CONTAINER, api::REMOVE_CONTAINER};
  }
  // `cpus`, the pool, and optionally `shared`, for all containers that get none of it.
  absl::Status Configure(const api::ConfigureRequest& request) override;
  // A container that runs on its share of the pool keeps it.
  absl::StatusOr<std::vector<api::ContainerUpdate>> Synchronize(
      const std::vector<api::PodSandbox>& pods,
      const std::vector<api::Container>& containers) override;
  // RESOURCE_EXHAUSTED, which fails the creation: too few CPUs are free.
  absl::StatusOr<api::CreateContainerResponse> CreateContainer(
      const api::CreateContainerRequest& request) override;
  absl::StatusOr<api::StopContainerResponse> StopContainer(
      const api::StopContainerRequest& request) override;
  // Comes alone for a container that was never made.
  absl::StatusOr<api::RemoveContainerResponse> RemoveContainer(
      const api::RemoveContainerRequest& request) override;

  resources::CpuSet Free() const;

 private:
  resources::CpuSet pool_;
  resources::CpuSet shared_;
  std::map<std::string, resources::CpuSet> pinned_;  // by container
};

}  // namespace plimsoll::examples

#endif  // PLIMSOLL_EXAMPLES_NRI_CPU_PINNER_H_
