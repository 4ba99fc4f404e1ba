// Programs that end with this one, however it ends: nobody else would end them after a SIGKILL.
#ifndef PLIMSOLL_TESTS_CONFORMANCE_BOUND_PROGRAM_H_
#define PLIMSOLL_TESTS_CONFORMANCE_BOUND_PROGRAM_H_

#include <string>
#include <vector>

namespace plimsoll::conformance {

// What stands before a program's path and arguments, so that it is bound to this process: this
// program again, which becomes the other. The kernel ends it (PR_SET_PDEATHSIG, prctl(2)) when the
// thread ends that has started it; so start it in one that lives as long as the process.
std::vector<std::string> BoundToThisProcess();

// For main, before anything else: becomes the other program where BoundToThisProcess asked for
// that, and returns where it didn't. Exits with 127 where it can't.
void BecomeBoundProgram(int argc, char** argv);

}  // namespace plimsoll::conformance

#endif  // PLIMSOLL_TESTS_CONFORMANCE_BOUND_PROGRAM_H_
