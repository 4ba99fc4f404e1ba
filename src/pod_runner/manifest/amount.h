// Amounts of CPU and memory that parse and make no sense: a memory limit of 64 thousandths of a
// byte, more CPUs than the machine has.
#ifndef PLIMSOLL_POD_RUNNER_MANIFEST_AMOUNT_H_
#define PLIMSOLL_POD_RUNNER_MANIFEST_AMOUNT_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "resources/pages.h"
#include "resources/quantity.h"

namespace plimsoll::pod {

// INVALID_ARGUMENT for a limit below a page of `page_bytes`, in which no process runs: "64m" is
// 0.064 bytes. 0 is no limit.
absl::Status CheckMemoryLimit(const resources::Quantity& limit,
                              int64_t page_bytes = resources::PageBytes());

// A sentence about a CPU limit above the machine's CPUs: such a limit has no effect. Empty for a
// lower one, or where `cpus_here` is 0.
std::string ManyCpus(const resources::Quantity& limit, int64_t cpus_here);
// A sentence about a memory limit above the machine's memory: such a limit has no effect. Empty for
// a lower one, or where `bytes_here` is 0.
std::string MuchMemory(const resources::Quantity& limit, int64_t bytes_here);
// Online CPUs of this machine.
int64_t CpusHere();
// Memory of this machine, in bytes; 0: unknown.
int64_t MemoryHere();

}  // namespace plimsoll::pod

#endif  // PLIMSOLL_POD_RUNNER_MANIFEST_AMOUNT_H_
