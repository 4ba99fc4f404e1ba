// A new rdt file, compiled and not in force yet.
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

// A class keeps its group, so its holders stay where they are while it gets another definition.
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
  // Of the classes that stay as they are defined, how the kernel differs.
  std::vector<std::string> WhatIsWrong() const;

  RdtType& type_;
  const std::shared_ptr<const RdtClasses> before_;
  const RdtClasses after_;
  std::vector<std::string> put_right_;
};

}  // namespace plimsoll::qos

#endif  // PLIMSOLL_QOS_RDT_RELOAD_H_
