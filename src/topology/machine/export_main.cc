// plimsoll-hwloc: prints a machine's topology as hwloc's XML. HWLOC_FSROOT in its environment names
// the directory with the machine's sys/ and proc/.
#include <cstdio>

#include "topology/machine/hwloc_reader.h"

int main() {
  const auto xml = plimsoll::topology::ExportHwlocXml();
  if (!xml.ok()) {
    std::fprintf(stderr, "plimsoll-hwloc: %s\n", xml.status().ToString().c_str());
    return 1;
  }
  return std::fwrite(xml->data(), 1, xml->size(), stdout) == xml->size() && std::fclose(stdout) == 0
             ? 0
             : 1;
}
