// XML of hwloc's format 3, which is rewritten as format 2; and a mask of CPUs as in sysfs.
#include "topology/machine/hwloc_xml.h"
#include "check.h"
#include "topology/machine/kernel_files.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace plimsoll::fuzz;
  namespace topology = plimsoll::topology;
  const absl::string_view text = Text(data, size);
  topology::HwlocXmlFormat(text);
  const auto written = topology::HwlocXmlAsFormat2(text);
  if (!written.ok()) {
    CheckRefusal(written.status());
  } else {
    FUZZ_CHECK(topology::HwlocXmlFormat(*written) == 2, *written);
    const auto again = topology::HwlocXmlAsFormat2(*written);
    FUZZ_CHECK(again.ok(), *written);
  }
  const auto mask = topology::ParseCpuMask(text);
  if (!mask.ok()) CheckRefusal(mask.status());
  return 0;
}
