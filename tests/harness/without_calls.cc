// Becomes a program for which the kernel lacks system calls, as below a filter or on an older
// kernel.
//
//   without-calls NUMBER[+]=ERROR... -- PROGRAM ARGUMENT...
//
// A call of the number, with "+" also one of a higher number, answers with the error's number.
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "lookup/system_call_filter_for_test.h"

int main(int argc, char** argv) {
  int at = 1;
  for (; at < argc && strcmp(argv[at], "--") != 0; ++at) {
    char* rest = nullptr;
    const long number = strtol(argv[at], &rest, 10);
    const bool and_higher = *rest == '+';
    const char* const equals = strchr(rest, '=');
    const int error = equals == nullptr ? 0 : atoi(equals + 1);
    if (error <= 0 || !plimsoll::RefuseSystemCall(number, error, and_higher)) {
      perror(argv[at]);
      return 125;
    }
  }
  if (at + 1 >= argc) return 125;
  execv(argv[at + 1], argv + at + 1);
  perror(argv[at + 1]);
  return 126;
}
