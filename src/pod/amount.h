// Amounts that are right by the letter and can't be meant.
#ifndef PLIMSOLL_POD_AMOUNT_H_
#define PLIMSOLL_POD_AMOUNT_H_

#include <string>

#include "absl/status/status.h"
#include "resources/quantity.h"

namespace plimsoll::pod {

// INVALID_ARGUMENT for a limit below a page, in which nothing runs: "64m" is 0.064 bytes. 0 is no
// limit.
absl::Status CheckMemoryLimit(const resources::Quantity& limit);

// A sentence about a CPU limit above what the machine has, which limits nothing; else empty.
std::string ManyCpus(const resources::Quantity& limit, int64_t cpus_here);
// The same about memory.
std::string MuchMemory(const resources::Quantity& limit, int64_t bytes_here);
// CPUs of this machine that are online.
int64_t CpusHere();
// Memory of this machine, in bytes; 0: not known.
int64_t MemoryHere();

}  // namespace plimsoll::pod

#endif  // PLIMSOLL_POD_AMOUNT_H_
