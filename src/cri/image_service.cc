#include "cri/calls/unary_method.h"
#include "cri/runtime/v1/api.grpc.pb.h"
#include "cri/services.h"

#define PLIMSOLL_CRI_SERVICE "/runtime.v1.ImageService/"
#define PLIMSOLL_CRI_PACKAGE ::runtime::v1

namespace plimsoll::cri {
namespace {

namespace v1 = ::runtime::v1;

class ImageService final : public v1::ImageService::CallbackService {
 public:
  ImageService(Calls* calls, ImageRpcs* rpcs) : calls_(calls), rpcs_(rpcs) {}

  PLIMSOLL_CRI_UNARY(rpcs_, ListImages, Lane::kLook)
  PLIMSOLL_CRI_UNARY(rpcs_, ImageStatus, Lane::kLook)
  PLIMSOLL_CRI_UNARY(rpcs_, ImageFsInfo, Lane::kLook)
  PLIMSOLL_CRI_UNARY(rpcs_, PullImage, Lane::kFetch)
  PLIMSOLL_CRI_UNARY(rpcs_, RemoveImage, Lane::kEnd)

  PLIMSOLL_CRI_LIST(rpcs_, StreamImages)

 private:
  Calls* const calls_;
  ImageRpcs* const rpcs_;
};

}  // namespace

std::unique_ptr<grpc::Service> NewImageService(Calls* calls, ImageRpcs* rpcs) {
  return std::make_unique<ImageService>(calls, rpcs);
}

}  // namespace plimsoll::cri

#undef PLIMSOLL_CRI_PACKAGE
#undef PLIMSOLL_CRI_SERVICE
