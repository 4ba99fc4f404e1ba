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

  PLIMSOLL_CRI_UNARY(handlers_, ListImages, Lane::kLook)
  PLIMSOLL_CRI_UNARY(handlers_, ImageStatus, Lane::kLook)
  PLIMSOLL_CRI_UNARY(handlers_, ImageFsInfo, Lane::kLook)
  PLIMSOLL_CRI_UNARY(handlers_, PullImage, Lane::kFetch)
  PLIMSOLL_CRI_UNARY(handlers_, RemoveImage, Lane::kEnd)

  PLIMSOLL_CRI_LIST(handlers_, StreamImages)

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
