// A machine's CPUs as text, marked with those that have them.
#ifndef PLIMSOLL_PICTURES_CPUS_H_
#define PLIMSOLL_PICTURES_CPUS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "resources/cpu_set.h"

namespace plimsoll::pictures {

struct PlacedCpu {
  uint32_t cpu = 0;
  uint32_t core = 0;  // any number that its CPUs share
  uint32_t numa_node = 0;
  uint32_t package = 0;
};

struct CpuPicture {
  std::vector<PlacedCpu> cpus;
  resources::CpuSet reserved;  // never anybody's own
  resources::CpuSet shared;    // of those without CPUs of their own
  struct Holder {
    std::string name;
    resources::CpuSet cpus;
  };
  std::vector<Holder> holders;  // of one CPU's holders the last one counts
};

// A line for each package and NUMA node, its cores in brackets, and a legend. A CPU has its
// holder's letter, "#" if it is reserved, "." if it is shared. `colour`: holders have colours too.
// Lines break at 100 columns.
//
//   package 0  NUMA node 0  [0# 4.] [1A 5A]
//   package 1  NUMA node 1  [2B 6.] [3. 7.]
//   A  default/web nginx  1,5
//   B  default/db postgres  2
//   .  shared  0,3-4,6-7
//   #  reserved  0
std::string CpusText(const CpuPicture& picture, bool colour);

}  // namespace plimsoll::pictures

#endif  // PLIMSOLL_PICTURES_CPUS_H_
