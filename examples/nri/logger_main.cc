#include "logger.h"
#include "program.h"

int main(int argc, char** argv) {
  plimsoll::examples::Logger logger;
  return plimsoll::examples::RunProgram(
      logger,
      {.name = "logger",
       .index = "00",
       .purpose = "Prints each event of pods and containers as a line, with what they ask for.",
       .help = "Configuration, all optional:\n\n"
               "  file: /var/log/nri-events   # lines go there, not to standard output"},
      argc, argv);
}
