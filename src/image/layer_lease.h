// Holds all layers of one root filesystem together.
#ifndef PLIMSOLL_IMAGE_LAYER_LEASE_H_
#define PLIMSOLL_IMAGE_LAYER_LEASE_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "image/image_service.h"
#include "image/layer_store.h"

namespace plimsoll::image {

using Holds = std::vector<LayerStore::Hold>;

// Acquires each layer (LayerStore::Acquire), in order; all or none.
absl::StatusOr<Holds> AcquireAll(LayerStore& layers, const std::vector<std::string>& chain_ids);
// The same with LayerStore::AcquireInUse.
absl::StatusOr<Holds> AcquireAllInUse(LayerStore& layers,
                                      const std::vector<std::string>& chain_ids);

// `chain_ids`: bottom first; `holds` are of these. The lease may outlive the ImageService, but not
// the store's directory.
std::shared_ptr<LayerLease> LeaseOf(const LayerStore& layers, std::vector<std::string> chain_ids,
                                    Holds holds);

}  // namespace plimsoll::image

#endif  // PLIMSOLL_IMAGE_LAYER_LEASE_H_
