#include "cpu_pinner.h"
#include "program.h"

int main(int argc, char** argv) {
  plimsoll::examples::CpuPinner pinner;
  return plimsoll::examples::RunProgram(
      pinner,
      {.name = "cpu-pinner",
       .index = "40",
       .purpose = "Gives each container that requests whole CPUs, CPUs of its own, until it stops. "
                  "Reads the request as the pod's author wrote it (KEP-4112), which only Plimsoll "
                  "passes on. If too few are free, the container is not created. A later change of "
                  "the request changes nothing.",
       .help = "Configuration:\n\n"
               "  cpus: 2-7     # to hand out\n"
               "  shared: 0-1   # for all other containers; without it they run where they did"},
      argc, argv);
}
