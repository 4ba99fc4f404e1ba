// Programs that end with this one, however it ends: nothing else would end them after a SIGKILL.
#ifndef PLIMSOLL_TESTS_CONFORMANCE_BOUND_PROGRAM_H_
#define PLIMSOLL_TESTS_CONFORMANCE_BOUND_PROGRAM_H_

#include <string>
#include <vector>

namespace plimsoll::conformance {

// A prefix for a program's path and arguments that binds it to this process: this program again,
// which becomes the other. The kernel ends it (PR_SET_PDEATHSIG, prctl(2)) with the thread that
// started it; so start it in a thread that lives as long as the process.
std::vector<std::string> BoundToThisProcess();

// For main, before anything else: becomes the other program if BoundToThisProcess asked for that,
// else returns. Exits with 127 on failure.
void BecomeBoundProgram(int argc, char** argv);

}  // namespace plimsoll::conformance

#endif  // PLIMSOLL_TESTS_CONFORMANCE_BOUND_PROGRAM_H_
