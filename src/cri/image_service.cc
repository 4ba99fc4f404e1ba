#include "cri/runtime/v1/api.grpc.pb.h"
#include "cri/services.h"
#include "cri/unary_method.h"
#include "cri/write_stream.h"

#define PLIMSOLL_CRI_SERVICE "/runtime.v1.ImageService/"

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

  grpc::ServerWriteReactor<v1::StreamImagesResponse>* StreamImages(
      grpc::CallbackServerContext*, const v1::StreamImagesRequest* request) override {
    constexpr const char* kMethod = PLIMSOLL_CRI_SERVICE "StreamImages";
    calls_->Trace(kMethod, *request);
    const absl::Time start = absl::Now();
    std::shared_ptr<ImageStream> stream = ImageStream::Create(/*max_pending=*/1);
    const auto end = [this, start, stream](const absl::Status& status) {
      calls_->Observe(kMethod, start, status);
      stream->End(status);
    };
    const absl::Status queued =
        calls_->Schedule(Lane::kLook, [this, request = *request, stream, end] {
          absl::StatusOr<std::vector<v1::StreamImagesResponse>> parts =
              handlers_->ListInParts(request);
          if (!parts.ok()) return end(parts.status());
          for (v1::StreamImagesResponse& part : *parts) stream->WriteLast(std::move(part));
          end(absl::OkStatus());
        });
    if (!queued.ok()) end(queued);
    return stream.get();
  }

 private:
  using ImageStream = WriteStream<v1::StreamImagesResponse>;

  Calls* const calls_;
  ImageHandlers* const handlers_;
};

}  // namespace

std::unique_ptr<grpc::Service> NewImageService(Calls* calls, ImageHandlers* handlers) {
  return std::make_unique<ImageService>(calls, handlers);
}

}  // namespace plimsoll::cri
