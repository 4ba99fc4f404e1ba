// Classes of how readily the OOM killer chooses a container: an oom_score_adj each, whatever QoS
// class the pod has.
//
// Every process of the container has it, and forks inherit it. An exec'd program inherits its
// starter's, since crun sets none then: so it has to be started with that of the container's init.
#ifndef PLIMSOLL_QOS_OOM_H_
#define PLIMSOLL_QOS_OOM_H_

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/fs_root.h"
#include "linux/cgroup/cgroup.h"
#include "qos/class_type.h"
#include "qos/classes_config.h"
#include "qos/container_freezer.h"

namespace plimsoll::qos {

inline constexpr char kOom[] = "oom";

class OomType : public ClassType {
 public:
  // `lowest`: the floor of every value, because without CAP_SYS_RESOURCE the kernel lets no process
  // go below its initial value; classes that ask for less get the floor and say so. nullopt: no
  // floor. INVALID_ARGUMENT for an invalid name, a value outside -1000 to 1000, no classes, a
  // default or capacity of no class. `host` holds proc/; `cgroups` and `freezer` outlive the type.
  static absl::StatusOr<std::unique_ptr<OomType>> Create(const FsRoot& host,
                                                         linux::CgroupManager* cgroups,
                                                         ContainerFreezer* freezer,
                                                         OomTypeConfig config,
                                                         std::optional<int> lowest);

  std::string name() const override { return kOom; }
  Level level() const override { return Level::kContainer; }
  std::string default_class() const override { return config_.common.default_class; }
  std::vector<ClassInfo> classes() const override;
  std::vector<std::string> warnings() const override;
  std::vector<std::string> OwnedFiles(absl::string_view class_name) const override;

  // Sets all of the container's processes or none, forks in flight and entering programs included.
  // Freezes the container meanwhile, where possible (20 ms at most).
  absl::Status Assign(const Target& target, absl::string_view from, absl::string_view to) override;
  absl::Status Adopt(const Target& target, absl::string_view class_name,
                     const std::vector<std::string>& files) override;
  absl::Status Release(const Target& target, absl::string_view class_name) override;
  absl::StatusOr<std::string> Drift(const Target& target,
                                    absl::string_view class_name) const override;

 private:
  OomType(FsRoot host, linux::CgroupManager* cgroups, ContainerFreezer* freezer,
          OomTypeConfig config, std::optional<int> lowest)
      : host_(std::move(host)),
        cgroups_(cgroups),
        freezer_(*freezer),
        config_(std::move(config)),
        lowest_(lowest) {}
  absl::Status Validate() const;
  absl::Status NoSuchClass(absl::string_view class_name) const;
  int Clamp(int value) const;
  // The value of a container without a class.
  int Underlying(const Target& target) const;
  // Processes of the container and of programs on their way into it; `entering` says whether there
  // are any of the latter.
  absl::StatusOr<std::vector<pid_t>> Members(const Target& target, bool* entering) const;
  absl::Status SetAll(const Target& target, int value);

  const FsRoot host_;
  linux::CgroupManager* const cgroups_;
  ContainerFreezer& freezer_;
  const OomTypeConfig config_;
  const std::optional<int> lowest_;
};

}  // namespace plimsoll::qos

#endif  // PLIMSOLL_QOS_OOM_H_
