// The sanitizers' options in every program of their presets, compiled in: a program that another
// one starts doesn't get the environment variables (src/base/programs/subprocess.h). ASAN_OPTIONS,
// UBSAN_OPTIONS and TSAN_OPTIONS add to them.
//
// The first finding ends the program: a finding in a tested daemon's standard error would go
// unread.

extern "C" {

const char* __asan_default_options() {
  return "detect_stack_use_after_return=1:strict_string_checks=1";
}

const char* __ubsan_default_options() {
  return "print_stacktrace=1";
}

const char* __tsan_default_options() {
  // In libraries built without it, the sanitizer sees only calls of the C library (memcpy, free),
  // and nothing of their order: such calls among gRPC's threads aren't races.
  return "halt_on_error=1:second_deadlock_stack=1:ignore_noninstrumented_modules=1";
}

const char* __tsan_default_suppressions() {
  // The end of a call on the server: an atomic count finds the last holder, partly inside
  // libgrpc++, where the sanitizer doesn't see it. No code of this project runs below this
  // destructor.
  return "race:ServerCallback*Impl::~ServerCallback*Impl\n";
}

}  // extern "C"
