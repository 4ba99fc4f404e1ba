// A new rdt file, compiled but not yet in force.
#ifndef PLIMSOLL_QOS_RDT_RELOAD_H_
#define PLIMSOLL_QOS_RDT_RELOAD_H_

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "qos/class_type.h"
#include "qos/rdt/groups.h"

namespace plimsoll::qos {

class RdtType;

// A class keeps its group, so its holders stay in place while its definition changes.
class RdtReload : public PendingReload {
 public:
  RdtReload(RdtType* type, std::shared_ptr<const RdtClasses> before, RdtClasses after)
      : type_(*type), before_(std::move(before)), after_(std::move(after)) {}

  std::vector<std::string> class_names() const override;
  std::vector<std::string> changes() const override;
  std::vector<std::string> warnings() const override { return after_.warnings; }
  std::vector<std::string> put_right() const override { return put_right_; }
  absl::Status Commit(const Holders& holders) override;
  absl::Status Revert(const Holders& holders) override;

 private:
  // The kernel's differences from classes whose definition stays as it is.
  std::vector<std::string> WhatIsWrong() const;

  RdtType& type_;
  const std::shared_ptr<const RdtClasses> before_;
  const RdtClasses after_;
  std::vector<std::string> put_right_;
};

}  // namespace plimsoll::qos

#endif  // PLIMSOLL_QOS_RDT_RELOAD_H_
