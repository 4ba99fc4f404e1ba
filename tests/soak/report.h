// A soak's findings, for people and for programs.
#ifndef PLIMSOLL_TESTS_SOAK_REPORT_H_
#define PLIMSOLL_TESTS_SOAK_REPORT_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "soak/journal.h"
#include "soak/memory.h"

namespace plimsoll::testing {

struct SoakReport {
  uint64_t seed = 0;
  int pods_asked = 0;
  int at_once = 0;
  bool has_network = false;
  double seconds = 0;
  int faults = 0;
  std::map<std::string, size_t> counts;
  std::vector<CallFigures> calls;
  std::vector<MemorySample> memory;  // of the daemon at rest, after each round
  size_t memory_base = 0;            // index of the sample that the last one is compared with

  // Growth of the resident memory from the base's sample to the last, as a fraction.
  double Growth() const;
};

std::string ToTable(const SoakReport& report);
std::string ToJson(const SoakReport& report);

}  // namespace plimsoll::testing

#endif  // PLIMSOLL_TESTS_SOAK_REPORT_H_
