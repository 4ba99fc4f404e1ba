// A kubelet's reservations that leave to pods what plimsolld reports.
#ifndef PLIMSOLL_KUBELET_CONFIG_RESERVATION_H_
#define PLIMSOLL_KUBELET_CONFIG_RESERVATION_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "kubelet/config/node_share.h"

namespace plimsoll::kubelet {

struct ReservationOptions {
  std::string endpoint;  // of plimsolld: "unix:///run/plimsoll/plimsoll.sock"
  bool static_cpus = false;
  bool static_memory = false;
  // Memory that kubelet keeps from pods besides: for eviction, and by kubeReserved.
  uint64_t eviction_bytes = 0;
  uint64_t kube_bytes = 0;
};

struct Reservation {
  std::string endpoint;
  bool static_cpus = false;
  bool static_memory = false;
  std::string cpus;        // reservedSystemCPUs; empty: none
  uint64_t cpu_count = 0;  // systemReserved.cpu, where the topology numbers no CPUs
  uint64_t system_bytes = 0;
  // With static memory, by NUMA node: their sum is what system, kubelet and eviction have.
  std::map<uint32_t, uint64_t> node_bytes;
  // Sentences on amounts that can't be reserved so, and what follows.
  std::vector<std::string> notes;
};

// FAILED_PRECONDITION: kubelet wouldn't start (static CPUs without a CPU left out, static memory
// without any reserved), or the topology has no NUMA nodes for static memory.
absl::StatusOr<Reservation> Reserve(const KubeletShare& share, const ReservationOptions& options);

// A drop-in for kubelet's --config-dir, with the notes as comments.
std::string ToDropIn(const Reservation& reservation);
// The same content as a JSON document.
std::string ToJson(const Reservation& reservation);

}  // namespace plimsoll::kubelet

#endif  // PLIMSOLL_KUBELET_CONFIG_RESERVATION_H_
