#include "class_assigner.h"
#include "program.h"

int main(int argc, char** argv) {
  plimsoll::examples::ClassAssigner assigner;
  return plimsoll::examples::RunProgram(
      assigner,
      {.name = "class-assigner",
       .index = "30",
       .purpose = "Puts containers into rdt and blockio classes by their pod's namespace or label: "
                  "new ones as they are created, and those that run when it connects.",
       .help = "Configuration; the first rule that matches decides:\n\n"
               "  rules:\n"
               "  - namespace: batch\n"
               "    rdt: background\n"
               "    blockio: background\n"
               "  - label: tier=gold   # or a key alone\n"
               "    rdt: gold"},
      argc, argv);
}
