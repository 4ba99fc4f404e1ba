#include "image/layer_lease.h"

#include <utility>

#include "base/status.h"

namespace plimsoll::image {
namespace {

class Lease : public LayerLease {
 public:
  Lease(const LayerStore& store, std::vector<std::string> chain_ids, Holds holds)
      : chain_ids_(std::move(chain_ids)), holds_(std::move(holds)) {
    for (auto it = chain_ids_.rbegin(); it != chain_ids_.rend(); ++it) {
      lower_directories_.push_back(store.DiffPath(*it));
    }
  }
  const std::vector<std::string>& lower_directories() const override { return lower_directories_; }
  const std::vector<std::string>& chain_ids() const override { return chain_ids_; }

 private:
  std::vector<std::string> chain_ids_;
  std::vector<std::string> lower_directories_;
  Holds holds_;
};

}  // namespace

absl::StatusOr<Holds> AcquireAll(LayerStore& layers, const std::vector<std::string>& chain_ids) {
  Holds holds;
  for (const std::string& chain_id : chain_ids) {
    PLIMSOLL_ASSIGN_OR_RETURN(LayerStore::Hold hold, layers.Acquire(chain_id));
    holds.push_back(std::move(hold));
  }
  return holds;
}

absl::StatusOr<Holds> AcquireAllInUse(LayerStore& layers,
                                      const std::vector<std::string>& chain_ids) {
  Holds holds;
  for (const std::string& chain_id : chain_ids) {
    PLIMSOLL_ASSIGN_OR_RETURN(LayerStore::Hold hold, layers.AcquireInUse(chain_id));
    holds.push_back(std::move(hold));
  }
  return holds;
}

std::shared_ptr<LayerLease> LeaseOf(const LayerStore& layers, std::vector<std::string> chain_ids,
                                    Holds holds) {
  return std::make_shared<Lease>(layers, std::move(chain_ids), std::move(holds));
}

}  // namespace plimsoll::image
