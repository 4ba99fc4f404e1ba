// The rdt file compiled for a machine: for each class the lines of its resctrl group's schemata.
//
// Partitions divide the caches among them, sorted by name, from the lowest way up; a class has a
// part of its partition's ways. Memory bandwidth is not divided: a partition's is the upper bound
// of its classes'. Nothing is written here, so that every error is known before a write.
#ifndef PLIMSOLL_QOS_RDT_COMPILE_H_
#define PLIMSOLL_QOS_RDT_COMPILE_H_

#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "linux/resctrl_info.h"
#include "linux/schemata.h"
#include "qos/rdt/config.h"

namespace plimsoll::qos {

struct RdtCompiledPartition {
  std::string name;
  linux::Schemata schemata;  // the most that its classes can have
};

struct RdtCompiledClass {
  std::string name;
  std::string partition;
  linux::Schemata schemata;  // without resources that the file restricts nowhere
  bool deny_pod_annotation = false;
  bool deny_container_annotation = false;

  // "L3 0=0xff0,1=0xff0; MB 0=50"; "not restricted" without lines.
  std::string Meaning() const;
};

// A percentage that the machine can't give exactly.
struct RdtRounding {
  std::string who;       // "partition exclusive", "class gold"
  std::string resource;  // "L3"
  std::vector<uint64_t> ids;
  double asked_percent = 0;  // of a cache: of the partition's ways, for a class
  double given_percent = 0;
  std::string given;  // "2 of 11 ways"

  // The distance from the asked percentage, in percent of it.
  double OffPercent() const;
  // "class gold: L3 of caches 0-1: 10.0% asked, 18.2% given (2 of 11 ways)"
  std::string Text() const;
};

struct RdtCompiled {
  std::vector<RdtCompiledPartition> partitions;     // sorted by name
  std::map<std::string, RdtCompiledClass> classes;  // the file's
  // Every percentage that is not given exactly, however small the difference.
  std::vector<RdtRounding> roundings;
  // For the administrator, a sentence each: oddities of the file, roundings by more than 5%, masks
  // on ways that devices use too, resources that the machine lacks and that no class needs or the
  // file calls optional, ids that the machine doesn't have.
  std::vector<std::string> warnings;
};

// `foreign_groups`: resctrl groups of others, which use up CLOSIDs too. Errors begin with the place
// in the file. All errors that can be found at once are told, a line each, under the gravest code.
// INVALID_ARGUMENT: the file contradicts itself, or the machine can't take a value;
// RESOURCE_EXHAUSTED: too few cache ways or CLOSIDs, with the names of the classes that find no
// room; FAILED_PRECONDITION: the machine lacks a resource that a class needs and the file doesn't
// call optional.
absl::StatusOr<RdtCompiled> CompileRdt(const RdtConfig& config, const linux::ResctrlInfo& machine,
                                       const std::vector<std::string>& foreign_groups = {});

// "0", "0-1,4".
std::string CacheIdList(const std::vector<uint64_t>& ids);

}  // namespace plimsoll::qos

#endif  // PLIMSOLL_QOS_RDT_COMPILE_H_
