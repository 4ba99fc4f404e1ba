// The rdt file, compiled for a machine.
#include <map>
#include <string>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "check.h"
#include "pictures/rdt_masks.h"
#include "qos/rdt/compile.h"
#include "qos/rdt/mask.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace plimsoll::fuzz;
  namespace qos = plimsoll::qos;
  const std::string text(Text(data, size));
  const auto config = qos::ParseRdtConfig("input.yaml", text);
  if (!config.ok()) {
    CheckRefusal(config.status());
    FUZZ_CHECK(absl::StartsWith(config.status().message(), "input.yaml:"),
               config.status().ToString());
    return 0;
  }
  for (const bool other : {false, true}) {
    plimsoll::linux::ResctrlInfo machine;
    machine.l3 = {.cdp = other, .ids = {0, 2}, .cbm_mask = 0x7ff, .min_cbm_bits = 2};
    machine.l3->num_closids = 8;
    machine.mb = {.ids = {0, 2}, .min_bandwidth = 10, .bandwidth_gran = 10, .num_closids = 8};
    machine.mb->mbps = other;
    if (other) machine.l2 = {.ids = {0}, .cbm_mask = 0xff, .num_closids = 8};
    const auto compiled = qos::CompileRdt(*config, machine);
    if (!compiled.ok()) {
      CheckRefusal(compiled.status());
      continue;
    }
    std::map<std::pair<std::string, uint64_t>, uint64_t> taken;
    for (const auto& partition : compiled->partitions) {
      for (const auto& [resource, values] : partition.schemata) {
        if (resource == "MB") continue;
        for (const auto& [id, mask] : values) {
          FUZZ_CHECK(qos::IsContiguous(mask), absl::StrCat(mask));
          uint64_t& others = taken[{resource, id}];
          FUZZ_CHECK((others & mask) == 0, partition.name);
          others |= mask;
        }
      }
    }
    FUZZ_CHECK(!plimsoll::pictures::RdtText(*compiled, machine).empty(), "no text");
    FUZZ_CHECK(!plimsoll::pictures::RdtSvg(*compiled, machine).empty(), "no drawing");
  }
  return 0;
}
