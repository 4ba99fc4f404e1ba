// The engine's Readings.
#ifndef PLIMSOLL_RUNTIME_ENGINE_READINGS_H_
#define PLIMSOLL_RUNTIME_ENGINE_READINGS_H_

#include <memory>
#include <string>
#include <vector>

#include "runtime/objects/engine_options.h"
#include "runtime/objects/objects.h"
#include "runtime/readings.h"

namespace plimsoll::runtime {

// Uses `host`, `state`, `run` and `cgroups` of the options, and Objects. Both arguments must
// outlive it. Holds no lock over a look at the kernel.
class EngineReadings final : public Readings {
 public:
  EngineReadings(const EngineOptions& options, const Objects* objects)
      : options_(options), objects_(objects), writable_usage_(options.state) {}

  absl::StatusOr<linux::CgroupStats> Stats(absl::string_view id) const override;
  absl::StatusOr<linux::CgroupStats> SandboxStats(absl::string_view id) const override;
  std::vector<Links> SandboxLinks(const std::vector<std::string>& ids) const override;
  absl::StatusOr<ContainerCounters> Counters(absl::string_view id) const override;
  absl::StatusOr<FileSystem> WritableLayersFileSystem() const override;
  absl::StatusOr<std::shared_ptr<const WritableLayers>> WritableLayersUsage(
      absl::Duration max_age) override {
    return writable_usage_.Read(max_age);
  }
  absl::StatusOr<std::shared_ptr<const WritableLayers>> LastWritableLayersUsage(
      absl::Duration max_age) override {
    return writable_usage_.ReadLast(max_age);
  }
  void CallOffWalks() override { writable_usage_.CallOff(); }

 private:
  const EngineOptions& options_;
  const Objects* const objects_;
  WritableUsage writable_usage_;
};

}  // namespace plimsoll::runtime

#endif  // PLIMSOLL_RUNTIME_ENGINE_READINGS_H_
