// Tells the thread sanitizer what gRPC orders. Debian's gRPC is built without the sanitizer: that a
// batch of a call's operations is started before its completion is run, by another thread, is done
// with atomic operations there, which it doesn't see.
//
// As in absl_locks.cc, the function here stands in front of the library's. A callback's tag begins
// with the function that is run at completion (grpc_completion_queue_functor); a tag of other
// kinds, which somebody waits for, begins with something that is no code of the program's.
#include <dlfcn.h>
#include <grpc/grpc.h>
#include <sanitizer/tsan_interface.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>

extern "C" const char __executable_start;  // the linker's
extern "C" const char etext;

namespace {

using Run = void (*)(grpc_completion_queue_functor*, int);

// gRPC's headers have two kinds of callbacks, each with one function.
constexpr int kMost = 4;
std::atomic<Run> originals[kMost];

template <int kIndex>
void RunOrdered(grpc_completion_queue_functor* functor, int ok) {
  __tsan_acquire(functor);
  originals[kIndex].load()(functor, ok);
}
constexpr Run kOrdered[kMost] = {RunOrdered<0>, RunOrdered<1>, RunOrdered<2>, RunOrdered<3>};

void Order(void* tag) {
  __tsan_release(tag);
  auto* const functor = static_cast<grpc_completion_queue_functor*>(tag);
  const Run run = functor->functor_run;
  const void* const code = reinterpret_cast<const void*>(run);
  if (code < &__executable_start || code >= &etext) return;
  for (int i = 0; i < kMost; ++i) {
    if (run == kOrdered[i]) return;
    Run expected = nullptr;
    if (originals[i].compare_exchange_strong(expected, run) || expected == run) {
      functor->functor_run = kOrdered[i];
      return;
    }
  }
  std::fputs("grpc_order: gRPC has more kinds of callbacks\n", stderr);
  std::abort();
}

}  // namespace

extern "C" grpc_call_error grpc_call_start_batch(grpc_call* call, const grpc_op* ops, size_t nops,
                                                 void* tag, void* reserved) {
  static auto* const next =
      reinterpret_cast<decltype(&grpc_call_start_batch)>(dlsym(RTLD_NEXT, "grpc_call_start_batch"));
  if (tag != nullptr) Order(tag);
  return next(call, ops, nops, tag, reserved);
}
