// Informs the thread sanitizer of gRPC's ordering. Debian's gRPC is built without the sanitizer,
// which therefore doesn't see the atomic operations by which a batch of operations starts before
// its completion runs in another thread.
//
// Like in absl_locks.cc, the function here stands in front of the library's. A callback's tag
// begins with the function to run at completion (grpc_completion_queue_functor); a tag of another
// kind, which a thread waits for, doesn't begin with an address in the program's code.
//
// The last holder of a server's call runs its reactor's OnDone; a count finds the last one. The
// sanitizer sees code in gRPC's headers use the count, as it is compiled here; it doesn't see
// libgrpc++, which drops its hold after running OnCancel in a thread of its own, possibly as the
// last. A server also waits for its calls by such a count: their effects are complete when it is
// destroyed.
#include <dlfcn.h>
#include <grpc/grpc.h>
#include <grpcpp/support/server_callback.h>
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

namespace grpc::internal {
namespace {

template <typename Function>
Function Next(const char* name) {
  return reinterpret_cast<Function>(dlsym(RTLD_NEXT, name));
}

// Stands in for the reactor at OnCancel and deletes itself: nothing else is called on it.
class OrderedCancel final : public ServerReactor {
 public:
  OrderedCancel(ServerReactor* reactor, void* count) : reactor_(reactor), count_(count) {}

  void OnCancel() override {
    reactor_->OnCancel();
    __tsan_release(count_);
    delete this;
  }
  void OnDone() override { std::abort(); }
  bool InternalInlineable() override { return reactor_->InternalInlineable(); }

 private:
  ServerReactor* const reactor_;
  void* const count_;
};

}  // namespace

void ServerCallbackCall::CallOnCancel(ServerReactor* reactor) {
  static auto* const next = Next<void (*)(ServerCallbackCall*, ServerReactor*)>(
      "_ZN4grpc8internal18ServerCallbackCall12CallOnCancelEPNS0_13ServerReactorE");
  next(this, new OrderedCancel(reactor, &callbacks_outstanding_));
}

void ServerCallbackCall::ScheduleOnDone(bool inline_ondone) {
  static auto* const next = Next<void (*)(ServerCallbackCall*, bool)>(
      "_ZN4grpc8internal18ServerCallbackCall14ScheduleOnDoneEb");
  __tsan_acquire(&callbacks_outstanding_);
  next(this, inline_ondone);
}

}  // namespace grpc::internal

namespace {
char calls_that_ended;  // shared by all servers: orders more than needed between two of them
}

extern "C" void grpc_call_unref(grpc_call* call) {
  static auto* const next =
      reinterpret_cast<decltype(&grpc_call_unref)>(dlsym(RTLD_NEXT, "grpc_call_unref"));
  __tsan_release(&calls_that_ended);
  next(call);
}

extern "C" void grpc_server_destroy(grpc_server* server) {
  static auto* const next =
      reinterpret_cast<decltype(&grpc_server_destroy)>(dlsym(RTLD_NEXT, "grpc_server_destroy"));
  __tsan_acquire(&calls_that_ended);
  next(server);
}
