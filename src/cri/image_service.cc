#include "cri/runtime/v1/api.grpc.pb.h"
#include "cri/services.h"
#include "cri/unary_method.h"

#define PLIMSOLL_CRI_SERVICE "/runtime.v1.ImageService/"
#define PLIMSOLL_CRI_PACKAGE ::runtime::v1

namespace plimsoll::cri {
namespace {

namespace v1 = ::runtime::v1;

class ImageService final : public v1::ImageService::CallbackService {
 public:
  ImageService(Calls* calls, ImageHandlers* handlers) : calls_(calls), handlers_(handlers) {}

  PLIMSOLL_CRI_UNARY(ListImages, Lane::kLook)
  PLIMSOLL_CRI_UNARY(ImageStatus, Lane::kLook)
  PLIMSOLL_CRI_UNARY(ImageFsInfo, Lane::kLook)
  PLIMSOLL_CRI_UNARY(PullImage, Lane::kFetch)
  PLIMSOLL_CRI_UNARY(RemoveImage, Lane::kEnd)

  PLIMSOLL_CRI_LIST(StreamImages)

 private:
  Calls* const calls_;
  ImageHandlers* const handlers_;
};

}  // namespace

std::unique_ptr<grpc::Service> NewImageService(Calls* calls, ImageHandlers* handlers) {
  return std::make_unique<ImageService>(calls, handlers);
}

}  // namespace plimsoll::cri

#undef PLIMSOLL_CRI_PACKAGE
#undef PLIMSOLL_CRI_SERVICE
