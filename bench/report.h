// Figures of several runtimes, for people, programs and slides.
#ifndef PLIMSOLL_BENCH_REPORT_H_
#define PLIMSOLL_BENCH_REPORT_H_

#include <string>
#include <vector>

#include "bench/endpoint.h"
#include "bench/series.h"

namespace plimsoll::bench {

struct Report {
  Series bare_run{"crun run, bare", {}};
  Series bare_exec{"crun exec, bare", {}};
  std::vector<Figures> runtimes;  // Plimsoll first
  Workload workload;

  // Ratio of Plimsoll's p50 to bare crun's in the same run.
  double StartRatio() const;
  double ExecRatio() const;
};

std::string ToTable(const Report& report);
std::string ToJson(const Report& report);
// Bars of the p50 of each call, a group for each call and a colour for each runtime.
std::string ToSvg(const Report& report);

}  // namespace plimsoll::bench

#endif  // PLIMSOLL_BENCH_REPORT_H_
