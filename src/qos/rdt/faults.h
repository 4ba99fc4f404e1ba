// Mistakes of an rdt file on a machine, all told at once.
#ifndef PLIMSOLL_QOS_RDT_FAULTS_H_
#define PLIMSOLL_QOS_RDT_FAULTS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace plimsoll::qos {

class RdtFaults {
 public:
  // Adds an error, equal messages once; OK adds nothing.
  void Add(const absl::Status& status);
  // "<where><resource> of cache <id><what>": faults that differ only in the cache are told
  // together.
  void AddOfCache(absl::StatusCode code, absl::string_view where, absl::string_view resource,
                  uint64_t id, absl::string_view what);

  // A line for each in the order of adding; OK without any. The code is the first of these that
  // occurs: INVALID_ARGUMENT, RESOURCE_EXHAUSTED, any other.
  absl::Status status() const;

 private:
  struct Fault {
    absl::StatusCode code;
    std::string before;  // text before the caches
    std::vector<uint64_t> ids;
    std::string after;
  };
  void AddFault(Fault fault);

  std::vector<Fault> faults_;
};

}  // namespace plimsoll::qos

#endif  // PLIMSOLL_QOS_RDT_FAULTS_H_
