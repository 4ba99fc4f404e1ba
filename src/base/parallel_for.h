// A loop whose turns run on several threads.
#ifndef PLIMSOLL_BASE_PARALLEL_FOR_H_
#define PLIMSOLL_BASE_PARALLEL_FOR_H_

#include <cstddef>

#include "absl/functional/function_ref.h"

namespace plimsoll {

// Calls each(0) to each(count - 1) once, in no order, and returns when all have returned. The
// caller's thread is one of those it runs on; there are no more than four, than processors to run
// on, and than that each gets `share` calls. `each` must be thread-safe. Where no thread can be
// made, there are fewer.
void ParallelFor(size_t count, size_t share, absl::FunctionRef<void(size_t)> each);

// The same for calls that wait instead of computing: a thread for each, up to `most`.
void EachAtOnce(size_t count, size_t most, absl::FunctionRef<void(size_t)> each);

}  // namespace plimsoll

#endif  // PLIMSOLL_BASE_PARALLEL_FOR_H_
