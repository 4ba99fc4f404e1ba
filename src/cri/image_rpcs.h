// The RPCs of the CRI's ImageService, without gRPC.
#ifndef PLIMSOLL_CRI_IMAGE_RPCS_H_
#define PLIMSOLL_CRI_IMAGE_RPCS_H_

#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/clock.h"
#include "cri/calls/calls.h"
#include "cri/calls/list_parts.h"
#include "cri/runtime/v1/api.pb.h"
#include "image/image_service.h"
#include "runtime/engine.h"

namespace plimsoll::cri {

// Thread-safe; every method may block.
class ImageRpcs {
 public:
  // `images` and `engine` must outlive this. `runtime_handlers`: those beside the default one.
  ImageRpcs(image::ImageService* images, runtime::Engine* engine,
            std::vector<std::string> runtime_handlers, Clock* clock = &Clock::Real())
      : images_(images),
        engine_(engine),
        runtime_handlers_(std::move(runtime_handlers)),
        clock_(clock) {}

  absl::Status ListImages(const ::runtime::v1::ListImagesRequest& request,
                          ::runtime::v1::ListImagesResponse* response);
  // Gives the images that ListImages would.
  PartSource<::runtime::v1::StreamImagesResponse> StreamImages(
      const ::runtime::v1::StreamImagesRequest& request);
  // The answer is empty if there is no such image.
  absl::Status ImageStatus(const ::runtime::v1::ImageStatusRequest& request,
                           ::runtime::v1::ImageStatusResponse* response);
  // Cancelled when the client leaves or its deadline passes. For a failure that kubelet has a name
  // for (k8s.io/cri-api/pkg/errors: RegistryUnavailable, SignatureValidationFailed) the message
  // begins with that name and the code is UNKNOWN: kubelet looks for exactly that, and strips the
  // code of UNKNOWN errors alone. Plimsoll's own call keeps UNAVAILABLE and FAILED_PRECONDITION.
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

// Options for one call's pull: credentials, and cancellation when the client leaves.
absl::StatusOr<image::PullOptions> PullOptionsFrom(const CallContext& call,
                                                   const ::runtime::v1::AuthConfig& auth,
                                                   absl::string_view reference);

}  // namespace plimsoll::cri

#endif  // PLIMSOLL_CRI_IMAGE_RPCS_H_
