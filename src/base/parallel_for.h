// Loops that run their calls on several threads.
#ifndef PLIMSOLL_BASE_PARALLEL_FOR_H_
#define PLIMSOLL_BASE_PARALLEL_FOR_H_

#include <cstddef>

#include "absl/functional/function_ref.h"

namespace plimsoll {

// Calls each(0) to each(count - 1) once, in no order, and returns when all have returned. It uses
// the caller's thread and starts others: at most four in all, no more than there are processors,
// and no more than leaves each thread `share` calls. Fewer run where the system refuses a thread.
// `each` must be thread-safe.
void ParallelFor(size_t count, size_t share, absl::FunctionRef<void(size_t)> each);

// The same for calls that wait rather than compute: one thread for each, up to `most`.
void EachAtOnce(size_t count, size_t most, absl::FunctionRef<void(size_t)> each);

}  // namespace plimsoll

#endif  // PLIMSOLL_BASE_PARALLEL_FOR_H_
