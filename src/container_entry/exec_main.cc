// plimsoll-exec: runs a command in a container, in place of the OCI runtime's `exec`.
//
//   plimsoll-exec CONTAINER WORD...
//   /proc/self/fd/3 --variables WORD...   the beginning of a container's process (variables.h)
//
// The plan (container_entry/plan.h) is descriptor 3; the words are only for listings of processes.
// Static and without the C++ library's start-up cost. Executed from a sealed memfd, so that the
// container can't overwrite it through /proc (CVE-2019-5736).
#include <sys/prctl.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>

#include "container_entry/plan.h"
#include "container_entry/protocol.h"
#include "container_entry/supervise.h"
#include "container_entry/variables.h"
#include "monitor/byte_variables.h"
#include "monitor/tell_version.h"

int main(int argc, char** argv) {
  if (plimsoll::monitor::TellVersion("plimsoll-exec", argc, argv)) return 0;
  if (argc > 2 && strcmp(argv[1], plimsoll::monitor::kVariablesWord) == 0) {
    return plimsoll::entry::ExecuteWithVariables(argv + 2);
  }
  plimsoll::entry::Plan plan;
  if (!plimsoll::entry::ReadPlan(plimsoll::entry::kPlanDescriptor, &plan)) {
    dprintf(2, "plimsoll-exec is started by plimsolld; it is of no use by hand.\n");
    return 2;
  }
  // A container's process that may trace others gets nothing of this one or of its children
  // (CVE-2016-9962). This process adopts those that the command leaves behind, so that they can be
  // found.
  if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) != 0 || prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0) {
    return plimsoll::entry::kSilentEnd;
  }
  return plimsoll::entry::Supervise(plan);
}
