// What each RPC of the CRI's ImageService does, without gRPC.
#ifndef PLIMSOLL_CRI_IMAGE_HANDLERS_H_
#define PLIMSOLL_CRI_IMAGE_HANDLERS_H_

#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/clock.h"
#include "cri/calls.h"
#include "cri/list_parts.h"
#include "cri/runtime/v1/api.pb.h"
#include "image/image_service.h"
#include "runtime/engine.h"

namespace plimsoll::cri {

// Thread-safe; every method may block.
class ImageHandlers {
 public:
  // `images` and `engine` must outlive this. `runtime_handlers`: those beside the default one.
  ImageHandlers(image::ImageService* images, runtime::Engine* engine,
                std::vector<std::string> runtime_handlers, Clock* clock = &Clock::Real())
      : images_(images),
        engine_(engine),
        runtime_handlers_(std::move(runtime_handlers)),
        clock_(clock) {}

  absl::Status ListImages(const ::runtime::v1::ListImagesRequest& request,
                          ::runtime::v1::ListImagesResponse* response);
  // What ListImages would answer.
  PartSource<::runtime::v1::StreamImagesResponse> StreamImages(
      const ::runtime::v1::StreamImagesRequest& request);
  // Without such an image the answer is empty.
  absl::Status ImageStatus(const ::runtime::v1::ImageStatusRequest& request,
                           ::runtime::v1::ImageStatusResponse* response);
  // Given up when the client goes or its deadline passes. Where kubelet has a name for what failed
  // (k8s.io/cri-api/pkg/errors), the message begins with it and the code is UNKNOWN, as kubelet
  // wants it: RegistryUnavailable, SignatureValidationFailed.
  absl::Status PullImage(const CallContext& call, const ::runtime::v1::PullImageRequest& request,
                         ::runtime::v1::PullImageResponse* response);
  absl::Status RemoveImage(const ::runtime::v1::RemoveImageRequest& request,
                           ::runtime::v1::RemoveImageResponse* response);
  absl::Status ImageFsInfo(const ::runtime::v1::ImageFsInfoRequest& request,
                           ::runtime::v1::ImageFsInfoResponse* response);

 private:
  absl::StatusOr<std::vector<image::Image>> Matching(const ::runtime::v1::ImageFilter& filter);

  image::ImageService* const images_;
  runtime::Engine* const engine_;
  const std::vector<std::string> runtime_handlers_;
  Clock* const clock_;
};

void FillImage(const image::Image& image, ::runtime::v1::Image* out);

// The options of a pull for one call: credentials, and an end when the client goes.
absl::StatusOr<image::PullOptions> PullOptionsFrom(const CallContext& call,
                                                   const ::runtime::v1::AuthConfig& auth,
                                                   absl::string_view reference);

}  // namespace plimsoll::cri

#endif  // PLIMSOLL_CRI_IMAGE_HANDLERS_H_
