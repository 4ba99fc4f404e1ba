// The node's state for a plugin, in messages of moderate length.
#ifndef PLIMSOLL_NRI_SYNCHRONIZE_CHUNKS_H_
#define PLIMSOLL_NRI_SYNCHRONIZE_CHUNKS_H_

#include <cstddef>
#include <vector>

#include "absl/status/statusor.h"
#include "nri/v1alpha1/api.pb.h"

namespace plimsoll::nri {

namespace api = ::nri::pkg::api::v1alpha1;

// Go's peers end a connection when too many frames wait at their end: a message may be of 4 MiB,
// but not one of a MiB comes through for sure.
inline constexpr size_t kSynchronizeChunkBytes = 512 * 1024;

// Requests with all pods, then all containers, `more` set in all but the last. Each has `chunk`
// bytes at most, unless it holds a single object. RESOURCE_EXHAUSTED names an object that no
// message can hold.
absl::StatusOr<std::vector<api::SynchronizeRequest>> ChunksOf(
    std::vector<api::PodSandbox> pods, std::vector<api::Container> containers,
    size_t chunk = kSynchronizeChunkBytes);

}  // namespace plimsoll::nri

#endif  // PLIMSOLL_NRI_SYNCHRONIZE_CHUNKS_H_
