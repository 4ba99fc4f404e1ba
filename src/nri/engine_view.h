// The node's pods and containers as messages, from the engine.
#ifndef PLIMSOLL_NRI_ENGINE_VIEW_H_
#define PLIMSOLL_NRI_ENGINE_VIEW_H_

#include <atomic>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/fs_root.h"
#include "image/image_service.h"
#include "nri/known_objects.h"
#include "nri/v1alpha1/api.pb.h"
#include "runtime/engine.h"
#include "runtime/pod/hooks.h"

namespace plimsoll::nri {

namespace api = ::nri::pkg::api::v1alpha1;

// A pod or container, and how far it has got.
struct SeenPod {
  api::PodSandbox message;
  Stage stage = Stage::kCreated;
};
struct SeenContainer {
  api::Container message;
  Stage stage = Stage::kCreated;
};
struct SeenObjects {
  std::vector<SeenPod> pods;
  std::vector<SeenContainer> containers;
};

// Thread-safe.
class EngineView {
 public:
  // `run`: the engine's run directory, with the pins of namespaces; nullopt: they aren't told.
  // While `engine` is null, there is nothing to see.
  EngineView(FsRoot host, image::ImageService* images, std::optional<FsRoot> run,
             const std::atomic<runtime::Engine*>* engine)
      : host_(std::move(host)), images_(images), run_(std::move(run)), engine_(engine) {}

  // NOT_FOUND: it is gone, or not visible yet.
  absl::StatusOr<api::PodSandbox> Pod(const std::string& id) const;
  absl::StatusOr<api::Container> Container(const std::string& id) const;
  // All that are visible and alive. Ended containers are left out: plugins have nothing to do for
  // them, and those of today expect none.
  SeenObjects Look() const;
  // For records that the caller has.
  api::Container MessageOf(const runtime::HookedPod& pod,
                           const runtime::HookedContainer& container) const;

 private:
  runtime::HookedPod Hooked(const runtime::Engine& engine, runtime::SandboxRecord record) const;
  api::Container MessageOf(const runtime::HookedPod& pod, runtime::ContainerRecord record) const;

  const FsRoot host_;
  image::ImageService* const images_;
  const std::optional<FsRoot> run_;
  const std::atomic<runtime::Engine*>* const engine_;
};

}  // namespace plimsoll::nri

#endif  // PLIMSOLL_NRI_ENGINE_VIEW_H_
