// What each RPC of the CRI's ImageService does, without gRPC.
#ifndef PLIMSOLL_CRI_IMAGE_HANDLERS_H_
#define PLIMSOLL_CRI_IMAGE_HANDLERS_H_

#include "absl/status/status.h"
#include "base/clock.h"
#include "cri/calls.h"
#include "cri/runtime/v1/api.pb.h"
#include "image/image_service.h"

namespace plimsoll::cri {

// Thread-safe; every method may block.
class ImageHandlers {
 public:
  // `images` must outlive this.
  explicit ImageHandlers(image::ImageService* images, Clock* clock = &Clock::Real())
      : images_(images), clock_(clock) {}

  absl::Status ListImages(const ::runtime::v1::ListImagesRequest& request,
                          ::runtime::v1::ListImagesResponse* response);
  // Without such an image the answer is empty.
  absl::Status ImageStatus(const ::runtime::v1::ImageStatusRequest& request,
                           ::runtime::v1::ImageStatusResponse* response);
  // Given up when the client goes or its deadline passes.
  absl::Status PullImage(const CallContext& call, const ::runtime::v1::PullImageRequest& request,
                         ::runtime::v1::PullImageResponse* response);
  absl::Status RemoveImage(const ::runtime::v1::RemoveImageRequest& request,
                           ::runtime::v1::RemoveImageResponse* response);
  absl::Status ImageFsInfo(const ::runtime::v1::ImageFsInfoRequest& request,
                           ::runtime::v1::ImageFsInfoResponse* response);

 private:
  image::ImageService* const images_;
  Clock* const clock_;
};

void FillImage(const image::Image& image, ::runtime::v1::Image* out);

// The options of a pull for one call: credentials, and an end when the client goes.
absl::StatusOr<image::PullOptions> PullOptionsFrom(const CallContext& call,
                                                   const ::runtime::v1::AuthConfig& auth,
                                                   absl::string_view reference);

}  // namespace plimsoll::cri

#endif  // PLIMSOLL_CRI_IMAGE_HANDLERS_H_
