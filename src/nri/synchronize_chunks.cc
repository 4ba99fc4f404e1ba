#include "nri/synchronize_chunks.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "nri/ttrpc/connection.h"

namespace plimsoll::nri {
namespace {

constexpr size_t kFieldBytes = 8;        // tag and length before each object
constexpr size_t kEnvelopeBytes = 1024;  // ttrpc's request around the message

class Chunks {
 public:
  explicit Chunks(size_t chunk) : chunk_(chunk), requests_(1) {}

  // The request that takes an object of this size.
  absl::StatusOr<api::SynchronizeRequest*> For(size_t bytes, const std::string& id) {
    bytes += kFieldBytes;
    if (bytes + kEnvelopeBytes > kMaxMessageBytes) {
      return absl::ResourceExhaustedError(absl::StrCat(
          id, " has ", bytes, " bytes as a message; the protocol allows ", kMaxMessageBytes));
    }
    if (used_ > 0 && used_ + bytes > chunk_) {
      requests_.back().set_more(true);
      requests_.emplace_back();
      used_ = 0;
    }
    used_ += bytes;
    return &requests_.back();
  }

  std::vector<api::SynchronizeRequest> Take() { return std::move(requests_); }

 private:
  const size_t chunk_;
  std::vector<api::SynchronizeRequest> requests_;
  size_t used_ = 0;
};

}  // namespace

absl::StatusOr<std::vector<api::SynchronizeRequest>> ChunksOf(
    std::vector<api::PodSandbox> pods, std::vector<api::Container> containers, size_t chunk) {
  Chunks chunks(chunk);
  for (api::PodSandbox& pod : pods) {
    const auto request = chunks.For(pod.ByteSizeLong(), absl::StrCat("pod ", pod.id()));
    if (!request.ok()) return request.status();
    *(*request)->add_pods() = std::move(pod);
  }
  for (api::Container& container : containers) {
    const auto request =
        chunks.For(container.ByteSizeLong(), absl::StrCat("container ", container.id()));
    if (!request.ok()) return request.status();
    *(*request)->add_containers() = std::move(container);
  }
  return chunks.Take();
}

}  // namespace plimsoll::nri
