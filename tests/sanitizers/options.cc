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
  return "halt_on_error=1:second_deadlock_stack=1";
}

const char* __tsan_default_suppressions() {
  return "";
}

}  // extern "C"
