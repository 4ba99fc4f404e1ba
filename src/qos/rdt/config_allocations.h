// Reading the allocations of partitions and classes of the rdt file; for config*.cc only.
#ifndef PLIMSOLL_QOS_RDT_CONFIG_ALLOCATIONS_H_
#define PLIMSOLL_QOS_RDT_CONFIG_ALLOCATIONS_H_

#include "qos/class_yaml.h"
#include "qos/rdt/config.h"
#include "yaml/reader.h"

namespace plimsoll::qos {

enum class RdtOwner { kPartition, kClass };

// Reads l2Allocation, l3Allocation and mbAllocation of one partition or class. Mistakes are the
// reader's.
RdtAllocations ReadRdtAllocations(YamlReader& reader, ClassFields& fields, RdtOwner owner);

}  // namespace plimsoll::qos

#endif  // PLIMSOLL_QOS_RDT_CONFIG_ALLOCATIONS_H_
