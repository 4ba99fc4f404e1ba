// The file of block I/O classes, compiled for a machine without disks.
#include "qos/blockio_config.h"
#include "absl/strings/match.h"
#include "base/fs_root.h"
#include "check.h"
#include "qos/blockio_plan.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace plimsoll::fuzz;
  namespace qos = plimsoll::qos;
  const bool v2 = size % 2 == 0;
  const auto config = qos::ParseBlockioConfig(Text(data, size), "input.yaml", v2);
  if (!config.ok()) {
    CheckRefusal(config.status());
    FUZZ_CHECK(absl::StartsWith(config.status().message(), "input.yaml"),
               config.status().ToString());
    return 0;
  }
  // An empty directory for the search for devices.
  static const auto devices =
      plimsoll::linux::BlockDevices::Scan(*plimsoll::FsRoot::Open("/proc/self/fdinfo"));
  const qos::BlockioMachine machine = {.v2 = v2, .devices = *devices};
  for (const qos::BlockioClass& each : config->classes) {
    for (const qos::BlockioEntry& entry : each.entries) {
      const uint64_t weight = entry.limits.weight.value_or(10);
      FUZZ_CHECK(weight >= 10 && weight <= 1000, each.name);
      FUZZ_CHECK(!entry.devices.empty() || !entry.limits.HasThrottle(), each.name);
    }
    const qos::BlockioPlan plan = qos::PlanBlockio(each, machine);
    FUZZ_CHECK(plan.disks.empty(), plan.Meaning());
    for (const qos::FileContent& content : qos::BlockioFiles(machine.v2)) {
      qos::LinesOf(plan, machine, content.file.name);
    }
  }
  return 0;
}
