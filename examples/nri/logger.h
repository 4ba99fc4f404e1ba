// Prints each event as a line.
#ifndef PLIMSOLL_EXAMPLES_NRI_LOGGER_H_
#define PLIMSOLL_EXAMPLES_NRI_LOGGER_H_

#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "nri/plugin/plugin.h"

namespace plimsoll::examples {

namespace api = nri::api;

// "pod=default/web id=5f2c…", "container=app id=… requests=cpu=2,memory=1Gi limits=cpu=2".
std::string Describe(const api::PodSandbox& pod);
std::string Describe(const api::Container& container);

class Logger : public nri::Plugin {
 public:
  absl::Status Configure(const api::ConfigureRequest& request) override;
  absl::StatusOr<std::vector<api::ContainerUpdate>> Synchronize(
      const std::vector<api::PodSandbox>& pods,
      const std::vector<api::Container>& containers) override;
  void Shutdown() override { Print("Shutdown", ""); }

#define PLIMSOLL_LOG_POD_EVENT(name)                                                     \
  absl::StatusOr<api::name##Response> name(const api::name##Request& request) override { \
    Print(#name, Describe(request.pod()));                                               \
    return api::name##Response();                                                        \
  }
#define PLIMSOLL_LOG_CONTAINER_EVENT(name)                                               \
  absl::StatusOr<api::name##Response> name(const api::name##Request& request) override { \
    Print(#name, Describe(request.pod()) + " " + Describe(request.container()));         \
    return api::name##Response();                                                        \
  }
  PLIMSOLL_LOG_POD_EVENT(RunPodSandbox)
  PLIMSOLL_LOG_POD_EVENT(UpdatePodSandbox)
  PLIMSOLL_LOG_POD_EVENT(PostUpdatePodSandbox)
  PLIMSOLL_LOG_POD_EVENT(StopPodSandbox)
  PLIMSOLL_LOG_POD_EVENT(RemovePodSandbox)
  PLIMSOLL_LOG_CONTAINER_EVENT(CreateContainer)
  PLIMSOLL_LOG_CONTAINER_EVENT(PostCreateContainer)
  PLIMSOLL_LOG_CONTAINER_EVENT(StartContainer)
  PLIMSOLL_LOG_CONTAINER_EVENT(PostStartContainer)
  PLIMSOLL_LOG_CONTAINER_EVENT(UpdateContainer)
  PLIMSOLL_LOG_CONTAINER_EVENT(PostUpdateContainer)
  PLIMSOLL_LOG_CONTAINER_EVENT(StopContainer)
  PLIMSOLL_LOG_CONTAINER_EVENT(RemoveContainer)
  PLIMSOLL_LOG_CONTAINER_EVENT(ValidateContainerAdjustment)
#undef PLIMSOLL_LOG_POD_EVENT
#undef PLIMSOLL_LOG_CONTAINER_EVENT

 private:
  struct CloseFile {
    void operator()(FILE* file) const { std::fclose(file); }
  };

  void Print(const char* event, const std::string& text);

  std::unique_ptr<FILE, CloseFile> file_;  // null: standard output
};

}  // namespace plimsoll::examples

#endif  // PLIMSOLL_EXAMPLES_NRI_LOGGER_H_
