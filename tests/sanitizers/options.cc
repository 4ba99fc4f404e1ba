// What the sanitizers do in every program of their presets, however it is started: a program that
// another one runs has no variable of the environment that could say it (src/base/subprocess.h).
// ASAN_OPTIONS, UBSAN_OPTIONS and TSAN_OPTIONS add to it.
//
// The first finding ends the program: of a daemon under test nobody would read the standard error.

extern "C" {

const char* __asan_default_options() {
  return "detect_stack_use_after_return=1:strict_string_checks=1";
}

const char* __ubsan_default_options() {
  return "print_stacktrace=1";
}

const char* __tsan_default_options() {
  // Of what libraries do that aren't built for the sanitizer it sees only the calls of the C
  // library (memcpy, free) and none of what orders them: those of gRPC among its threads aren't
  // races.
  return "halt_on_error=1:second_deadlock_stack=1:ignore_noninstrumented_modules=1";
}

const char* __tsan_default_suppressions() {
  // The end of a call on the server: who lets go of it last is found by an atomic count, partly
  // inside libgrpc++, where the sanitizer doesn't see it. Nothing of ours is below this destructor.
  return "race:ServerCallback*Impl::~ServerCallback*Impl\n";
}

}  // extern "C"
