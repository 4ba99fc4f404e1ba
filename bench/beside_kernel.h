// The cost of a change beyond the kernel's own work for it.
#ifndef PLIMSOLL_BENCH_BESIDE_KERNEL_H_
#define PLIMSOLL_BENCH_BESIDE_KERNEL_H_

#include <cstdio>

#include "bench/series.h"

namespace plimsoll::bench {

// Prints `whole` and `kernel`, measured in turn, and the excess of the first over the second. The
// least stands beside the median, because a busy machine adds to the latter.
inline void PrintBesideKernel(const Series& whole, const Series& kernel) {
  const auto line = [](const char* name, double median, double least) {
    std::printf("%-48s p50 %6.2f ms   least %6.2f ms\n", name, median, least);
  };
  const double median = whole.Quantile(0.5);
  const double kernel_median = kernel.Quantile(0.5);
  line(whole.name.c_str(), median, whole.Least());
  line(kernel.name.c_str(), kernel_median, kernel.Least());
  line("beyond it (the goal: below 2 ms)", median - kernel_median, whole.Least() - kernel.Least());
}

}  // namespace plimsoll::bench

#endif  // PLIMSOLL_BENCH_BESIDE_KERNEL_H_
