// What is wrong with an rdt file on a machine, of which all is told at once.
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
  // OK adds nothing; the same words are told once.
  void Add(const absl::Status& status);
  // "<where><resource> of cache <id><what>": caches that differ in nothing else are told together.
  void AddOfCache(absl::StatusCode code, absl::string_view where, absl::string_view resource,
                  uint64_t id, absl::string_view what);

  // A line for each in the order of their coming; OK without any. The code is the first's of these
  // that is among them: INVALID_ARGUMENT, RESOURCE_EXHAUSTED, any other.
  absl::Status status() const;

 private:
  struct Fault {
    absl::StatusCode code;
    std::string before;  // of the caches
    std::vector<uint64_t> ids;
    std::string after;
  };
  void AddFault(Fault fault);

  std::vector<Fault> faults_;
};

}  // namespace plimsoll::qos

#endif  // PLIMSOLL_QOS_RDT_FAULTS_H_
