// A class type defined by configuration alone: each class is a set of cgroup v2 files and their
// values.
//
//   cgroup:
//   - name: memory-tier
//     classes:
//       slow: {memory.high: 512Mi, memory.swap.max: max}
//       fast: {}
#ifndef PLIMSOLL_QOS_CGROUP_CLASS_H_
#define PLIMSOLL_QOS_CGROUP_CLASS_H_

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "linux/cgroup/cgroup.h"
#include "qos/cgroup_files.h"
#include "qos/class_type.h"
#include "qos/classes_config.h"

namespace plimsoll::qos {

// The definition changes only with the daemon, so there is nothing to reload.
class CgroupClassType : public ClassType {
 public:
  // INVALID_ARGUMENT for a name that is invalid or another type's, no classes, a file or value that
  // is not allowed, or a default or capacity of no class. `cgroups` must outlive the type.
  static absl::StatusOr<std::unique_ptr<CgroupClassType>> Create(linux::CgroupManager* cgroups,
                                                                 CgroupTypeConfig config);

  // The reason why this machine can't have the type, which then has no classes and whose Assign is
  // FAILED_PRECONDITION. Empty when it can.
  // cgroup v1 has a type all of whose classes set nothing, and no other.
  std::string unavailable() const;

  std::string name() const override { return config_.name; }
  Level level() const override { return config_.level; }
  bool immutable() const override { return config_.immutable; }
  std::string default_class() const override;
  std::vector<ClassInfo> classes() const override;
  std::vector<std::string> warnings() const override;
  // cpu.idle brings cpu.weight along: the kernel resets the weight when idling ends.
  std::vector<std::string> OwnedFiles(absl::string_view class_name) const override;

  absl::Status Assign(const Target& target, absl::string_view from, absl::string_view to) override;
  absl::Status Adopt(const Target& target, absl::string_view class_name,
                     const std::vector<std::string>& files) override;
  absl::Status Release(const Target& target, absl::string_view class_name) override;
  absl::StatusOr<std::string> Drift(const Target& target,
                                    absl::string_view class_name) const override;

 private:
  using Values = std::map<std::string, std::string>;  // file -> value

  CgroupClassType(linux::CgroupManager* cgroups, CgroupTypeConfig config)
      : cgroups_(cgroups), config_(std::move(config)) {}
  absl::Status Validate();
  bool SetsNothing() const;
  // Null when there is no such class.
  const Values* Find(absl::string_view class_name) const;
  absl::Status NoSuchClass(absl::string_view class_name) const;
  // Controllers that the classes need and this machine lacks.
  std::vector<std::string> MissingControllers() const;
  // Files that a class has set, which may be in no configuration any more; none for an empty name.
  std::vector<std::string> FilesSetBy(absl::string_view class_name) const;
  // The files of the class `to`, and those set `before`.
  std::vector<FileContent> Wanted(const Target& target, const std::vector<std::string>& before,
                                  absl::string_view to) const;
  absl::Status Move(const Target& target, const std::vector<std::string>& before,
                    absl::string_view to);

  linux::CgroupManager* const cgroups_;
  CgroupTypeConfig config_;  // values canonical
};

}  // namespace plimsoll::qos

#endif  // PLIMSOLL_QOS_CGROUP_CLASS_H_
